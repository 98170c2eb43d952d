//! Running one query: bind, plan, run on peers, again without a peer that was lost.
//!
//! An answer comes from one attempt. Rows are held back up to a budget, so that an attempt that
//! loses a peer early can be dropped and repeated without the client having seen any of it; past the
//! budget a loss is an error, never a row twice. All attempts see one catalog snapshot.

mod answer;
mod attempt;
mod meta;
mod scalar;
mod statistics;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::sql::parser::Statement;
use peerage_access::Decision;
use peerage_catalog::{Catalog, CatalogSnapshot};
use peerage_clickhouse::{ErrorCode, Exception, StatementKind};
use peerage_engine::{PeerChannels, PeerLost};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tracing::{debug, info};
use url::Url;

pub(crate) use answer::RunningQuery;
pub use statistics::QueryStatistics;

use crate::exception;
use crate::metrics;
use crate::peers::Peers;
use crate::query::answer::HeldAnswer;
use crate::query::attempt::Attempt;

/// Attempts of one query: the first, and two more without the peers that were lost.
const ATTEMPTS_MAX: u32 = 3;

/// Output partitions of each task when no peer said how many cores it has.
const TARGET_PARTITIONS_DEFAULT: usize = 2;
/// A leaf with one output partition would be left in the head by the engine.
const TARGET_PARTITIONS_MIN: usize = 2;
/// Past this many streams a task, merging costs more than it gains.
const TARGET_PARTITIONS_MAX: usize = 64;

/// What a rim asks for.
#[derive(Debug, Clone)]
pub(crate) struct QueryRequest {
    pub(crate) query_id: String,
    pub(crate) statement: Statement,
    pub(crate) database: String,
    pub(crate) time_zone: Option<String>,
    /// A shorter time than the head's own.
    pub(crate) timeout: Option<Duration>,
    /// How long the counts of peers may be waited for after the last row.
    pub(crate) statistics_timeout: Duration,
    pub(crate) decision: Decision,
}

/// Runs queries.
#[derive(Debug)]
pub(crate) struct QueryEngine {
    pub(crate) catalog: Catalog,
    pub(crate) peers: Arc<Peers>,
    pub(crate) channels: PeerChannels,
    pub(crate) runtime: Arc<RuntimeEnv>,
    pub(crate) query_timeout: Duration,
    in_flight: Arc<Semaphore>,
    in_flight_max: usize,
}

impl QueryEngine {
    /// Returns an engine that runs at most `in_flight_max` queries at once.
    pub(crate) fn new(
        catalog: Catalog,
        peers: Arc<Peers>,
        channels: PeerChannels,
        runtime: Arc<RuntimeEnv>,
        query_timeout: Duration,
        in_flight_max: usize,
    ) -> Self {
        let in_flight = Arc::new(Semaphore::new(in_flight_max));
        Self { catalog, peers, channels, runtime, query_timeout, in_flight, in_flight_max }
    }

    /// Returns a place among the running queries, or the error that there is none.
    pub(crate) fn admit(&self) -> Result<OwnedSemaphorePermit, Exception> {
        Arc::clone(&self.in_flight).try_acquire_owned().map_err(|_full| {
            Exception::new(
                ErrorCode::TooManySimultaneousQueries,
                format!(
                    "Too many simultaneous queries. Maximum: {}; the limit is \
                     limits.queries_in_flight_max of the cluster file",
                    self.in_flight_max
                ),
            )
        })
    }

    /// Starts a query and returns when its first rows are there, or it ended.
    pub(crate) async fn start(&self, request: QueryRequest) -> Result<RunningQuery, Exception> {
        let permit = self.admit()?;
        let started = Instant::now();
        let timeout = request.timeout.map_or(self.query_timeout, |own| own.min(self.query_timeout));
        let deadline = started + timeout;
        let snapshot = tokio::time::timeout_at(deadline, self.catalog.snapshot())
            .await
            .map_err(|_elapsed| exception::timeout(timeout))?
            .map_err(|error| exception::from_catalog(&error))?;
        let mut lost: Vec<Url> = Vec::new();
        let mut attempt_count = 1;
        loop {
            let attempt = self.attempt(&request, snapshot.clone(), &lost, attempt_count);
            let answer = match tokio::time::timeout_at(deadline, attempt).await {
                Ok(answer) => answer,
                Err(_elapsed) => return Err(exception::timeout(timeout)),
            };
            match answer {
                Ok(answer) => {
                    return Ok(RunningQuery::new(
                        answer,
                        permit,
                        started,
                        timeout,
                        request.statistics_timeout,
                    ));
                }
                Err(error) => match PeerLost::find(&error) {
                    // The address stands in a text that a query can make up: it must be a member's.
                    Some(url) if attempt_count < ATTEMPTS_MAX && self.peers.is_member(&url) => {
                        self.peers.suspect_if_silent(&url).await;
                        info!(query_id = request.query_id, peer = %url, attempt_count,
                            "attempt lost a peer; running the query again without it");
                        metrics::count_retry();
                        lost.push(url);
                        attempt_count += 1;
                    }
                    _ => return Err(exception::from_engine(&error)),
                },
            }
        }
    }

    async fn attempt(
        &self,
        request: &QueryRequest,
        snapshot: CatalogSnapshot,
        lost: &[Url],
        number: u32,
    ) -> Result<HeldAnswer, DataFusionError> {
        let members = self.peers.usable(lost);
        if members.peers.is_empty() {
            return Err(DataFusionError::External(Box::new(exception::NoPeers {
                source_name: members.source,
            })));
        }
        debug!(query_id = request.query_id, peers = members.peers.len(), number, "attempt begins");
        let attempt = Attempt::plan(self, request, snapshot, members, number).await?;
        HeldAnswer::start(attempt).await
    }
}

/// Answers a statement that needs no peers.
pub(crate) async fn answer_by_catalog(
    engine: &QueryEngine,
    statement: &StatementKind,
    current_database: &str,
) -> Result<RecordBatch, Exception> {
    let _permit = engine.admit()?;
    let answer = async {
        let snapshot = engine.catalog.snapshot().await;
        let snapshot = snapshot.map_err(|error| exception::from_catalog(&error))?;
        meta::answer(&snapshot, statement, current_database).await
    };
    tokio::time::timeout(engine.query_timeout, answer)
        .await
        .map_err(|_elapsed| exception::timeout(engine.query_timeout))??
        .ok_or_else(|| Exception::new(ErrorCode::LogicalError, "a query was sent to the catalog"))
}

/// Schema and statistics of an answer that is not there yet.
#[derive(Debug, Clone)]
pub(crate) struct AnswerHead {
    pub(crate) schema: SchemaRef,
    pub(crate) statistics: Arc<Mutex<QueryStatistics>>,
}
