//! Which column types go together: merging what several inputs suggest, and what may be cast to what.
//!
//! Invariant: a merge never loses values, and a cast that may lose one is checked row by row.

use arrow::datatypes::{DataType, TimeUnit};

/// Returns the type that holds the values of both, or none.
///
/// Text inputs suggest types from a sample, so text is what they can always agree on.
pub(crate) fn merge_types(a: &DataType, b: &DataType, both_text: bool) -> Option<DataType> {
    if a == b {
        return Some(a.clone());
    }
    let merged = match (a, b) {
        (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
        _ if a.is_integer() && b.is_integer() => merge_integers(a, b),
        _ if a.is_numeric() && b.is_numeric() && !is_decimal(a) && !is_decimal(b) => {
            Some(DataType::Float64)
        }
        (DataType::Timestamp(a, a_zone), DataType::Timestamp(b, b_zone)) => {
            let zone = a_zone.clone().or_else(|| b_zone.clone());
            Some(DataType::Timestamp(*a.max(b), zone))
        }
        (DataType::Date32 | DataType::Date64, time @ DataType::Timestamp(..))
        | (time @ DataType::Timestamp(..), DataType::Date32 | DataType::Date64) => {
            Some(time.clone())
        }
        _ => None,
    };
    merged.or_else(|| both_text.then_some(DataType::Utf8))
}

/// Returns the narrowest integer that holds both, if there is one.
fn merge_integers(a: &DataType, b: &DataType) -> Option<DataType> {
    let width = a.primitive_width()?.max(b.primitive_width()?);
    if a.is_signed_integer() == b.is_signed_integer() {
        let wider = if a.primitive_width()? == width { a } else { b };
        return Some(wider.clone());
    }
    let unsigned = if a.is_signed_integer() { b } else { a };
    match unsigned {
        DataType::UInt64 => None,
        _ => Some(DataType::Int64),
    }
}

/// Returns whether a column of type `from` may be loaded into one of type `to`; single values may
/// still not fit.
pub(crate) fn may_cast(from: &DataType, to: &DataType) -> bool {
    let is_text = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    let is_bytes = |data_type: &DataType| {
        matches!(
            data_type,
            DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
                | DataType::FixedSizeBinary(_)
        )
    };
    let is_time = |data_type: &DataType| {
        matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
    };
    match (from, to) {
        (DataType::Dictionary(_, values), to) => may_cast(values, to),
        (DataType::Null, _) => true,
        (from, to) if from == to => true,
        (from, to) if is_text(from) && (is_text(to) || is_bytes(to)) => true,
        (from, to) if is_bytes(from) && is_bytes(to) => true,
        (from, to) if is_time(from) && is_time(to) => true,
        (from, to) if from.is_integer() && (to.is_integer() || to.is_floating()) => true,
        (from, to) if from.is_floating() && to.is_floating() => true,
        (from, to) if (from.is_integer() || is_decimal(from)) && is_decimal(to) => true,
        (DataType::Time32(_) | DataType::Time64(_), DataType::Time32(_) | DataType::Time64(_)) => {
            true
        }
        (from, to) => {
            from.is_nested() && to.is_nested() && arrow::compute::can_cast_types(from, to)
        }
    }
}

/// Returns the type that a text input's column gets: what is only a guess from a sample must have
/// room for the values after the sample.
pub(crate) fn widen_guess(guess: &DataType) -> DataType {
    match guess {
        // Later values may have fractions of a second.
        DataType::Timestamp(unit, _) => {
            DataType::Timestamp(*unit.max(&TimeUnit::Microsecond), Some("UTC".into()))
        }
        other => other.clone(),
    }
}

/// Returns whether the type is a decimal of any width.
fn is_decimal(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(unit: TimeUnit) -> DataType {
        DataType::Timestamp(unit, Some("UTC".into()))
    }

    #[test]
    fn merges_lose_nothing() {
        let check = |a: DataType, b: DataType, text: bool, expected: Option<DataType>| {
            assert_eq!(merge_types(&a, &b, text), expected, "{a} and {b}");
            assert_eq!(merge_types(&b, &a, text), expected, "{b} and {a}");
        };
        check(DataType::Null, DataType::Int8, false, Some(DataType::Int8));
        check(DataType::Int8, DataType::Int32, false, Some(DataType::Int32));
        check(DataType::UInt8, DataType::UInt16, false, Some(DataType::UInt16));
        check(DataType::Int8, DataType::UInt32, false, Some(DataType::Int64));
        check(DataType::Int8, DataType::UInt64, false, None);
        check(DataType::Int64, DataType::Float64, true, Some(DataType::Float64));
        check(DataType::Int64, DataType::Utf8, true, Some(DataType::Utf8));
        check(DataType::Int64, DataType::Utf8, false, None);
        check(DataType::Boolean, DataType::Int64, true, Some(DataType::Utf8));
        let ms = DataType::Timestamp(TimeUnit::Millisecond, None);
        check(ms, utc(TimeUnit::Second), false, Some(utc(TimeUnit::Millisecond)));
        check(DataType::Date32, utc(TimeUnit::Second), false, Some(utc(TimeUnit::Second)));
    }

    #[test]
    fn casts_stay_in_the_family() {
        let check = |from: DataType, to: DataType, expected: bool| {
            assert_eq!(may_cast(&from, &to), expected, "{from} to {to}");
        };
        check(DataType::Int64, DataType::Int8, true);
        check(DataType::Int64, DataType::Float64, true);
        check(DataType::Float64, DataType::Int64, false);
        check(DataType::Utf8, DataType::Int64, false);
        check(DataType::Int64, DataType::Utf8, false);
        check(DataType::LargeUtf8, DataType::Utf8, true);
        check(utc(TimeUnit::Second), DataType::Timestamp(TimeUnit::Nanosecond, None), true);
        check(DataType::Boolean, DataType::Int8, false);
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        check(dictionary.clone(), DataType::Utf8, true);
        check(dictionary, DataType::Int64, false);
    }
}
