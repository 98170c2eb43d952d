//! `peerage load`: rows from files, streams or a generator into partitions of a table.
//!
//! The command is a thin rim ([`LoadArgs`]) around [`run()`], which tests and other commands call in
//! process. Invariants:
//! - All or nothing: partitions are uploaded first and registered last, in one transaction that also
//!   creates or extends the table. After any failure or kill nothing is half visible.
//! - No row is lost or changed silently: a value that does not fit is an error that names file, line,
//!   column, value and reason, or, when rows may be skipped, a counted line of the reject file.
//! - Memory is bounded by named limits, whatever the size of the input.

mod args;
mod bad_row;
mod bucket;
mod convert;
mod csv;
mod encode;
mod error;
mod feed;
mod input;
mod json;
mod plan;
mod prepare;
mod progress;
mod read;
mod records;
mod reject;
mod run;
mod schema_spec;
mod summary;
mod text;
mod timestamp;
mod types;
mod upload;

use std::num::NonZeroUsize;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use futures::stream::BoxStream;
use peerage_catalog::Catalog;
use peerage_partition::WriterOptions;

pub use args::LoadArgs;
pub use bad_row::{BadRow, RowFault, RowUnit};
pub use error::LoadError;
pub use input::{Compression, InputFormat, InputOptions, InputPlace, LoadInput, find_inputs};
pub use progress::{Progress, ProgressLine, SilentProgress};
pub use reject::OnError;
pub use run::run;
pub use schema_spec::{TYPE_NAMES, parse_columns};
pub use summary::LoadSummary;
pub use timestamp::{AUTO_PATTERNS, TimestampFormat};

use crate::open::Storage;

/// Rows of a partition unless the request says otherwise: two row groups; some ten megabytes of log
/// data, so that a peer reads a part of it in one request and a table has not too many of them.
pub const PARTITION_ROWS_DEFAULT: NonZeroUsize = NonZeroUsize::new(262_144).expect("not zero");

/// Records of a text input that its types are inferred from: enough to see every kind of value in
/// ordinary logs, read in a moment.
pub const SAMPLE_ROWS_DEFAULT: usize = 10_000;

/// Where the rows come from.
pub enum LoadSource {
    /// Files, standard input, objects.
    Inputs(Vec<LoadInput>),
    /// Batches that another part of the program makes.
    Batches {
        /// The columns of all batches.
        schema: SchemaRef,
        /// The rows.
        batches: BoxStream<'static, RecordBatch>,
    },
}

/// How rows become partitions.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Types of columns, by name; others are the table's or inferred.
    pub columns: Vec<(String, DataType)>,
    /// The column that becomes the primary of a new table.
    pub timestamp: Option<String>,
    /// How the primary is written in the input.
    pub timestamp_format: TimestampFormat,
    /// Columns that rows of a new table are sorted by after the primary.
    pub sort_by: Vec<String>,
    /// Whether a missing table is created.
    pub creates_table: bool,
    /// Most rows of one partition.
    pub partition_rows: NonZeroUsize,
    /// Rows of different spans of time never share a partition.
    pub partition_span: Option<Duration>,
    /// What to do with rows that can't be loaded.
    pub on_error: OnError,
    /// Records of a text input that its types are inferred from.
    pub sample_rows: usize,
    /// How partitions are written.
    pub writer: WriterOptions,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            timestamp: None,
            timestamp_format: TimestampFormat::Auto,
            sort_by: Vec::new(),
            creates_table: true,
            partition_rows: PARTITION_ROWS_DEFAULT,
            partition_span: None,
            on_error: OnError::Fail,
            sample_rows: SAMPLE_ROWS_DEFAULT,
            writer: WriterOptions::default(),
        }
    }
}

/// One load.
pub struct LoadRequest {
    /// Where the table is, or will be.
    pub catalog: Catalog,
    /// Where the partitions go.
    pub storage: Storage,
    /// The database of the table.
    pub database: String,
    /// The table within it.
    pub table: String,
    /// The rows.
    pub source: LoadSource,
    /// How they become partitions.
    pub options: LoadOptions,
}
