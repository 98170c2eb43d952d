//! Command line of a head: what it overrides of the cluster file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use peerage_cluster::ClusterConfig;
use peerage_engine::telemetry::LogArgs;

/// Options of `peerage head`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    peerage head --cluster cluster.yaml\n  \
    peerage head --cluster cluster.yaml --http 0.0.0.0:8123\n  \
    curl 'http://127.0.0.1:8123/?query=SELECT+1'")]
pub struct HeadArgs {
    /// The cluster file.
    #[arg(long, env = "PEERAGE_CLUSTER", value_name = "FILE", default_value = "cluster.yaml")]
    pub cluster: PathBuf,
    /// Listen address of the ClickHouse HTTP interface, instead of `head.http`.
    #[arg(long, env = "PEERAGE_HEAD_HTTP", value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Logs.
    #[command(flatten)]
    pub log: LogArgs,
}

impl HeadArgs {
    /// Returns the cluster file's settings with the command line's on top.
    #[must_use]
    pub fn apply(&self, mut config: ClusterConfig) -> ClusterConfig {
        config.head.http = self.http.unwrap_or(config.head.http);
        config
    }
}
