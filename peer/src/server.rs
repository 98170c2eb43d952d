//! Starting and stopping a peer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion_distributed::{Worker, WorkerQueryContext};
use metrics_exporter_prometheus::PrometheusHandle;
use peerage_cluster::config::PeerConfig;
use peerage_cluster::{ClusterConfig, ConfigError};
use peerage_engine::runtime::runtime;
use peerage_engine::telemetry::{TelemetryError, start_logs, start_metrics, stop_requested};
use peerage_engine::{PLAN_VERSION, PeerChannels, ScannerHandle, worker_session};
use peerage_proto::DESCRIPTORS;
use peerage_proto::v1::peer_control_server::PeerControlServer;
use peerage_proto::v1::query_peer_server::QueryPeerServer;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tracing::info;

use crate::args::PeerArgs;
use crate::cache::PartitionFileCache;
use crate::rpc::{ControlService, PeerIdentity, QueryPeerService};
use crate::scan::{PartitionOpener, PeerScanner};
use crate::store::{OpenError, PartitionStore, open_storage};

/// After a wish to stop, running requests get this long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a quiet connection is asked for a sign of life.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// How long that sign may take.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Receive window of one stream: a large plan or batch in flight.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
/// Receive window of one connection: several streams at once.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Longest scan request: some 300,000 assignments, more than one request may name.
const REQUEST_BYTES_MAX: usize = 64 << 20;
/// The file beside the cache that holds the peer's identity.
const CACHE_ID_FILE: &str = "cache_id";

/// A peer that could not start or go on.
#[derive(Debug, Error)]
pub enum PeerError {
    /// The cluster file is missing or wrong.
    #[error("read the cluster file")]
    Config(#[from] ConfigError),
    /// Logs or metrics cannot be set up.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A storage of the cluster file cannot be opened.
    #[error(transparent)]
    Storage(#[from] OpenError),
    /// The folder of the cache cannot be used: free it, or name another with --cache.
    #[error("cannot use cache folder {path}")]
    Cache {
        /// The folder.
        path: String,
        /// What the disk said.
        #[source]
        source: std::io::Error,
    },
    /// An address cannot be listened on: stop who has it, or choose another.
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
    /// A server ended by itself.
    #[error("the {service} server failed")]
    Serve {
        /// `gRPC` or `HTTP`.
        service: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A peer whose addresses are bound, ready to serve.
#[derive(Debug)]
pub struct PeerServer {
    grpc: TcpListener,
    http: TcpListener,
    scanner: Arc<PeerScanner>,
    identity: PeerIdentity,
    runtime: Arc<RuntimeEnv>,
    metrics: Option<PrometheusHandle>,
}

impl PeerServer {
    /// Opens storages and cache and binds both addresses.
    pub async fn bind(
        config: &ClusterConfig,
        metrics: Option<PrometheusHandle>,
    ) -> Result<Self, PeerError> {
        let storages = config
            .storages
            .iter()
            .map(|(id, storage)| open_storage(id, storage))
            .collect::<Result<Vec<_>, _>>()?;
        let storage_ids = config.storages.keys().cloned().collect();
        let store = PartitionStore::new(storages, config.peer.fetches_in_flight_max);
        let folder = config.peer.cache.path.clone();
        let unusable = |source| PeerError::Cache { path: folder.display().to_string(), source };
        let cache = PartitionFileCache::open(folder.clone(), config.peer.cache.bytes_max)
            .await
            .map_err(unusable)?;
        let cache_id = cache_id(&folder).await.map_err(unusable)?;
        let opener = PartitionOpener::new(cache, store.clone());
        Ok(Self {
            grpc: listen(config.peer.grpc).await?,
            http: listen(config.peer.http).await?,
            scanner: Arc::new(PeerScanner::new(opener, store)),
            identity: PeerIdentity::new(cache_id, cores(&config.peer), storage_ids),
            runtime: runtime(usize::try_from(config.peer.memory_max).unwrap_or(usize::MAX))?,
            metrics,
        })
    }

    /// Returns the address of the gRPC services.
    pub fn grpc_address(&self) -> std::io::Result<SocketAddr> {
        self.grpc.local_addr()
    }

    /// Returns the address of /metrics and /healthz.
    pub fn http_address(&self) -> std::io::Result<SocketAddr> {
        self.http.local_addr()
    }

    /// Serves until `stop`, then lets running requests finish for a while.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), PeerError> {
        let grpc = serve_grpc(self.grpc, self.scanner, self.identity, self.runtime, stop.clone());
        let http = serve_http(self.http, self.metrics, stop.clone());
        let both = async { tokio::try_join!(grpc, http).map(drop) };
        let overdue = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            served = both => served,
            () = overdue => Ok(()),
        }
    }
}

async fn serve_grpc(
    listener: TcpListener,
    scanner: Arc<PeerScanner>,
    identity: PeerIdentity,
    runtime: Arc<RuntimeEnv>,
    stop: CancellationToken,
) -> Result<(), PeerError> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| PeerError::Serve {
        service: "gRPC",
        source,
    };
    let permits = crate::rpc::ScanPermits::default();
    let cache = scanner.opener().cache().clone();
    let control = ControlService::new(identity, cache, permits.clone());
    let query = QueryPeerService::new(Arc::clone(&scanner), permits);
    let (health_reporter, health) = tonic_health::server::health_reporter();
    health_reporter.set_serving::<QueryPeerServer<QueryPeerService>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| failed(Box::new(error)))?;
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .add_service(health)
        .add_service(reflection)
        .add_service(PeerControlServer::new(control))
        .add_service(
            QueryPeerServer::new(query)
                .max_decoding_message_size(REQUEST_BYTES_MAX)
                .max_encoding_message_size(usize::MAX),
        )
        .add_service(worker(scanner, runtime).into_worker_server())
        .serve_with_incoming_shutdown(incoming, async move {
            stop.cancelled().await;
            health_reporter.set_not_serving::<QueryPeerServer<QueryPeerService>>().await;
        })
        .await
        .map_err(|error| failed(Box::new(error)))
}

