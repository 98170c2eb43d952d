//! Command line of a peer: what it overrides of the cluster file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use peerage_cluster::ClusterConfig;
use peerage_engine::telemetry::LogArgs;

/// Options of `peerage peer`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    peerage peer --cluster cluster.yaml\n  \
    peerage peer --cluster cluster.yaml --grpc 127.0.0.1:9001 --http 127.0.0.1:9101 --cache ./cache-1\n  \
    PEERAGE_LOG=debug PEERAGE_LOG_FORMAT=json peerage peer --cluster cluster.yaml")]
pub struct PeerArgs {
    /// The cluster file.
    #[arg(long, env = "PEERAGE_CLUSTER", value_name = "FILE", default_value = "cluster.yaml")]
    pub cluster: PathBuf,
    /// Listen address of the gRPC services, instead of `peer.grpc`.
    #[arg(long, env = "PEERAGE_PEER_GRPC", value_name = "ADDRESS")]
    pub grpc: Option<SocketAddr>,
    /// Listen address of /metrics and /healthz, instead of `peer.http`.
    #[arg(long, env = "PEERAGE_PEER_HTTP", value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Folder of the partition file cache, instead of `peer.cache.path`.
    #[arg(long, env = "PEERAGE_PEER_CACHE", value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// Logs.
    #[command(flatten)]
    pub log: LogArgs,
}

impl PeerArgs {
    /// Returns the cluster file's settings with the command line's on top.
    #[must_use]
    pub fn apply(&self, mut config: ClusterConfig) -> ClusterConfig {
        config.peer.grpc = self.grpc.unwrap_or(config.peer.grpc);
        config.peer.http = self.http.unwrap_or(config.peer.http);
        if let Some(cache) = &self.cache {
            config.peer.cache.path.clone_from(cache);
        }
        config
    }
}
