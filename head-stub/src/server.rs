//! Starting and stopping a head.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use peerage_access::Accounts;
use peerage_catalog::{Catalog, CatalogError};
use peerage_cluster::config::CatalogConfig;
use peerage_cluster::{ClusterConfig, ConfigError, ConfigReloader, Membership};
use peerage_engine::runtime::runtime;
use peerage_engine::telemetry::{TelemetryError, start_logs, start_metrics, stop_requested};
use peerage_engine::{PLAN_VERSION, PeerChannels};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::args::HeadArgs;
use crate::http::{HttpState, router};
use crate::metrics;
use crate::peers::Peers;
use crate::query::QueryEngine;

/// After a wish to stop, running queries get this long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Memory for merging answers, sorting and final aggregates of all queries; more is spilled.
const MEMORY_BYTES_MAX: usize = 2 << 30;

/// A head that could not start or go on.
#[derive(Debug, Error)]
pub enum HeadError {
    /// The cluster file is missing or wrong.
    #[error("read the cluster file")]
    Config(#[from] ConfigError),
    /// Logs or metrics cannot be set up.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The catalog cannot be opened.
    #[error("cannot open the catalog")]
    Catalog(#[from] CatalogError),
    /// The address cannot be listened on: stop who has it, or choose another with --http.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The memory pool or spill folder cannot be set up.
    #[error("cannot set up the query engine")]
    Engine(#[from] datafusion::common::DataFusionError),
    /// The server ended by itself.
    #[error("the HTTP server failed")]
    Serve(#[source] std::io::Error),
}

/// A head whose address is bound, ready to serve.
#[derive(Debug)]
pub struct HeadServer {
    listener: TcpListener,
    peers: Arc<Peers>,
    state: HttpState,
}

impl HeadServer {
    /// Opens the catalog, binds the address and looks for peers.
    pub async fn bind(
        config: &ClusterConfig,
        membership: Arc<Membership>,
        metrics: Option<PrometheusHandle>,
    ) -> Result<Self, HeadError> {
        let CatalogConfig::Sqlite { path } = &config.catalog;
        let catalog = Catalog::open(&format!("sqlite://{}", path.display())).await?;
        let address = config.head.http;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| HeadError::Listen { address, source })?;
        let channels = PeerChannels::default();
        let peers = Arc::new(Peers::new(membership, channels.clone()));
        peers.describe_all().await;
        let engine = QueryEngine::new(
            catalog,
            Arc::clone(&peers),
            channels,
            runtime(MEMORY_BYTES_MAX)?,
            config.head.query_timeout,
            config.limits.queries_in_flight_max,
        );
        let query_text_bytes_max =
            usize::try_from(config.limits.query_text_bytes_max).unwrap_or(usize::MAX);
        let state = HttpState { engine, accounts: Accounts, metrics, query_text_bytes_max };
        Ok(Self { listener, peers, state })
    }

    /// Returns the address of the HTTP interface.
    pub fn http_address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`, then lets running queries finish for a while.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), HeadError> {
        let peers = Arc::clone(&self.peers);
        let describing = async move { peers.keep_describing().await };
        let graceful = stop.clone();
        let serving = axum::serve(self.listener, router(self.state))
            .with_graceful_shutdown(async move { graceful.cancelled().await });
        let overdue = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            served = async { serving.await } => served.map_err(HeadError::Serve),
            () = describing => Ok(()),
            () = overdue => Ok(()),
        }
    }
}

/// Runs a head until it is asked to stop.
pub async fn run(args: HeadArgs) -> Result<(), HeadError> {
    start_logs(&args.log)?;
    let metrics_handle = start_metrics()?;
    let reloader = ConfigReloader::start(&args.cluster).await?;
    let config = args.apply(reloader.current().as_ref().clone());
    info!(config = config.effective(), "effective configuration");
    let membership = Arc::new(Membership::start(&config.membership).await);
    let server = HeadServer::bind(&config, Arc::clone(&membership), Some(metrics_handle)).await?;
    let members = membership.snapshot();
    metrics::set_members(members.peers.len());
    info!(http = ?server.http_address().ok(), membership = members.source, peers = members.peers.len(),
        version = PLAN_VERSION, "head is ready");
    let stop = CancellationToken::new();
    let token = stop.clone();
    let with_parent = args.log.stop_with_parent;
    let watch = tokio::spawn(async move {
        stop_requested(with_parent).await;
        token.cancel();
    });
    let follow = tokio::spawn(follow_changes(reloader.subscribe(), Arc::clone(&membership)));
    let served = server.serve(stop).await;
    watch.abort();
    follow.abort();
    membership.stop().await;
    reloader.stop().await;
    served
}

/// Applies a changed membership of the cluster file, and keeps the metric of its size.
async fn follow_changes(
    mut changes: tokio::sync::watch::Receiver<Arc<ClusterConfig>>,
    membership: Arc<Membership>,
) {
    let mut members = membership.subscribe();
    loop {
        tokio::select! {
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                let config = Arc::clone(&changes.borrow_and_update());
                membership.reconfigure(&config.membership).await;
            }
            changed = members.changed() => {
                if changed.is_err() {
                    return;
                }
                let count = members.borrow_and_update().peers.len();
                metrics::set_members(count);
            }
        }
    }
}
