//! CSV: the header, the types of the columns, and decoding.
//!
//! Invariant: an empty field is NULL. Left out: files without a header.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;

use crate::load::bad_row::RowFault;
use crate::load::records::Records;
use crate::load::text::{RecordDecoder, decode_records};

/// Decodes CSV records.
#[derive(Debug)]
pub(crate) struct CsvDecoder {
    schema: SchemaRef,
    delimiter: u8,
}

impl CsvDecoder {
    /// Returns a decoder of records whose fields are those of `schema`, in their order.
    pub(crate) fn new(schema: SchemaRef, delimiter: u8) -> Self {
        Self { schema, delimiter }
    }

    /// Returns a decoder of the same fields as text.
    fn as_text(&self) -> Self {
        let text = |field: &Arc<Field>| Field::new(field.name(), DataType::Utf8, true);
        let fields: Vec<Field> = self.schema.fields().iter().map(text).collect();
        Self { schema: Arc::new(Schema::new(fields)), delimiter: self.delimiter }
    }

    /// Decodes all fields, or one.
    fn decode_fields(
        &self,
        bytes: &[u8],
        count: usize,
        field: Option<usize>,
    ) -> Result<RecordBatch, ArrowError> {
        // One more than expected, so that a surplus is noticed.
        let mut builder = ReaderBuilder::new(Arc::clone(&self.schema))
            .with_delimiter(self.delimiter)
            .with_batch_size(count.saturating_add(1));
        if let Some(field) = field {
            builder = builder.with_projection(vec![field]);
        }
        let mut decoder = builder.build_decoder();
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = decoder.decode(rest)?;
            if used == 0 {
                break;
            }
            rest = rest.get(used..).unwrap_or_default();
        }
        let batch = decoder.flush()?;
        Ok(batch.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(&self.schema))))
    }
}

impl RecordDecoder for CsvDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn decode(&self, bytes: &[u8], count: usize) -> Result<RecordBatch, ArrowError> {
        self.decode_fields(bytes, count, None)
    }

    fn explain(&self, bytes: &[u8], error: &ArrowError) -> RowFault {
        let texts = match self.as_text().decode(bytes, 1) {
            Ok(texts) if texts.num_rows() == 1 => texts,
            Ok(_) => return RowFault::of_record("not one record"),
            Err(error) => return RowFault::of_record(record_reason(&error)),
        };
        for (index, field) in self.schema.fields().iter().enumerate() {
            if self.decode_fields(bytes, 1, Some(index)).is_err() {
                let column = texts.column(index).as_string::<i32>();
                let value = if column.is_valid(0) { column.value(0) } else { "" };
                let reason = format!("does not fit {}", field.data_type());
                return RowFault::of_value(field.name(), value, reason);
            }
        }
        RowFault::of_record(record_reason(error))
    }
}

/// Returns the reason without the line number, which counts from the start of the chunk.
fn record_reason(error: &ArrowError) -> String {
    let text = match error {
        ArrowError::CsvError(text) | ArrowError::ParseError(text) => text.as_str(),
        other => return other.to_string(),
    };
    if text.starts_with("incorrect number of fields") {
        let counts = text.split_once(", ").map_or(text, |(_, counts)| counts);
        return format!("wrong number of fields: {counts}");
    }
    if text.contains("UTF-8") {
        return "not valid UTF-8".to_owned();
    }
    text.to_owned()
}

/// Returns the columns that the header names, with the types that the sample suggests. Records of
/// the sample that are broken do not count.
pub(crate) fn infer_csv(
    header: &Records,
    sample: &[Records],
    delimiter: u8,
    records_max: usize,
) -> Result<SchemaRef, ArrowError> {
    let format = Format::default().with_header(true).with_delimiter(delimiter);
    let header = header.region(&(0..header.len()));
    let (names, _) = format.infer_schema(header, Some(0))?;
    let text = |field: &Arc<Field>| Field::new(field.name(), DataType::Utf8, true);
    let fields: Vec<Field> = names.fields().iter().map(text).collect();
    let decoder = CsvDecoder::new(Arc::new(Schema::new(fields)), delimiter);
    let mut bytes = header.to_vec();
    for records in sample {
        let decoded = decode_records(&decoder, records)?;
        for record in decoded.records {
            bytes.extend_from_slice(records.region(&(record..record.saturating_add(1))));
        }
    }
    let (schema, _) = format.infer_schema(bytes.as_slice(), Some(records_max))?;
    Ok(Arc::new(schema))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::load::records::{Framing, RecordReader};

    fn records(text: &str) -> (Records, Vec<Records>) {
        let framing = Framing::Csv { delimiter: b',' };
        let mut reader = RecordReader::new(text.as_bytes(), framing).expect("memory");
        let header = reader.next_one().expect("memory");
        let mut chunks = Vec::new();
        while let Some(records) = reader.next_chunk().expect("memory") {
            chunks.push(records);
        }
        (header, chunks)
    }

    fn check(text: &str, types: &[DataType], expected: Expect) {
        let (header, chunks) = records(text);
        let names = infer_csv(&header, &[], b',', 0).expect("header");
        let fields: Vec<Field> = names
            .fields()
            .iter()
            .zip(types)
            .map(|(field, data_type)| Field::new(field.name(), data_type.clone(), true))
            .collect();
        let decoder = CsvDecoder::new(Arc::new(Schema::new(fields)), b',');
        let mut shown = String::new();
        for chunk in chunks {
            let decoded = decode_records(&decoder, &chunk).expect("decoded");
            let lines: Vec<u64> = decoded.records.iter().map(|row| chunk.line(*row)).collect();
            shown += &format!("good {lines:?}\n");
            for (record, fault) in decoded.faults {
                shown += &format!("{}: {fault}\n", chunk.line(record));
            }
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn the_bad_lines_are_named_exactly() {
        check(
            "a,b\n1,x\nfoo,y\n\n3,\"two\nlines\"\n4\n5,z,z\n6,w\n",
            &[DataType::Int64, DataType::Utf8],
            expect![[r#"
                good [2, 5, 9]
                3: column a: 'foo': does not fit Int64
                7: wrong number of fields: expected 2 got 1
                8: wrong number of fields: expected 2 got 3
            "#]],
        );
    }

    #[test]
    fn an_open_quote_is_said() {
        check(
            "a,b\n1,x\n2,\"y\n3,z\n",
            &[DataType::Int64, DataType::Utf8],
            expect![[r#"
            good [2]
            good []
            3: a quoted field is not closed before the end of the file
        "#]],
        );
    }

    #[test]
    fn types_come_from_the_good_records() {
        let (header, chunks) = records("a,b,c\n1,2.5,x\n2\n3,4,2015-05-17T10:05:03Z\n");
        let schema = infer_csv(&header, &chunks, b',', 100).expect("inferred");
        let types: Vec<String> =
            schema.fields().iter().map(|field| field.data_type().to_string()).collect();
        assert_eq!(types, ["Int64", "Float64", "Utf8"]);
    }
}
