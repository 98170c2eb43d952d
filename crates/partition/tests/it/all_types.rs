//! A table of every type that a partition stores, for the round-trip tests and the golden files.
//!
//! Invariant: the rows depend on their number alone, so that a partition can be written again.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    Decimal256Array, FixedSizeBinaryArray, FixedSizeListBuilder, Float16Array, Float32Array,
    Float32Builder, Float64Array, Int8Array, Int16Array, Int32Array, Int32Builder, Int64Array,
    Int64Builder, ListBuilder, MapBuilder, NullArray, RecordBatch, StringArray, StringBuilder,
    StructArray, StructBuilder, Time32MillisecondArray, Time32SecondArray, Time64MicrosecondArray,
    Time64NanosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow::datatypes::{DataType, Field, Fields, i256};
use half::f16;
use peerage_partition::{ColumnId, PartitionColumn, PartitionSchema};

/// 2024-01-01T00:00:00Z in microseconds.
const START_US: i64 = 1_704_067_200_000_000;

/// Returns the columns; ids start at 1 and follow the order of the columns.
pub(crate) fn schema(has_primary: bool) -> PartitionSchema {
    let batch = batch(0, 1);
    let fields = batch.schema();
    let columns = (1..)
        .zip(fields.fields())
        .map(|(id, field)| PartitionColumn { id: ColumnId(id), field: field.as_ref().clone() });
    PartitionSchema::try_new(columns.collect(), has_primary.then_some(ColumnId(1))).unwrap()
}

/// Returns the rows from `start` on.
pub(crate) fn batch(start: i64, count: i64) -> RecordBatch {
    let rows = start..start + count;
    let mut columns = numbers(rows.clone());
    columns.extend(times(rows.clone()));
    columns.extend(texts(rows.clone()));
    columns.extend(nested(rows));
    let field = |(name, array): &(&str, ArrayRef)| {
        Field::new(*name, array.data_type().clone(), *name != "ts")
    };
    let fields: Fields = columns.iter().map(field).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), arrays).unwrap()
}

