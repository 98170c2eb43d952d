//! The seam between the plan and the reading of partitions.
//!
//! A plan's leaf asks the scanner that the process put into its session: a peer reads files, a head
//! asks a peer. So the leaf runs anywhere, and placement can be wrong without an answer being wrong.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use peerage_proto::v1::ScanStatistics;

use crate::assignment::Assignment;
use crate::table::ScanTable;

/// One output partition of a leaf, ready to be read.
#[derive(Debug, Clone)]
pub struct GroupScan {
    /// The columns that the scan knows.
    pub table: Arc<ScanTable>,
    /// Positions in the table's schema to put out, in order.
    pub projection: Vec<usize>,
    /// The partitions, in the order to read them.
    pub assignments: Vec<Assignment>,
    /// Checked on every row, joined by AND; over the table's schema.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// May skip work; over the projected schema; change while the scan runs.
    pub dynamic_filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows wanted at most.
    pub limit: Option<usize>,
    /// Rows per batch.
    pub batch_rows: usize,
    /// Where the scan counts what it does.
    pub metrics: ScanMetrics,
}

/// Reads partitions.
pub trait PartitionScanner: std::fmt::Debug + Send + Sync {
    /// Returns the rows of one group; dropping the stream ends all its work.
    fn scan(&self, scan: GroupScan) -> Result<SendableRecordBatchStream>;
}

/// The scanner as a session carries it.
#[derive(Debug, Clone)]
pub struct ScannerHandle(pub Arc<dyn PartitionScanner>);

macro_rules! scan_metrics {
    ($($field:ident),+ $(,)?) => {
        /// Counters of one leaf, as DataFusion metrics, so that they travel to the head.
        #[derive(Debug, Clone)]
        pub struct ScanMetrics {
            $(
                #[doc = concat!("See `", stringify!($field), "` of `ScanStatistics`.")]
                pub $field: Count,
            )+
        }

        impl ScanMetrics {
            /// Registers the counters of one output partition.
            #[must_use]
            pub fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
                Self { $($field: MetricBuilder::new(set).counter(stringify!($field), partition),)+ }
            }

            /// Adds what another process counted.
            pub fn add(&self, statistics: &ScanStatistics) {
                $(self.$field.add(usize::try_from(statistics.$field).unwrap_or(usize::MAX));)+
            }

            /// Returns the counters summed over all partitions of a leaf.
            #[must_use]
            pub fn statistics(set: &MetricsSet) -> ScanStatistics {
                let sum = |name: &str| set.sum_by_name(name).map_or(0, |value| value.as_usize());
                ScanStatistics {
                    $($field: u64::try_from(sum(stringify!($field))).unwrap_or(u64::MAX),)+
                }
            }

            /// Adds `other` to `total`.
            pub const fn accumulate(total: &mut ScanStatistics, other: &ScanStatistics) {
                $(total.$field = total.$field.saturating_add(other.$field);)+
            }
        }
    };
}

scan_metrics!(
    partitions_planned,
    partitions_pruned,
    partitions_read,
    blocks_pruned,
    blocks_read,
    cache_hits,
    cache_misses,
    store_requests,
    store_bytes,
    rows,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_survive_the_way_through_metrics() {
        let set = ExecutionPlanMetricsSet::new();
        let wanted =
            ScanStatistics { partitions_read: 3, store_bytes: 1 << 40, ..Default::default() };
        ScanMetrics::new(&set, 0).add(&wanted);
        ScanMetrics::new(&set, 1).add(&wanted);
        let mut doubled = wanted;
        ScanMetrics::accumulate(&mut doubled, &wanted);
        assert_eq!(ScanMetrics::statistics(&set.clone_inner()), doubled);
    }
}
