//! The errors of this crate, one enum per area, named by what the caller does next.
//!
//! Invariant: a variant carries fields, and its source where there is one; its text prints itself
//! only, so that the chain is printed once, where the error ends.

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::errors::ParquetError;

use crate::column::ColumnId;

/// The source of a [`DecodeError::Corrupt`].
type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Bytes that are not the manifest or index they should be. The reader drops its copy and fetches
/// again; [`DecodeError::UnsupportedVersion`] alone asks for a newer reader instead.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the layout needs.
    #[error("{what} is truncated: needs {expected} bytes, has {actual}")]
    Truncated {
        /// The part of the layout that was being decoded.
        what: &'static str,
        /// Bytes that the layout needs.
        expected: u64,
        /// Bytes that are there.
        actual: u64,
    },
    /// The file is not of this format.
    #[error("{what} has the wrong magic {found:02x?}")]
    BadMagic {
        /// The file that was being decoded.
        what: &'static str,
        /// The bytes at the place of the magic.
        found: [u8; 8],
    },
    /// The file is of another format version; a newer reader is needed.
    #[error("{what} has format version {found}, this reader supports {supported}")]
    UnsupportedVersion {
        /// The file that was being decoded.
        what: &'static str,
        /// The version that the file names.
        found: u32,
        /// The version that this reader supports.
        supported: u32,
    },
    /// The bytes differ from those that were written.
    #[error("checksum of {section} does not match")]
    Checksum {
        /// The section whose checksum differs.
        section: &'static str,
    },
    /// The checksum fits, but the content contradicts itself.
    #[error("corrupt {section}: {detail}")]
    Corrupt {
        /// The section that was being decoded.
        section: &'static str,
        /// What is wrong with it.
        detail: String,
        /// The error of the decoder beneath, if one gave it.
        #[source]
        source: Option<BoxedError>,
    },
}

impl DecodeError {
    /// Returns a [`Self::Corrupt`] without a source.
    pub(crate) fn corrupt(section: &'static str, detail: impl Into<String>) -> Self {
        Self::Corrupt { section, detail: detail.into(), source: None }
    }

    /// Returns a [`Self::Corrupt`] that keeps the error of the decoder beneath.
    pub(crate) fn corrupt_by(
        section: &'static str,
        detail: impl Into<String>,
        source: impl Into<BoxedError>,
    ) -> Self {
        Self::Corrupt { section, detail: detail.into(), source: Some(source.into()) }
    }
}

/// A schema that no partition can have. The caller changes the columns or casts them first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A partition has at least one column.
    #[error("a partition needs at least one column")]
    NoColumns,
    /// Two columns share an id.
    #[error("column id {id} occurs twice")]
    DuplicateId {
        /// The shared id.
        id: ColumnId,
    },
    /// Two columns share a name.
    #[error("column name {name:?} occurs twice")]
    DuplicateName {
        /// The shared name.
        name: String,
    },
    /// The primary is not one of the columns.
    #[error("primary column {id} is not among the columns")]
    PrimaryMissing {
        /// The id of the primary.
        id: ColumnId,
    },
    /// The primary is neither a timestamp nor a date.
    #[error("primary column {name:?} has type {data_type}, not a timestamp or date")]
    PrimaryType {
        /// The name of the primary.
        name: String,
        /// Its type.
        data_type: DataType,
    },
    /// The column must be cast to its normal type before it is written.
    #[error("column {name:?} has type {data_type}, which is stored as {normal}")]
    NotNormal {
        /// The name of the column.
        name: String,
        /// Its type.
        data_type: DataType,
        /// The type to cast it to.
        normal: DataType,
    },
    /// The type is nested too deeply.
    #[error("a type nested deeper than {limit} levels is not supported")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// No partition stores this type.
    #[error("type {data_type} is not supported")]
    UnsupportedType {
        /// The type.
        data_type: DataType,
    },
}

/// A partition that could not be written. The writer is dropped; nothing was registered.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// An option is out of its range.
    #[error("{option} is {value}, which is not {expected}")]
    Options {
        /// The name of the option.
        option: &'static str,
        /// Its value.
        value: i64,
        /// What it has to be.
        expected: &'static str,
    },
    /// A batch does not have the columns of the partition, in their order and type.
    #[error("batch does not fit the columns of the partition")]
    Batch(#[source] ArrowError),
    /// The primary is NULL.
    #[error("row {row} has no value of the primary column")]
    NullPrimary {
        /// The row, counted from the partition's first.
        row: u64,
    },
    /// The primary is smaller than in the row before.
    #[error("row {row} is not sorted by the primary column")]
    NotSorted {
        /// The row, counted from the partition's first.
        row: u64,
    },
    /// The partition is full; the rest belongs in another one.
    #[error("a partition holds at most {limit} rows")]
    TooManyRows {
        /// The limit.
        limit: u64,
    },
    /// The data file could not be encoded, or its sink refused the bytes.
    #[error("write data file")]
    Data(#[source] ParquetError),
}

/// A text that is no partition name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a partition name: {reason}")]
pub struct NameError {
    /// The text.
    pub text: String,
    /// Why it is none.
    pub reason: &'static str,
}

/// A text that is no checksum of 32 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a checksum of 32 lower-case hex digits")]
pub struct ChecksumError {
    /// The text.
    pub text: String,
}
