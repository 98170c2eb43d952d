//! The sessions that head and peer build for one query: the same functions, codec and rules.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DistributedExt as _, SessionStateBuilderExt as _, WorkerQueryContext,
};

use crate::codec::PartitionScanCodec;
use crate::distribution::{QueryPeers, desired_tasks, route, scale_up};
use crate::scanner::ScannerHandle;
use crate::transport::PeerChannels;

/// Plans cross the wire only between processes that agree on this: engine, leaf and functions.
pub const PLAN_VERSION: &str = concat!("peerage-", env!("CARGO_PKG_VERSION"), "/datafusion-55.2.0");

/// Name of the catalog in SQL; a user sees databases (its schemas) only.
pub const CATALOG_NAME: &str = "peerage";

/// Database of unqualified tables when a request names none.
pub const DEFAULT_DATABASE: &str = "default";

/// Carries the session's time zone to the peers: functions that read or write times depend on it, and
/// the engine sends no setting of its own accord.
const TIME_ZONE_HEADER: &str = "x-peerage-time-zone";

/// Receive buffer of one connection between stages. The engine's own default of 64 MiB per pair is
/// too much for many queries at once.
const CONNECTION_BUFFER_BYTES: usize = 16 << 20;

/// Everything that decides how a head plans one attempt of one query.
#[derive(Debug, Clone)]
pub struct HeadSession {
    /// The peers of this attempt.
    pub peers: QueryPeers,
    /// Connections to them.
    pub channels: PeerChannels,
    /// Answers a leaf that the planner left in the head.
    pub scanner: ScannerHandle,
    /// Memory pool and spill folder.
    pub runtime: Arc<RuntimeEnv>,
    /// Output partitions of each task: the cores of a peer.
    pub target_partitions: usize,
    /// Database of unqualified table names.
    pub database: String,
    /// Time zone of the session; `None` is UTC. (With a zone set, `to_timestamp` of a text column is
    /// refused by the engine itself: it promises a zone and gives none.)
    pub time_zone: Option<String>,
}

impl HeadSession {
    /// Returns a context that plans over the peers.
    pub fn build(self) -> Result<SessionContext> {
        let mut config = SessionConfig::new()
            .with_target_partitions(self.target_partitions)
            .with_default_catalog_and_schema(CATALOG_NAME, self.database)
            .with_information_schema(false)
            .set_str("datafusion.sql_parser.dialect", "clickhouse")
            .set_bool("datafusion.sql_parser.enable_ident_normalization", false)
            .with_extension(Arc::new(self.peers.clone()))
            .with_extension(Arc::new(self.scanner));
        let task_count = self.peers.task_count();
        let headers = time_zone_header(self.time_zone.as_deref())?;
        config.options_mut().execution.time_zone = self.time_zone;
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_runtime_env(self.runtime)
            .with_distributed_planner()
            .with_distributed_worker_resolver(self.peers)
            .with_distributed_channel_resolver(self.channels)
            .with_distributed_user_codec(PartitionScanCodec)
            .with_distributed_passthrough_headers(headers)?
            .with_distributed_children_isolator_unions(false)?
            .with_distributed_max_tasks_per_stage(task_count)?
            .with_distributed_worker_connection_buffer_budget_bytes(CONNECTION_BUFFER_BYTES)?
            .with_distributed_desired_task_count_handler(desired_tasks)
            .with_distributed_scale_up_leaf_node_handler(scale_up)
            .with_distributed_route_tasks_handler(route)
            .build();
        Ok(SessionContext::from(state))
    }
}

/// Returns the session of one task on a peer. Nothing slow may happen here: the engine waits.
pub fn worker_session(
    context: WorkerQueryContext,
    scanner: ScannerHandle,
    channels: PeerChannels,
) -> Result<SessionState> {
    let mut builder = context.builder;
    let config = builder.config().get_or_insert_default();
    config.set_extension(Arc::new(scanner));
    let zone = context.headers.get(TIME_ZONE_HEADER).and_then(|zone| zone.to_str().ok());
    config.options_mut().execution.time_zone = zone.map(str::to_owned);
    let headers = time_zone_header(zone)?;
    Ok(builder
        .with_distributed_user_codec(PartitionScanCodec)
        .with_distributed_channel_resolver(channels)
        .with_distributed_passthrough_headers(headers)?
        .build())
}

fn time_zone_header(zone: Option<&str>) -> Result<http::HeaderMap> {
    let Some(zone) = zone else { return Ok(http::HeaderMap::new()) };
    let value = http::HeaderValue::from_str(zone)
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(http::HeaderMap::from_iter([(http::HeaderName::from_static(TIME_ZONE_HEADER), value)]))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{DataType, TimeUnit};

    use super::*;
    use crate::scanner::{GroupScan, PartitionScanner};

    #[derive(Debug)]
    struct NoScanner;

    impl PartitionScanner for NoScanner {
        fn scan(
            &self,
            _scan: GroupScan,
        ) -> Result<datafusion::execution::SendableRecordBatchStream> {
            datafusion::common::not_impl_err!("nothing is scanned here")
        }
    }

    fn check(zone: Option<&str>) {
        let headers = time_zone_header(zone).expect("headers");
        let builder = SessionStateBuilder::new().with_default_features();
        let context = WorkerQueryContext { builder, headers };
        let scanner = ScannerHandle(Arc::new(NoScanner));
        let state = worker_session(context, scanner, PeerChannels::default()).expect("built");
        let function = Arc::clone(&state.task_ctx().scalar_functions()["to_timestamp"]);
        let returned = function.return_type(&[DataType::Utf8]).expect("a type");
        assert_eq!(returned, DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into)));
    }

    #[test]
    fn the_time_zone_of_the_head_holds_on_the_peer() {
        check(None);
        check(Some("UTC"));
        check(Some("Europe/Berlin"));
    }
}
