//! Reading inputs: first a look at each, then all of their rows.
//!
//! Everything here blocks and runs on the blocking pool. The queue to the consumer is bounded, so
//! reading never runs ahead of encoding by more than a few chunks.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::RowGroupMetaData;
use tokio::sync::mpsc;

use crate::load::csv::{CsvDecoder, infer_csv};
use crate::load::error::LoadError;
use crate::load::input::{InputFormat, InputPlace, LoadInput};
use crate::load::json::{JsonDecoder, infer_json};
use crate::load::plan::{LoadPlan, Probe};
use crate::load::read::{ByteCount, is_plain_file, open_file, open_stream};
use crate::load::records::{Framing, RecordReader, Records};
use crate::load::text::RecordDecoder;

/// Rows of one batch of a Parquet file: enough for vectorised work, small in memory.
const PARQUET_BATCH_ROWS: usize = 16_384;

/// A piece of an input that is not decoded yet, or a batch of rows.
pub(crate) enum Chunk {
    /// Records of a text file.
    Records {
        /// The input.
        input: Arc<str>,
        /// What decodes them.
        decoder: Arc<dyn RecordDecoder>,
        /// The records.
        records: Records,
        /// Stored bytes read since the chunk before.
        bytes: u64,
    },
    /// Rows of a columnar file or a generator.
    Rows {
        /// The input.
        input: Arc<str>,
        /// Rows before this batch.
        first_row: u64,
        /// The rows.
        batch: RecordBatch,
        /// Stored bytes read since the chunk before.
        bytes: u64,
    },
}

/// An input whose start has been read.
pub(crate) enum OpenInput {
    /// CSV or NDJSON: the columns, the chunks of the sample, and the rest.
    Text { schema: SchemaRef, sample: VecDeque<Records>, rest: RecordReader<Box<dyn Read + Send>> },
    /// Parquet.
    Parquet { builder: Box<ParquetRecordBatchReaderBuilder<File>> },
}

/// Opens an input and looks at its start: `sample_rows` records of text, the footer of Parquet.
pub(crate) fn open(
    input: &LoadInput,
    sample_rows: usize,
    count: &ByteCount,
) -> Result<(OpenInput, Probe), LoadError> {
    let failed =
        |error: Box<dyn std::error::Error + Send + Sync>| LoadError::input(&*input.name, error);
    let opened = match input.format {
        InputFormat::Parquet => {
            let file = open_file(input, count).map_err(|error| failed(error.into()))?;
            let builder = guarded(input, || ParquetRecordBatchReaderBuilder::try_new(file))?
                .map_err(|error| failed(error.into()))?;
            OpenInput::Parquet { builder: Box::new(builder) }
        }
        InputFormat::Csv | InputFormat::Ndjson => open_text(input, sample_rows, count)?,
    };
    let (schema, is_text) = match &opened {
        OpenInput::Text { schema, .. } => (Arc::clone(schema), true),
        OpenInput::Parquet { builder } => (Arc::clone(builder.schema()), false),
    };
    let probe = Probe { input: Arc::clone(&input.name), is_text, schema };
    Ok((opened, probe))
}

/// Opens a text input and infers the types of its columns from a sample.
fn open_text(
    input: &LoadInput,
    sample_rows: usize,
    count: &ByteCount,
) -> Result<OpenInput, LoadError> {
    let failed =
        |error: Box<dyn std::error::Error + Send + Sync>| LoadError::input(&*input.name, error);
    let framing = match input.format {
        InputFormat::Csv => Framing::Csv { delimiter: input.delimiter },
        _ => Framing::Lines,
    };
    let stream = open_stream(input, count).map_err(|error| failed(error.into()))?;
    let mut rest = RecordReader::new(stream, framing).map_err(|error| failed(error.into()))?;
    let header = match input.format {
        InputFormat::Csv => rest.next_one().map_err(|error| failed(error.into()))?,
        _ => Records::default(),
    };
    if input.format == InputFormat::Csv && header.is_empty() {
        return Err(failed("the file is empty; CSV begins with a line of column names".into()));
    }
    let (mut sample, mut rows) = (VecDeque::new(), 0);
    while rows < sample_rows {
        let Some(records) = rest.next_chunk().map_err(|error| failed(error.into()))? else { break };
        rows += records.len();
        sample.push_back(records);
    }
    let seen = sample.make_contiguous();
    let schema = match input.format {
        InputFormat::Csv => infer_csv(&header, seen, input.delimiter, sample_rows),
        _ => infer_json(seen, sample_rows),
    };
    let schema = schema.map_err(|error| failed(error.into()))?;
    Ok(OpenInput::Text { schema, sample, rest })
}

/// Runs a decoder of a library on bytes from outside. Parquet files are a format of pointers and
/// lengths, and third-party decoders are known to panic on malformed ones instead of answering with
/// an error; such a panic ends the load of this file with a reason and never the process. The
/// decoder and its state are dropped afterwards, so nothing half-changed is used again.
fn guarded<T>(input: &LoadInput, decode: impl FnOnce() -> T) -> Result<T, LoadError> {
    catch_unwind(AssertUnwindSafe(decode)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "no reason given".to_owned());
        LoadError::input(
            &*input.name,
            format!("the file is malformed; its decoder stopped: {text}"),
        )
    })
}

/// An input and, for those that can be read only once, its open state.
pub(crate) struct PendingInput {
    /// The input.
    pub(crate) input: LoadInput,
    /// The open state, if it was kept.
    pub(crate) opened: Option<OpenInput>,
}

