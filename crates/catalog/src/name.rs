//! Names of databases, tables, columns and settings, checked once on the way in.
//!
//! Database and table names become parts of object keys and stand unquoted in SQL, so they are plain
//! identifiers. Column names come from files and may hold anything a person can read.

use crate::error::CatalogError;

/// Longest name of a database or table in bytes: two of them and a partition name stay well below
/// the 1,024 bytes that an object key may have.
pub const TABLE_NAME_BYTES_MAX: usize = 128;

/// Longest column name in bytes: longer ones are a broken header line, not a name.
pub const COLUMN_NAME_BYTES_MAX: usize = 512;

/// Most columns of one table, dropped ones included: what one manifest still describes in a few
/// hundred kilobytes.
pub const COLUMNS_MAX: usize = 10_000;

/// Checks the name of a database or table: `[A-Za-z_][A-Za-z0-9_]*`.
pub(crate) fn check_identifier(what: &'static str, name: &str) -> Result<(), CatalogError> {
    let invalid = |reason| CatalogError::InvalidName { what, name: shortened(name), reason };
    let Some(first) = name.bytes().next() else {
        return Err(invalid("it is empty"));
    };
    if name.len() > TABLE_NAME_BYTES_MAX {
        return Err(invalid("it is longer than 128 bytes"));
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if first.is_ascii_digit() || !name.bytes().all(is_word) {
        return Err(invalid("use letters, digits and _, not beginning with a digit"));
    }
    Ok(())
}

/// Checks the name of a column: not empty, not endless, nothing that a terminal would act on.
pub(crate) fn check_column(name: &str) -> Result<(), CatalogError> {
    let invalid =
        |reason| CatalogError::InvalidName { what: "column", name: shortened(name), reason };
    if name.is_empty() {
        return Err(invalid("it is empty"));
    }
    if name.len() > COLUMN_NAME_BYTES_MAX {
        return Err(invalid("it is longer than 512 bytes"));
    }
    if name.chars().any(char::is_control) {
        return Err(invalid("it holds a control character"));
    }
    Ok(())
}

/// Returns the name as an error shows it: no control characters, no endless text.
fn shortened(name: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 64;
    let mut shown: String = name.escape_debug().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, expected: Expect) {
        let shown = match check_identifier("table", name) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn identifiers_are_plain() {
        check("events", expect!["ok"]);
        check("_t1", expect!["ok"]);
        check("", expect!["table name '' is not valid: it is empty"]);
        check(
            "1st",
            expect![
                "table name '1st' is not valid: use letters, digits and _, not beginning with a digit"
            ],
        );
        check(
            "a.b",
            expect![
                "table name 'a.b' is not valid: use letters, digits and _, not beginning with a digit"
            ],
        );
        check(
            "../etc",
            expect![
                "table name '../etc' is not valid: use letters, digits and _, not beginning with a digit"
            ],
        );
        check(
            &"x".repeat(129),
            expect![
                "table name 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…' is not valid: it is longer than 128 bytes"
            ],
        );
    }

    #[test]
    fn column_names_are_readable() {
        assert!(check_column("user agent (raw)").is_ok());
        assert!(check_column("größe").is_ok());
        assert!(check_column("").is_err());
        assert!(check_column("a\u{1b}[2J").is_err());
        assert!(check_column(&"c".repeat(513)).is_err());
    }
}
