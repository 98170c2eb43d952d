//! Which ClickHouse code an error of the engine gets, and how its text reads.
//!
//! The match over [`DataFusionError`] has no `_` arm, so that a new kind of error is looked at once. Planning errors
//! carry only text; the needles that tell them apart are the engine's own phrases, each checked by a test against the
//! running planner. An [`Exception`] that was wrapped on its way through the engine comes out as it went in.

use super::{ErrorCode, Exception};
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use std::error::Error;

/// Planner phrases and the code that each stands for; the first that is found wins.
const PLAN_PHRASES: &[(&str, ErrorCode)] = &[
    ("table function '", ErrorCode::UnknownFunction),
    ("Invalid function '", ErrorCode::UnknownFunction),
    ("must be in GROUP BY", ErrorCode::NotAnAggregate),
    ("must appear in the GROUP BY", ErrorCode::NotAnAggregate),
    ("could not be resolved from available columns", ErrorCode::NotAnAggregate),
    ("Aggregate functions are not allowed", ErrorCode::IllegalAggregation),
    ("Cannot create filter with non-boolean", ErrorCode::IllegalTypeOfColumnForFilter),
    ("Projections require unique expression names", ErrorCode::DuplicateColumn),
    ("have different number of columns", ErrorCode::TypeMismatch),
    ("Cannot coerce", ErrorCode::IllegalTypeOfArgument),
    ("Cannot infer common argument type", ErrorCode::IllegalTypeOfArgument),
    ("No function matches the given name and argument types", ErrorCode::IllegalTypeOfArgument),
    ("Error during planning: Function '", ErrorCode::IllegalTypeOfArgument),
    ("coercion", ErrorCode::IllegalTypeOfArgument),
    ("coerce", ErrorCode::IllegalTypeOfArgument),
    ("arguments but received", ErrorCode::NumberOfArgumentsDoesntMatch),
    ("does not support zero arguments", ErrorCode::NumberOfArgumentsDoesntMatch),
    ("Incompatible inputs for Union", ErrorCode::NoCommonType),
    ("UNION Column", ErrorCode::NoCommonType),
    ("Join condition", ErrorCode::InvalidJoinOnExpression),
    ("failed to resolve schema", ErrorCode::UnknownDatabase),
    ("failed to resolve catalog", ErrorCode::UnknownDatabase),
    ("Unsupported SQL type", ErrorCode::UnknownType),
];

/// Prefixes that the engine puts before its own texts and that say nothing to a client.
const NOISE: &[&str] = &[
    "External error: ",
    "Error during planning: ",
    "Execution error: ",
    "Arrow error: ",
    "Parquet error: ",
    "Internal error: ",
    "This feature is not implemented: ",
    "Invalid argument error: ",
    "Schema error: ",
    "Resources exhausted: ",
    "SQL error: ",
    "Cast error: ",
    "Parser error: ",
    "Compute error: ",
    "type_coercion\ncaused by\n",
    "simplify_expressions\ncaused by\n",
];

/// What the engine appends to its own faults; the reader is our user, not the engine's.
const BUG_REPORT: &str = "\nThis issue was likely caused by a bug";

