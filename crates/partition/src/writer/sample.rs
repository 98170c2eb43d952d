//! Which columns get a Parquet dictionary, decided once from the first rows.
//!
//! Parquet's own writer starts every column with a dictionary and drops it when it grows too large,
//! in the middle of a page: then pages and blocks would no longer coincide. So the choice is made
//! before the first page, and kept. Invariant: the choice changes sizes, never answers. Left out:
//! nested columns, for which Parquet's own rule stays.

use std::collections::HashSet;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use arrow::row::{RowConverter, SortField};
use xxhash_rust::xxh3::xxh3_64;

use super::properties::is_flat;
use crate::error::WriteError;

/// The rows that are held back for the choice: eight blocks, a quarter of a default row group.
pub(super) const SAMPLE_ROWS: usize = 32_768;

/// A dictionary pays where values recur four times on average.
const ROWS_PER_DISTINCT_MIN: usize = 4;

/// Returns for each column whether a dictionary pays.
pub(super) fn dictionaries_pay(
    schema: &Schema,
    pieces: &[RecordBatch],
) -> Result<Vec<bool>, WriteError> {
    let columns = schema.fields().iter().enumerate();
    columns
        .map(|(at, field)| {
            let arrays = pieces.iter().filter_map(|piece| piece.columns().get(at));
            if is_flat(field.data_type()) {
                dictionary_pays(field.data_type(), arrays)
            } else {
                Ok(true)
            }
        })
        .collect()
}

fn dictionary_pays<'a>(
    data_type: &DataType,
    arrays: impl Iterator<Item = &'a ArrayRef>,
) -> Result<bool, WriteError> {
    let field = SortField::new(data_type.clone());
    let converter = RowConverter::new(vec![field]).map_err(WriteError::Batch)?;
    let mut distinct = HashSet::new();
    let mut values = 0;
    for array in arrays {
        let column = ArrayRef::clone(array);
        let rows = converter.convert_columns(&[column]).map_err(WriteError::Batch)?;
        distinct.extend(rows.iter().map(|row| xxh3_64(row.as_ref())));
        values += array.len() - array.null_count();
    }
    Ok(distinct.len() * ROWS_PER_DISTINCT_MIN <= values)
}
