//! What head and peer must share to run one plan: the leaf, its codec, the sessions that both build,
//! and the transport between them.
//!
//! The leaf ([`PartitionScanExec`]) names partitions and never reads them: reading is behind
//! [`PartitionScanner`], which a peer implements with its cache and the object stores, and a head by
//! asking a peer. This crate does no I/O but gRPC and knows neither the catalog nor accounts.

pub mod assignment;
pub mod codec;
pub mod distribution;
pub mod failure;
pub mod filter;
pub mod leaf;
pub mod runtime;
pub mod scanner;
pub mod session;
pub mod table;
pub mod telemetry;
pub mod transport;

pub use assignment::{Assignment, AssignmentError};
pub use codec::PartitionScanCodec;
pub use distribution::{PartitionPlacement, QueryPeers};
pub use failure::{ScanFailure, chain};
pub use filter::FilterConverter;
pub use leaf::PartitionScanExec;
pub use scanner::{GroupScan, PartitionScanner, ScanMetrics, ScannerHandle};
pub use session::{HeadSession, PLAN_VERSION, worker_session};
pub use table::ScanTable;
pub use transport::{PeerChannels, PeerLost};
