//! Comparing answers.
//!
//! Invariant: two answers agree when they have the same rows in any order, but for the last column
//! of a question whose answer is approximate. Left out: column names and types.

use std::io::Cursor;

use anyhow::Context as _;
use arrow::array::RecordBatch;
use arrow::ipc::reader::StreamReader;
use peerage_testdata::text;
use serde::{Deserialize, Serialize};

/// How far a number may be from the right one: the larger of both. None by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tolerance {
    /// As a share of the number.
    pub(crate) relative: f64,
    /// In the number's own unit.
    pub(crate) absolute: f64,
}

/// Rows as texts, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Answer {
    rows: Vec<Vec<String>>,
}

impl Answer {
    /// Returns the answer in an Arrow IPC stream.
    pub(crate) fn decode(stream: &[u8]) -> anyhow::Result<Self> {
        let reader = StreamReader::try_new(Cursor::new(stream), None);
        let batches: Result<Vec<RecordBatch>, _> =
            reader.context("read an Arrow stream")?.collect();
        Self::of(&batches.context("read an Arrow stream")?)
    }

    /// Returns the answer in batches.
    pub(crate) fn of(batches: &[RecordBatch]) -> anyhow::Result<Self> {
        let mut rows = text::rows(batches).context("write an answer as text")?;
        rows.sort_unstable();
        Ok(Self { rows })
    }

    /// Returns the number of rows.
    pub(crate) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns what is different in `other`, or `None` when both agree.
    pub(crate) fn difference(&self, other: &Self, tolerance: Tolerance) -> Option<String> {
        if self.rows.len() != other.rows.len() {
            return Some(format!("{} rows instead of {}", other.rows.len(), self.rows.len()));
        }
        let both = self.rows.iter().zip(&other.rows);
        let (expected, found) = both.into_iter().find(|(a, b)| !rows_agree(a, b, tolerance))?;
        Some(format!("({}) instead of ({})", found.join(", "), expected.join(", ")))
    }
}

fn rows_agree(a: &[String], b: &[String], tolerance: Tolerance) -> bool {
    let (Some((last_a, keys_a)), Some((last_b, keys_b))) = (a.split_last(), b.split_last()) else {
        return a == b;
    };
    keys_a == keys_b && (last_a == last_b || are_near(last_a, last_b, tolerance))
}

fn are_near(a: &str, b: &str, tolerance: Tolerance) -> bool {
    let (Ok(a), Ok(b)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    let allowed = (tolerance.relative * a.abs().max(b.abs())).max(tolerance.absolute);
    allowed > 0.0 && (a - b).abs() <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[&str]]) -> Answer {
        let row = |row: &&[&str]| row.iter().map(|&value| value.to_owned()).collect();
        Answer { rows: rows.iter().map(row).collect() }
    }

    const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0 };
    const NEAR: Tolerance = Tolerance { relative: 0.05, absolute: 2.0 };

    fn check(a: &[&[&str]], b: &[&[&str]], tolerance: Tolerance, expected: Option<&str>) {
        assert_eq!(answer(a).difference(&answer(b), tolerance).as_deref(), expected);
    }

    #[test]
    fn answers_agree_or_the_first_difference_is_told() {
        check(&[&["a", "1"]], &[&["a", "1"]], EXACT, None);
        check(&[], &[], EXACT, None);
        check(&[&["a", "1"]], &[], EXACT, Some("0 rows instead of 1"));
        check(&[&["a", "1"]], &[&["a", "2"]], EXACT, Some("(a, 2) instead of (a, 1)"));
        check(&[&["a", "1"]], &[&["a", "1.0"]], EXACT, Some("(a, 1.0) instead of (a, 1)"));
    }

    #[test]
    fn only_the_last_column_may_be_near() {
        check(&[&["a", "100"]], &[&["a", "104"]], NEAR, None);
        check(&[&["a", "100"]], &[&["a", "106"]], NEAR, Some("(a, 106) instead of (a, 100)"));
        check(&[&["a", "3"]], &[&["a", "5"]], NEAR, None);
        check(&[&["100", "1"]], &[&["104", "1"]], NEAR, Some("(104, 1) instead of (100, 1)"));
        check(&[&["a", "NULL"]], &[&["a", "1"]], NEAR, Some("(a, 1) instead of (a, NULL)"));
    }
}
