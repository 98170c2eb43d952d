//! A row that can't be loaded: where it is, what is wrong, how it looks.
//!
//! Invariant: the text names the file, the line or row, the column, the value and the reason, as far
//! as each is known, and is one line whatever the value holds.

use std::fmt;
use std::sync::Arc;

/// Characters of a value that an error shows: enough to find it, not enough to flood a terminal.
const VALUE_CHARS_MAX: usize = 80;

/// What is wrong with a row, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// The column, if it is only one.
    pub column: Option<String>,
    /// The value as it stands in the input.
    pub value: Option<String>,
    /// Why the row can't be loaded.
    pub reason: String,
}

impl RowFault {
    /// Returns a fault of the record as a whole.
    pub fn of_record(reason: impl Into<String>) -> Self {
        Self { column: None, value: None, reason: reason.into() }
    }

    /// Returns a fault of one value.
    pub fn of_value(
        column: impl Into<String>,
        value: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self { column: Some(column.into()), value: Some(value.into()), reason: reason.into() }
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = &self.column {
            write!(f, "column {}: ", one_line(column))?;
        }
        if let Some(value) = &self.value {
            write!(f, "'{}': ", one_line(value))?;
        }
        f.write_str(&one_line(&self.reason))
    }
}

/// Returns the text without line ends and control characters, and not too long.
fn one_line(text: &str) -> String {
    let mut shown: String = text.chars().take(VALUE_CHARS_MAX).flat_map(visible).collect();
    if text.chars().nth(VALUE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns a character, or its escape if a terminal would act on it.
fn visible(c: char) -> impl Iterator<Item = char> {
    let (plain, escaped) =
        if c.is_control() { (None, Some(c.escape_default())) } else { (Some(c), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

/// How rows of an input are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUnit {
    /// Lines of a text file, from 1; a CSV record may span several.
    Line,
    /// Rows of a columnar file, from 1.
    Row,
}

/// A row of an input that can't be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// The file or stream.
    pub input: Arc<str>,
    /// Where the row is in it.
    pub number: u64,
    /// What `number` counts.
    pub unit: RowUnit,
    /// What is wrong.
    pub fault: RowFault,
    /// The row as it stands in the input, or as JSON if the input is not text.
    pub raw: String,
}

impl BadRow {
    /// Returns the row as a line of the reject file: `file:line`, reason and raw text, separated by
    /// tabs. Tabs, line ends and backslashes inside are escaped, so that the file can be cut again.
    #[must_use]
    pub fn reject_line(&self) -> String {
        let raw = self.raw.replace('\\', "\\\\").replace('\t', "\\t");
        let raw = raw.replace('\n', "\\n").replace('\r', "\\r");
        format!("{}:{}\t{}\t{raw}\n", self.input, self.number, self.fault)
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            RowUnit::Line => "line",
            RowUnit::Row => "row",
        };
        write!(f, "{}, {unit} {}: {}", self.input, self.number, self.fault)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn bad(value: &str) -> BadRow {
        BadRow {
            input: "a.csv".into(),
            number: 17,
            unit: RowUnit::Line,
            fault: RowFault::of_value("bytes", value, "not an Int64"),
            raw: format!("x\t{value}"),
        }
    }

    #[test]
    fn a_bad_row_is_one_line() {
        expect!["a.csv, line 17: column bytes: 'abc': not an Int64"]
            .assert_eq(&bad("abc").to_string());
        expect![r"a.csv, line 17: column bytes: 'a\nb\u{1b}[2J': not an Int64"]
            .assert_eq(&bad("a\nb\u{1b}[2J").to_string());
        assert!(bad(&"x".repeat(1000)).to_string().len() < 200);
    }

    #[test]
    fn reject_lines_can_be_cut_again() {
        expect![[r"
            a.csv:17	column bytes: 'a\nb': not an Int64	x\ta\nb
        "]]
        .assert_eq(&bad("a\nb").reject_line());
    }
}
