//! Making the three files of one partition out of the rows of a bucket.
//!
//! Invariant: rows are sorted by the primary, then by the sort columns of the table; rows that are
//! equal in all of them keep their order. NULLs of sort columns come first.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{
    SortColumn, SortOptions, cast, concat_batches, lexsort_to_indices, take_record_batch,
};
use arrow::datatypes::{DataType, Int64Type};
use arrow::error::ArrowError;
use peerage_partition::{FinishedPartition, PartitionWriter, WriterOptions};

use crate::load::bucket::epoch_ms;
use crate::load::error::LoadError;
use crate::load::plan::LoadPlan;

/// A partition, ready to be uploaded.
#[derive(Debug)]
pub(crate) struct EncodedPartition {
    /// Name, sizes and checksums, the manifest and the index.
    pub(crate) finished: FinishedPartition,
    /// The data file.
    pub(crate) data: Vec<u8>,
}

/// Encodes the rows of one partition.
pub(crate) fn encode(
    plan: &LoadPlan,
    options: &WriterOptions,
    pieces: &[RecordBatch],
) -> Result<EncodedPartition, LoadError> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| LoadError::Encode {
        table: plan.draft.qualified_name(),
        source,
    };
    let rows = concat_batches(&plan.schema, pieces).map_err(|error| failed(error.into()))?;
    let rows = sorted(plan, rows).map_err(|error| failed(error.into()))?;
    let schema = plan.partition_schema.clone();
    let mut writer = PartitionWriter::try_new(schema, options.clone(), Vec::new())
        .map_err(|error| failed(error.into()))?;
    writer.write(&rows).map_err(|error| failed(error.into()))?;
    let (data, finished) = writer.finish().map_err(|error| failed(error.into()))?;
    Ok(EncodedPartition { finished, data })
}

/// Returns the rows in the order of the table.
fn sorted(plan: &LoadPlan, rows: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let primary = plan.primary.as_ref().map(|primary| primary.index);
    let keys: Vec<usize> = primary.into_iter().chain(plan.sort.iter().copied()).collect();
    if keys.is_empty() || rows.num_rows() < 2 {
        return Ok(rows);
    }
    // Logs mostly arrive in order: looking is much cheaper than sorting.
    if let (Some(primary), []) = (primary, plan.sort.as_slice())
        && is_in_order(rows.column(primary))?
    {
        return Ok(rows);
    }
    let order = SortOptions { descending: false, nulls_first: true };
    let column =
        |values: &ArrayRef| SortColumn { values: Arc::clone(values), options: Some(order) };
    let mut columns: Vec<SortColumn> = keys.iter().map(|key| column(rows.column(*key))).collect();
    // The row number last: it makes the sort stable, and the files the same for the same input.
    let count = u32::try_from(rows.num_rows()).map_err(|error| {
        ArrowError::ComputeError(format!("too many rows in one partition: {error}"))
    })?;
    let numbers: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..count));
    columns.push(column(&numbers));
    let indices = lexsort_to_indices(&columns, None)?;
    take_record_batch(&rows, &indices)
}

/// Returns whether the primary never decreases, to its full precision.
fn is_in_order(primary: &ArrayRef) -> Result<bool, ArrowError> {
    if matches!(primary.data_type(), DataType::Date32 | DataType::Date64) {
        return Ok(epoch_ms(primary)?.is_sorted());
    }
    let numbers = cast(primary, &DataType::Int64)?;
    Ok(numbers.as_primitive::<Int64Type>().values().is_sorted())
}
