//! The catalog's row of a partition: where it is, what times it covers, how its files are checked.
//!
//! Invariant: the time range is the one in the name, so that a person and a program read the same.

use peerage_partition::{Checksum, FileRef, PartitionName};
use rusqlite::Row;

use crate::error::{CatalogError, EngineContext};

/// A partition whose files are uploaded and that is to be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPartition {
    /// The name, which holds the time range and is never used again.
    pub name: PartitionName,
    /// The storage of the cluster file that holds the files.
    pub storage: String,
    /// The folder of the partition within the storage, without a slash at either end.
    pub path: String,
    /// Rows in the partition.
    pub rows: u64,
    /// Size and checksum of the manifest.
    pub manifest: FileRef,
    /// Size and checksum of the index.
    pub index: FileRef,
    /// Size and checksum of the data file.
    pub data: FileRef,
}

/// A partition as one snapshot of the catalog shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionRecord {
    /// The name, which holds the time range.
    pub name: PartitionName,
    /// The storage of the cluster file that holds the files.
    pub storage: String,
    /// The folder of the partition within the storage, without a slash at either end.
    pub path: String,
    /// Rows in the partition.
    pub rows: u64,
    /// Size and checksum of the manifest.
    pub manifest: FileRef,
    /// Size and checksum of the index.
    pub index: FileRef,
    /// Size and checksum of the data file.
    pub data: FileRef,
    /// The sequence at which the partition was registered.
    pub registered_sequence: u64,
}

/// Sums over the partitions of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableTotals {
    /// Number of partitions.
    pub partitions: u64,
    /// Rows in all of them.
    pub rows: u64,
    /// Bytes of all manifests.
    pub manifest_bytes: u64,
    /// Bytes of all index files.
    pub index_bytes: u64,
    /// Bytes of all data files.
    pub data_bytes: u64,
    /// The earliest and the latest primary in epoch milliseconds; none without partitions.
    pub range_ms: Option<(i64, i64)>,
}

/// Reads a row of the columns that `sql::PARTITIONS` names.
pub(crate) fn read_record(row: &Row<'_>) -> Result<PartitionRecord, CatalogError> {
    let action = "read a partition of the catalog";
    let name: String = row.get(0).during(action)?;
    let parsed = name.parse::<PartitionName>().map_err(|error| {
        CatalogError::corrupt(format!("partition name '{}'", name.escape_debug()), error)
    })?;
    Ok(PartitionRecord {
        name: parsed,
        storage: row.get(1).during(action)?,
        path: row.get(2).during(action)?,
        rows: unsigned(row, 3)?,
        manifest: file_ref(row, 4)?,
        index: file_ref(row, 6)?,
        data: file_ref(row, 8)?,
        registered_sequence: unsigned(row, 10)?,
    })
}

/// Reads a row of `sql::TOTALS`.
pub(crate) fn read_totals(row: &Row<'_>) -> Result<TableTotals, CatalogError> {
    let action = "read the totals of a table";
    let min_ms: Option<i64> = row.get(5).during(action)?;
    let max_ms: Option<i64> = row.get(6).during(action)?;
    Ok(TableTotals {
        partitions: unsigned(row, 0)?,
        rows: unsigned(row, 1)?,
        manifest_bytes: unsigned(row, 2)?,
        index_bytes: unsigned(row, 3)?,
        data_bytes: unsigned(row, 4)?,
        range_ms: min_ms.zip(max_ms),
    })
}

/// Reads the size at `column` and the checksum after it.
fn file_ref(row: &Row<'_>, column: usize) -> Result<FileRef, CatalogError> {
    let bytes = unsigned(row, column)?;
    let stored: [u8; 16] = row.get(column.saturating_add(1)).during("read a checksum")?;
    Ok(FileRef { bytes, checksum: Checksum::from_bytes(stored) })
}

/// Reads a number that is never negative.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> Result<u64, CatalogError> {
    let stored: i64 = row.get(column).during("read a number of the catalog")?;
    u64::try_from(stored).map_err(|error| CatalogError::corrupt("a negative number", error))
}
