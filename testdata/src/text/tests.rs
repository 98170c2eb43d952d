//! Texts of every type, and the layouts that must not show.

use std::sync::Arc;

use arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int64Array, LargeStringArray, ListArray, NullArray, RunArray, StringArray,
    StringViewArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow::datatypes::{Field, Int32Type, Schema};

use super::*;

#[track_caller]
fn check(column: impl Array + 'static, expected: &[&str]) {
    let field = Field::new("c", column.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(column)]);
    let actual: Vec<String> = rows(&[batch.unwrap()]).unwrap().into_iter().flatten().collect();
    assert_eq!(actual, expected);
}

#[test]
fn layouts_of_text_do_not_show() {
    let values = [Some("a b"), None, Some(""), Some("tab\there\nline\\")];
    let texts = ["a b", "NULL", "(empty)", "tab\\there\\nline\\\\"];
    check(StringArray::from(values.to_vec()), &texts);
    check(LargeStringArray::from(values.to_vec()), &texts);
    check(StringViewArray::from(values.to_vec()), &texts);
    check(values.into_iter().collect::<DictionaryArray<Int32Type>>(), &texts);
    check(values.into_iter().collect::<RunArray<Int32Type>>(), &texts);
}

#[test]
fn floats_are_rounded_then_shortest() {
    let sum = 0.1 + 0.2;
    let values = vec![sum, 3.0, -0.0, 1e30, 1.5e-9, f64::NAN, f64::NEG_INFINITY, 123_456_789.125];
    let texts = ["0.3", "3.0", "0.0", "1e30", "1.5e-9", "NaN", "-inf", "123456789.125"];
    check(Float64Array::from(values), &texts);
    check(Float32Array::from(vec![0.1, 16_777_216.0, -2.5]), &["0.1", "16777200.0", "-2.5"]);
}

#[test]
fn units_and_zones_of_time_do_not_show() {
    let texts = ["1970-01-01T00:00:01", "NULL"];
    check(TimestampSecondArray::from(vec![Some(1), None]), &texts);
    check(
        TimestampMicrosecondArray::from(vec![Some(1_000_000), None]).with_timezone("+05:00"),
        &texts,
    );
    check(TimestampNanosecondArray::from(vec![-250_000_000]), &["1969-12-31T23:59:59.75"]);
    check(Date32Array::from(vec![15_736]), &["2013-01-31"]);
}

#[test]
fn other_types() {
    check(Int64Array::from(vec![Some(i64::MIN), None]), &["-9223372036854775808", "NULL"]);
    check(BooleanArray::from(vec![Some(true), Some(false), None]), &["true", "false", "NULL"]);
    check(NullArray::new(2), &["NULL", "NULL"]);
    check(BinaryArray::from(vec![&b"\x00\xff"[..], b""]), &["00ff", "(empty)"]);
    let decimal = Decimal128Array::from(vec![123_400, -5]).with_precision_and_scale(18, 4);
    check(decimal.unwrap(), &["12.3400", "-0.0005"]);
    let list = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(list);
    check(list, &["[1, NULL]", "NULL", "[]"]);
}

#[test]
fn a_time_outside_the_calendar_is_an_error() {
    let column: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
    let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
    assert!(matches!(rows(&[batch]), Err(TextError::OutsideCalendar { value: i64::MAX, .. })));
}
