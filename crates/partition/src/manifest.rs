//! The manifest of a partition: what prunes and places it without a look at its index.
//!
//! Invariant: a decoded manifest is whole: its checksum fits, its schema is a [`PartitionSchema`],
//! its name is a [`PartitionName`], and its Bloom filters have a valid form. Left out: the bytes'
//! own size and checksum, which whoever registers the partition keeps (see
//! [`crate::FinishedPartition`]).
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::BTreeMap;

use prost::Message;
use xxhash_rust::xxh3::xxh3_64;

use crate::bloom::BloomFilter;
use crate::checksum::{Checksum, FileRef, widen};
use crate::column::{ColumnId, PartitionColumn, PartitionSchema};
use crate::error::DecodeError;
use crate::layout::FORMAT_VERSION;
use crate::name::PartitionName;
use crate::value::Value;

mod types;
mod wire;

use wire::{CHECKSUM_FIELD_BYTES, CHECKSUM_KEY, ColumnWire, FileWire, ManifestWire, StatsWire};

/// The name of the file in errors.
const FILE: &str = "manifest";

/// The longest text or binary bound that the statistics keep: enough to tell paths and URLs apart,
/// and small beside a Bloom filter.
pub(crate) const STATS_BYTES_MAX: usize = 64;

/// The statistics of one column over the whole partition.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStats {
    /// A lower bound of the values that are not NULL; `None` where there are none, or no bound.
    /// Bytes are cut to 64.
    pub min: Option<Value>,
    /// An upper bound of the values that are not NULL; `None` where there are none, or no bound.
    /// Bytes are rounded up to 64.
    pub max: Option<Value>,
    /// Whether both bounds are values of the column.
    pub exact_bounds: bool,
    /// The count of NULLs.
    pub null_count: u64,
    /// The count of distinct values, exact or within a few percent.
    pub distinct_estimate: Option<u64>,
}

/// What the manifest holds per column beside its schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnFacts {
    pub(crate) stats: Option<ColumnStats>,
    pub(crate) bloom: Option<Vec<u8>>,
}

/// A checked manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    pub(crate) name: PartitionName,
    pub(crate) rows: u64,
    pub(crate) block_rows: u32,
    pub(crate) schema: PartitionSchema,
    pub(crate) facts: Vec<ColumnFacts>,
    pub(crate) index: FileRef,
    pub(crate) data: FileRef,
    pub(crate) shard: Option<String>,
    pub(crate) mapped: BTreeMap<ColumnId, String>,
    pub(crate) writer_version: String,
}

