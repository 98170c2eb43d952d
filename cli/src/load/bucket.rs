//! Collecting rows until they make a partition.
//!
//! Rows of the same span of time come together, so that a time range touches few partitions; without
//! a span there is one bucket, filled in the order of arrival.
//!
//! Invariants: a partition never has more than the rows asked for; the rows and bytes held in all
//! buckets stay below the limits, because the fullest bucket is emptied first.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, take_record_batch};
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use arrow::error::ArrowError;

use crate::load::timestamp::units_per_second;

/// Bytes of rows that wait in all buckets: what a small machine can spare beside encoding.
pub(crate) const BUFFERED_BYTES_MAX: usize = 512 << 20;

/// Bytes of one partition in memory: below the 2 GiB that offsets of a string column can address,
/// also after its rows are put together.
pub(crate) const PARTITION_BYTES_MAX: usize = 256 << 20;

/// What a buffered piece costs beside its values; many tiny pieces must count too.
const PIECE_OVERHEAD_BYTES: usize = 1 << 10;

/// The rows of one span of time.
#[derive(Debug, Default)]
struct Bucket {
    pieces: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Bucket {
    /// Returns all rows and leaves the bucket empty.
    fn empty(&mut self) -> Vec<RecordBatch> {
        self.rows = 0;
        self.bytes = 0;
        std::mem::take(&mut self.pieces)
    }
}

/// Rows that wait until their partition is full.
#[derive(Debug)]
pub(crate) struct Buckets {
    partition_rows: usize,
    bytes_max: usize,
    bytes: usize,
    buckets: BTreeMap<i64, Bucket>,
}

impl Buckets {
    /// Returns empty buckets for partitions of up to `partition_rows` rows.
    pub(crate) fn new(partition_rows: usize, bytes_max: usize) -> Self {
        Self {
            partition_rows: partition_rows.max(1),
            bytes_max,
            bytes: 0,
            buckets: BTreeMap::new(),
        }
    }

    /// Adds rows of one span. Returns the partitions that are full now.
    pub(crate) fn push(&mut self, span: i64, batch: &RecordBatch) -> Vec<Vec<RecordBatch>> {
        let mut full = Vec::new();
        let mut at = 0;
        while at < batch.num_rows() {
            let bucket = self.buckets.entry(span).or_default();
            let room = self.partition_rows.saturating_sub(bucket.rows).max(1);
            let piece = batch.slice(at, room.min(batch.num_rows() - at));
            let bytes = piece_bytes(&piece);
            at += piece.num_rows();
            bucket.rows += piece.num_rows();
            bucket.bytes += bytes;
            bucket.pieces.push(piece);
            self.bytes += bytes;
            if bucket.rows >= self.partition_rows || bucket.bytes >= PARTITION_BYTES_MAX {
                full.extend(self.flush(span));
            }
        }
        while self.bytes > self.bytes_max {
            let fullest = self.buckets.iter().max_by_key(|(_, bucket)| bucket.bytes);
            let Some(fullest) = fullest.map(|(span, _)| *span) else { break };
            full.extend(self.flush(fullest));
        }
        full
    }

    /// Empties the first bucket in the order of time; none when all are empty.
    pub(crate) fn pop(&mut self) -> Option<Vec<RecordBatch>> {
        let span = *self.buckets.keys().next()?;
        self.flush(span)
    }

