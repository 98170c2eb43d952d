//! NDJSON: one JSON object per line.
//!
//! Invariant: a key that is not a column is an error of that line and never dropped silently.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use arrow::json::reader::infer_json_schema_from_iterator;
use serde_json::Value;

use crate::load::bad_row::RowFault;
use crate::load::records::Records;
use crate::load::text::RecordDecoder;

/// Decodes lines of JSON objects.
#[derive(Debug)]
pub(crate) struct JsonDecoder {
    schema: SchemaRef,
}

impl JsonDecoder {
    /// Returns a decoder of objects whose keys are the fields of `schema`.
    pub(crate) fn new(schema: SchemaRef) -> Self {
        Self { schema }
    }

    /// Says what is wrong with the value of one key.
    fn explain_value(&self, bytes: &[u8], key: &str, value: &Value) -> Option<RowFault> {
        let shown = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let Ok(field) = self.schema.field_with_name(key) else {
            return Some(RowFault::of_value(key, shown, "not a column of the table or the schema"));
        };
        let alone: SchemaRef = Arc::new(Schema::new(vec![field.clone()]));
        decode_lines(&alone, bytes, 1, false).err()?;
        Some(RowFault::of_value(key, shown, format!("does not fit {}", field.data_type())))
    }
}

impl RecordDecoder for JsonDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn decode(&self, bytes: &[u8], count: usize) -> Result<RecordBatch, ArrowError> {
        decode_lines(&self.schema, bytes, count, true)
    }

    fn explain(&self, bytes: &[u8], error: &ArrowError) -> RowFault {
        let object = match serde_json::from_slice::<Value>(bytes.trim_ascii()) {
            Ok(Value::Object(object)) => object,
            Ok(_) => return RowFault::of_record("not a JSON object"),
            Err(error) => {
                let text = error.to_string();
                // The position counts from the start of the record; the line is named already.
                let reason = text.split(" at line ").next().unwrap_or(&text);
                return RowFault::of_record(format!("{reason} at character {}", error.column()));
            }
        };
        let fault = object.iter().find_map(|(key, value)| self.explain_value(bytes, key, value));
        fault.unwrap_or_else(|| RowFault::of_record(error.to_string()))
    }
}

/// Decodes lines into the columns of `schema`.
fn decode_lines(
    schema: &SchemaRef,
    bytes: &[u8],
    count: usize,
    is_strict: bool,
) -> Result<RecordBatch, ArrowError> {
    let mut decoder = ReaderBuilder::new(Arc::clone(schema))
        // One more than expected, so that a surplus is noticed.
        .with_batch_size(count.saturating_add(1))
        .with_coerce_primitive(true)
        .with_strict_mode(is_strict)
        .build_decoder()?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let used = decoder.decode(rest)?;
        if used == 0 {
            break;
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    let batch = decoder.flush()?;
    Ok(batch.unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema))))
}

/// Returns the keys of the sample in the order of their first appearance, with the types that their
/// values suggest. Lines that are no JSON object do not count.
pub(crate) fn infer_json(sample: &[Records], records_max: usize) -> Result<SchemaRef, ArrowError> {
    let lines = sample.iter().flat_map(|records| {
        (0..records.len()).map(|record| records.region(&(record..record.saturating_add(1))))
    });
    let objects: Vec<Value> = lines
        .take(records_max)
        .filter_map(|line| serde_json::from_slice(line).ok())
        .filter(Value::is_object)
        .collect();
    let inferred = infer_json_schema_from_iterator(objects.iter().map(Ok))?;
    let mut fields: Vec<FieldRef> = Vec::with_capacity(inferred.fields().len());
    let mut seen = std::collections::HashSet::new();
    for key in objects.iter().filter_map(Value::as_object).flat_map(|object| object.keys()) {
        if seen.insert(key)
            && let Ok(field) = inferred.field_with_name(key)
        {
            fields.push(Arc::new(Field::new(key, field.data_type().clone(), true)));
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::load::records::{Framing, RecordReader};
    use crate::load::text::decode_records;

    fn records(text: &str) -> Records {
        let mut reader = RecordReader::new(text.as_bytes(), Framing::Lines).expect("memory");
        reader.next_chunk().expect("memory").expect("lines")
    }

    fn check(text: &str, expected: Expect) {
        let schema = Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("s", DataType::Utf8, true),
        ]));
        let chunk = records(text);
        let decoded = decode_records(&JsonDecoder::new(schema), &chunk).expect("decoded");
        let lines: Vec<u64> = decoded.records.iter().map(|row| chunk.line(*row)).collect();
        let mut shown = format!("good {lines:?}\n");
        for (record, fault) in decoded.faults {
            shown += &format!("{}: {fault}\n", chunk.line(record));
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn the_bad_lines_are_named_exactly() {
        check(
            "{\"a\":1,\"s\":\"x\"}\n\n{\"a\":\"no\"}\n{\"a\":2\n{\"b\":3}\n[1]\n{\"a\":1}{\"a\":2}\n{\"s\":5}\n{}\n",
            expect![[r#"
                good [1, 8, 9]
                3: column a: 'no': does not fit Int64
                4: EOF while parsing an object at character 6
                5: column b: '3': not a column of the table or the schema
                6: not a JSON object
                7: trailing characters at character 8
            "#]],
        );
    }

    #[test]
    fn keys_keep_their_order() {
        let sample =
            [records("{\"z\":1,\"a\":true}\nnonsense\n{\"m\":\"x\",\"a\":null,\"z\":1.5}\n")];
        let schema = infer_json(&sample, 100).expect("inferred");
        let shown: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| format!("{} {}", field.name(), field.data_type()))
            .collect();
        assert_eq!(shown, ["z Float64", "a Boolean", "m Utf8"]);
    }
}
