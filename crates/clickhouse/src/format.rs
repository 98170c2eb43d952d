//! Output formats: from record batches to the bytes that ClickHouse would send.
//!
//! [`FormatWriter`] appends everything to one buffer that the caller sends on in chunks of its own. A batch is bound to
//! its columns once (`cells.rs`), then values are written straight into the buffer; no cell makes a string of its own. The
//! bytes are compared with recorded output of the real engine, so a difference there is a fault here.

pub(crate) mod escape;

mod cells;
mod columnar;
mod delimited;
mod json;
mod json_value;
mod name;
mod number;
mod pretty;
mod settings;
mod table;
mod time;
mod value;
mod vertical;
mod width;

pub use name::OutputFormat;
pub use settings::{DateTimeOutput, FormatSettings};

use crate::data_type::ClickHouseType;
use crate::exception::{ErrorCode, Exception};
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;
use cells::Cells;
use parquet::errors::ParquetError;
use std::sync::Arc;
use std::time::Duration;

/// Why a batch could not be written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The batch is not of the schema that the writer was made for: a fault of the caller.
    #[error("batch has {actual} columns, the header has {expected}")]
    ColumnCount {
        /// Columns of the header.
        expected: usize,
        /// Columns of the batch.
        actual: usize,
    },
    /// The array does not hold values of the column's type.
    #[error("column {column}: no {clickhouse} in an array of {arrow}")]
    TypeMismatch {
        /// The column.
        column: String,
        /// The ClickHouse type.
        clickhouse: String,
        /// The Arrow type.
        arrow: String,
    },
    /// The time zone in the type is not known.
    #[error("unknown time zone {zone:?}")]
    UnknownZone {
        /// The name.
        zone: String,
    },
    /// The Arrow writer failed.
    #[error("write Arrow")]
    Arrow(#[source] ArrowError),
    /// The Parquet writer failed.
    #[error("write Parquet")]
    Parquet(#[source] ParquetError),
}

impl From<FormatError> for Exception {
    fn from(error: FormatError) -> Self {
        let code = match &error {
            FormatError::UnknownZone { .. } => ErrorCode::BadArguments,
            FormatError::ColumnCount { .. }
            | FormatError::TypeMismatch { .. }
            | FormatError::Arrow(_)
            | FormatError::Parquet(_) => ErrorCode::LogicalError,
        };
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Self::new(code, format!("{error}{}", cause.unwrap_or_default()))
    }
}

/// One column of a result: its name, its ClickHouse type, and the field that its batches have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultColumn {
    /// The name in headers.
    pub name: String,
    /// The type in headers; it may say more than `data_type` prints (`Nested(…)`).
    pub type_text: String,
    /// The type that decides how values are printed.
    pub data_type: ClickHouseType,
    /// The Arrow field, for the Arrow and Parquet formats.
    pub field: Arc<Field>,
}

impl ResultColumn {
    /// Returns the column of a field, with the type that Arrow's type stands for.
    pub fn from_field(field: Arc<Field>) -> Self {
        let data_type = ClickHouseType::from_field(&field);
        Self { name: field.name().clone(), type_text: data_type.to_string(), data_type, field }
    }

    /// Returns the columns of a schema.
    pub fn from_schema(schema: &Schema) -> Vec<Self> {
        schema.fields().iter().map(|field| Self::from_field(Arc::clone(field))).collect()
    }

    /// Returns the column with this type instead, where Arrow has lost it (`DateTime` as a number).
    pub fn with_type(mut self, data_type: ClickHouseType) -> Self {
        self.type_text = data_type.to_string();
        self.data_type = data_type;
        self
    }

    /// Returns the column with this name instead.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// What is known at the end of a query; JSON formats print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultSummary {
    /// Rows of the result.
    pub rows: u64,
    /// Rows there would be without LIMIT, at least; only for queries with LIMIT.
    pub rows_before_limit: Option<u64>,
    /// How long the query took.
    pub elapsed: Duration,
    /// Rows read from tables.
    pub rows_read: u64,
    /// Bytes read from tables.
    pub bytes_read: u64,
}

/// One format at work: [`start`](Self::start), then any number of batches, then [`finish`](Self::finish).
pub struct FormatWriter {
    inner: Box<dyn BlockWriter>,
}

impl std::fmt::Debug for FormatWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FormatWriter").finish_non_exhaustive()
    }
}

impl FormatWriter {
    /// Returns a writer of `format` for these columns.
    pub fn new(format: OutputFormat, columns: Vec<ResultColumn>, settings: FormatSettings) -> Self {
        Self { inner: name::writer(format, columns, settings) }
    }

    /// Returns a writer of `format` for the columns of `schema`.
    pub fn for_schema(format: OutputFormat, schema: &Schema, settings: FormatSettings) -> Self {
        Self::new(format, ResultColumn::from_schema(schema), settings)
    }

    /// Appends what stands before the first row.
    pub fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.inner.start(out)
    }

    /// Appends the rows of a batch; some formats keep them for [`finish`](Self::finish).
    pub fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.inner.write(batch, out)
    }

    /// Appends what stands after the last row.
    pub fn finish(
        &mut self,
        summary: &ResultSummary,
        out: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        self.inner.finish(summary, out)
    }
}

/// What each format does.
trait BlockWriter: Send {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError>;
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError>;
    fn finish(&mut self, summary: &ResultSummary, out: &mut Vec<u8>) -> Result<(), FormatError>;
}

/// Binds the arrays of a batch to the columns of the header.
fn bind<'a>(
    columns: &'a [ResultColumn],
    batch: &'a RecordBatch,
    settings: &FormatSettings,
) -> Result<Vec<Cells<'a>>, FormatError> {
    if batch.num_columns() != columns.len() {
        return Err(FormatError::ColumnCount {
            expected: columns.len(),
            actual: batch.num_columns(),
        });
    }
    std::iter::zip(columns, batch.columns())
        .map(|(column, array)| {
            Cells::bind(&column.name, &column.data_type, array.as_ref(), settings)
        })
        .collect()
}
