//! Decoding chunks of text records, fast while they are good and exact when one is not.
//!
//! Invariant: a chunk is decoded as a whole. Only when that fails it is halved until the bad records
//! stand alone, and only those are looked at field by field. So naming the line, the column and the
//! value costs nothing as long as there is nothing to name.

use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use crate::load::bad_row::RowFault;
use crate::load::records::Records;

/// One text format, with the types that its fields are decoded to.
pub(crate) trait RecordDecoder: Send + Sync {
    /// Returns the schema of decoded batches.
    fn schema(&self) -> &SchemaRef;

    /// Decodes `bytes`, which hold `count` records.
    fn decode(&self, bytes: &[u8], count: usize) -> Result<RecordBatch, ArrowError>;

    /// Says what is wrong with the one record that `bytes` holds.
    fn explain(&self, bytes: &[u8], error: &ArrowError) -> RowFault;
}

/// The rows of a chunk that could be decoded, and what is wrong with the others.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// The good rows.
    pub(crate) batch: RecordBatch,
    /// The record of each row.
    pub(crate) records: Vec<usize>,
    /// The bad records, in order.
    pub(crate) faults: Vec<(usize, RowFault)>,
}

/// Decodes a chunk.
pub(crate) fn decode_records(
    decoder: &dyn RecordDecoder,
    records: &Records,
) -> Result<Decoded, ArrowError> {
    let mut found =
        Halves { decoder, records, batches: Vec::new(), rows: Vec::new(), faults: Vec::new() };
    found.decode(0..records.len());
    let batch = match found.batches.as_slice() {
        [one] => one.clone(),
        several => concat_batches(decoder.schema(), several)?,
    };
    Ok(Decoded { batch, records: found.rows, faults: found.faults })
}

/// The state of one search for bad records.
struct Halves<'a> {
    decoder: &'a dyn RecordDecoder,
    records: &'a Records,
    batches: Vec<RecordBatch>,
    rows: Vec<usize>,
    faults: Vec<(usize, RowFault)>,
}

impl Halves<'_> {
    /// Decodes a range of records, or each half of it. The depth is the logarithm of the length.
    fn decode(&mut self, range: Range<usize>) {
        let count = range.len();
        let bytes = self.records.region(&range);
        let error = match self.decoder.decode(bytes, count) {
            Ok(batch) if batch.num_rows() == count => {
                self.rows.extend(range);
                self.batches.push(batch);
                return;
            }
            Ok(batch) => {
                let rows = batch.num_rows();
                ArrowError::ParseError(format!("{rows} rows in {count} records"))
            }
            Err(error) => error,
        };
        if count <= 1 {
            let is_last = range.end == self.records.len();
            let fault = if is_last && self.records.is_unclosed() {
                RowFault::of_record("a quoted field is not closed before the end of the file")
            } else {
                self.decoder.explain(bytes, &error)
            };
            self.faults.push((range.start, fault));
            return;
        }
        let middle = range.start + count / 2;
        self.decode(range.start..middle);
        self.decode(middle..range.end);
    }
}
