//! Why a load ended early, named by what its caller does next.
//!
//! Invariant: whatever the error, nothing of the load is visible in the catalog.

use std::error::Error;

use peerage_catalog::CatalogError;

use crate::load::bad_row::BadRow;

/// An error of a library below, whatever its type.
type Source = Box<dyn Error + Send + Sync>;

/// A load that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The request contradicts itself or the table: change it.
    #[error("{problem}")]
    Request {
        /// What is wrong.
        problem: String,
        /// What would be right.
        hint: String,
    },
    /// An input can't be read or is not what it should be: look at the file.
    #[error("read {input}")]
    Input {
        /// The file, object or stream.
        input: String,
        /// What went wrong.
        #[source]
        source: Source,
    },
    /// A row can't be loaded, and the request was to stop there: correct it, or skip it.
    #[error("{0}")]
    BadRow(Box<BadRow>),
    /// Rows were skipped until none was left: look at the first one.
    #[error("all {rejected} rows were rejected; the first: {first}")]
    AllRejected {
        /// Number of rows.
        rejected: u64,
        /// The first of them.
        first: Box<BadRow>,
    },
    /// The catalog refused: its error says what to do.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The storage can't be written: look at it, and load again.
    #[error("upload {object} to storage {storage}")]
    Storage {
        /// The storage of the cluster file.
        storage: String,
        /// The object.
        object: String,
        /// The error of the store.
        #[source]
        source: object_store::Error,
    },
    /// A partition could not be encoded.
    #[error("encode a partition of {table}")]
    Encode {
        /// The table.
        table: String,
        /// What went wrong.
        #[source]
        source: Source,
    },
    /// The reject file can't be written: choose another place for it.
    #[error("write the reject file {path}")]
    RejectFile {
        /// The file.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
}

impl LoadError {
    /// Returns the error of a request that is wrong.
    pub(crate) fn request(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Request { problem: problem.into(), hint: hint.into() }
    }

    /// Returns the error of an input.
    pub(crate) fn input(input: impl Into<String>, source: impl Into<Source>) -> Self {
        Self::Input { input: input.into(), source: source.into() }
    }

    /// Returns what a person can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Request { hint, .. } => Some(hint.clone()),
            Self::BadRow(_) => Some(
                "--on-error skip --reject-file rejects.tsv to load the other rows, or --schema to set the types"
                    .to_owned(),
            ),
            Self::AllRejected { .. } => {
                Some("--timestamp-format or --schema: the rows do not have the form expected".to_owned())
            }
            Self::Catalog(CatalogError::NotFound { what: "table", .. }) => {
                Some("the command without --existing-only to create it".to_owned())
            }
            Self::Catalog(CatalogError::Busy { .. } | CatalogError::Conflict { .. }) => {
                Some("the same command again; nothing was registered".to_owned())
            }
            Self::Storage { .. } => {
                Some("the same command again when the storage answers; nothing was registered".to_owned())
            }
            _ => None,
        }
    }
}