/// Returns the engine's worker: it runs the stages that heads send.
fn worker(scanner: Arc<PeerScanner>, runtime: Arc<RuntimeEnv>) -> Worker {
    let handle = ScannerHandle(scanner);
    let channels = PeerChannels::default();
    Worker::from_session_builder(move |context: WorkerQueryContext| {
        std::future::ready(worker_session(context, handle.clone(), channels.clone()))
    })
    .with_runtime_env(runtime)
    .with_version(PLAN_VERSION)
}

async fn serve_http(
    listener: TcpListener,
    metrics: Option<PrometheusHandle>,
    stop: CancellationToken,
) -> Result<(), PeerError> {
    let render = move || {
        let text = metrics.as_ref().map(PrometheusHandle::render).unwrap_or_default();
        std::future::ready(text)
    };
    let router = Router::new()
        .route("/metrics", get(render))
        .route("/healthz", get(|| std::future::ready("Ok.\n")));
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
        .map_err(|source| PeerError::Serve { service: "HTTP", source: Box::new(source) })
}

async fn listen(address: SocketAddr) -> Result<TcpListener, PeerError> {
    TcpListener::bind(address).await.map_err(|source| PeerError::Listen { address, source })
}

fn cores(config: &PeerConfig) -> u32 {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let cores = if config.target_partitions == 0 { available() } else { config.target_partitions };
    u32::try_from(cores).unwrap_or(u32::MAX)
}

/// Returns the identity that is kept beside the cache, and makes one when there is none: a peer that
/// comes back under another address is still the owner of what it has cached.
async fn cache_id(folder: &Path) -> std::io::Result<String> {
    let path = folder.join(CACHE_ID_FILE);
    match tokio::fs::read_to_string(&path).await {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let id = ulid::Ulid::generate().to_string();
    let temporary = folder.join("cache_id.tmp");
    tokio::fs::write(&temporary, &id).await?;
    tokio::fs::rename(temporary, path).await?;
    Ok(id)
}

/// Runs a peer until it is asked to stop.
pub async fn run(args: PeerArgs) -> Result<(), PeerError> {
    start_logs(&args.log)?;
    let metrics = start_metrics()?;
    let config = args.apply(ClusterConfig::load(&args.cluster)?);
    info!(config = config.effective(), "effective configuration");
    let server = PeerServer::bind(&config, Some(metrics)).await?;
    info!(grpc = ?server.grpc_address().ok(), http = ?server.http_address().ok(),
        version = PLAN_VERSION, "peer is ready");
    let stop = CancellationToken::new();
    let token = stop.clone();
    let with_parent = args.log.stop_with_parent;
    let watch = tokio::spawn(async move {
        stop_requested(with_parent).await;
        token.cancel();
    });
    let served = server.serve(stop).await;
    watch.abort();
    served
}
