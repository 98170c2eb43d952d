//! What can go wrong in the catalog, named by what the caller does next.
//!
//! Invariant: an error of the engine is sorted here once, by its code, and keeps its source. Nothing
//! outside this file looks at an error of SQLite.

use std::error::Error;

use rusqlite::ErrorCode;

/// An error of the engine or of a decoder, whatever its type.
pub(crate) type Source = Box<dyn Error + Send + Sync>;

/// Why the catalog did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The object does not exist (in this snapshot): correct the name.
    #[error("{what} {name} does not exist")]
    NotFound {
        /// The kind of object, such as `table`.
        what: &'static str,
        /// Its name as it was asked for.
        name: String,
    },
    /// The name is taken: choose another one, or use what is there.
    #[error("{what} {name} exists already")]
    AlreadyExists {
        /// The kind of object, such as `partition`.
        what: &'static str,
        /// The name that is taken.
        name: String,
    },
    /// The name can't be used at all: choose another one.
    #[error("{what} name '{name}' is not valid: {reason}")]
    InvalidName {
        /// The kind of object that was to be named.
        what: &'static str,
        /// The name as given.
        name: String,
        /// What a valid name looks like.
        reason: &'static str,
    },
    /// The definition contradicts itself: correct it.
    #[error("table {table} is not valid: {reason}")]
    InvalidTable {
        /// The table that was to be created or extended.
        table: String,
        /// What is wrong with the definition.
        reason: String,
    },
    /// Another writer changed the table meanwhile: read it again and repeat the work.
    #[error("table {table} was changed by another writer: {reason}")]
    Conflict {
        /// The table that changed.
        table: String,
        /// What is different now.
        reason: String,
    },
    /// Another writer holds the catalog: try again in a moment.
    #[error("the catalog is busy with another writer")]
    Busy {
        /// The error of the engine.
        #[source]
        source: Source,
    },
    /// The catalog can't be reached or written: a person must look at its path, rights and disk.
    #[error("{action}")]
    Unavailable {
        /// What was being done.
        action: String,
        /// The error of the engine or of the file system.
        #[source]
        source: Source,
    },
    /// The catalog was written by a newer version: use a newer binary.
    #[error("the catalog has schema version {found}, this program knows up to {supported}")]
    TooNew {
        /// The version found in the catalog.
        found: i64,
        /// The newest version that this program knows.
        supported: i64,
    },
    /// The catalog holds something that it never should: restore it from a copy.
    #[error("the catalog is damaged: {what}")]
    Corrupt {
        /// What was found.
        what: String,
        /// The error that noticed it, if it had one.
        #[source]
        source: Option<Source>,
    },
}

impl CatalogError {
    /// Returns whether the same call may succeed in a moment.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }

    /// Returns the error for bytes or numbers in the catalog that can't be what was written.
    pub(crate) fn corrupt(what: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Corrupt { what: what.into(), source: Some(source.into()) }
    }

    /// Sorts an error of the engine that came up while `action` was done.
    pub(crate) fn engine(action: impl Into<String>, error: rusqlite::Error) -> Self {
        let action = action.into();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { source: Box::new(error) }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { what: action, source: Some(Box::new(error)) }
            }
            _ => match error {
                rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..) => {
                    Self::Corrupt { what: action, source: Some(Box::new(error)) }
                }
                other => Self::Unavailable { action, source: Box::new(other) },
            },
        }
    }
}

/// Adds "what was being done" to an error of the engine.
pub(crate) trait EngineContext<T> {
    /// Returns the value, or the sorted error with `action`.
    fn during(self, action: &str) -> Result<T, CatalogError>;
}

impl<T> EngineContext<T> for rusqlite::Result<T> {
    fn during(self, action: &str) -> Result<T, CatalogError> {
        self.map_err(|error| CatalogError::engine(action, error))
    }
}
