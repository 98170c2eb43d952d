//! The data file: plain Parquet, and a copy of its end for the index.
//!
//! Invariant: no call passes rows of two blocks on to Parquet, so that it cuts its pages where blocks
//! end. The first rows are held back until the encodings are chosen (see `sample.rs`). Left out:
//! what stands in the index, see `profile.rs`.

use std::fmt;
use std::io::{self, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::errors::ParquetError;
use parquet::schema::types::SchemaDescriptor;

use super::WriterOptions;
use super::properties::{PropertiesPlan, check_options};
use super::sample::{self, SAMPLE_ROWS};
use crate::checksum::{ChecksumWriter, FileRef, widen};
use crate::column::PartitionSchema;
use crate::error::WriteError;

/// A sink that counts and checksums, and at the end keeps a copy of what passes.
struct DataSink<W> {
    inner: ChecksumWriter<W>,
    tail: Option<Vec<u8>>,
}

impl<W: Write> Write for DataSink<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buf)?;
        if let Some(tail) = &mut self.tail {
            tail.extend_from_slice(buf.get(..count).unwrap_or(buf));
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A finished data file.
#[derive(Debug)]
pub(super) struct DataFile {
    pub(super) file: FileRef,
    pub(super) tail_offset: u64,
    pub(super) tail: Vec<u8>,
}

/// Where the writer stands.
enum State<W: Write + Send> {
    /// Rows are held back, the encodings are open.
    Sampling { sink: DataSink<W>, pieces: Vec<RecordBatch>, rows: usize },
    /// Rows pass on.
    Writing(Box<ArrowWriter<DataSink<W>>>),
    /// An error has ended the writer.
    Ended,
}

/// Writes the data file.
pub(super) struct DataWriter<W: Write + Send> {
    state: State<W>,
    schema: SchemaRef,
    plan: PropertiesPlan,
}

impl<W: Write + Send> DataWriter<W> {
    pub(super) fn try_new(
        schema: &PartitionSchema,
        options: &WriterOptions,
        out: W,
    ) -> Result<Self, WriteError> {
        let compression = check_options(options)?;
        let arrow = schema.arrow_schema();
        let descriptor: SchemaDescriptor =
            ArrowSchemaConverter::new().convert(&arrow).map_err(WriteError::Data)?;
        let plan = PropertiesPlan::new(schema, &descriptor, compression, options.row_group_rows);
        let sink = DataSink { inner: ChecksumWriter::new(out), tail: None };
        let state = State::Sampling { sink, pieces: Vec::new(), rows: 0 };
        Ok(Self { state, schema: arrow, plan })
    }

    /// Writes rows that lie in one block.
    pub(super) fn write(&mut self, piece: &RecordBatch) -> Result<(), WriteError> {
        match &mut self.state {
            State::Sampling { pieces, rows, .. } => {
                pieces.push(piece.clone());
                *rows += piece.num_rows();
                if *rows < SAMPLE_ROWS {
                    return Ok(());
                }
                self.start().map(|_writer| ())
            }
            State::Writing(writer) => writer.write(piece).map_err(WriteError::Data),
            State::Ended => Err(ended()),
        }
    }

    /// Chooses the encodings, and writes the rows that were held back.
    fn start(&mut self) -> Result<&mut ArrowWriter<DataSink<W>>, WriteError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Sampling { sink, pieces, .. } => {
                let pays = sample::dictionaries_pay(&self.schema, &pieces)?;
                let properties = self.plan.properties(&pays);
                let schema = SchemaRef::clone(&self.schema);
                let mut writer = ArrowWriter::try_new(sink, schema, Some(properties))
                    .map_err(WriteError::Data)?;
                for piece in &pieces {
                    writer.write(piece).map_err(WriteError::Data)?;
                }
                self.state = State::Writing(Box::new(writer));
            }
            other => self.state = other,
        }
        match &mut self.state {
            State::Writing(writer) => Ok(writer),
            State::Sampling { .. } | State::Ended => Err(ended()),
        }
    }

    /// Ends the file; returns the sink and what the index needs.
    pub(super) fn finish(mut self) -> Result<(W, DataFile), WriteError> {
        let writer = self.start()?;
        writer.flush().map_err(WriteError::Data)?;
        writer.sync().map_err(|error| WriteError::Data(error.into()))?;
        let sink = writer.inner_mut();
        let tail_offset = sink.inner.bytes();
        sink.tail = Some(Vec::new());
        let State::Writing(writer) = self.state else {
            return Err(ended());
        };
        let mut sink = writer.into_inner().map_err(WriteError::Data)?;
        sink.flush().map_err(|error| WriteError::Data(error.into()))?;
        let (out, file) = sink.inner.finish();
        let tail = sink.tail.unwrap_or_default();
        assert_eq!(tail_offset + widen(tail.len()), file.bytes, "the tail ends the file");
        Ok((out, DataFile { file, tail_offset, tail }))
    }
}

fn ended() -> WriteError {
    WriteError::Data(ParquetError::General("an error has ended this writer".to_owned()))
}

impl<W: Write + Send> fmt::Debug for DataWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Sampling { .. } => "sampling",
            State::Writing(_) => "writing",
            State::Ended => "ended",
        };
        f.debug_struct("DataWriter").field("state", &state).finish_non_exhaustive()
    }
}
