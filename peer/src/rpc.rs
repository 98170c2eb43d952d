//! The gRPC services of a peer beside the engine's own: `QueryPeer` and `PeerControl`.

mod control;
mod query_peer;
mod request;
mod status;

pub use control::{ControlService, PeerIdentity};
pub use query_peer::{QueryPeerService, ScanPermits};
