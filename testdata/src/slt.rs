//! The SQL scripts: where they are, how one is run against an engine, how answers are filled in.
//!
//! A script holds questions and the one answer that every engine must give: plain DataFusion, one
//! peer, a head over several peers. An engine takes part by implementing
//! [`sqllogictest::AsyncDB`] with [`ColumnKind`] as its column type and giving rows in the form of
//! [`crate::text`].
//!
//! Invariant: a run goes on after a wrong answer and reports all of them. Column types are
//! compared where the caller asks for it, since formats on the wire may widen them. Left out:
//! EXPLAIN, which differs between engines and stands in their own scripts.

use std::fmt;
use std::path::{Path, PathBuf};

use arrow::datatypes::{DataType, Schema};
use sqllogictest::{
    AsyncDB, ColumnType, MakeConnection, QueryExpect, Record, Runner, StatementExpect, TestError,
    default_column_validator, default_normalizer, default_validator, parse_file,
    strict_column_validator,
};

/// What the letters after `query` mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// `B`: booleans.
    Boolean,
    /// `D`: dates and times of day.
    Date,
    /// `I`: integers of any size.
    Integer,
    /// `P`: timestamps.
    Timestamp,
    /// `R`: floats and decimals.
    Real,
    /// `T`: text.
    Text,
    /// `?`: everything else.
    Other,
}

impl ColumnType for ColumnKind {
    fn from_char(value: char) -> Option<Self> {
        Some(match value {
            'B' => Self::Boolean,
            'D' => Self::Date,
            'I' => Self::Integer,
            'P' => Self::Timestamp,
            'R' => Self::Real,
            'T' => Self::Text,
            '?' => Self::Other,
            _ => return None,
        })
    }

    fn to_char(&self) -> char {
        match self {
            Self::Boolean => 'B',
            Self::Date => 'D',
            Self::Integer => 'I',
            Self::Timestamp => 'P',
            Self::Real => 'R',
            Self::Text => 'T',
            Self::Other => '?',
        }
    }
}

impl From<&DataType> for ColumnKind {
    fn from(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => {
                Self::Date
            }
            DataType::Timestamp(_, _) => Self::Timestamp,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Dictionary(_, values) => Self::from(values.as_ref()),
            other if other.is_integer() => Self::Integer,
            other if other.is_floating() || other.is_decimal() => Self::Real,
            _ => Self::Other,
        }
    }
}

/// Returns the kinds of a schema's columns.
#[must_use]
pub fn kinds(schema: &Schema) -> Vec<ColumnKind> {
    schema.fields().iter().map(|field| field.data_type().into()).collect()
}

/// How column types are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnCheck {
    /// The kinds must be those of the script.
    Kinds,
    /// Only the rows count.
    Ignored,
}

/// A script did not run through.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The script is not well-formed: correct it.
    #[error("parse {script}")]
    Parse {
        /// The script.
        script: PathBuf,
        /// Where and why.
        #[source]
        source: sqllogictest::ParseError,
    },
    /// Answers are wrong; the text shows each with its difference.
    #[error("{} of {records} records of {script} failed{}", failures.len(), Listed(failures))]
    Failed {
        /// The script.
        script: PathBuf,
        /// Records that were run.
        records: usize,
        /// What was wrong, in the order of the script.
        failures: Vec<TestError>,
    },
    /// The script cannot be rewritten.
    #[error("fill in {script}: {reason}")]
    Fill {
        /// The script.
        script: PathBuf,
        /// What the rewriting said; its error type cannot be kept across threads.
        reason: String,
    },
}

/// Failures one below the other.
struct Listed<'a>(&'a [TestError]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|failure| write!(f, "\n\n{failure}"))
    }
}

/// Returns the scripts that every engine must pass, by name.
///
/// # Errors
///
/// The folder cannot be read.
pub fn scripts() -> std::io::Result<Vec<PathBuf>> {
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(crate::path("sql"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "slt") {
            scripts.push(path);
        }
    }
    scripts.sort();
    Ok(scripts)
}

/// Returns the SQL of a script, each with whether it must fail.
///
/// # Errors
///
/// The script is not well-formed.
pub fn statements(script: &Path) -> Result<Vec<(String, bool)>, ScriptError> {
    let statement = |record| match record {
        Record::Statement { sql, expected, .. } => {
            Some((sql, matches!(expected, StatementExpect::Error(_))))
        }
        Record::Query { sql, expected, .. } => {
            Some((sql, matches!(expected, QueryExpect::Error(_))))
        }
        _ => None,
    };
    Ok(records(script)?.into_iter().filter_map(statement).collect())
}

fn records(script: &Path) -> Result<Vec<Record<ColumnKind>>, ScriptError> {
    parse_file(script).map_err(|source| ScriptError::Parse { script: script.to_owned(), source })
}

/// Runs a script against the engine that `connect` reaches, and returns the number of records.
///
/// # Errors
///
/// The script is not well-formed, or at least one answer is wrong.
pub async fn run<D, M>(
    script: &Path,
    columns: ColumnCheck,
    connect: M,
) -> Result<usize, ScriptError>
where
    D: AsyncDB<ColumnType = ColumnKind>,
    M: MakeConnection<Conn = D>,
{
    let mut runner = Runner::new(connect);
    runner.with_column_validator(match columns {
        ColumnCheck::Kinds => strict_column_validator,
        ColumnCheck::Ignored => default_column_validator,
    });
    let (mut count, mut failures) = (0, Vec::new());
    for record in records(script)? {
        count += usize::from(matches!(record, Record::Statement { .. } | Record::Query { .. }));
        failures.extend(runner.run_async(record).await.err());
    }
    runner.shutdown_async().await;
    if failures.is_empty() {
        Ok(count)
    } else {
        Err(ScriptError::Failed { script: script.to_owned(), records: count, failures })
    }
}

/// Rewrites a script with the answers and column kinds that the engine gives.
///
/// # Errors
///
/// The script is not well-formed or cannot be written.
pub async fn fill<D, M>(script: &Path, connect: M) -> Result<(), ScriptError>
where
    D: AsyncDB<ColumnType = ColumnKind>,
    M: MakeConnection<Conn = D>,
{
    let mut runner = Runner::new(connect);
    let filled = runner.update_test_file(
        script,
        " ",
        default_validator,
        default_normalizer,
        strict_column_validator,
    );
    filled
        .await
        .map_err(|error| ScriptError::Fill { script: script.to_owned(), reason: error.to_string() })
}
