//! One chunk from bytes to rows of the table: decode, convert, cut by span.
//!
//! Pure work on the processor: it runs on the blocking pool, several chunks at a time, and the
//! answers are taken in the order of the input.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::json::LineDelimitedWriter;

use crate::load::bad_row::{BadRow, RowFault, RowUnit};
use crate::load::bucket::split_by_span;
use crate::load::convert::convert;
use crate::load::error::LoadError;
use crate::load::feed::Chunk;
use crate::load::plan::LoadPlan;
use crate::load::records::Records;
use crate::load::text::{RecordDecoder, decode_records};

/// The rows of a chunk, ready for the buckets.
pub(crate) struct Prepared {
    /// The rows of each span of time.
    pub(crate) spans: Vec<(i64, RecordBatch)>,
    /// The rows that can't be loaded, in the order of the input.
    pub(crate) bad: Vec<BadRow>,
    /// Stored bytes that the chunk stands for.
    pub(crate) bytes: u64,
}

/// Prepares a chunk. `span_ms` is the length of the spans, if the table is cut by time.
pub(crate) fn prepare(
    plan: &LoadPlan,
    span_ms: Option<i64>,
    chunk: Chunk,
) -> Result<Prepared, LoadError> {
    let (input, bytes, rows) = match chunk {
        Chunk::Records { input, decoder, records, bytes } => {
            let rows = prepare_records(plan, &input, decoder.as_ref(), &records);
            (input, bytes, rows)
        }
        Chunk::Rows { input, first_row, batch, bytes } => {
            let rows = prepare_rows(plan, &input, first_row, &batch);
            (input, bytes, rows)
        }
    };
    let (batch, bad) = rows.map_err(|error| LoadError::input(&*input, error))?;
    let primary = plan.primary.as_ref().map(|primary| primary.index);
    let spans = match (span_ms, primary) {
        (Some(span_ms), Some(primary)) => split_by_span(batch, primary, span_ms),
        _ => Ok(vec![(0, batch)]),
    };
    let spans = spans.map_err(|error| LoadError::input(&*input, error))?;
    Ok(Prepared { spans, bad, bytes })
}

/// Good rows of the table, and the others.
type Rows = (RecordBatch, Vec<BadRow>);

/// Decodes and converts records of a text file.
fn prepare_records(
    plan: &LoadPlan,
    input: &Arc<str>,
    decoder: &dyn RecordDecoder,
    records: &Records,
) -> Result<Rows, ArrowError> {
    let decoded = decode_records(decoder, records)?;
    let converted = convert(plan, &decoded.batch)?;
    let of_rows = converted
        .faults
        .into_iter()
        .filter_map(|(row, fault)| decoded.records.get(row).map(|record| (*record, fault)));
    let mut faults: Vec<(usize, RowFault)> = decoded.faults.into_iter().chain(of_rows).collect();
    faults.sort_by_key(|(record, _)| *record);
    let bad = faults.into_iter().map(|(record, fault)| BadRow {
        input: Arc::clone(input),
        number: records.line(record),
        unit: RowUnit::Line,
        fault,
        raw: records.text(record),
    });
    Ok((converted.batch, bad.collect()))
}

/// Converts rows of a columnar file.
fn prepare_rows(
    plan: &LoadPlan,
    input: &Arc<str>,
    first_row: u64,
    batch: &RecordBatch,
) -> Result<Rows, ArrowError> {
    let converted = convert(plan, batch)?;
    let bad = converted.faults.into_iter().map(|(row, fault)| BadRow {
        input: Arc::clone(input),
        number: first_row.saturating_add(u64::try_from(row).unwrap_or(u64::MAX)).saturating_add(1),
        unit: RowUnit::Row,
        fault,
        raw: row_as_json(batch, row).unwrap_or_default(),
    });
    Ok((converted.batch, bad.collect()))
}

/// Returns one row as a JSON object, for the reject file.
fn row_as_json(batch: &RecordBatch, row: usize) -> Result<String, ArrowError> {
    let mut writer = LineDelimitedWriter::new(Vec::new());
    writer.write(&batch.slice(row, 1))?;
    writer.finish()?;
    Ok(String::from_utf8_lossy(&writer.into_inner()).trim_end().to_owned())
}
