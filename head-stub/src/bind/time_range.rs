//! The time range of a predicate: what the catalog prunes by. Pure.
//!
//! The range is a hull: it may be too wide, never too narrow.

use std::ops::RangeInclusive;

use arrow::datatypes::{DataType, TimeUnit};
use peerage_partition::{ColumnId, Comparison, Predicate, Value};

const MS_PER_SECOND: i64 = 1_000;
const MS_PER_DAY: i64 = 86_400_000;
const US_PER_MS: i64 = 1_000;
const NS_PER_MS: i64 = 1_000_000;

/// Bounds in the unit of the column, both included; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hull {
    min: Option<i64>,
    max: Option<i64>,
}

const UNBOUNDED: Hull = Hull { min: None, max: None };
/// No row at all.
const NOTHING: Hull = Hull { min: Some(i64::MAX), max: Some(i64::MIN) };

/// Returns the times of `primary` that may match, in epoch milliseconds; `None` when all may.
pub(super) fn time_range_ms(
    predicate: &Predicate,
    primary: ColumnId,
    data_type: &DataType,
) -> Option<RangeInclusive<i64>> {
    let hull = hull(predicate, primary);
    if hull == UNBOUNDED {
        return None;
    }
    let min = hull.min.map_or(i64::MIN, |value| to_ms(value, data_type, i64::div_euclid));
    let ceiling = |value: i64, unit: i64| {
        let floor = value.div_euclid(unit);
        if value.rem_euclid(unit) == 0 { floor } else { floor.saturating_add(1) }
    };
    let max = hull.max.map_or(i64::MAX, |value| to_ms(value, data_type, ceiling));
    Some(min..=max)
}

fn to_ms(value: i64, data_type: &DataType, divide: impl Fn(i64, i64) -> i64) -> i64 {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => value.saturating_mul(MS_PER_SECOND),
        DataType::Timestamp(TimeUnit::Microsecond, _) => divide(value, US_PER_MS),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => divide(value, NS_PER_MS),
        DataType::Date32 => value.saturating_mul(MS_PER_DAY),
        _ => value,
    }
}

fn hull(predicate: &Predicate, primary: ColumnId) -> Hull {
    match predicate {
        Predicate::False => NOTHING,
        Predicate::And(all) => {
            all.iter().fold(UNBOUNDED, |sum, one| intersect(sum, hull(one, primary)))
        }
        Predicate::Or(any) => {
            any.iter().map(|one| hull(one, primary)).reduce(union).unwrap_or(NOTHING)
        }
        Predicate::Compare { column, op, value: Value::Int(value) } if *column == primary => {
            compared(*op, *value)
        }
        Predicate::In { column, values } if *column == primary => {
            let point = |value: &Value| match value {
                Value::Int(value) => compared(Comparison::Eq, *value),
                _ => UNBOUNDED,
            };
            values.iter().map(point).reduce(union).unwrap_or(NOTHING)
        }
        _ => UNBOUNDED,
    }
}

const fn compared(op: Comparison, value: i64) -> Hull {
    match op {
        Comparison::Eq => Hull { min: Some(value), max: Some(value) },
        Comparison::NotEq => UNBOUNDED,
        Comparison::Lt => Hull { min: None, max: Some(value.saturating_sub(1)) },
        Comparison::LtEq => Hull { min: None, max: Some(value) },
        Comparison::Gt => Hull { min: Some(value.saturating_add(1)), max: None },
        Comparison::GtEq => Hull { min: Some(value), max: None },
    }
}

fn intersect(left: Hull, right: Hull) -> Hull {
    Hull {
        min: left.min.max(right.min),
        max: match (left.max, right.max) {
            (Some(left), Some(right)) => Some(left.min(right)),
            (left, right) => left.or(right),
        },
    }
}

fn union(left: Hull, right: Hull) -> Hull {
    if left == NOTHING {
        return right;
    }
    if right == NOTHING {
        return left;
    }
    Hull {
        min: left.min.zip(right.min).map(|(left, right)| left.min(right)),
        max: left.max.zip(right.max).map(|(left, right)| left.max(right)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TS: ColumnId = ColumnId(1);

    fn compare(op: Comparison, value: i64) -> Predicate {
        Predicate::Compare { column: TS, op, value: Value::Int(value) }
    }

    fn other() -> Predicate {
        Predicate::IsNull(ColumnId(2))
    }

    fn check(predicate: &Predicate, expected: Option<RangeInclusive<i64>>) {
        let unit = DataType::Timestamp(TimeUnit::Microsecond, None);
        assert_eq!(time_range_ms(predicate, TS, &unit), expected, "{predicate:?}");
    }

    #[test]
    fn bounds_are_rounded_outwards() {
        check(&compare(Comparison::GtEq, 1_500), Some(1..=i64::MAX));
        check(&compare(Comparison::LtEq, 1_500), Some(i64::MIN..=2));
        check(&compare(Comparison::Eq, -1_500), Some(-2..=-1));
        check(&compare(Comparison::Lt, 2_000), Some(i64::MIN..=2));
    }

    #[test]
    fn and_narrows_or_widens() {
        let (low, high) = (compare(Comparison::GtEq, 1_000), compare(Comparison::Lt, 5_000));
        check(&Predicate::And(vec![low.clone(), high, other()]), Some(1..=5));
        check(&Predicate::Or(vec![low.clone(), other()]), None);
        let far = compare(Comparison::Eq, 9_000);
        check(&Predicate::Or(vec![compare(Comparison::Eq, 2_000), far]), Some(2..=9));
        check(&Predicate::Or(vec![low, Predicate::False]), Some(1..=i64::MAX));
        check(&other(), None);
        check(&compare(Comparison::NotEq, 5), None);
    }

    #[test]
    fn contradictions_leave_nothing() {
        let range =
            |predicate| time_range_ms(&predicate, TS, &DataType::Timestamp(TimeUnit::Second, None));
        assert!(range(Predicate::False).is_some_and(|range| range.is_empty()));
        let never = Predicate::And(vec![compare(Comparison::Gt, 5), compare(Comparison::Lt, 3)]);
        assert!(range(never).is_some_and(|range| range.is_empty()));
    }

    #[test]
    fn units_become_milliseconds() {
        let at = |data_type| time_range_ms(&compare(Comparison::Eq, 2), TS, &data_type);
        assert_eq!(at(DataType::Timestamp(TimeUnit::Second, None)), Some(2_000..=2_000));
        assert_eq!(at(DataType::Timestamp(TimeUnit::Millisecond, None)), Some(2..=2));
        assert_eq!(at(DataType::Timestamp(TimeUnit::Nanosecond, None)), Some(0..=1));
        assert_eq!(at(DataType::Date32), Some(2 * MS_PER_DAY..=2 * MS_PER_DAY));
    }
}