/// Returns the exception that a client is told when the engine fails with `error`.
pub fn from_datafusion(error: &DataFusionError) -> Exception {
    match error {
        DataFusionError::ArrowError(error, _) => from_arrow(error),
        DataFusionError::ParquetError(error) => wrapped(error.as_ref())
            .unwrap_or_else(|| plain(ErrorCode::IncorrectData, &error.to_string())),
        DataFusionError::ObjectStore(error) => plain(ErrorCode::S3Error, &error.to_string()),
        DataFusionError::IoError(error) => wrapped(error)
            .unwrap_or_else(|| plain(ErrorCode::CannotReadFromFileDescriptor, &error.to_string())),
        DataFusionError::SQL(error, _) => from_parser(error),
        DataFusionError::NotImplemented(text) => from_not_implemented(text),
        DataFusionError::Internal(text) => from_plan(text, ErrorCode::LogicalError),
        DataFusionError::Plan(text) => from_plan(text, ErrorCode::BadArguments),
        DataFusionError::Configuration(text) => plain(ErrorCode::BadArguments, text),
        DataFusionError::SchemaError(error, _) => from_schema(error),
        DataFusionError::Execution(text) => from_execution(text),
        DataFusionError::ExecutionJoin(error) => plain(ErrorCode::LogicalError, &error.to_string()),
        DataFusionError::ResourcesExhausted(text) => plain(ErrorCode::MemoryLimitExceeded, text),
        DataFusionError::External(error) => from_external(error.as_ref()),
        DataFusionError::Context(_, error) | DataFusionError::Diagnostic(_, error) => {
            from_datafusion(error)
        }
        DataFusionError::Collection(errors) => match errors.first() {
            Some(error) => from_datafusion(error),
            None => plain(ErrorCode::UnknownException, "unknown error"),
        },
        DataFusionError::Shared(error) => from_datafusion(error),
        DataFusionError::Substrait(text) | DataFusionError::Ffi(text) => {
            plain(ErrorCode::UnknownException, text)
        }
    }
}

/// Returns the exception for a text that the SQL parser could not read.
pub(crate) fn from_parser(error: &ParserError) -> Exception {
    match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            Exception::new(ErrorCode::SyntaxError, format!("Syntax error: {text}"))
        }
        ParserError::RecursionLimitExceeded => Exception::new(
            ErrorCode::TooDeepRecursion,
            "The query is nested too deeply: the parser's limit is reached",
        ),
    }
}

fn from_not_implemented(text: &str) -> Exception {
    match text.contains("Unsupported SQL type") {
        true => plain(ErrorCode::UnknownType, text),
        false => plain(ErrorCode::NotImplemented, text),
    }
}

fn from_plan(text: &str, otherwise: ErrorCode) -> Exception {
    if let Some(table) = missing_table(text) {
        return Exception::new(
            ErrorCode::UnknownTable,
            format!("Unknown table expression identifier '{table}'"),
        );
    }
    let code = PLAN_PHRASES.iter().find(|(phrase, _)| text.contains(phrase));
    plain(code.map_or(otherwise, |(_, code)| *code), text)
}

/// Returns the name in the planner's `table 'catalog.schema.name' not found`, without the catalog.
fn missing_table(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("table '")?;
    let (name, rest) = rest.split_once('\'')?;
    if !rest.starts_with(" not found") {
        return None;
    }
    match name.splitn(3, '.').count() {
        3 => name.split_once('.').map(|(_, name)| name),
        _ => Some(name),
    }
}

fn from_schema(error: &SchemaError) -> Exception {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let name = field.flat_name();
            let known: Vec<String> =
                valid_fields.iter().take(20).map(|field| format!("'{}'", field.name)).collect();
            let hint = match known.is_empty() {
                true => String::new(),
                false => format!(". Columns in scope: [{}]", known.join(", ")),
            };
            Exception::new(
                ErrorCode::UnknownIdentifier,
                format!("Unknown expression identifier `{name}`{hint}"),
            )
        }
        SchemaError::AmbiguousReference { .. } => {
            plain(ErrorCode::AmbiguousColumnName, &error.to_string())
        }
        SchemaError::DuplicateQualifiedField { .. }
        | SchemaError::DuplicateUnqualifiedField { .. } => {
            plain(ErrorCode::DuplicateColumn, &error.to_string())
        }
    }
}

fn from_execution(text: &str) -> Exception {
    let code = match text {
        _ if text.contains("Divide by zero") => ErrorCode::IllegalDivision,
        _ if text.contains("verflow") => ErrorCode::DecimalOverflow,
        _ if text.contains("arsing timestamp") || text.contains("arsing date") => {
            ErrorCode::CannotParseDateTime
        }
        _ if text.contains("Cannot cast") || text.contains("error parsing") => {
            ErrorCode::CannotParseText
        }
        _ => ErrorCode::BadArguments,
    };
    plain(code, text)
}

