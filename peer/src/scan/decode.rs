//! Fetching and decoding one partition's data, driven by the decoder's own needs.
//!
//! The decoder is pure: it says which byte ranges it misses, or gives a batch. Filter columns come
//! first, and of the other columns only the pages of rows that passed (late materialization). When
//! all that could be needed is small, everything is fetched at once: one round trip instead of two.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::error::ArrowError;
use bytes::Bytes;
use datafusion::common::Result;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::errors::ParquetError;
use peerage_engine::{Assignment, GroupScan, ScanMetrics};
use peerage_partition::DATA_FILE;

use super::ScanError;
use super::adapt::{Adapter, FilterPlan, projected_schema};
use super::open::OpenPartition;
use super::plan::RowPlan;
use crate::store::{ObjectName, PartitionStore, coalesce};

/// When all ranges that a partition could need are smaller than this, they are fetched in one round
/// trip: at 15 ms a request and 100 MiB/s, 1 MiB costs less than the second trip.
const SMALL_READ_BYTES: u64 = 1 << 20;

/// What stays in memory until the partition is done: a small read and its closed gaps.
const HELD_BYTES_MAX: usize = 2 << 20;

/// The data file of one partition.
struct DataFile {
    store: PartitionStore,
    assignment: Assignment,
    counts: ScanMetrics,
}

impl DataFile {
    /// Fetches ranges by as few requests as are worth it; each range lies inside one of the answers.
    async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<(Range<u64>, Bytes)>, ScanError> {
        let requests = coalesce(ranges);
        let object = ObjectName {
            storage: &self.assignment.storage,
            folder: &self.assignment.path,
            file: DATA_FILE,
        };
        let data =
            self.store.fetch_ranges(object, &requests, &self.counts).await.map_err(|source| {
                ScanError::Store { partition: self.assignment.name.clone(), source }
            })?;
        Ok(requests.into_iter().zip(data).collect())
    }
}

/// One partition on its way from bytes to batches.
pub(super) struct PreparedRead {
    file: DataFile,
    decoder: ParquetPushDecoder,
    adapter: Adapter,
    first: Vec<Range<u64>>,
    /// What was fetched before the decoder asked for it.
    held: Vec<(Range<u64>, Bytes)>,
}

impl PreparedRead {
    /// Returns the read of the rows in `plan`; fetches nothing yet.
    pub(super) fn new(
        store: PartitionStore,
        open: Arc<OpenPartition>,
        assignment: &Assignment,
        scan: &GroupScan,
        filter: Option<&FilterPlan>,
        plan: RowPlan,
    ) -> Result<Self, ScanError> {
        let mismatch = |error: datafusion::common::DataFusionError| ScanError::Mismatch {
            partition: assignment.name.clone(),
            what: error.to_string(),
        };
        let undecodable = |source| ScanError::Decode { partition: assignment.name.clone(), source };
        let (schema, column_ids) = projected_schema(scan).map_err(mismatch)?;
        let adapter = Adapter::new(open.manifest(), Arc::new(schema), &column_ids);
        let descriptor = open.metadata().parquet_schema();
        let mask = adapter.mask(descriptor);
        let rows_of =
            |group: usize| usize::try_from(open.parquet().row_group(group).num_rows()).unwrap_or(0);
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(open.metadata().clone())
            .with_batch_size(scan.batch_rows)
            .with_row_groups(plan.row_groups.clone())
            .with_projection(mask.clone());
        if let Some(selection) = plan.selection(rows_of) {
            builder = builder.with_row_selection(selection);
        }
        let mut first_mask = mask.clone();
        if let Some(filter) = filter {
            let predicate = row_predicate(&open, filter);
            first_mask =
                parquet::arrow::arrow_reader::ArrowPredicate::projection(&predicate).clone();
            builder = builder.with_row_filter(RowFilter::new(vec![Box::new(predicate)]));
        }
        let decoder = builder.build().map_err(undecodable)?;
        let first = first_ranges(&open, &plan, &mask, &first_mask);
        let file = DataFile { store, assignment: assignment.clone(), counts: scan.metrics.clone() };
        Ok(Self { file, decoder, adapter, first, held: Vec::new() })
    }

    /// Fetches what the decoder is going to ask for first.
    pub(super) async fn fetch_first(&mut self) -> Result<(), ScanError> {
        let first = std::mem::take(&mut self.first);
        self.held = self.file.fetch(&first).await?;
        Ok(())
    }

    /// Returns the rows that match, as the scan's schema wants them.
    pub(super) fn into_stream(self) -> BoxStream<'static, Result<RecordBatch>> {
        futures::stream::try_unfold(self, |mut read| async move {
            Ok(read.next().await?.map(|batch| (batch, read)))
        })
        .map_err(ScanError::into_engine)
        .boxed()
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>, ScanError> {
        loop {
            match self.decoder.try_decode().map_err(|source| self.undecodable(source))? {
                DecodeResult::NeedsData(ranges) => self.supply(ranges).await?,
                DecodeResult::Data(batch) if batch.num_rows() == 0 => {}
                DecodeResult::Data(batch) => {
                    let adapted = self.adapter.adapt(&batch);
                    return adapted.map(Some).map_err(|error| {
                        self.undecodable(ParquetError::External(Box::new(error)))
                    });
                }
                DecodeResult::Finished => return Ok(None),
            }
        }
    }

