//! Arrow and Parquet, written by their own crates, and the format that writes nothing.
//!
//! Strings go out in the layouts that every reader knows: views and dictionaries are laid flat, as ClickHouse does by
//! default.

use super::{BlockWriter, FormatError, ResultColumn, ResultSummary};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes nothing: the query runs and its result is thrown away.
pub(super) struct Null;

impl BlockWriter for Null {
    fn start(&mut self, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }

    fn write(&mut self, _batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }

    fn finish(&mut self, _summary: &ResultSummary, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}

/// Returns the schema that is sent: the names of the header, and types that every reader knows.
fn plain_schema(columns: &[ResultColumn]) -> SchemaRef {
    let fields: Vec<Field> =
        columns.iter().map(|column| plain_field(&column.field).with_name(&column.name)).collect();
    Arc::new(Schema::new(fields))
}

fn plain_field(field: &Field) -> Field {
    field.clone().with_data_type(plain_type(field.data_type()))
}

fn plain_type(data_type: &DataType) -> DataType {
    let inner = |field: &FieldRef| Arc::new(plain_field(field));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::List(field) | DataType::ListView(field) => DataType::List(inner(field)),
        DataType::LargeList(field) | DataType::LargeListView(field) => {
            DataType::LargeList(inner(field))
        }
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(inner(field), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Map(field, sorted) => DataType::Map(inner(field), *sorted),
        other => other.clone(),
    }
}

/// Returns the batch with the types of `schema`.
fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, FormatError> {
    if batch.num_columns() != schema.fields().len() {
        return Err(FormatError::ColumnCount {
            expected: schema.fields().len(),
            actual: batch.num_columns(),
        });
    }
    let columns: Vec<ArrayRef> = std::iter::zip(batch.columns(), schema.fields())
        .map(|(array, field)| match array.data_type() == field.data_type() {
            true => Ok(Arc::clone(array)),
            false => cast(array, field.data_type()),
        })
        .collect::<Result<_, _>>()
        .map_err(FormatError::Arrow)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(FormatError::Arrow)
}

/// Writes the Arrow streaming format, compressed with LZ4 as ClickHouse does.
pub(super) struct ArrowStream {
    schema: SchemaRef,
    writer: Option<StreamWriter<Vec<u8>>>,
}

impl ArrowStream {
    pub(super) fn new(columns: &[ResultColumn]) -> Self {
        Self { schema: plain_schema(columns), writer: None }
    }

    /// Moves what was written since the last time.
    fn drain(&mut self, out: &mut Vec<u8>) {
        if let Some(writer) = &mut self.writer {
            out.append(writer.get_mut());
        }
    }
}

impl BlockWriter for ArrowStream {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::LZ4_FRAME))
            .map_err(FormatError::Arrow)?;
        let writer = StreamWriter::try_new_with_options(Vec::new(), &self.schema, options)
            .map_err(FormatError::Arrow)?;
        self.writer = Some(writer);
        self.drain(out);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let batch = plain_batch(batch, &self.schema)?;
        if let (Some(writer), true) = (&mut self.writer, batch.num_rows() > 0) {
            writer.write(&batch).map_err(FormatError::Arrow)?;
        }
        self.drain(out);
        Ok(())
    }

    fn finish(&mut self, _summary: &ResultSummary, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if let Some(writer) = &mut self.writer {
            writer.finish().map_err(FormatError::Arrow)?;
        }
        self.drain(out);
        Ok(())
    }
}

/// A buffer that the Parquet writer fills and we empty while it goes on.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn drain(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a Parquet file, one row group after the other.
pub(super) struct Parquet {
    schema: SchemaRef,
    sink: Sink,
    writer: Option<ArrowWriter<Sink>>,
}

impl Parquet {
    pub(super) fn new(columns: &[ResultColumn]) -> Self {
        Self { schema: plain_schema(columns), sink: Sink::default(), writer: None }
    }
}

impl BlockWriter for Parquet {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let level = ZstdLevel::default();
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let schema = Arc::clone(&self.schema);
        let writer = ArrowWriter::try_new(self.sink.clone(), schema, Some(properties))
            .map_err(FormatError::Parquet)?;
        self.writer = Some(writer);
        self.sink.drain(out);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let batch = plain_batch(batch, &self.schema)?;
        if let Some(writer) = &mut self.writer {
            writer.write(&batch).map_err(FormatError::Parquet)?;
        }
        self.sink.drain(out);
        Ok(())
    }

    fn finish(&mut self, _summary: &ResultSummary, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(FormatError::Parquet)?;
        }
        self.sink.drain(out);
        Ok(())
    }
}
