//! What is known about the values of one column in a range of rows, and what follows from it.
//!
//! Invariant: every answer is `true` unless no row of the range can match. Left out: where the facts
//! come from; the manifest and the zone maps give the same.

use std::cmp::Ordering;

use crate::bounds;
use crate::predicate::Comparison;
use crate::value::{Value, ValueRef};

/// What a leaf of a predicate asks of a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Question<'a> {
    Compare(Comparison, &'a Value),
    In(&'a [Value]),
    IsNull,
    IsNotNull,
    StartsWith(&'a [u8]),
}

impl<'a> Question<'a> {
    /// Returns the values of which a matching row equals one, where the question is of that form.
    pub(super) fn equals_one_of(self) -> Option<&'a [Value]> {
        match self {
            Question::Compare(Comparison::Eq, value) => Some(std::slice::from_ref(value)),
            Question::In(values) => Some(values),
            _ => None,
        }
    }
}

/// What is known about a column in a range of rows. Bounds are of the rows that are not NULL; a
/// missing bound is unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) rows: u64,
    pub(super) nulls: u64,
    pub(super) min: Option<ValueRef<'a>>,
    pub(super) max: Option<ValueRef<'a>>,
    pub(super) has_exact_bounds: bool,
}

impl Facts<'_> {
    /// Returns the facts of a column that is NULL in every row.
    pub(super) fn all_null(rows: u64) -> Self {
        Self { rows, nulls: rows, min: None, max: None, has_exact_bounds: false }
    }

    /// Returns whether a row may match.
    pub(super) fn may_match(&self, question: Question<'_>) -> bool {
        match question {
            Question::Compare(op, value) => self.may_compare(op, value.borrow()),
            Question::In(values) => values.iter().any(|value| self.may_equal(value.borrow())),
            Question::IsNull => self.nulls > 0,
            Question::IsNotNull => self.has_values(),
            Question::StartsWith(prefix) => self.may_start_with(prefix),
        }
    }

    /// Returns whether a row may equal the value.
    pub(super) fn may_equal(&self, value: ValueRef<'_>) -> bool {
        self.may_compare(Comparison::Eq, value)
    }

    fn may_compare(&self, op: Comparison, value: ValueRef<'_>) -> bool {
        if !self.has_values() {
            return false;
        }
        // Engines differ on NaN: greater than everything, or equal to nothing.
        if matches!(value, ValueRef::Float(float) if float.is_nan()) {
            return true;
        }
        let (low, high) = both_zeros(value);
        let above_max = is(low, self.max, Ordering::Greater);
        let below_min = is(high, self.min, Ordering::Less);
        match op {
            Comparison::Eq => !above_max && !below_min,
            Comparison::NotEq => !self.is_only(value),
            Comparison::Lt => !below_min && !is(high, self.min, Ordering::Equal),
            Comparison::LtEq => !below_min,
            Comparison::Gt => !above_max && !is(low, self.max, Ordering::Equal),
            Comparison::GtEq => !above_max,
        }
    }

    fn may_start_with(&self, prefix: &[u8]) -> bool {
        if !self.has_values() {
            return false;
        }
        let above_max = is(ValueRef::Bytes(prefix), self.max, Ordering::Greater);
        let beyond = bounds::successor(prefix);
        let below_min = beyond.is_some_and(|beyond| {
            let beyond = ValueRef::Bytes(&beyond);
            is(beyond, self.min, Ordering::Less) || is(beyond, self.min, Ordering::Equal)
        });
        !above_max && !below_min
    }

    /// Returns whether every row that is not NULL has exactly this value.
    fn is_only(&self, value: ValueRef<'_>) -> bool {
        self.has_exact_bounds
            && is(value, self.min, Ordering::Equal)
            && is(value, self.max, Ordering::Equal)
    }

    fn has_values(&self) -> bool {
        self.nulls < self.rows
    }
}

/// Returns whether the value certainly stands so to the bound.
fn is(value: ValueRef<'_>, bound: Option<ValueRef<'_>>, ordering: Ordering) -> bool {
    bound.and_then(|bound| value.compare(bound)) == Some(ordering)
}