    /// Empties one bucket.
    fn flush(&mut self, span: i64) -> Option<Vec<RecordBatch>> {
        let mut bucket = self.buckets.remove(&span)?;
        self.bytes = self.bytes.saturating_sub(bucket.bytes);
        Some(bucket.empty())
    }
}

/// Returns what a piece takes in memory: its own part of shared buffers.
fn piece_bytes(piece: &RecordBatch) -> usize {
    let of_column = |column: &ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    piece.columns().iter().map(of_column).sum::<usize>() + PIECE_OVERHEAD_BYTES
}

/// Returns the values of a timestamp or date column in epoch milliseconds, towards the past.
pub(crate) fn epoch_ms(primary: &ArrayRef) -> Result<Vec<i64>, ArrowError> {
    let (numbers, per_second) = match primary.data_type() {
        DataType::Timestamp(unit, _) => (cast(primary, &DataType::Int64)?, units_per_second(*unit)),
        DataType::Date32 => {
            let millis = cast(primary, &DataType::Date64)?;
            (cast(&millis, &DataType::Int64)?, units_per_second(TimeUnit::Millisecond))
        }
        _ => (cast(primary, &DataType::Int64)?, units_per_second(TimeUnit::Millisecond)),
    };
    let to_ms = |value: &i64| {
        if per_second >= 1_000 {
            value.div_euclid(per_second / 1_000)
        } else {
            value.saturating_mul(1_000)
        }
    };
    Ok(numbers.as_primitive::<Int64Type>().values().iter().map(to_ms).collect())
}

/// Cuts a batch into the rows of each span of time; `span_ms` is the length of a span.
pub(crate) fn split_by_span(
    batch: RecordBatch,
    primary: usize,
    span_ms: i64,
) -> Result<Vec<(i64, RecordBatch)>, ArrowError> {
    let times = epoch_ms(batch.column(primary))?;
    let span_ms = span_ms.max(1);
    let first = times.first().map(|time| time.div_euclid(span_ms));
    let Some(first) = first else { return Ok(Vec::new()) };
    if times.iter().all(|time| time.div_euclid(span_ms) == first) {
        return Ok(vec![(first, batch)]);
    }
    let mut rows: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    for (row, time) in (0_u32..).zip(&times) {
        rows.entry(time.div_euclid(span_ms)).or_default().push(row);
    }
    rows.into_iter()
        .map(|(span, rows)| Ok((span, take_record_batch(&batch, &UInt32Array::from(rows))?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Date32Array, Int64Array, TimestampSecondArray};

    use super::*;

    fn batch(times: Vec<i64>) -> RecordBatch {
        let times: ArrayRef = Arc::new(TimestampSecondArray::from(times));
        RecordBatch::try_from_iter([("ts", times)]).expect("batch")
    }

    fn rows(partition: &[RecordBatch]) -> usize {
        partition.iter().map(RecordBatch::num_rows).sum()
    }

    #[test]
    fn partitions_have_exactly_the_rows_asked_for() {
        let mut buckets = Buckets::new(10, usize::MAX);
        let sizes: Vec<usize> = [7, 26, 1]
            .into_iter()
            .flat_map(|size| buckets.push(0, &batch((0..size).collect())))
            .map(|partition| rows(&partition))
            .collect();
        assert_eq!(sizes, [10, 10, 10]);
        assert_eq!(buckets.pop().map(|partition| rows(&partition)), Some(4));
        assert!(buckets.pop().is_none());
    }

    #[test]
    fn the_fullest_bucket_goes_first_when_memory_is_short() {
        let one = piece_bytes(&batch((0..100).collect()));
        let mut buckets = Buckets::new(1_000_000, 3 * one);
        assert!(buckets.push(1, &batch((0..100).collect())).is_empty());
        assert!(buckets.push(2, &batch((0..100).collect())).is_empty());
        assert!(buckets.push(2, &batch((0..90).collect())).is_empty());
        let full = buckets.push(3, &batch((0..50).collect()));
        assert_eq!(full.iter().map(|partition| rows(partition)).collect::<Vec<_>>(), [190]);
        assert!(buckets.bytes <= 3 * one);
        assert_eq!(buckets.pop().map(|partition| rows(&partition)), Some(100));
    }

    #[test]
    fn a_slice_counts_only_its_own_rows() {
        let whole = batch((0..100_000).collect());
        assert!(piece_bytes(&whole.slice(0, 10)) < piece_bytes(&whole) / 100);
    }

    #[test]
    fn spans_begin_at_the_epoch_on_both_sides() {
        let split = split_by_span(batch(vec![-1, 0, 59, 60, -60, 61]), 0, 60_000).expect("split");
        let show = |(span, batch): &(i64, RecordBatch)| {
            let times = epoch_ms(batch.column(0)).expect("times");
            (*span, times.iter().map(|time| time / 1_000).collect::<Vec<_>>())
        };
        assert_eq!(
            split.iter().map(show).collect::<Vec<_>>(),
            [(-1, vec![-1, -60]), (0, vec![0, 59]), (1, vec![60, 61])]
        );
    }

    #[test]
    fn dates_are_times_too() {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![-1, 2]));
        assert_eq!(epoch_ms(&dates).expect("times"), [-86_400_000, 172_800_000]);
        let ms = cast(&(Arc::new(Int64Array::from(vec![-1])) as ArrayRef), &DataType::Date64);
        assert_eq!(epoch_ms(&ms.expect("cast")).expect("times"), [-1]);
    }
}
