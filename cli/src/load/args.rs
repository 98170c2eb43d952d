//! The command line of `peerage load`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use peerage_cluster::config::parse_duration;
use peerage_partition::WriterOptions;

use crate::args::{ClusterArgs, QualifiedTable};
use crate::error::CommandError;
use crate::load::{
    InputFormat, InputOptions, LoadError, LoadOptions, LoadRequest, LoadSource, LoadSummary,
    OnError, PARTITION_ROWS_DEFAULT, ProgressLine, SAMPLE_ROWS_DEFAULT, TimestampFormat,
    find_inputs, parse_columns, run,
};
use crate::open::{OpenCluster, open_cluster};

/// Longest `--schema @file`: far more than 10,000 columns need.
const SCHEMA_FILE_BYTES_MAX: u64 = 4 << 20;

/// What stands below the flags in the help text.
const EXAMPLES: &str = "\
Examples:
  # CSV with a header; the table is created with the types of the first rows
  peerage load --table web.requests --timestamp ts requests.csv.gz

  # newline-delimited JSON from a pipe, epoch milliseconds, one partition per day
  zcat *.json.gz | peerage load --table web.requests --timestamp time \\
      --timestamp-format epoch_ms --partition-span 1d --format ndjson -

  # Parquet from S3, into another storage than the default one
  peerage load --table web.requests --storage archive 's3://bucket/2024/*.parquet'

  # go on after bad lines and keep them
  peerage load --table web.requests --on-error skip --reject-file bad.tsv access.csv

Timestamps in text are RFC 3339 or a close relative (space for T, no zone = UTC, comma for the
point), a plain date, 17/May/2015:10:05:03 +0000, Sun Dec 04 04:47:44 2005 or RFC 2822; for anything
else give a strftime pattern, such as --timestamp-format '%d.%m.%Y %H:%M:%S'.
An empty CSV field is NULL. Types: bool, int8..int64, uint8..uint64, float32, float64, utf8, binary,
date, timestamp, timestamp(s|ms|us|ns), decimal(precision, scale).";

/// Load files into a table.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct LoadArgs {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// The table, as database.table; created if it does not exist
    #[arg(long, env = "PEERAGE_TABLE")]
    table: QualifiedTable,

    /// The column with the time of each row: it becomes the primary of a new table
    #[arg(long, env = "PEERAGE_TIMESTAMP", value_name = "COLUMN")]
    timestamp: Option<String>,

    /// How the timestamp is written: auto, epoch_s, epoch_ms, epoch_us, epoch_ns, or a strftime
    /// pattern
    #[arg(long, env = "PEERAGE_TIMESTAMP_FORMAT", value_name = "FORMAT", default_value = "auto")]
    timestamp_format: TimestampFormat,

    /// The storage of the cluster file that partitions go to [default: the file's default_storage]
    #[arg(long, env = "PEERAGE_STORAGE", value_name = "ID")]
    storage: Option<String>,

    /// Types of columns: 'a int64, b utf8', or @FILE; columns not named are inferred
    #[arg(long, env = "PEERAGE_SCHEMA", value_name = "COLUMNS")]
    schema: Option<String>,

    /// Format of all inputs: parquet, csv or ndjson [default: by the names]
    #[arg(long, env = "PEERAGE_FORMAT", value_name = "FORMAT")]
    format: Option<InputFormat>,

    /// What separates CSV fields: one character, or \t [default: a comma; a tab for .tsv]
    #[arg(long, env = "PEERAGE_DELIMITER", value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<u8>,

    /// Records of CSV and NDJSON inputs that their types are inferred from
    #[arg(long, env = "PEERAGE_SAMPLE_ROWS", value_name = "N", default_value_t = SAMPLE_ROWS_DEFAULT)]
    sample_rows: usize,

    /// Most rows of one partition
    #[arg(long, env = "PEERAGE_PARTITION_ROWS", value_name = "N", default_value_t = PARTITION_ROWS_DEFAULT)]
    partition_rows: NonZeroUsize,

    /// Rows of different spans of time never share a partition, for example 1h or 1d
    #[arg(long, env = "PEERAGE_PARTITION_SPAN", value_name = "SPAN", value_parser = parse_duration)]
    partition_span: Option<Duration>,

    /// Columns that rows of a new table are sorted by after the timestamp
    #[arg(long, env = "PEERAGE_SORT_BY", value_name = "COLUMNS", value_delimiter = ',')]
    sort_by: Vec<String>,

    /// What to do with a row that can't be loaded
    #[arg(long, env = "PEERAGE_ON_ERROR", value_name = "WHAT", default_value = "fail")]
    on_error: OnErrorArg,

    /// Where skipped rows are written: file:line, reason and row, separated by tabs
    #[arg(long, env = "PEERAGE_REJECT_FILE", value_name = "FILE")]
    reject_file: Option<PathBuf>,

    /// Refuse to create a table that does not exist
    #[arg(long, env = "PEERAGE_EXISTING_ONLY")]
    existing_only: bool,

    /// The S3 service of s3:// inputs, if not AWS; keys come from AWS_* variables
    #[arg(long, env = "PEERAGE_ENDPOINT", value_name = "URL")]
    endpoint: Option<String>,

    /// Files, patterns such as 'logs/*.csv.gz', s3://bucket/key, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,
}