impl Manifest {
    /// Returns the manifest in `bytes`.
    ///
    /// # Errors
    /// If the bytes are damaged, contradict themselves, or are of another format version. Fields of
    /// later writers are skipped.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let body = check_envelope(bytes)?;
        let undecodable = |error| DecodeError::corrupt_by(FILE, "not a protobuf message", error);
        let probe = wire::VersionWire::decode(body).map_err(undecodable)?;
        if probe.format_version != FORMAT_VERSION {
            let (found, supported) = (probe.format_version, FORMAT_VERSION);
            return Err(DecodeError::UnsupportedVersion { what: FILE, found, supported });
        }
        Self::from_wire(ManifestWire::decode(body).map_err(undecodable)?)
    }

    /// Returns the bytes of the manifest.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.to_wire().encode_to_vec();
        let checksum = xxh3_64(&bytes);
        bytes.push(CHECKSUM_KEY);
        bytes.extend(checksum.to_le_bytes());
        bytes
    }

    /// Returns the name of the partition.
    #[must_use]
    pub fn name(&self) -> &PartitionName {
        &self.name
    }

    /// Returns the count of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the columns.
    #[must_use]
    pub fn schema(&self) -> &PartitionSchema {
        &self.schema
    }

    /// Returns the rows of a block.
    #[must_use]
    pub fn block_rows(&self) -> u32 {
        self.block_rows
    }

    /// Returns the smallest primary in epoch milliseconds, rounded down; 0 without a primary.
    #[must_use]
    pub fn min_ms(&self) -> i64 {
        self.name.min_ms()
    }

    /// Returns the greatest primary in epoch milliseconds, rounded up; 0 without a primary.
    #[must_use]
    pub fn max_ms(&self) -> i64 {
        self.name.max_ms()
    }

    /// Returns the size and checksum of the index.
    #[must_use]
    pub fn index_ref(&self) -> FileRef {
        self.index
    }

    /// Returns the size and checksum of the data file.
    #[must_use]
    pub fn data_ref(&self) -> FileRef {
        self.data
    }

    /// Returns the statistics of a column; `None` where it has none or is not in the partition.
    #[must_use]
    pub fn stats(&self, column: ColumnId) -> Option<&ColumnStats> {
        self.facts_of(column)?.stats.as_ref()
    }

    /// Returns the Bloom filter of a column; `None` where it has none or is not in the partition.
    #[must_use]
    pub fn bloom(&self, column: ColumnId) -> Option<BloomFilter<'_>> {
        let bytes = self.facts_of(column)?.bloom.as_deref()?;
        Some(BloomFilter::decode(bytes).expect("a manifest holds checked filters only"))
    }

    /// Returns the shard of the partition, where its table has shards.
    #[must_use]
    pub fn shard(&self) -> Option<&str> {
        self.shard.as_deref()
    }

    /// Returns the one value that a mapped column has in this partition.
    #[must_use]
    pub fn mapped(&self, column: ColumnId) -> Option<&str> {
        self.mapped.get(&column).map(String::as_str)
    }

    /// Returns the name and version of the program that wrote the partition.
    #[must_use]
    pub fn writer_version(&self) -> &str {
        &self.writer_version
    }

    fn facts_of(&self, column: ColumnId) -> Option<&ColumnFacts> {
        self.facts.get(self.schema.index_of(column)?)
    }

    fn to_wire(&self) -> ManifestWire {
        let columns =
            self.schema.columns().iter().zip(&self.facts).map(|(column, facts)| ColumnWire {
                id: column.id.0,
                field: Some(types::encode_field(&column.field)),
                stats: facts.stats.as_ref().map(StatsWire::from),
                bloom: facts.bloom.clone(),
            });
        ManifestWire {
            format_version: FORMAT_VERSION,
            name: self.name.to_string(),
            rows: self.rows,
            block_rows: self.block_rows,
            writer_version: self.writer_version.clone(),
            primary: self.schema.primary().map(|id| id.0),
            columns: columns.collect(),
            index: Some(FileWire::from(self.index)),
            data: Some(FileWire::from(self.data)),
            shard: self.shard.clone(),
            mapped: self.mapped.iter().map(|(id, value)| (id.0, value.clone())).collect(),
        }
    }

    fn from_wire(wire: ManifestWire) -> Result<Self, DecodeError> {
        let corrupt = |detail: &str| DecodeError::corrupt(FILE, detail);
        let name = wire
            .name
            .parse()
            .map_err(|error| DecodeError::corrupt_by(FILE, "partition name", error))?;
        if wire.block_rows == 0 {
            return Err(corrupt("blocks of no rows"));
        }
        let (columns, facts): (Vec<_>, Vec<_>) = wire
            .columns
            .into_iter()
            .map(|column| decode_column(column, wire.rows))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .unzip();
        let schema = PartitionSchema::try_new(columns, wire.primary.map(ColumnId))
            .map_err(|error| DecodeError::corrupt_by(FILE, "schema", error))?;
        Ok(Self {
            name,
            rows: wire.rows,
            block_rows: wire.block_rows,
            schema,
            facts,
            index: decode_file(wire.index)?,
            data: decode_file(wire.data)?,
            shard: wire.shard,
            mapped: wire.mapped.into_iter().map(|(id, value)| (ColumnId(id), value)).collect(),
            writer_version: wire.writer_version,
        })
    }
}

/// Returns the message without its checksum, which it must fit.
fn check_envelope(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let truncated = || DecodeError::Truncated {
        what: FILE,
        expected: widen(CHECKSUM_FIELD_BYTES),
        actual: widen(bytes.len()),
    };
    let (body, field) = bytes.split_last_chunk::<CHECKSUM_FIELD_BYTES>().ok_or_else(truncated)?;
    let [key, checksum @ ..] = *field;
    if key != CHECKSUM_KEY || u64::from_le_bytes(checksum) != xxh3_64(body) {
        return Err(DecodeError::Checksum { section: FILE });
    }
    Ok(body)
}

fn decode_column(
    wire: ColumnWire,
    rows: u64,
) -> Result<(PartitionColumn, ColumnFacts), DecodeError> {
    let field = wire.field.ok_or_else(|| DecodeError::corrupt(FILE, "a column without a field"))?;
    let column = PartitionColumn { id: ColumnId(wire.id), field: types::decode_field(field)? };
    if wire.stats.as_ref().is_some_and(|stats| stats.null_count > rows) {
        let detail = format!("column {} has more nulls than rows", column.id);
        return Err(DecodeError::corrupt(FILE, detail));
    }
    if let Some(bloom) = &wire.bloom {
        BloomFilter::decode(bloom)?;
    }
    let facts = ColumnFacts { stats: wire.stats.map(ColumnStats::from), bloom: wire.bloom };
    Ok((column, facts))
}

fn decode_file(wire: Option<FileWire>) -> Result<FileRef, DecodeError> {
    let wire = wire.ok_or_else(|| DecodeError::corrupt(FILE, "no reference to a file"))?;
    let checksum = <[u8; 16]>::try_from(wire.checksum.as_slice())
        .map_err(|error| DecodeError::corrupt_by(FILE, "a checksum of another length", error))?;
    Ok(FileRef { bytes: wire.bytes, checksum: Checksum::from_bytes(checksum) })
}

#[cfg(test)]
mod tests;
