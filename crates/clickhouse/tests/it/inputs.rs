//! The rows of the golden cases: out of their Arrow files, or built here where there is none.

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, ListArray,
    MapArray, RecordBatch, StringArray, StructArray, TimestampMillisecondArray,
    TimestampSecondArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, UInt8Type, UInt64Type};
use arrow_ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the folder of the golden data.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/clickhouse")
}

/// Returns the rows of a case, in the batches that the engine made.
pub(crate) fn batches(case: &str) -> Vec<RecordBatch> {
    let file = root().join(format!("golden/{case}/ArrowStream.arrows"));
    match fs::read(&file) {
        Ok(bytes) if case != "opt_arrow_uncompressed" => from_arrow(&bytes),
        Ok(bytes) => {
            assert_eq!(from_arrow(&bytes).len(), 1);
            from_arrow(&bytes)
        }
        Err(_) => vec![RecordBatch::try_from_iter(built(case)).unwrap()],
    }
}

/// Decodes the Arrow streaming format.
pub(crate) fn from_arrow(bytes: &[u8]) -> Vec<RecordBatch> {
    let reader = StreamReader::try_new(bytes, None).unwrap();
    let schema = reader.schema();
    let mut batches: Vec<_> = reader.map(Result::unwrap).collect();
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    batches
}

/// Decodes a Parquet file.
pub(crate) fn from_parquet(bytes: Vec<u8>) -> Vec<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let schema = Arc::clone(builder.schema());
    let mut batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    batches
}

fn built(case: &str) -> Vec<(&'static str, ArrayRef)> {
    match case {
        "string" => strings(),
        "limit_rows_before" => vec![("number", Arc::new(UInt64Array::from(vec![0, 1])))],
        "json_statistics" => vec![("one", byte(1))],
        "pretty_many" => vec![("n", Arc::new(UInt64Array::from_iter_values(0..12)))],
        "pretty_wide" => vec![
            ("long_value", text(&"x".repeat(300))),
            ("cjk", text("日本")),
            ("big", Arc::new(UInt32Array::from(vec![12_345_678]))),
            ("f", float(-0.5)),
        ],
        "opt_json_quote64" => vec![
            ("u", Arc::new(UInt64Array::from(vec![u64::MAX]))),
            ("i", Arc::new(Int64Array::from(vec![-1]))),
            ("f", float(1.5)),
            ("d", decimal(150)),
            ("a", Arc::new(ListArray::from_iter_primitive::<UInt64Type, _, _>([Some([Some(1)])]))),
        ],
        "opt_json_quote_all" => vec![
            ("u", Arc::new(UInt64Array::from(vec![1]))),
            ("f", float(1.5)),
            ("n", float(f64::NAN)),
            ("i", float(f64::INFINITY)),
            ("d", decimal(150)),
        ],
        "opt_json_denormals" => {
            vec![
                ("n", float(f64::NAN)),
                ("i", float(f64::INFINITY)),
                ("m", float(f64::NEG_INFINITY)),
            ]
        }
        "opt_json_slashes" => vec![("s", text("a/b"))],
        "opt_json_tuple_array" => tuple_and_map(),
        "opt_csv_delim" => vec![
            ("a", byte(1)),
            ("b", text("x;y")),
            (
                "c",
                Arc::new(ListArray::from_iter_primitive::<UInt8Type, _, _>([Some([
                    Some(1),
                    Some(2),
                ])])),
            ),
        ],
        "opt_csv_crlf" => vec![("a", byte(1)), ("b", text("x"))],
        "opt_bool_repr" => vec![
            ("t", Arc::new(BooleanArray::from(vec![true]))),
            ("f", Arc::new(BooleanArray::from(vec![false]))),
        ],
        "opt_date_iso" | "opt_date_unix" => vec![
            ("d", Arc::new(TimestampSecondArray::from(vec![1_767_319_445]))),
            ("m", Arc::new(TimestampMillisecondArray::from(vec![1_767_323_045_678]))),
        ],
        "opt_null_repr" => {
            vec![("a", Arc::new(StringArray::from(vec![None::<&str>]))), ("b", byte(1))]
        }
        case => panic!("no rows for the case {case}"),
    }
}

fn byte(value: u8) -> ArrayRef {
    Arc::new(UInt8Array::from(vec![value]))
}

fn text(value: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![value]))
}

fn float(value: f64) -> ArrayRef {
    Arc::new(Float64Array::from(vec![value]))
}

fn decimal(value: i128) -> ArrayRef {
    Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(18, 2).unwrap())
}

fn strings() -> Vec<(&'static str, ArrayRef)> {
    let texts: Vec<&[u8]> = vec![
        b"",
        b"plain",
        b"it's",
        b"say \"hi\"",
        b"back\\slash",
        b"tab\tnew\nline\rcr",
        b"nul\0\x08\x0c\x07\x0b end",
        b"a,b;c",
        b"<t>&amp;</t>",
        "héllo — 日本語 🚀".as_bytes(),
        b" lead and trail ",
        b"{\"k\": [1]}",
        b"NULL",
        b"\\N",
        b"=1+1",
        b"x/y",
        b"\xFF\xFE\x41\xC3\x28",
    ];
    let lengths = UInt64Array::from_iter_values(texts.iter().map(|text| text.len() as u64));
    vec![("s", Arc::new(BinaryArray::from(texts))), ("n", Arc::new(lengths))]
}

fn tuple_and_map() -> Vec<(&'static str, ArrayRef)> {
    let fields = Fields::from(vec![
        Field::new("id", DataType::UInt32, false),
        Field::new("name", DataType::Utf8, false),
    ]);
    let id: ArrayRef = Arc::new(UInt32Array::from(vec![1]));
    let tuple = StructArray::new(fields, vec![id, text("x")], None);
    let fields = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::UInt8, false),
    ]);
    let entries = StructArray::new(fields.clone(), vec![text("a"), byte(1)], None);
    let entry = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let map = MapArray::new(entry, OffsetBuffer::from_lengths([1]), entries, None, false);
    vec![("t", Arc::new(tuple)), ("m", Arc::new(map))]
}