/// `--on-error` as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnErrorArg {
    /// End the load; nothing is registered
    Fail,
    /// Count the row and go on
    Skip,
}

impl LoadArgs {
    /// Runs the command. Returns what was loaded.
    ///
    /// # Errors
    /// [`CommandError`], for `main` to print.
    pub async fn run(self) -> Result<LoadSummary, CommandError> {
        let on_error = self.on_error()?;
        let columns = self.schema.as_deref().map(read_schema).transpose()?.unwrap_or_default();
        let OpenCluster { catalog, storage, .. } =
            open_cluster(&self.cluster, self.storage.as_deref()).await?;
        let inputs = InputOptions {
            format: self.format,
            delimiter: self.delimiter,
            endpoint: self.endpoint,
        };
        let source = LoadSource::Inputs(find_inputs(&self.inputs, &inputs).await?);
        let request = LoadRequest {
            catalog,
            storage,
            database: self.table.database,
            table: self.table.name,
            source,
            options: LoadOptions {
                columns,
                timestamp: self.timestamp,
                timestamp_format: self.timestamp_format,
                sort_by: self.sort_by,
                creates_table: !self.existing_only,
                partition_rows: self.partition_rows,
                partition_span: self.partition_span,
                on_error,
                sample_rows: self.sample_rows.max(1),
                writer: WriterOptions::default(),
            },
        };
        Ok(Box::pin(run(request, &ProgressLine::new())).await?)
    }

    /// Returns what to do with bad rows.
    fn on_error(&self) -> Result<OnError, LoadError> {
        match (self.on_error, &self.reject_file) {
            (OnErrorArg::Fail, None) => Ok(OnError::Fail),
            (OnErrorArg::Fail, Some(_)) => Err(LoadError::request(
                "--reject-file is given, but the first bad row ends the load",
                "--on-error skip",
            )),
            (OnErrorArg::Skip, file) => Ok(OnError::Skip { file: file.clone() }),
        }
    }
}

/// Reads `--schema`: the list itself, or the file after `@`.
pub(crate) fn read_schema(
    text: &str,
) -> Result<Vec<(String, arrow::datatypes::DataType)>, LoadError> {
    let hint = "a list such as 'ts timestamp, host utf8, bytes int64'";
    let text = match text.strip_prefix('@') {
        None => text.to_owned(),
        Some(path) => {
            let size =
                std::fs::metadata(path).map_err(|error| LoadError::input(path, error))?.len();
            if size > SCHEMA_FILE_BYTES_MAX {
                return Err(LoadError::request(
                    format!("{path} is too long for a list of columns"),
                    hint,
                ));
            }
            std::fs::read_to_string(path).map_err(|error| LoadError::input(path, error))?
        }
    };
    parse_columns(&text).map_err(|problem| LoadError::request(problem, hint))
}

/// Reads `--delimiter`.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(format!("'{text}' is not one ASCII character other than a quote or a line end")),
    }
}
