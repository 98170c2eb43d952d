//! What a query cost: from the catalog's pruning to the requests of all peers.

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{DistributedMetricsFormat, rewrite_distributed_plan_with_metrics};
use peerage_engine::ScanMetrics;
use peerage_proto::v1::ScanStatistics;
use serde::Serialize;
use tracing::debug;

use super::attempt::Attempt;

/// Counts of one query, for headers and logs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct QueryStatistics {
    /// Partitions of the tables named.
    pub partitions_total: u64,
    /// Of them, not handed out because the catalog knows their time range.
    pub partitions_pruned_by_time: u64,
    /// Of those handed out, not read because manifest or index know better.
    pub partitions_pruned_by_index: u64,
    /// Read.
    pub partitions_read: u64,
    /// Blocks of 4,096 rows that were not read.
    pub blocks_pruned: u64,
    /// Blocks that were read.
    pub blocks_read: u64,
    /// Manifests and indexes found in the peers' caches.
    pub cache_hits: u64,
    /// Manifests and indexes that had to be fetched.
    pub cache_misses: u64,
    /// Requests to object stores.
    pub store_requests: u64,
    /// Bytes that these brought.
    pub store_bytes: u64,
    /// Rows that left the scans, after filters.
    pub rows_read: u64,
    /// Rows of the answer.
    pub result_rows: u64,
    /// Peers that the query could use.
    pub peers: u64,
    /// Of them, those that said which cache they hold: placement follows it.
    pub peers_described: u64,
    /// Attempts that it took.
    pub attempts: u64,
    /// False when not all peers sent their counts in time.
    pub is_complete: bool,
    /// From request to last row.
    #[serde(serialize_with = "as_seconds", rename = "elapsed_seconds")]
    pub elapsed: Duration,
}

fn as_seconds<S: serde::Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_secs_f64())
}

/// Returns the counts of an attempt that ended. Peers send theirs after the last row; those that do
/// not within `timeout` are left out.
pub(super) async fn collect(attempt: &Attempt, timeout: Duration) -> QueryStatistics {
    let plan = Arc::clone(&attempt.plan);
    let rewrite = rewrite_distributed_plan_with_metrics(plan, DistributedMetricsFormat::Aggregated);
    let (plan, is_complete) = match tokio::time::timeout(timeout, rewrite).await {
        Ok(Ok(plan)) => (plan, true),
        Ok(Err(error)) => {
            debug!(%error, "no metrics of the peers");
            (Arc::clone(&attempt.plan), false)
        }
        Err(_elapsed) => (Arc::clone(&attempt.plan), false),
    };
    let scan = sum_scans(plan.as_ref());
    let bound = attempt.counts.lock().expect("no holder of this lock panics");
    QueryStatistics {
        partitions_total: bound.partitions_total,
        partitions_pruned_by_time: bound.partitions_pruned_by_time,
        partitions_pruned_by_index: scan.partitions_pruned,
        partitions_read: scan.partitions_read,
        blocks_pruned: scan.blocks_pruned,
        blocks_read: scan.blocks_read,
        cache_hits: scan.cache_hits,
        cache_misses: scan.cache_misses,
        store_requests: scan.store_requests,
        store_bytes: scan.store_bytes,
        rows_read: scan.rows,
        result_rows: 0,
        peers: u64::try_from(attempt.peer_count).unwrap_or(u64::MAX),
        peers_described: u64::try_from(attempt.described_count).unwrap_or(u64::MAX),
        attempts: u64::from(attempt.number),
        is_complete,
        elapsed: Duration::ZERO,
    }
}

/// Sums the counters of all scans of a plan, in the head and on peers.
fn sum_scans(plan: &dyn ExecutionPlan) -> ScanStatistics {
    let own = plan.metrics().map(|set| ScanMetrics::statistics(&set)).unwrap_or_default();
    plan.children().into_iter().fold(own, |mut total, child| {
        ScanMetrics::accumulate(&mut total, &sum_scans(child.as_ref()));
        total
    })
}
