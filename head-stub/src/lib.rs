//! The query head: what ClickHouse clients connect to.
//!
//! Kept thin: the `http` rim turns requests into checked queries, `bind` finds tables in one
//! catalog snapshot, `query` plans over the peers and merges what they answer. Only the head knows
//! the catalog and the accounts.

pub mod args;
mod bind;
mod exception;
mod http;
mod metrics;
mod peers;
mod placement;
mod query;
mod remote_scan;
mod server;

pub use args::HeadArgs;
pub use query::QueryStatistics;
pub use server::{HeadError, HeadServer, run};
