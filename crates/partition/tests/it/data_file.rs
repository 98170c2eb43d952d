//! The data file is plain Parquet, and its pages coincide with blocks.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, TimeUnit};
use peerage_partition::{
    BLOCK_ROWS, ColumnId, PartitionColumn, PartitionSchema, PartitionWriter, WriteError,
    WriterOptions, decode_parquet_metadata,
};

use crate::all_types;
use crate::support::{Written, cut, read_parquet, write};

fn small_groups() -> WriterOptions {
    WriterOptions { row_group_rows: 3 * BLOCK_ROWS, ..WriterOptions::default() }
}

/// Checks that every page of every column starts at a block, nested columns included, and that the
/// metadata from the index is that of the file.
fn check_pages(written: &Written, rows: i64) {
    let index = written.index();
    let tail = index.parquet_tail().unwrap();
    let start = usize::try_from(tail.offset).unwrap();
    assert_eq!(tail.bytes, &written.data[start..]);
    let metadata = decode_parquet_metadata(&tail).unwrap();
    assert_eq!(metadata.file_metadata().num_rows(), rows);
    assert_eq!(metadata.column_index().is_some(), rows > 0);
    let block_rows = i64::from(BLOCK_ROWS);
    let pages = metadata.offset_index().into_iter().flatten();
    for (group, columns) in metadata.row_groups().iter().zip(pages) {
        for (chunk, pages) in group.columns().iter().zip(columns) {
            let starts: Vec<i64> =
                pages.page_locations().iter().map(|page| page.first_row_index).collect();
            let blocks = (group.num_rows() + block_rows - 1) / block_rows;
            let expected: Vec<i64> = (0..blocks).map(|block| block * block_rows).collect();
            assert_eq!(starts, expected, "{}", chunk.column_path());
        }
    }
}

#[test]
fn every_type_reads_back_and_its_pages_are_blocks() {
    let rows = 30_000;
    let schema = all_types::schema(true);
    let batch = all_types::batch(0, rows);
    let written = write(&schema, small_groups(), cut(&batch, &[1, 777, 4096, 9000]));
    check_pages(&written, rows);
    assert_eq!(read_parquet(&schema, &written.data), batch);
}

#[test]
fn the_length_of_batches_changes_nothing() {
    let schema = all_types::schema(true);
    let batch = all_types::batch(0, 9_000);
    let whole = write(&schema, small_groups(), [batch.clone()]);
    let pieces = write(&schema, small_groups(), cut(&batch, &[5, 1000, 2]));
    assert_eq!(whole.finished.index_ref.checksum, pieces.finished.index_ref.checksum);
    assert_eq!(whole.finished.manifest_ref, pieces.finished.manifest_ref);
    assert_eq!(whole.data, pieces.data);
}

fn log_schema() -> PartitionSchema {
    let ts = DataType::Timestamp(TimeUnit::Millisecond, None);
    let columns = [("ts", ts), ("text", DataType::Utf8), ("number", DataType::Int64)];
    let column = |(id, (name, data_type))| PartitionColumn {
        id: ColumnId(id),
        field: Field::new(name, data_type, true),
    };
    PartitionSchema::try_new((1..).zip(columns).map(column).collect(), Some(ColumnId(1))).unwrap()
}

fn log_batch(ts: Vec<Option<i64>>, text: impl Fn(usize) -> String) -> RecordBatch {
    let rows = ts.len();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMillisecondArray::from(ts)),
        Arc::new(StringArray::from_iter_values((0..rows).map(text))),
        Arc::new(Int64Array::from_iter_values((0..).take(rows))),
    ];
    RecordBatch::try_new(log_schema().arrow_schema(), columns).unwrap()
}

/// A column whose first rows recur, and whose later rows are long and never do: Parquet's own rule
/// would drop the dictionary in the middle of a block.
#[test]
fn a_column_that_changes_its_nature_keeps_its_pages() {
    let rows = 60_000;
    let text = |row: usize| match row {
        0..33_000 => format!("host-{}", row % 10),
        _ => format!("{row:0>200}"),
    };
    let batch = log_batch((0..rows).map(Some).collect(), text);
    let written = write(&log_schema(), WriterOptions::default(), cut(&batch, &[8192]));
    check_pages(&written, rows);
    assert_eq!(read_parquet(&log_schema(), &written.data), batch);
}

/// Long values that never recur: no limit in bytes may cut a page.
#[test]
fn long_values_keep_their_pages() {
    let rows = 9_000;
    let batch = log_batch((0..rows).map(Some).collect(), |row| format!("{row:0>2000}"));
    check_pages(&write(&log_schema(), WriterOptions::default(), [batch]), rows);
}

#[test]
fn no_rows_are_a_partition_too() {
    let written = write(&log_schema(), WriterOptions::default(), []);
    check_pages(&written, 0);
    let (finished, index) = (&written.finished, written.index());
    assert_eq!((finished.rows, finished.min_ms, finished.max_ms), (0, 0, 0));
    assert_eq!((index.row_count(), index.block_count()), (0, 0));
}

fn check_refused(batches: &[Vec<Option<i64>>], expected: &str) {
    let mut writer =
        PartitionWriter::try_new(log_schema(), WriterOptions::default(), Vec::new()).unwrap();
    let mut write = |ts: &Vec<Option<i64>>| writer.write(&log_batch(ts.clone(), |_| String::new()));
    let (last, before) = batches.split_last().unwrap();
    before.iter().for_each(|batch| write(batch).unwrap());
    assert_eq!(write(last).unwrap_err().to_string(), expected);
}

#[test]
fn the_primary_is_sorted_and_never_null() {
    let ascending: Vec<Option<i64>> = (0..5_000).map(Some).collect();
    check_refused(&[vec![Some(1), Some(0)]], "row 1 is not sorted by the primary column");
    check_refused(
        &[ascending.clone(), vec![Some(4_999), Some(4_998)]],
        "row 5001 is not sorted by the primary column",
    );
    check_refused(
        &[ascending.clone(), vec![Some(7)]],
        "row 5000 is not sorted by the primary column",
    );
    check_refused(
        &[ascending, vec![Some(9_000), None]],
        "row 5001 has no value of the primary column",
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let options = |row_group_rows, zstd_level| WriterOptions {
        row_group_rows,
        zstd_level,
        ..WriterOptions::default()
    };
    for (options, expected) in [
        (options(4095, 3), "row_group_rows is 4095, which is not a positive multiple of 4096"),
        (options(0, 3), "row_group_rows is 0, which is not a positive multiple of 4096"),
        (options(4096, 99), "zstd_level is 99, which is not a level from 1 to 22"),
    ] {
        let error = PartitionWriter::try_new(log_schema(), options, Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let mut writer =
        PartitionWriter::try_new(log_schema(), WriterOptions::default(), Vec::new()).unwrap();
    let wrong = all_types::batch(0, 1);
    assert!(matches!(writer.write(&wrong), Err(WriteError::Batch(_))));
}

#[test]
fn the_range_is_rounded_outwards_to_milliseconds() {
    let written = write(&all_types::schema(true), small_groups(), [all_types::batch(1, 2)]);
    let (min, max) = (written.finished.min_ms, written.finished.max_ms);
    assert_eq!((min, max), (1_704_067_200_001, 1_704_067_200_003));
    let name = format!("{min}-{max}-01J00000000000000000000001");
    assert_eq!(written.manifest().name().directory(), format!("2024/01/01/{name}"));
}
