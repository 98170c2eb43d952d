//! The streaming writer of a partition.
//!
//! Invariant: batches of any length become pages, of every flat column, that are cut at every
//! [`BLOCK_ROWS`] rows exactly, so that pages and blocks coincide. Memory is bounded by one row group
//! of the data file, the rows of the sample (see `writer/sample.rs`) and the index under
//! construction. Left out: sorting (rows come sorted by the primary or are refused) and I/O: the
//! data file goes to any [`Write`], manifest and index are returned.

use std::io::Write;

use arrow::array::RecordBatch;
use ulid::Ulid;

use crate::checksum::{FileRef, widen};
use crate::column::{PartitionColumn, PartitionSchema};
use crate::error::WriteError;
use crate::index::IndexBuilder;
use crate::layout::{BLOCK_ROWS, SectionKind};
use crate::manifest::Manifest;
use crate::name::PartitionName;
use crate::tail::ParquetTail;

mod data;
mod extent;
mod primary;
mod profile;
mod properties;
mod sample;
mod visit;

use data::{DataFile, DataWriter};
use primary::PrimaryGuard;
use profile::{ColumnProfile, ProfiledColumn};

/// The most rows of one partition: later sections address single rows with 32 bits.
pub const PARTITION_ROWS_MAX: u64 = u32::MAX as u64;

/// How a partition is written.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Rows of a row group, a positive multiple of [`BLOCK_ROWS`]. Default: 131,072, which is 10 to 100
    /// MiB of log data in memory, and one range read of some hundred KiB per column.
    pub row_group_rows: u32,
    /// The zstd level of the data file, 1 to 22. Default: 3.
    pub zstd_level: i32,
    /// The name and version of the writing program, kept in the manifest.
    pub writer_version: String,
}

impl Default for WriterOptions {
    fn default() -> Self {
        let writer_version = concat!("peerage ", env!("CARGO_PKG_VERSION")).to_owned();
        Self { row_group_rows: 131_072, zstd_level: 3, writer_version }
    }
}

/// What [`PartitionWriter::finish`] returns beside the sink: all that is left to store and register.
#[derive(Debug, Clone)]
pub struct FinishedPartition {
    /// The name of the partition.
    pub name: PartitionName,
    /// The count of rows.
    pub rows: u64,
    /// The smallest primary in epoch milliseconds, rounded down; 0 without a primary or rows.
    pub min_ms: i64,
    /// The greatest primary in epoch milliseconds, rounded up; 0 without a primary or rows.
    pub max_ms: i64,
    /// The content of the manifest.
    pub manifest: Vec<u8>,
    /// The content of the index.
    pub index: Vec<u8>,
    /// Size and checksum of the manifest.
    pub manifest_ref: FileRef,
    /// Size and checksum of the index.
    pub index_ref: FileRef,
    /// Size and checksum of the data file that the sink was given.
    pub data_ref: FileRef,
}

/// Writes one partition. After an error it is of no more use: drop it, and the sink's bytes.
#[derive(Debug)]
pub struct PartitionWriter<W: Write + Send> {
    schema: PartitionSchema,
    writer_version: String,
    id: Ulid,
    primary: Option<PrimaryGuard>,
    profiles: Vec<ColumnProfile>,
    data: DataWriter<W>,
    rows: u64,
}

impl<W: Write + Send> PartitionWriter<W> {
    /// Returns a writer of a partition with these columns, whose data file goes to `out`.
    ///
    /// # Errors
    /// If an option is out of its range, or Parquet cannot hold the columns.
    pub fn try_new(
        schema: PartitionSchema,
        options: WriterOptions,
        out: W,
    ) -> Result<Self, WriteError> {
        let primary = schema.primary_index().map(PrimaryGuard::new);
        let profiles =
            schema.columns().iter().map(|c| ColumnProfile::new(c.field.data_type())).collect();
        let data = DataWriter::try_new(&schema, &options, out)?;
        let writer_version = options.writer_version;
        let id = Ulid::generate();
        Ok(Self { schema, writer_version, id, primary, profiles, data, rows: 0 })
    }

