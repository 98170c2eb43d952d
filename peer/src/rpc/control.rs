//! `PeerControl`: what a peer is and how it is doing.

use std::time::{SystemTime, UNIX_EPOCH};

use peerage_engine::PLAN_VERSION;
use peerage_proto::v1::peer_control_server::PeerControl;
use peerage_proto::v1::{DescribeRequest, DescribeResponse};
use tonic::{Request, Response, Status};

use crate::cache::PartitionFileCache;
use crate::rpc::query_peer::ScanPermits;

/// What a peer says of itself and does not change while it runs.
#[derive(Debug, Clone)]
pub struct PeerIdentity {
    /// Kept beside the cache: placement follows it.
    pub cache_id: String,
    /// Cores that the peer works with.
    pub cores: u32,
    /// Storages that it may read.
    pub storages: Vec<String>,
    started_at: SystemTime,
}

impl PeerIdentity {
    /// Returns the identity of a peer that starts now.
    #[must_use]
    pub fn new(cache_id: String, cores: u32, storages: Vec<String>) -> Self {
        Self { cache_id, cores, storages, started_at: SystemTime::now() }
    }
}

/// Answers `PeerControl`.
#[derive(Debug, Clone)]
pub struct ControlService {
    identity: PeerIdentity,
    cache: PartitionFileCache,
    permits: ScanPermits,
}

impl ControlService {
    /// Returns the service of one peer.
    #[must_use]
    pub const fn new(
        identity: PeerIdentity,
        cache: PartitionFileCache,
        permits: ScanPermits,
    ) -> Self {
        Self { identity, cache, permits }
    }
}

#[tonic::async_trait]
impl PeerControl for ControlService {
    async fn describe(
        &self,
        _request: Request<DescribeRequest>,
    ) -> Result<Response<DescribeResponse>, Status> {
        let since_epoch = self.identity.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Response::new(DescribeResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            plan_version: PLAN_VERSION.to_owned(),
            cache_id: self.identity.cache_id.clone(),
            cores: self.identity.cores,
            started_at_ms: u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX),
            cache: Some(self.cache.statistics()),
            storages: self.identity.storages.clone(),
            scans_running: u32::try_from(self.permits.running()).unwrap_or(u32::MAX),
        }))
    }
}
