//! The format of one partition, version 1: manifest, index and data file; the writer, and prune.
//!
//! A partition is three files that never change: `manifest.pb` (small, protobuf: schema, statistics,
//! Bloom filters, sizes and checksums), `index.bin` (sections readable in place from a memory map:
//! the tail of the data file, zone maps) and `data.parquet` (plain Parquet whose pages coincide with
//! blocks of [`BLOCK_ROWS`] rows).
//!
//! Invariants: the index may widen, never narrow, so the predicate is always applied again to rows;
//! any bytes decode to a value or to a [`DecodeError`], never to a panic. Left out: every kind of
//! I/O. The writer is generic over [`std::io::Write`], the readers borrow bytes.

mod bloom;
mod bounds;
mod checksum;
mod column;
mod error;
mod index;
mod layout;
mod manifest;
mod name;
mod predicate;
mod prune;
mod selection;
mod sketch;
mod tail;
mod value;
mod writer;
mod zone;

pub use bloom::{BLOOM_BYTES_MAX, BloomFilter};
pub use checksum::{Checksum, ChecksumWriter, FileRef};
pub use column::{ColumnId, PartitionColumn, PartitionSchema, normalise_type};
pub use error::{ChecksumError, DecodeError, NameError, SchemaError, WriteError};
pub use index::{Index, SectionEntry};
pub use layout::{BLOCK_ROWS, FORMAT_VERSION, SectionKind};
pub use manifest::{ColumnStats, Manifest};
pub use name::{DATA_FILE, INDEX_FILE, MANIFEST_FILE, PartitionName};
pub use predicate::{Comparison, Predicate};
pub use prune::{PartitionVerdict, PruneReason, prune_blocks, prune_partition};
pub use selection::BlockSelection;
pub use tail::{ParquetTail, decode_parquet_metadata};
pub use value::{Value, ValueRef};
pub use writer::{FinishedPartition, PARTITION_ROWS_MAX, PartitionWriter, WriterOptions};
pub use zone::{Sum, ZoneMap};
