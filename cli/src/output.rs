//! Writing answers to standard output, as text tables or JSON.
//!
//! Invariant: an answer is printed whole or not at all, and nothing else goes to standard output.

use std::io::{self, Write};

use crate::error::CommandError;

/// Prints an answer and a line end.
///
/// # Errors
/// [`CommandError::Output`] if standard output is closed or full.
pub fn print(answer: &str) -> Result<(), CommandError> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", answer.trim_end_matches('\n'))
        .and_then(|()| output.flush())
        .map_err(CommandError::Output)
}

/// Returns rows as columns of text. Numbers stand to the right: pass `true` for their column.
#[must_use]
pub fn text_table(header: &[(&str, bool)], rows: &[Vec<String>]) -> String {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let width = |column: usize, name: &str| {
        let longest = cells(column).map(|cell| cell.chars().count()).max();
        longest.unwrap_or(0).max(name.chars().count())
    };
    let widths: Vec<usize> =
        header.iter().enumerate().map(|(column, (name, _))| width(column, name)).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(header).zip(&widths).map(|((cell, (_, is_number)), width)| {
            if *is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&mut header.iter().map(|(name, _)| *name))];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines.join("\n")
}

/// Returns a JSON value as indented text.
#[must_use]
pub fn json_text(value: &serde_json::Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [
            vec!["web.requests".to_owned(), "1,234".to_owned()],
            vec!["db.é".to_owned(), "5".to_owned()],
        ];
        expect![[r"
            table          rows
            web.requests  1,234
            db.é              5"]]
        .assert_eq(&text_table(&[("table", false), ("rows", true)], &rows));
    }
}
