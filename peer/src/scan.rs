//! Reading partitions: the peer's side of the leaf.
//!
//! Per partition: manifest and index through the cache (side by side), then, without any I/O, which
//! blocks can match, then byte ranges of the data file, then decoding with the filter applied to
//! every row. The Parquet footer comes out of the index and is never read from the store.
//! Fetching runs ahead of decoding by a bounded number of partitions.

mod adapt;
mod decode;
mod open;
mod plan;

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use peerage_engine::{Assignment, FilterConverter, GroupScan, PartitionScanner, ScanFailure};
use peerage_partition::{DecodeError, PartitionName, Predicate};
use thiserror::Error;

pub use open::{OpenPartition, PartitionOpener};

use crate::metrics;
use crate::scan::adapt::{FilterPlan, projected_schema};
use crate::scan::decode::PreparedRead;
use crate::store::{PartitionStore, StoreError};

/// Partitions of one group that are opened and fetched ahead of the one being decoded. Each holds its
/// first ranges in memory; two cover the time that a partition takes to decode.
const PARTITIONS_AHEAD: usize = 3;

/// A partition that could not be answered.
#[derive(Debug, Error)]
pub enum ScanError {
    /// The bytes are not what the format says, though their checksum was right.
    #[error("corrupt {what} of partition {partition}")]
    Corrupt {
        /// The partition.
        partition: PartitionName,
        /// `manifest`, `index` or `footer`.
        what: &'static str,
        /// What is wrong.
        #[source]
        source: DecodeError,
    },
    /// The files of the partition do not belong together.
    #[error("partition {partition}: {what}")]
    Mismatch {
        /// The partition.
        partition: PartitionName,
        /// What does not fit.
        what: String,
    },
    /// The data file cannot be decoded.
    #[error("cannot decode data of partition {partition}")]
    Decode {
        /// The partition.
        partition: PartitionName,
        /// What the decoder said.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// The object store gave no usable bytes.
    #[error("cannot read partition {partition}")]
    Store {
        /// The partition.
        partition: PartitionName,
        /// Why.
        #[source]
        source: StoreError,
    },
}

impl ScanError {
    /// Returns the error as the engine carries it, with its kind and all its causes.
    #[must_use]
    pub fn into_engine(self) -> DataFusionError {
        let kind = match self {
            Self::Store { .. } => ScanFailure::Store,
            Self::Corrupt { .. } | Self::Mismatch { .. } | Self::Decode { .. } => ScanFailure::Data,
        };
        kind.wrap(&self)
    }
}

/// Reads partitions through the cache and from the object stores.
#[derive(Debug, Clone)]
pub struct PeerScanner {
    opener: PartitionOpener,
    store: PartitionStore,
}

impl PeerScanner {
    /// Returns a scanner over a cache and the stores behind it.
    #[must_use]
    pub const fn new(opener: PartitionOpener, store: PartitionStore) -> Self {
        Self { opener, store }
    }

    /// Returns what opens partitions.
    #[must_use]
    pub const fn opener(&self) -> &PartitionOpener {
        &self.opener
    }

    /// Opens one partition, decides what to read and fetches the first ranges of it. `None` means
    /// that no row can match.
    async fn prepare(
        &self,
        scan: &GroupScan,
        filter: Option<&FilterPlan>,
        assignment: &Assignment,
    ) -> Result<Option<PreparedRead>, ScanError> {
        scan.metrics.partitions_planned.add(1);
        let open = self.opener.open(assignment, &scan.metrics).await?;
        let predicate = current_predicate(scan);
        let rows_max = if filter.is_none() { scan.limit } else { None };
        let rows_max = rows_max.and_then(|rows| u64::try_from(rows).ok());
        let Some(read) = plan::plan(&open, &predicate, rows_max)? else {
            scan.metrics.partitions_pruned.add(1);
            scan.metrics.blocks_pruned.add(open.block_count());
            metrics::count_partition(false);
            return Ok(None);
        };
        scan.metrics.partitions_read.add(1);
        scan.metrics.blocks_read.add(read.blocks_read);
        scan.metrics.blocks_pruned.add(open.block_count().saturating_sub(read.blocks_read));
        metrics::count_partition(true);
        let mut prepared =
            PreparedRead::new(self.store.clone(), open, assignment, scan, filter, read)?;
        prepared.fetch_first().await?;
        Ok(Some(prepared))
    }
}

/// Returns what the filters say now; dynamic ones may say more than when the scan began.
fn current_predicate(scan: &GroupScan) -> Predicate {
    let table = &scan.table;
    let exact = FilterConverter::new(table.schema(), table.column_ids()).convert_all(&scan.filters);
    let Ok((schema, ids)) = projected_schema(scan) else { return exact };
    let dynamic = FilterConverter::new(&schema, &ids).convert_all(&scan.dynamic_filters);
    Predicate::and(exact, dynamic)
}

impl PartitionScanner for PeerScanner {
    fn scan(&self, scan: GroupScan) -> Result<SendableRecordBatchStream> {
        let schema = Arc::new(scan.table.schema().project(&scan.projection)?);
        let filter = FilterPlan::try_new(&scan)?.map(Arc::new);
        let limit = scan.limit;
        let assignments = scan.assignments.clone();
        let (scanner, scan) = (self.clone(), Arc::new(scan));
        let rows_counter = scan.metrics.rows.clone();
        let prepare = move |assignment: Assignment| {
            let (scanner, scan, filter) = (scanner.clone(), Arc::clone(&scan), filter.clone());
            // A task of its own, so that fetching goes on while the consumer decodes; it is aborted
            // when the stream is dropped.
            SpawnedTask::spawn(async move {
                scanner.prepare(&scan, filter.as_deref(), &assignment).await
            })
        };
        let batches = futures::stream::iter(assignments)
            .map(prepare)
            .buffered(PARTITIONS_AHEAD)
            .map(|joined| match joined {
                Ok(prepared) => prepared.map_err(ScanError::into_engine),
                Err(error) => Err(DataFusionError::ExecutionJoin(Box::new(error))),
            })
            .map_ok(|prepared| match prepared {
                Some(prepared) => prepared.into_stream(),
                None => futures::stream::empty().boxed(),
            })
            .try_flatten()
            .inspect_ok(move |batch: &RecordBatch| rows_counter.add(batch.num_rows()))
            .boxed();
        let batches = limited(batches, limit);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// Ends the stream, and with it all its work, after `limit` rows.
fn limited(
    batches: BoxStream<'static, Result<RecordBatch>>,
    limit: Option<usize>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let Some(limit) = limit else { return batches };
    futures::stream::try_unfold((batches, limit), |(mut batches, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(batch) = batches.try_next().await? else { return Ok(None) };
        let batch = batch.slice(0, batch.num_rows().min(left));
        let left = left - batch.num_rows();
        Ok(Some((batch, (batches, left))))
    })
    .boxed()
}