type Rows = std::ops::Range<i64>;
type Named = Vec<(&'static str, ArrayRef)>;

/// Returns the number of the row below the modulus; NULL for one row of seven.
fn small<T: TryFrom<i64>>(row: i64, modulus: i64) -> Option<T> {
    if row % 7 == 3 { None } else { T::try_from(row % modulus).ok() }
}

fn float(row: i64) -> Option<f64> {
    match row % 101 {
        3 => None,
        4 => Some(f64::NAN),
        5 => Some(-0.0),
        6 => Some(0.0),
        7 => Some(f64::NEG_INFINITY),
        rest => Some(f64::from(i32::try_from(rest).unwrap()) / 4.0 - 12.0),
    }
}

fn numbers(rows: Rows) -> Named {
    let each = || rows.clone();
    let ts = TimestampMicrosecondArray::from_iter_values(each().map(|row| START_US + row * 1_500));
    let float32 = |value: f64| f16::from_f64(value).to_f32();
    vec![
        ("ts", Arc::new(ts.with_timezone("UTC"))),
        (
            "flag",
            Arc::new(
                each().map(|row| small::<i64>(row, 2).map(|v| v == 1)).collect::<BooleanArray>(),
            ),
        ),
        ("i8", Arc::new(each().map(|row| small(row, 100)).collect::<Int8Array>())),
        ("i16", Arc::new(each().map(|row| small(row, 300)).collect::<Int16Array>())),
        ("i32", Arc::new(each().map(|row| small(row - 5_000, 3_000)).collect::<Int32Array>())),
        (
            "i64",
            Arc::new(
                each().map(|row| small::<i64>(row, 9).map(|v| v << 40)).collect::<Int64Array>(),
            ),
        ),
        ("u8", Arc::new(each().map(|row| small(row, 250)).collect::<UInt8Array>())),
        ("u16", Arc::new(each().map(|row| small(row, 11)).collect::<UInt16Array>())),
        ("u32", Arc::new(each().map(|row| small(row, 1_000)).collect::<UInt32Array>())),
        (
            "u64",
            Arc::new(
                each()
                    .map(|row| small::<u64>(row, 5).map(|v| u64::MAX - v))
                    .collect::<UInt64Array>(),
            ),
        ),
        (
            "f16",
            Arc::new(each().map(|row| float(row).map(f16::from_f64)).collect::<Float16Array>()),
        ),
        ("f32", Arc::new(each().map(|row| float(row).map(float32)).collect::<Float32Array>())),
        ("f64", Arc::new(each().map(float).collect::<Float64Array>())),
        (
            "dec128",
            Arc::new(
                each()
                    .map(|row| small::<i128>(row, 700).map(|v| v * 25))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(20, 4)
                    .unwrap(),
            ),
        ),
        (
            "dec256",
            Arc::new(
                each()
                    .map(|row| small(row, 13).map(i256::from_i128))
                    .collect::<Decimal256Array>()
                    .with_precision_and_scale(50, 10)
                    .unwrap(),
            ),
        ),
    ]
}

fn times(rows: Rows) -> Named {
    let each = || rows.clone();
    vec![
        ("date32", Arc::new(each().map(|row| small(row / 500 - 3, 40)).collect::<Date32Array>())),
        (
            "date64",
            Arc::new(
                each()
                    .map(|row| small::<i64>(row, 40).map(|v| v * 86_400_000))
                    .collect::<Date64Array>(),
            ),
        ),
        ("t32s", Arc::new(each().map(|row| small(row, 86)).collect::<Time32SecondArray>())),
        ("t32ms", Arc::new(each().map(|row| small(row, 860)).collect::<Time32MillisecondArray>())),
        ("t64us", Arc::new(each().map(|row| small(row, 50)).collect::<Time64MicrosecondArray>())),
        ("t64ns", Arc::new(each().map(|row| small(row, 60)).collect::<Time64NanosecondArray>())),
        ("ts_s", Arc::new(each().map(|row| small(row, 70)).collect::<TimestampSecondArray>())),
        (
            "ts_ms",
            Arc::new(
                each()
                    .map(|row| small(row - 90, 80))
                    .collect::<TimestampMillisecondArray>()
                    .with_timezone("Europe/Berlin"),
            ),
        ),
        ("ts_ns", Arc::new(each().map(|row| small(row, 90)).collect::<TimestampNanosecondArray>())),
    ]
}

fn text(row: i64) -> Option<String> {
    match row % 7 {
        3 => None,
        4 => Some(String::new()),
        5 => Some(format!(
            "path/that/is/longer/than/the/bounds/of/the/statistics/and/zones/are/{}",
            row % 50
        )),
        _ => Some(format!("host-{:03}", row % 300)),
    }
}

fn id(row: i64) -> Option<[u8; 16]> {
    let number = u128::try_from(row % 400).unwrap();
    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    (row % 7 != 3).then(|| hash.to_be_bytes())
}

fn texts(rows: Rows) -> Named {
    let each = || rows.clone();
    let blobs =
        each().map(|row| (row % 9 != 3).then(|| vec![0xff; usize::try_from(row % 20).unwrap()]));
    let blobs: Vec<Option<Vec<u8>>> = blobs.collect();
    let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size(each().map(id), 16).unwrap();
    vec![
        ("text", Arc::new(each().map(text).collect::<StringArray>())),
        ("blob", Arc::new(blobs.iter().map(Option::as_deref).collect::<BinaryArray>())),
        ("id", Arc::new(ids)),
    ]
}

fn nested(rows: Rows) -> Named {
    let mut list = ListBuilder::new(StringBuilder::new());
    let mut vector = FixedSizeListBuilder::new(Float32Builder::new(), 3);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    let mut structs = ListBuilder::new(StructBuilder::from_fields(point_fields(), 0));
    for row in rows.clone() {
        for item in 0..row % 4 {
            list.values().append_option((item != 2).then(|| format!("tag-{item}")));
        }
        list.append(row % 5 != 4);
        for axis in 0..3_u8 {
            vector.values().append_value(f32::from(axis) + if row % 2 == 0 { 0.5 } else { 0.0 });
        }
        vector.append(row % 6 != 5);
        for key in 0..row % 3 {
            map.keys().append_value(format!("key-{key}"));
            map.values().append_option((row % 2 == 0).then_some(row % 10));
        }
        map.append(row % 8 != 7).unwrap();
        for item in 0..row % 3 {
            let point = structs.values();
            point
                .field_builder::<Int32Builder>(0)
                .unwrap()
                .append_value(i32::try_from(item).unwrap());
            point
                .field_builder::<StringBuilder>(1)
                .unwrap()
                .append_option((row % 2 == 1).then_some("p"));
            point.append(item != 1);
        }
        structs.append(true);
    }
    let x: ArrayRef = Arc::new(rows.clone().map(|row| small(row, 17)).collect::<Int32Array>());
    let label: ArrayRef = Arc::new(
        rows.clone()
            .map(|row| small::<i64>(row, 4).map(|v| v.to_string()))
            .collect::<StringArray>(),
    );
    let nulls = rows.clone().map(|row| row % 10 != 9).collect::<Vec<bool>>().into();
    let count = usize::try_from(rows.end - rows.start).unwrap();
    vec![
        ("list", Arc::new(list.finish())),
        ("vector", Arc::new(vector.finish())),
        ("point", Arc::new(StructArray::new(point_fields(), vec![x, label], Some(nulls)))),
        ("map", Arc::new(map.finish())),
        ("points", Arc::new(structs.finish())),
        ("nothing", Arc::new(NullArray::new(count))),
    ]
}

fn point_fields() -> Fields {
    Fields::from(vec![
        Field::new("x", DataType::Int32, true),
        Field::new("label", DataType::Utf8, true),
    ])
}
