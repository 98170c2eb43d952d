//! Visits the values of an array that are not NULL, widened to one type per kind.
//!
//! Invariant: every type of a kind (see [`kind_of`]) has its arm here. Left out: nested types,
//! decimals and half floats, whose values nobody asks for.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};

use crate::zone::{SumKind, ZoneKind};

/// Returns the kind of the values of a type, and of their sum.
pub(super) fn kind_of(data_type: &DataType) -> (ZoneKind, SumKind) {
    match data_type {
        DataType::Boolean => (ZoneKind::Bool, SumKind::None),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            (ZoneKind::Int, SumKind::Int)
        }
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            (ZoneKind::UInt, SumKind::Int)
        }
        DataType::Float32 | DataType::Float64 => (ZoneKind::Float, SumKind::Float),
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => {
            (ZoneKind::Int, SumKind::None)
        }
        DataType::Timestamp(_, _) => (ZoneKind::Int, SumKind::None),
        DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_) => {
            (ZoneKind::Bytes, SumKind::None)
        }
        _ => (ZoneKind::None, SumKind::None),
    }
}

fn each<T, V>(array: &dyn Array, mut visit: impl FnMut(V))
where
    T: ArrowPrimitiveType,
    V: From<T::Native>,
{
    let values = array.as_primitive::<T>();
    if values.null_count() == 0 {
        values.values().iter().for_each(|&value| visit(V::from(value)));
    } else {
        values.iter().flatten().for_each(|value| visit(V::from(value)));
    }
}

/// Visits the values of an array of kind [`ZoneKind::Int`].
pub(super) fn each_int(array: &dyn Array, visit: impl FnMut(i64)) {
    match array.data_type() {
        DataType::Int8 => each::<Int8Type, i64>(array, visit),
        DataType::Int16 => each::<Int16Type, i64>(array, visit),
        DataType::Int32 => each::<Int32Type, i64>(array, visit),
        DataType::Int64 => each::<Int64Type, i64>(array, visit),
        DataType::Date32 => each::<Date32Type, i64>(array, visit),
        DataType::Date64 => each::<Date64Type, i64>(array, visit),
        DataType::Time32(TimeUnit::Second) => each::<Time32SecondType, i64>(array, visit),
        DataType::Time32(_) => each::<Time32MillisecondType, i64>(array, visit),
        DataType::Time64(TimeUnit::Microsecond) => each::<Time64MicrosecondType, i64>(array, visit),
        DataType::Time64(_) => each::<Time64NanosecondType, i64>(array, visit),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => each::<TimestampSecondType, i64>(array, visit),
            TimeUnit::Millisecond => each::<TimestampMillisecondType, i64>(array, visit),
            TimeUnit::Microsecond => each::<TimestampMicrosecondType, i64>(array, visit),
            TimeUnit::Nanosecond => each::<TimestampNanosecondType, i64>(array, visit),
        },
        other => unreachable!("{other} is no signed integer"),
    }
}

/// Visits the values of an array of kind [`ZoneKind::UInt`].
pub(super) fn each_uint(array: &dyn Array, visit: impl FnMut(u64)) {
    match array.data_type() {
        DataType::UInt8 => each::<UInt8Type, u64>(array, visit),
        DataType::UInt16 => each::<UInt16Type, u64>(array, visit),
        DataType::UInt32 => each::<UInt32Type, u64>(array, visit),
        DataType::UInt64 => each::<UInt64Type, u64>(array, visit),
        other => unreachable!("{other} is no unsigned integer"),
    }
}

/// Visits the values of an array of kind [`ZoneKind::Float`].
pub(super) fn each_float(array: &dyn Array, visit: impl FnMut(f64)) {
    match array.data_type() {
        DataType::Float32 => each::<Float32Type, f64>(array, visit),
        DataType::Float64 => each::<Float64Type, f64>(array, visit),
        other => unreachable!("{other} is no float"),
    }
}

/// Visits the values of an array of kind [`ZoneKind::Bytes`].
pub(super) fn each_bytes<'a>(array: &'a dyn Array, mut visit: impl FnMut(&'a [u8])) {
    match array.data_type() {
        DataType::Utf8 => {
            array.as_string::<i32>().iter().flatten().for_each(|text| visit(text.as_bytes()));
        }
        DataType::Binary => array.as_binary::<i32>().iter().flatten().for_each(visit),
        DataType::FixedSizeBinary(_) => {
            array.as_fixed_size_binary().iter().flatten().for_each(visit);
        }
        other => unreachable!("{other} is no byte string"),
    }
}

/// Visits the values of an array of kind [`ZoneKind::Bool`].
pub(super) fn each_bool(array: &dyn Array, visit: impl FnMut(bool)) {
    array.as_boolean().iter().flatten().for_each(visit);
}
