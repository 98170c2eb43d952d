//! Single values as statistics and predicates hold them.
//!
//! Invariant: a value is in its column's own unit (days, milliseconds, microseconds …); texts are
//! bytes. Values compare only with values of the same kind, integers by their number whether signed
//! or not, floats by the IEEE 754 total order. Left out: decimals, half floats and nested values,
//! which carry no statistics, and every cast: whoever builds a predicate casts its literals.

use std::cmp::Ordering;

/// An owned value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A signed integer, a date, a time or a timestamp.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A float; `Float32` columns are widened.
    Float(f64),
    /// A text or binary value.
    Bytes(Vec<u8>),
}

impl Value {
    /// Returns the borrowed form.
    #[must_use]
    pub fn borrow(&self) -> ValueRef<'_> {
        match self {
            Self::Bool(value) => ValueRef::Bool(*value),
            Self::Int(value) => ValueRef::Int(*value),
            Self::UInt(value) => ValueRef::UInt(*value),
            Self::Float(value) => ValueRef::Float(*value),
            Self::Bytes(value) => ValueRef::Bytes(value),
        }
    }
}

/// A value of a column, borrowed from statistics or from an index in place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'a> {
    /// A boolean.
    Bool(bool),
    /// A signed integer, a date, a time or a timestamp.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A float; `Float32` columns are widened.
    Float(f64),
    /// A text or binary value.
    Bytes(&'a [u8]),
}

impl ValueRef<'_> {
    /// Returns how the values are ordered, or `None` where their kinds do not compare.
    #[must_use]
    pub fn compare(self, other: ValueRef<'_>) -> Option<Ordering> {
        match (self, other) {
            (ValueRef::Bool(a), ValueRef::Bool(b)) => Some(a.cmp(&b)),
            (ValueRef::Int(a), ValueRef::Int(b)) => Some(a.cmp(&b)),
            (ValueRef::UInt(a), ValueRef::UInt(b)) => Some(a.cmp(&b)),
            (ValueRef::Int(a), ValueRef::UInt(b)) => Some(i128::from(a).cmp(&i128::from(b))),
            (ValueRef::UInt(a), ValueRef::Int(b)) => Some(i128::from(a).cmp(&i128::from(b))),
            (ValueRef::Float(a), ValueRef::Float(b)) => Some(a.total_cmp(&b)),
            (ValueRef::Bytes(a), ValueRef::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// Returns the owned form.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Bool(value) => Value::Bool(value),
            ValueRef::Int(value) => Value::Int(value),
            ValueRef::UInt(value) => Value::UInt(value),
            ValueRef::Float(value) => Value::Float(value),
            ValueRef::Bytes(value) => Value::Bytes(value.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: ValueRef<'_>, b: ValueRef<'_>, expected: Option<Ordering>) {
        assert_eq!(a.compare(b), expected, "{a:?} against {b:?}");
        assert_eq!(b.compare(a), expected.map(Ordering::reverse), "{b:?} against {a:?}");
    }

    #[test]
    fn integers_compare_by_number() {
        check(ValueRef::Int(-1), ValueRef::UInt(u64::MAX), Some(Ordering::Less));
        check(ValueRef::Int(7), ValueRef::UInt(7), Some(Ordering::Equal));
    }

    #[test]
    fn floats_compare_by_total_order() {
        check(ValueRef::Float(-0.0), ValueRef::Float(0.0), Some(Ordering::Less));
        check(ValueRef::Float(f64::INFINITY), ValueRef::Float(f64::NAN), Some(Ordering::Less));
    }

    #[test]
    fn kinds_do_not_mix() {
        check(ValueRef::Int(1), ValueRef::Float(1.0), None);
        check(ValueRef::Bytes(b"1"), ValueRef::Int(1), None);
        check(ValueRef::Bool(true), ValueRef::Int(1), None);
    }
}
