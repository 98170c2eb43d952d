//! What a query asks of the rows, in the form in which partitions and blocks are pruned.
//!
//! Invariant: there is no NOT; whoever converts a filter pushes negation down to the leaves, and
//! leaves out (as [`Predicate::True`]) what has no form here, because a predicate may only widen.
//! Comparisons have SQL's null semantics: a comparison with a NULL row is no match. Left out:
//! evaluation on rows, which the engine does.

use std::collections::BTreeSet;

use crate::column::ColumnId;
use crate::value::Value;

/// How a column is compared with a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
}

/// A condition on rows. Literals have the kind and the unit of their column.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Every row matches.
    True,
    /// No row matches.
    False,
    /// All of these match.
    And(Vec<Self>),
    /// At least one of these matches.
    Or(Vec<Self>),
    /// The column compares so with the value; a NULL does not match.
    Compare {
        /// The column on the left.
        column: ColumnId,
        /// How it is compared.
        op: Comparison,
        /// The literal on the right.
        value: Value,
    },
    /// The column equals one of these values; a NULL does not match.
    In {
        /// The column on the left.
        column: ColumnId,
        /// The literals on the right.
        values: Vec<Value>,
    },
    /// The column is NULL.
    IsNull(ColumnId),
    /// The column is not NULL.
    IsNotNull(ColumnId),
    /// The column's bytes start with the prefix; a NULL does not match.
    StartsWith {
        /// The column.
        column: ColumnId,
        /// The prefix.
        prefix: Vec<u8>,
    },
}

impl Predicate {
    /// Returns the predicate that both match, simplified.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, one) | (one, Self::True) => one,
            (Self::And(mut all), Self::And(more)) => {
                all.extend(more);
                Self::And(all)
            }
            (Self::And(mut all), one) => {
                all.push(one);
                Self::And(all)
            }
            (one, Self::And(mut all)) => {
                all.insert(0, one);
                Self::And(all)
            }
            (one, other) => Self::And(vec![one, other]),
        }
    }

    /// Returns the predicate that at least one matches, simplified.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::False, one) | (one, Self::False) => one,
            (Self::Or(mut any), Self::Or(more)) => {
                any.extend(more);
                Self::Or(any)
            }
            (Self::Or(mut any), one) => {
                any.push(one);
                Self::Or(any)
            }
            (one, Self::Or(mut any)) => {
                any.insert(0, one);
                Self::Or(any)
            }
            (one, other) => Self::Or(vec![one, other]),
        }
    }

    /// Returns the columns that the predicate asks about.
    #[must_use]
    pub fn columns(&self) -> BTreeSet<ColumnId> {
        let mut columns = BTreeSet::new();
        self.collect_columns(&mut columns);
        columns
    }

    fn collect_columns(&self, columns: &mut BTreeSet<ColumnId>) {
        match self {
            Self::True | Self::False => {}
            Self::And(parts) | Self::Or(parts) => {
                for part in parts {
                    part.collect_columns(columns);
                }
            }
            Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::IsNull(column)
            | Self::IsNotNull(column)
            | Self::StartsWith { column, .. } => {
                columns.insert(*column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null(id: u32) -> Predicate {
        Predicate::IsNull(ColumnId(id))
    }

    fn check(found: Predicate, expected: Predicate) {
        assert_eq!(found, expected);
    }

    #[test]
    fn constants_vanish() {
        check(Predicate::True.and(null(1)), null(1));
        check(null(1).and(Predicate::False), Predicate::False);
        check(Predicate::False.or(null(1)), null(1));
        check(null(1).or(Predicate::True), Predicate::True);
    }

    #[test]
    fn chains_stay_flat_and_in_order() {
        let all = |ids: &[u32]| Predicate::And(ids.iter().map(|id| null(*id)).collect());
        check(null(1).and(null(2)).and(null(3)), all(&[1, 2, 3]));
        check(null(1).and(null(2).and(null(3))), all(&[1, 2, 3]));
        check(all(&[1, 2]).and(all(&[3, 4])), all(&[1, 2, 3, 4]));
        check(null(1).or(null(2)).or(null(3)), Predicate::Or(vec![null(1), null(2), null(3)]));
    }

    #[test]
    fn columns_are_collected_once() {
        let predicate = null(3).or(null(1).and(Predicate::IsNotNull(ColumnId(3))));
        assert_eq!(predicate.columns(), BTreeSet::from([ColumnId(1), ColumnId(3)]));
    }
}