/// Looks at all inputs. Keeps the first one and standard input open: the others are opened again
/// when their turn comes, so that a thousand files do not hold a thousand handles and samples.
pub(crate) fn probe_all(
    inputs: Vec<LoadInput>,
    sample_rows: usize,
    count: &ByteCount,
) -> Result<(Vec<PendingInput>, Vec<Probe>), LoadError> {
    let (mut pending, mut probes) = (Vec::new(), Vec::new());
    for (place, input) in inputs.into_iter().enumerate() {
        let is_kept = place == 0 || matches!(input.place, InputPlace::Stdin);
        // What is read here and thrown away must not count as progress.
        let counted = if is_kept { count.clone() } else { ByteCount::default() };
        let (opened, probe) = open(&input, sample_rows, &counted)?;
        probes.push(probe);
        pending.push(PendingInput { input, opened: is_kept.then_some(opened) });
    }
    Ok((pending, probes))
}

/// Where chunks go, and what was read of the inputs.
pub(crate) struct Feed {
    /// The queue to the consumer.
    pub(crate) chunks: mpsc::Sender<Result<Chunk, LoadError>>,
    /// Stored bytes read.
    pub(crate) count: ByteCount,
    /// What the rows become.
    pub(crate) plan: Arc<LoadPlan>,
}

/// The consumer has stopped: there is nobody to read for.
struct Stopped;

impl Feed {
    /// Reads all inputs, one after the other, until the end, an error, or the consumer stops.
    pub(crate) fn read_all(&self, inputs: Vec<PendingInput>) {
        for PendingInput { input, opened } in inputs {
            let opened = match opened {
                Some(opened) => Ok(opened),
                None => open(&input, 0, &self.count).map(|(opened, _)| opened),
            };
            let read = match opened {
                Ok(OpenInput::Text { schema, sample, rest }) => {
                    self.read_text(&input, &schema, sample, rest)
                }
                Ok(OpenInput::Parquet { builder }) => self.read_parquet(&input, *builder),
                Err(error) => self.send(Err(error)).and(Err(Stopped)),
            };
            if read.is_err() {
                return;
            }
        }
    }

    /// Reads a text input to its end.
    fn read_text(
        &self,
        input: &LoadInput,
        header: &SchemaRef,
        sample: VecDeque<Records>,
        mut rest: RecordReader<Box<dyn Read + Send>>,
    ) -> Result<(), Stopped> {
        let decoder: Arc<dyn RecordDecoder> = match input.format {
            InputFormat::Csv => match self.plan.csv_schema(&input.name, header) {
                Ok(schema) => Arc::new(CsvDecoder::new(schema, input.delimiter)),
                Err(error) => return self.fail(error),
            },
            _ => Arc::new(JsonDecoder::new(self.plan.json_schema())),
        };
        let chunk = |records| Chunk::Records {
            input: Arc::clone(&input.name),
            decoder: Arc::clone(&decoder),
            records,
            bytes: self.count.take(),
        };
        for records in sample {
            self.send(Ok(chunk(records)))?;
        }
        loop {
            match rest.next_chunk() {
                Ok(Some(records)) => self.send(Ok(chunk(records)))?,
                Ok(None) => return Ok(()),
                Err(error) => return self.fail(LoadError::input(&*input.name, error)),
            }
        }
    }

    /// Reads a Parquet input to its end.
    fn read_parquet(
        &self,
        input: &LoadInput,
        builder: ParquetRecordBatchReaderBuilder<File>,
    ) -> Result<(), Stopped> {
        // The row groups count: old writers left the total in the footer at zero, and a reader that
        // goes by it would leave all rows out.
        let groups = builder.metadata().row_groups();
        let total: i64 = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let total = u64::try_from(total).unwrap_or(0);
        let groups = (0..groups.len()).collect();
        let build = || builder.with_row_groups(groups).with_batch_size(PARQUET_BATCH_ROWS).build();
        let mut reader = match guarded(input, build) {
            Ok(Ok(reader)) => reader,
            Ok(Err(error)) => return self.fail(LoadError::input(&*input.name, error)),
            Err(error) => return self.fail(error),
        };
        let mut first_row = 0_u64;
        loop {
            let batch = match next_batch(input, &mut reader) {
                Ok(Some(batch)) => batch,
                Ok(None) if first_row == total => return Ok(()),
                Ok(None) => return self.fail(short(input, total, first_row)),
                Err(error) => return self.fail(error),
            };
            let rows = u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
            if is_plain_file(input) {
                self.count.add(share(input.bytes.unwrap_or(0), rows, total));
            }
            let input = Arc::clone(&input.name);
            self.send(Ok(Chunk::Rows { input, first_row, batch, bytes: self.count.take() }))?;
            first_row = first_row.saturating_add(rows);
        }
    }

    /// Hands on an error and stops.
    fn fail(&self, error: LoadError) -> Result<(), Stopped> {
        self.send(Err(error)).and(Err(Stopped))
    }

    /// Hands on a chunk, waiting while the queue is full.
    fn send(&self, chunk: Result<Chunk, LoadError>) -> Result<(), Stopped> {
        self.chunks.blocking_send(chunk).map_err(|_closed| Stopped)
    }
}

/// Returns the error of a file that ends before all its rows were read.
fn short(input: &LoadInput, total: u64, read: u64) -> LoadError {
    let problem = format!("its row groups have {total} rows, but {read} could be read");
    LoadError::input(&*input.name, problem)
}

/// Reads the next batch of a Parquet file.
fn next_batch(
    input: &LoadInput,
    reader: &mut ParquetRecordBatchReader,
) -> Result<Option<RecordBatch>, LoadError> {
    let next = guarded(input, || reader.next())?;
    next.transpose().map_err(|error| LoadError::input(&*input.name, error))
}

/// Returns the part of `bytes` that belongs to `rows` of `total` rows.
fn share(bytes: u64, rows: u64, total: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(rows) / u128::from(total.max(1));
    u64::try_from(part).unwrap_or(bytes)
}
