//! The ClickHouse surface that head and peer share: type names, output formats, statements, errors.
//!
//! Four rooms, each with one way in: [`type_name`] (Arrow type → ClickHouse type text),
//! [`FormatWriter`] (record batches → the bytes of one output format), [`parse`] (SQL text → one checked
//! statement, its format and its settings) and [`Exception`] (any error → the text and status a ClickHouse
//! client expects). Everything here is pure: no I/O, no clock, no configuration.

pub mod data_type;
pub mod exception;
pub mod format;
pub mod statement;

pub use data_type::{ClickHouseType, TypeTextError, type_name};
pub use exception::{ErrorCode, Exception, SERVER_VERSION, exception_frame, from_datafusion};
pub use format::{
    FormatError, FormatSettings, FormatWriter, OutputFormat, ResultColumn, ResultSummary,
};
pub use statement::{ParsedStatement, StatementKind, parse};
