//! The query peer: answers for the partitions that heads assign to it.
//!
//! A peer is stateless. It knows the cluster file's storages and nothing of catalog or accounts; its
//! disk holds a cache that can be lost. The way of a scan: [`rpc`] or the engine's worker service →
//! [`scan`] → [`cache`] and [`store`].

pub mod args;
pub mod cache;
pub mod metrics;
pub mod rpc;
pub mod scan;
mod server;
pub mod store;

pub use args::PeerArgs;
pub use server::{PeerError, PeerServer, run};