fn from_arrow(error: &ArrowError) -> Exception {
    let text = error.to_string();
    match error {
        ArrowError::NotYetImplemented(_) => plain(ErrorCode::NotImplemented, &text),
        ArrowError::ExternalError(error) => from_external(error.as_ref()),
        ArrowError::CastError(_) => plain(ErrorCode::CannotParseText, &text),
        ArrowError::MemoryError(_) => plain(ErrorCode::MemoryLimitExceeded, &text),
        ArrowError::ParseError(text) if text.contains("imestamp") || text.contains("date") => {
            plain(ErrorCode::CannotParseDateTime, text)
        }
        ArrowError::ParseError(_) => plain(ErrorCode::CannotParseText, &text),
        ArrowError::DivideByZero => plain(ErrorCode::IllegalDivision, "Division by zero"),
        ArrowError::ArithmeticOverflow(_)
        | ArrowError::DictionaryKeyOverflowError
        | ArrowError::RunEndIndexOverflowError
        | ArrowError::OffsetOverflowError(_) => plain(ErrorCode::DecimalOverflow, &text),
        ArrowError::IoError(_, error) => {
            wrapped(error).unwrap_or_else(|| plain(ErrorCode::CannotReadFromFileDescriptor, &text))
        }
        ArrowError::CsvError(_)
        | ArrowError::JsonError(_)
        | ArrowError::AvroError(_)
        | ArrowError::IpcError(_)
        | ArrowError::ParquetError(_)
        | ArrowError::CDataInterface(_) => plain(ErrorCode::IncorrectData, &text),
        ArrowError::SchemaError(_)
        | ArrowError::ComputeError(_)
        | ArrowError::InvalidArgumentError(_) => from_execution(&text),
    }
}

/// Returns the exception for an error that came from outside the engine and was carried through it.
fn from_external(error: &(dyn Error + Send + Sync + 'static)) -> Exception {
    if let Some(exception) = error.downcast_ref::<Exception>() {
        return exception.clone();
    }
    if let Some(error) = error.downcast_ref::<DataFusionError>() {
        return from_datafusion(error);
    }
    if let Some(error) = error.downcast_ref::<ArrowError>() {
        return from_arrow(error);
    }
    wrapped(error).unwrap_or_else(|| plain(ErrorCode::UnknownException, &chain(error)))
}

/// Returns the exception of ours or of the engine that `error` was caused by, if there is one.
fn wrapped(error: &(dyn Error + 'static)) -> Option<Exception> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(exception) = error.downcast_ref::<Exception>() {
            return Some(exception.clone());
        }
        if let Some(error) = error.downcast_ref::<DataFusionError>() {
            return Some(from_datafusion(error));
        }
        cause = error.source();
    }
    None
}

/// Returns the texts of an error and of what caused it, each once.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = error.source();
    }
    text
}

