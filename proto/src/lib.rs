//! The wire: protobuf messages and gRPC services between heads, peers and tools.
//!
//! Generated from `proto/`; nothing else lives here. Field numbers are never reused.

/// Messages and services of version 1.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated; the comments stand in the .proto files"
)]
pub mod v1 {
    tonic::include_proto!("peerage.v1");
}

/// The descriptors of all services, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/peerage.descriptors.bin"));