/// Returns the value as a range: zero of either sign covers both zeros, which IEEE comparison
/// takes as equal and the total order does not.
fn both_zeros(value: ValueRef<'_>) -> (ValueRef<'_>, ValueRef<'_>) {
    match value {
        ValueRef::Float(0.0) => (ValueRef::Float(-0.0), ValueRef::Float(0.0)),
        other => (other, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const OPS: [Comparison; 6] = [
        Comparison::Eq,
        Comparison::NotEq,
        Comparison::Lt,
        Comparison::LtEq,
        Comparison::Gt,
        Comparison::GtEq,
    ];

    fn between<'a>(min: ValueRef<'a>, max: ValueRef<'a>) -> Facts<'a> {
        Facts { rows: 10, nulls: 3, min: Some(min), max: Some(max), has_exact_bounds: true }
    }

    fn check(facts: Facts<'_>, value: Value, expected: Expect) {
        let kept: Vec<Comparison> =
            OPS.into_iter().filter(|op| facts.may_match(Question::Compare(*op, &value))).collect();
        expected.assert_eq(&format!("{kept:?}"));
    }

    #[test]
    fn boundaries_are_inclusive() {
        let facts = between(ValueRef::Int(3), ValueRef::Int(7));
        check(facts, Value::Int(2), expect!["[NotEq, Gt, GtEq]"]);
        check(facts, Value::Int(3), expect!["[Eq, NotEq, LtEq, Gt, GtEq]"]);
        check(facts, Value::Int(7), expect!["[Eq, NotEq, Lt, LtEq, GtEq]"]);
        check(facts, Value::UInt(8), expect!["[NotEq, Lt, LtEq]"]);
        let same = between(ValueRef::Int(3), ValueRef::Int(3));
        check(same, Value::Int(3), expect!["[Eq, LtEq, GtEq]"]);
        check(
            Facts { has_exact_bounds: false, ..same },
            Value::Int(3),
            expect!["[Eq, NotEq, LtEq, GtEq]"],
        );
    }

    #[test]
    fn another_kind_is_kept() {
        let facts = between(ValueRef::Int(3), ValueRef::Int(7));
        check(facts, Value::Float(99.0), expect!["[Eq, NotEq, Lt, LtEq, Gt, GtEq]"]);
    }

    #[test]
    fn zeros_are_widened_and_nan_is_kept() {
        let zero = |zero| between(ValueRef::Float(zero), ValueRef::Float(zero));
        check(zero(0.0), Value::Float(-0.0), expect!["[Eq, NotEq, LtEq, Gt, GtEq]"]);
        check(zero(-0.0), Value::Float(0.0), expect!["[Eq, NotEq, Lt, LtEq, GtEq]"]);
        check(zero(0.0), Value::Float(0.0), expect!["[Eq, LtEq, Gt, GtEq]"]);
        check(zero(1.0), Value::Float(f64::NAN), expect!["[Eq, NotEq, Lt, LtEq, Gt, GtEq]"]);
    }

    #[test]
    fn nulls_match_no_comparison() {
        check(Facts::all_null(10), Value::Int(3), expect!["[]"]);
        assert!(Facts::all_null(10).may_match(Question::IsNull));
        assert!(!Facts::all_null(10).may_match(Question::IsNotNull));
        assert!(!Facts::all_null(10).may_match(Question::StartsWith(b"")));
    }

    #[test]
    fn prefixes() {
        let facts = between(ValueRef::Bytes(b"bcd"), ValueRef::Bytes(b"bzz"));
        for (prefix, kept) in
            [("", true), ("b", true), ("bc", true), ("bb", false), ("c", false), ("bzzz", false)]
        {
            let found = facts.may_match(Question::StartsWith(prefix.as_bytes()));
            assert_eq!(found, kept, "{prefix}");
        }
        assert!(facts.may_match(Question::StartsWith(b"bcd")));
        assert!(!facts.may_match(Question::StartsWith(b"\xff")));
    }
}