    /// Returns the writer with this ULID for the name instead of a new one, for bytes that can be
    /// written again.
    #[must_use]
    pub fn with_id(mut self, id: Ulid) -> Self {
        self.id = id;
        self
    }

    /// Returns the count of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes a batch of any length that has the columns of the partition in their order.
    ///
    /// # Errors
    /// If the batch has other columns, or its primary is NULL or out of order (then nothing of the
    /// batch was written), the partition is full, or the sink fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let batch = RecordBatch::try_new(self.schema.arrow_schema(), batch.columns().to_vec())
            .map_err(WriteError::Batch)?;
        if widen(batch.num_rows()) > PARTITION_ROWS_MAX - self.rows {
            return Err(WriteError::TooManyRows { limit: PARTITION_ROWS_MAX });
        }
        if let Some(primary) = &mut self.primary {
            primary.check(&batch, self.rows)?;
        }
        let mut start = 0;
        while start < batch.num_rows() {
            let length = self.rows_to_block_end().min(batch.num_rows() - start);
            self.write_piece(&batch.slice(start, length))?;
            start += length;
        }
        Ok(())
    }

    /// Writes rows that lie in one block.
    fn write_piece(&mut self, piece: &RecordBatch) -> Result<(), WriteError> {
        for (profile, array) in self.profiles.iter_mut().zip(piece.columns()) {
            profile.add(array);
        }
        self.rows += widen(piece.num_rows());
        if self.rows.is_multiple_of(u64::from(BLOCK_ROWS)) {
            self.end_block();
        }
        self.data.write(piece)
    }

    fn rows_to_block_end(&self) -> usize {
        let block_rows = u64::from(BLOCK_ROWS);
        let rest = block_rows - self.rows % block_rows;
        usize::try_from(rest).expect("a block has 4096 rows at most")
    }

    fn end_block(&mut self) {
        for profile in &mut self.profiles {
            profile.end_block();
        }
    }

    /// Ends the data file; returns its sink, and the rest of the partition.
    ///
    /// # Errors
    /// If the sink fails.
    pub fn finish(mut self) -> Result<(W, FinishedPartition), WriteError> {
        if !self.rows.is_multiple_of(u64::from(BLOCK_ROWS)) {
            self.end_block();
        }
        let (out, data) = self.data.finish()?;
        let profiled: Vec<ProfiledColumn> =
            self.profiles.into_iter().map(ColumnProfile::finish).collect();
        let (min_ms, max_ms) = primary::range_ms(&self.schema, &profiled).unwrap_or((0, 0));
        let index = encode_index(self.schema.columns(), &profiled, &data, self.rows);
        let manifest = Manifest {
            name: PartitionName::new(min_ms, max_ms, self.id),
            rows: self.rows,
            block_rows: BLOCK_ROWS,
            schema: self.schema,
            facts: profiled.into_iter().map(|column| column.facts).collect(),
            index: FileRef::of(&index),
            data: data.file,
            shard: None,
            mapped: std::collections::BTreeMap::new(),
            writer_version: self.writer_version,
        };
        Ok((out, finished(&manifest, index)))
    }
}

fn encode_index(
    columns: &[PartitionColumn],
    profiled: &[ProfiledColumn],
    data: &DataFile,
    rows: u64,
) -> Vec<u8> {
    let mut builder = IndexBuilder::default();
    let tail =
        ParquetTail { file_bytes: data.file.bytes, offset: data.tail_offset, bytes: &data.tail };
    builder.add(SectionKind::ParquetTail, crate::ColumnId(0), &tail.encode());
    for (column, profiled) in columns.iter().zip(profiled) {
        builder.add(SectionKind::ZoneMap, column.id, &profiled.zones);
    }
    builder.finish(rows, BLOCK_ROWS)
}

fn finished(manifest: &Manifest, index: Vec<u8>) -> FinishedPartition {
    let bytes = manifest.encode();
    FinishedPartition {
        name: manifest.name.clone(),
        rows: manifest.rows,
        min_ms: manifest.min_ms(),
        max_ms: manifest.max_ms(),
        manifest_ref: FileRef::of(&bytes),
        index_ref: manifest.index,
        data_ref: manifest.data,
        manifest: bytes,
        index,
    }
}
