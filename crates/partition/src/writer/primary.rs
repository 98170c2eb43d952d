//! The primary column while it is written: sorted, never NULL, and its range in milliseconds.
//!
//! Invariant: a batch is checked before anything of it is written, and a row in an error is counted
//! from the partition's first. Left out: sorting.

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, TimeUnit};

use super::profile::ProfiledColumn;
use super::visit::each_int;
use crate::checksum::widen;
use crate::column::PartitionSchema;
use crate::error::WriteError;
use crate::value::Value;

const MS_PER_DAY: i64 = 86_400_000;

/// Checks the primary across batches.
#[derive(Debug)]
pub(super) struct PrimaryGuard {
    column: usize,
    last: Option<i64>,
}

impl PrimaryGuard {
    pub(super) fn new(column: usize) -> Self {
        Self { column, last: None }
    }

    /// Checks a batch whose first row is `first_row` of the partition.
    pub(super) fn check(&mut self, batch: &RecordBatch, first_row: u64) -> Result<(), WriteError> {
        let array = batch.column(self.column);
        if let Some(row) = (0..array.len()).find(|&row| array.is_null(row)) {
            return Err(WriteError::NullPrimary { row: first_row + widen(row) });
        }
        let mut last = self.last;
        let mut row = first_row;
        let mut unsorted = None;
        each_int(array.as_ref(), |value| {
            if last.is_some_and(|last| value < last) {
                unsorted.get_or_insert(row);
            }
            last = Some(value);
            row += 1;
        });
        if let Some(row) = unsorted {
            return Err(WriteError::NotSorted { row });
        }
        self.last = last;
        Ok(())
    }
}

/// Returns the range of the primary in epoch milliseconds, rounded outwards; `None` without a
/// primary or without rows.
pub(super) fn range_ms(
    schema: &PartitionSchema,
    profiled: &[ProfiledColumn],
) -> Option<(i64, i64)> {
    let at = schema.primary_index()?;
    let data_type = schema.columns().get(at)?.field.data_type();
    let stats = profiled.get(at)?.facts.stats.as_ref()?;
    match (&stats.min, &stats.max) {
        (Some(Value::Int(min)), Some(Value::Int(max))) => {
            Some((floor_ms(data_type, *min), ceil_ms(data_type, *max)))
        }
        _ => None,
    }
}

/// Returns a primary in milliseconds, rounded down. Seconds beyond the range of milliseconds
/// saturate: they are further away than any time that a query can name.
fn floor_ms(data_type: &DataType, value: i64) -> i64 {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => value.saturating_mul(1000),
        DataType::Timestamp(TimeUnit::Microsecond, _) => value.div_euclid(1000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => value.div_euclid(1_000_000),
        DataType::Date32 => value.saturating_mul(MS_PER_DAY),
        _ => value,
    }
}

/// Returns a primary in milliseconds, rounded up.
fn ceil_ms(data_type: &DataType, value: i64) -> i64 {
    let per_ms = match data_type {
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000,
        _ => 1,
    };
    floor_ms(data_type, value) + i64::from(value.rem_euclid(per_ms) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: TimeUnit, value: i64, expected: (i64, i64)) {
        let data_type = DataType::Timestamp(unit, None);
        assert_eq!((floor_ms(&data_type, value), ceil_ms(&data_type, value)), expected);
    }

    #[test]
    fn milliseconds_are_rounded_outwards() {
        check(TimeUnit::Second, -3, (-3000, -3000));
        check(TimeUnit::Second, i64::MAX, (i64::MAX, i64::MAX));
        check(TimeUnit::Millisecond, 5, (5, 5));
        check(TimeUnit::Microsecond, 1500, (1, 2));
        check(TimeUnit::Microsecond, -1500, (-2, -1));
        check(TimeUnit::Microsecond, 2000, (2, 2));
        check(TimeUnit::Nanosecond, -1, (-1, 0));
        check(TimeUnit::Nanosecond, i64::MIN, (-9_223_372_036_855, -9_223_372_036_854));
        assert_eq!(floor_ms(&DataType::Date32, -1), -MS_PER_DAY);
        assert_eq!(ceil_ms(&DataType::Date32, 2), 2 * MS_PER_DAY);
    }
}
