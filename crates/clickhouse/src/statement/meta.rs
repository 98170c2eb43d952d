//! The statements that are not queries: those about databases and tables, and those that are refused.
//!
//! They are few and short, so they are read off the tokens. Anything that writes is refused with a word on how it is
//! done here: rows come in by `peerage load`, tables by `peerage table`, and nothing else changes state.

use super::StatementKind;
use super::tokens::{is_word, word};
use crate::exception::{ErrorCode, Exception};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Statements that write, and what is done instead.
const WRITES: &[(&str, &str)] = &[
    ("INSERT", "add rows with `peerage load`"),
    ("REPLACE", "add rows with `peerage load`"),
    ("COPY", "add rows with `peerage load`"),
    ("UPDATE", "partitions never change; load corrected rows with `peerage load`"),
    ("DELETE", "rows of a partition never change; drop and load the table anew"),
    ("MERGE", "partitions never change; load rows with `peerage load`"),
    ("TRUNCATE", "manage tables with `peerage table`"),
    ("CREATE", "manage tables with `peerage table`"),
    ("DROP", "manage tables with `peerage table`"),
    ("UNDROP", "manage tables with `peerage table`"),
    ("ALTER", "manage tables with `peerage table`"),
    ("RENAME", "manage tables with `peerage table`"),
    ("EXCHANGE", "manage tables with `peerage table`"),
    ("ATTACH", "manage tables with `peerage table`"),
    ("DETACH", "manage tables with `peerage table`"),
    ("OPTIMIZE", "manage tables with `peerage table`"),
    ("GRANT", "accounts and rights stand in the cluster file"),
    ("REVOKE", "accounts and rights stand in the cluster file"),
];

/// Statements that are known and not supported.
const UNSUPPORTED: &[&str] = &[
    "SET",
    "RESET",
    "KILL",
    "SYSTEM",
    "CHECK",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "BACKUP",
    "RESTORE",
    "ANALYZE",
    "CALL",
    "EXECUTE",
    "PREPARE",
    "DEALLOCATE",
    "LOCK",
    "TABLE",
    "MOVE",
    "WATCH",
];

/// The kinds of EXPLAIN that show the insides of another engine.
const EXPLAIN_KINDS: &[&str] =
    &["AST", "SYNTAX", "PIPELINE", "ESTIMATE", "QUERY", "TABLE", "CURRENT"];

/// Returns the statement if it is one of these, and nothing if it is a query.
pub(super) fn parse(tokens: &[TokenWithSpan]) -> Result<Option<StatementKind>, Exception> {
    let Some(first) = word(tokens.first()) else { return Ok(None) };
    let first = first.value.to_ascii_uppercase();
    match first.as_str() {
        "SHOW" => show(tokens).map(Some),
        "DESC" | "DESCRIBE" => describe(tokens).map(Some),
        "EXISTS" => exists(tokens).map(Some),
        "USE" => match name(tokens.get(1..).unwrap_or_default()) {
            Some((None, database)) => Ok(Some(StatementKind::Use { database })),
            _ => Err(expected("USE database")),
        },
        "EXPLAIN" => explain(tokens).map(|()| None),
        first => refuse(first).map(|()| None),
    }
}

fn refuse(first: &str) -> Result<(), Exception> {
    if let Some((_, instead)) = WRITES.iter().find(|(name, _)| *name == first) {
        return Err(Exception::new(
            ErrorCode::Readonly,
            format!("{first} is not accepted, queries only read: {instead}"),
        ));
    }
    match UNSUPPORTED.contains(&first) {
        true => Err(Exception::not_implemented(format!("the statement {first}"))),
        false => Ok(()),
    }
}

fn expected(form: &str) -> Exception {
    Exception::new(ErrorCode::SyntaxError, format!("Syntax error: expected {form}"))
}

fn explain(tokens: &[TokenWithSpan]) -> Result<(), Exception> {
    if let Some(kind) = EXPLAIN_KINDS.iter().find(|kind| is_word(tokens.get(1), kind)) {
        return Err(Exception::not_implemented(format!("EXPLAIN {kind}")));
    }
    if tokens.get(2).is_some_and(|token| token.token == Token::Eq) {
        return Err(Exception::not_implemented("EXPLAIN with settings"));
    }
    let writes = ["ANALYZE", "VERBOSE", "PLAN"];
    let mut inner = tokens.get(1..).unwrap_or_default();
    while writes.iter().any(|skip| is_word(inner.first(), skip)) {
        inner = inner.get(1..).unwrap_or_default();
    }
    match word(inner.first()) {
        Some(first) => refuse(&first.value.to_ascii_uppercase()),
        None => Ok(()),
    }
}

fn show(tokens: &[TokenWithSpan]) -> Result<StatementKind, Exception> {
    let rest = tokens.get(2..).unwrap_or_default();
    match word(tokens.get(1)).map(|word| word.value.to_ascii_uppercase()).as_deref() {
        Some("DATABASES" | "SCHEMAS") if rest.is_empty() => Ok(StatementKind::ShowDatabases),
        Some("TABLES") if rest.is_empty() => Ok(StatementKind::ShowTables { database: None }),
        Some("TABLES") if is_word(rest.first(), "FROM") || is_word(rest.first(), "IN") => {
            match name(rest.get(1..).unwrap_or_default()) {
                Some((None, database)) => {
                    Ok(StatementKind::ShowTables { database: Some(database) })
                }
                _ => Err(Exception::not_implemented("SHOW TABLES with more than FROM database")),
            }
        }
        Some("TABLES" | "DATABASES" | "SCHEMAS") => {
            Err(Exception::not_implemented("a filter in SHOW"))
        }
        Some(what) => Err(Exception::not_implemented(format!("SHOW {what}"))),
        None => Err(expected("SHOW DATABASES or SHOW TABLES [FROM database]")),
    }
}

fn describe(tokens: &[TokenWithSpan]) -> Result<StatementKind, Exception> {
    let mut rest = tokens.get(1..).unwrap_or_default();
    if is_word(rest.first(), "TABLE") {
        rest = rest.get(1..).unwrap_or_default();
    }
    if rest.first().is_some_and(|token| token.token == Token::LParen) {
        return Err(Exception::not_implemented("DESCRIBE of a query"));
    }
    match name(rest) {
        Some((database, table)) => Ok(StatementKind::Describe { database, table }),
        None => Err(expected("DESCRIBE TABLE [database.]table")),
    }
}

fn exists(tokens: &[TokenWithSpan]) -> Result<StatementKind, Exception> {
    let mut rest = tokens.get(1..).unwrap_or_default();
    for other in ["DATABASE", "VIEW", "DICTIONARY", "TEMPORARY"] {
        if is_word(rest.first(), other) && rest.len() > 1 {
            return Err(Exception::not_implemented(format!("EXISTS {other}")));
        }
    }
    if is_word(rest.first(), "TABLE") && rest.len() > 1 {
        rest = rest.get(1..).unwrap_or_default();
    }
    match name(rest) {
        Some((database, table)) => Ok(StatementKind::Exists { database, table }),
        None => Err(expected("EXISTS TABLE [database.]table")),
    }
}

/// Reads `table` or `database.table` that is all there is.
fn name(tokens: &[TokenWithSpan]) -> Option<(Option<String>, String)> {
    let part = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => Some(word.value.clone()),
        _ => None,
    };
    match tokens {
        [table] => Some((None, part(table)?)),
        [database, point, table] if point.token == Token::Period => {
            Some((Some(part(database)?), part(table)?))
        }
        _ => None,
    }
}
