//! From SQL text to one checked statement, its output format and its settings.
//!
//! The text is read once as tokens. The tail (`FORMAT`, `SETTINGS`) is cut off the token stream, because the parser
//! knows only some of its forms (`tokens.rs`); the rest is parsed in the ClickHouse dialect (`dialect.rs`), and every clause that the
//! engine would drop without a word is refused by name (`check.rs`). What is left is either a query for the engine or one of
//! the few statements about databases and tables (`meta.rs`). Text is never edited as text.

mod check;
mod dialect;
mod meta;
mod names;
mod tokens;

pub use names::default_name;

use crate::exception::{ErrorCode, Exception, from_datafusion};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{Query, Statement as SqlStatement};
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;
use dialect::StatementDialect;
use tokens::Tail;

/// One statement with what its tail says.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedStatement {
    /// What is asked.
    pub kind: StatementKind,
    /// The name in the FORMAT clause, as written.
    pub format: Option<String>,
    /// The assignments of the SETTINGS clause, in order; a string value is without its quotes.
    pub settings: Vec<(String, String)>,
}

/// The statements that are accepted.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// A query or EXPLAIN, checked and rewritten, for the engine to plan.
    Query(Box<Statement>),
    /// SHOW DATABASES.
    ShowDatabases,
    /// SHOW TABLES, of the current database when none is named.
    ShowTables {
        /// The database after FROM or IN.
        database: Option<String>,
    },
    /// DESCRIBE TABLE.
    Describe {
        /// The database before the point.
        database: Option<String>,
        /// The table.
        table: String,
    },
    /// EXISTS TABLE.
    Exists {
        /// The database before the point.
        database: Option<String>,
        /// The table.
        table: String,
    },
    /// USE.
    Use {
        /// The database to be current from now on.
        database: String,
    },
}

/// Returns the statement that `sql` is, or what a ClickHouse client is told instead.
///
/// Unaliased columns of the outermost SELECT get the names that ClickHouse gives them where that is simple
/// ([`default_name`]), `count()` becomes `count(*)`, and PREWHERE becomes a part of WHERE.
pub fn parse(sql: &str) -> Result<ParsedStatement, Exception> {
    let tokens = tokens::read(sql)?;
    let (tokens, Tail { format, settings }) = tokens::cut_tail(tokens)?;
    let kind = match meta::parse(&tokens)? {
        Some(kind) => kind,
        None => StatementKind::Query(Box::new(parse_query(tokens)?)),
    };
    Ok(ParsedStatement { kind, format, settings })
}

fn parse_query(mut tokens: Vec<TokenWithSpan>) -> Result<Statement, Exception> {
    if tokens::is_word(tokens.first(), "EXPLAIN") && tokens::is_word(tokens.get(1), "PLAN") {
        tokens.remove(1);
    }
    let gap = tokens::known_gap(&tokens);
    let parsed = DFParserBuilder::new(tokens)
        .with_dialect(&StatementDialect::default())
        .build()
        .and_then(|mut parser| parser.parse_statements());
    let mut statement = match (parsed, gap) {
        (Ok(mut statements), _) => match (statements.pop_front(), statements.is_empty()) {
            (Some(statement), true) => statement,
            _ => {
                return Err(Exception::new(
                    ErrorCode::SyntaxError,
                    "Syntax error: one statement expected",
                ));
            }
        },
        (Err(_), Some(clause)) => return Err(Exception::not_implemented(clause)),
        (Err(error), None) => return Err(syntax(&error)),
    };
    let query = query_of(&mut statement)?;
    check::query(query)?;
    names::name_columns(query);
    Ok(statement)
}

/// The parser's own errors are syntax errors whatever the engine makes of them.
fn syntax(error: &DataFusionError) -> Exception {
    let exception = from_datafusion(error);
    match exception.code {
        ErrorCode::TooDeepRecursion | ErrorCode::SyntaxError => exception,
        _ => Exception::new(ErrorCode::SyntaxError, format!("Syntax error: {}", exception.message)),
    }
}

/// Returns the query inside a query or EXPLAIN.
fn query_of(statement: &mut Statement) -> Result<&mut Query, Exception> {
    match statement {
        Statement::Statement(inner) => match inner.as_mut() {
            SqlStatement::Query(query) => Ok(query),
            _ => Err(Exception::not_implemented("this statement")),
        },
        Statement::Explain(explain) => match explain.statement.as_mut() {
            Statement::Explain(_) => Err(Exception::not_implemented("EXPLAIN of EXPLAIN")),
            inner => query_of(inner),
        },
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => {
            Err(Exception::not_implemented("this statement"))
        }
    }
}

#[cfg(test)]
mod tests;