/// Returns an exception with the engine's text, without the noise around it.
fn plain(code: ErrorCode, text: &str) -> Exception {
    let mut text = text.split(BUG_REPORT).next().unwrap_or(text).trim();
    while let Some(rest) = NOISE.iter().find_map(|noise| text.strip_prefix(noise)) {
        text = rest;
    }
    Exception::new(code, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use expect_test::{Expect, expect};
    use std::sync::Arc;

    fn check(error: &DataFusionError, expected: Expect) {
        expected.assert_eq(&from_datafusion(error).to_string());
    }

    /// Plans and runs `sql` over one small table and compares what the client would be told.
    async fn run(sql: &str, expected: Expect) {
        let mut config = SessionConfig::new();
        config.options_mut().sql_parser.enable_ident_normalization = false;
        let context = SessionContext::new_with_config(config);
        let setup = "CREATE TABLE ev AS VALUES ('h1', 1, 1.5), ('x', 0, 2.5)";
        context.sql(setup).await.unwrap().collect().await.unwrap();
        let outcome = match context.sql(sql).await {
            Ok(frame) => frame.collect().await,
            Err(error) => Err(error),
        };
        check(&outcome.expect_err("the statement fails"), expected);
    }

    #[tokio::test]
    async fn names_that_are_not_there() {
        run("SELECT 1 FROM nothing", expect!["Code: 60. DB::Exception: Unknown table expression identifier 'public.nothing' (UNKNOWN_TABLE)"]).await;
        run("SELECT column9 FROM ev", expect!["Code: 47. DB::Exception: Unknown expression identifier `column9`. Columns in scope: ['column1', 'column2', 'column3'] (UNKNOWN_IDENTIFIER)"]).await;
        run(
            "SELECT uper('a')",
            expect![[r#"
            Code: 46. DB::Exception: Invalid function 'uper'.
            Did you mean 'upper'? (UNKNOWN_FUNCTION)"#]],
        )
        .await;
        run(
            "SELECT * FROM numbers(10)",
            expect![
                "Code: 46. DB::Exception: table function 'numbers' not found (UNKNOWN_FUNCTION)"
            ],
        )
        .await;
    }

    #[tokio::test]
    async fn types_that_do_not_fit() {
        run("SELECT true + 1 FROM ev", expect!["Code: 43. DB::Exception: Cannot coerce arithmetic expression Boolean + Int64 to valid types (ILLEGAL_TYPE_OF_ARGUMENT)"]).await;
        run("SELECT 1 FROM ev WHERE column2", expect!["Code: 59. DB::Exception: Cannot create filter with non-boolean predicate 'ev.column2' returning Int64 (ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER)"]).await;
        run("SELECT CAST(column1 AS BIGINT) FROM ev", expect!["Code: 6. DB::Exception: Cannot cast string 'h1' to value of Int64 type (CANNOT_PARSE_TEXT)"]).await;
        run(
            "SELECT 1 / (column2 - column2) FROM ev",
            expect!["Code: 153. DB::Exception: Division by zero (ILLEGAL_DIVISION)"],
        )
        .await;
        run("SELECT 1, 2 UNION ALL SELECT 1", expect!["Code: 53. DB::Exception: UNION queries have different number of columns (TYPE_MISMATCH)"]).await;
    }

    #[tokio::test]
    async fn aggregates_where_they_may_not_be() {
        run("SELECT column1, column2 FROM ev GROUP BY column1", expect![[r#"
            Code: 215. DB::Exception: Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column "ev.column2" must appear in the GROUP BY clause or must be part of an aggregate function, currently only "ev.column1" appears in the SELECT clause satisfies this requirement (NOT_AN_AGGREGATE)"#]]).await;
        run("SELECT 1 FROM ev WHERE count(*) > 1", expect!["Code: 184. DB::Exception: Aggregate functions are not allowed in the WHERE clause. Consider using HAVING instead (ILLEGAL_AGGREGATION)"]).await;
        run("SELECT column1, column1 FROM ev", expect![[r#"Code: 15. DB::Exception: Projections require unique expression names but the expression "ev.column1" at position 0 and "ev.column1" at position 1 have the same name. Consider aliasing ("AS") one of them. (DUPLICATE_COLUMN)"#]]).await;
    }

    #[test]
    fn an_exception_comes_out_as_it_went_in() {
        let inner = Exception::new(ErrorCode::TimeoutExceeded, "Timeout exceeded: 5 s");
        let error = DataFusionError::External(Box::new(inner.clone()));
        assert_eq!(from_datafusion(&error), inner);
        let error =
            DataFusionError::ArrowError(Box::new(ArrowError::ExternalError(Box::new(error))), None);
        let error = DataFusionError::Shared(Arc::new(error.context("while scanning")));
        assert_eq!(from_datafusion(&error), inner);
    }

    #[test]
    fn noise_is_cut_away() {
        let inner = DataFusionError::Execution("reading page 3".to_string());
        check(
            &DataFusionError::External(Box::new(DataFusionError::External(Box::new(inner)))),
            expect!["Code: 36. DB::Exception: reading page 3 (BAD_ARGUMENTS)"],
        );
        check(
            &DataFusionError::ResourcesExhausted("Failed to allocate 8 MB".to_string()),
            expect!["Code: 241. DB::Exception: Failed to allocate 8 MB (MEMORY_LIMIT_EXCEEDED)"],
        );
        check(
            &DataFusionError::External("External error: External error: peer is gone".into()),
            expect!["Code: 1002. DB::Exception: peer is gone (UNKNOWN_EXCEPTION)"],
        );
    }
}