    /// Gives the decoder the ranges that it misses.
    async fn supply(&mut self, ranges: Vec<Range<u64>>) -> Result<(), ScanError> {
        let is_held = |range: &Range<u64>| slice(&self.held, range).is_some();
        let missing: Vec<_> = ranges.iter().filter(|range| !is_held(range)).cloned().collect();
        let fetched = self.file.fetch(&missing).await?;
        let data: Option<Vec<Bytes>> = ranges
            .iter()
            .map(|range| slice(&self.held, range).or_else(|| slice(&fetched, range)))
            .collect();
        let data = data.expect("every range was held or has just been fetched");
        // Little was fetched for the whole partition; much was only what the decoder asks for first.
        if self.held.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > HELD_BYTES_MAX {
            self.held.clear();
        }
        self.decoder.push_ranges(ranges, data).map_err(|source| self.undecodable(source))
    }

    fn undecodable(&self, source: ParquetError) -> ScanError {
        ScanError::Decode { partition: self.file.assignment.name.clone(), source }
    }
}

fn slice(buffers: &[(Range<u64>, Bytes)], wanted: &Range<u64>) -> Option<Bytes> {
    let (range, bytes) =
        buffers.iter().find(|(range, _)| range.start <= wanted.start && wanted.end <= range.end)?;
    let start = usize::try_from(wanted.start - range.start).ok()?;
    let end = usize::try_from(wanted.end - range.start).ok()?;
    Some(bytes.slice(start..end))
}

/// All filters as one predicate: one round trip for all their columns.
fn row_predicate(
    open: &OpenPartition,
    filter: &FilterPlan,
) -> ArrowPredicateFn<
    impl FnMut(RecordBatch) -> Result<arrow::array::BooleanArray, ArrowError> + use<>,
> {
    let adapter = Adapter::new(open.manifest(), Arc::clone(&filter.schema), &filter.column_ids);
    let mask = adapter.mask(open.metadata().parquet_schema());
    let expr = Arc::clone(&filter.expr);
    ArrowPredicateFn::new(mask, move |batch| {
        let batch = adapter.adapt(&batch)?;
        let verdicts = expr.evaluate(&batch)?.into_array(batch.num_rows())?;
        let verdicts = verdicts.as_boolean_opt().cloned();
        verdicts.ok_or_else(|| ArrowError::SchemaError("a filter is no condition".to_owned()))
    })
}

/// Returns what to fetch before the decoder runs: everything when that is little, else what the
/// first row group's filter (or projection) needs.
fn first_ranges(
    open: &OpenPartition,
    plan: &RowPlan,
    mask: &ProjectionMask,
    first_mask: &ProjectionMask,
) -> Vec<Range<u64>> {
    let mut all_mask = mask.clone();
    all_mask.union(first_mask);
    let groups = || plan.row_groups.iter().copied().zip(&plan.selections);
    let all: Vec<_> = groups()
        .flat_map(|(group, selection)| group_ranges(open, group, selection.as_ref(), &all_mask))
        .collect();
    let bytes: u64 = all.iter().map(|range| range.end.saturating_sub(range.start)).sum();
    if bytes <= SMALL_READ_BYTES {
        return all;
    }
    groups()
        .take(1)
        .flat_map(|(group, selection)| group_ranges(open, group, selection.as_ref(), first_mask))
        .collect()
}

/// Returns the byte ranges that hold the selected rows of the masked columns of one row group.
fn group_ranges(
    open: &OpenPartition,
    group: usize,
    selection: Option<&RowSelection>,
    mask: &ProjectionMask,
) -> Vec<Range<u64>> {
    let metadata = open.parquet();
    let pages = metadata.offset_index().and_then(|index| index.get(group));
    let mut ranges = Vec::new();
    for (leaf, chunk) in metadata.row_group(group).columns().iter().enumerate() {
        if !mask.leaf_included(leaf) {
            continue;
        }
        let (start, length) = chunk.byte_range();
        let pages = pages.and_then(|pages| pages.get(leaf)).map(|pages| pages.page_locations());
        match (selection, pages) {
            (Some(selection), Some(pages)) => {
                let first_page = pages.first().and_then(|page| u64::try_from(page.offset).ok());
                ranges.extend(first_page.filter(|&first| first > start).map(|first| start..first));
                ranges.extend(selection.scan_ranges(pages));
            }
            _ => ranges.push(start..start.saturating_add(length)),
        }
    }
    ranges
}
