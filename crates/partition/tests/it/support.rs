//! What the tests share: writing a partition into memory, and reading it back.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use peerage_partition::{
    FileRef, FinishedPartition, Index, Manifest, PartitionSchema, PartitionWriter, WriterOptions,
};
use ulid::Ulid;

/// A partition in memory.
pub(crate) struct Written {
    pub(crate) data: Vec<u8>,
    pub(crate) finished: FinishedPartition,
}

impl Written {
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest::decode(&self.finished.manifest).unwrap()
    }

    pub(crate) fn index(&self) -> Index<&[u8]> {
        Index::open(self.finished.index.as_slice()).unwrap()
    }
}

/// Writes the batches as one partition.
pub(crate) fn write(
    schema: &PartitionSchema,
    options: WriterOptions,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Written {
    let mut writer = PartitionWriter::try_new(schema.clone(), options, Vec::new())
        .unwrap()
        .with_id(Ulid(0x0190_0000_0000_0000_0000_0000_0000_0001));
    for batch in batches {
        writer.write(&batch).unwrap();
    }
    let (data, finished) = writer.finish().unwrap();
    assert_eq!(finished.data_ref, FileRef::of(&data));
    assert_eq!(finished.index_ref, FileRef::of(&finished.index));
    assert_eq!(finished.manifest_ref, FileRef::of(&finished.manifest));
    Written { data, finished }
}

/// Reads a data file with Parquet's own reader.
pub(crate) fn read_parquet(schema: &PartitionSchema, data: &[u8]) -> RecordBatch {
    let file = Bytes::copy_from_slice(data);
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    concat_batches(&schema.arrow_schema(), &batches).unwrap()
}

/// Cuts a batch into pieces of these lengths, over and over.
pub(crate) fn cut(batch: &RecordBatch, lengths: &[usize]) -> Vec<RecordBatch> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for length in lengths.iter().cycle() {
        let length = (*length).min(batch.num_rows() - start);
        pieces.push(batch.slice(start, length));
        start += length;
        if start == batch.num_rows() {
            break;
        }
    }
    pieces
}
