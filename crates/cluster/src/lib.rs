//! Who is there and where a partition belongs: cluster file, membership, placement.
//!
//! - [`config`] reads the one cluster file into checked types and watches it for changes.
//! - [`membership`] knows the query peers, from a static list or from `pods.txt`.
//! - [`placement`] gives each partition of a query to one peer. It is pure.
//!
//! Invariants: a cluster file takes effect wholly or not at all; a query works on one
//! [`MemberSnapshot`]; placement depends on the set of peers and partitions, never on their order.
//!
//! What is left out: opening object stores, talking to peers and reading the catalog. A stale
//! membership or an odd placement costs time, never a wrong answer.

pub mod config;
pub mod membership;
pub mod placement;
mod polling;

pub use config::{ClusterConfig, ConfigError, ConfigReloader, MembershipConfig, StorageConfig};
pub use membership::{Member, MemberSnapshot, Membership, PeerAddress};
pub use placement::{Placement, PlacementError, place, rank};
