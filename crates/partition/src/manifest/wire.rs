//! The protobuf messages of `manifest.pb`, version 1, written by hand: the tag table.
//!
//! A reader skips fields that it does not know, so a later writer may add fields without a new
//! version. The version changes only where an old reader would answer wrongly.
//!
//! | tag | Manifest | tag | Column | tag | Field |
//! |---|---|---|---|---|---|
//! | 1 | u32 format version | 1 | u32 column id | 1 | string name at writing time |
//! | 2 | string partition name | 2 | Field | 2 | bool nullable |
//! | 3 | u64 rows | 3 | Stats | 3 | Type |
//! | 4 | u32 rows per block | 4 | bytes Bloom filter | 4 | map of metadata |
//! | 5 | string writer version | | | | |
//! | 6 | u32 id of the primary | tag | File | tag | Type |
//! | 7 | repeated Column | 1 | u64 bytes | 1 | kind ([`TypeKind`]) |
//! | 8 | File of the index | 2 | 16 bytes xxh3-128 | 2 | unit of time (0 s, 1 ms, 2 µs, 3 ns) |
//! | 9 | File of the data | | | 3 | string time zone |
//! | 10 | string shard | tag | Stats | 4 | u32 precision |
//! | 11 | map column id → mapped value | 1 | Value minimum | 5 | i32 scale |
//! | 15 | fixed64 checksum | 2 | Value maximum | 6 | i32 width (bytes, or items of a list) |
//! | | | 3 | bool exact bounds | 7 | repeated Field children |
//! | | | 4 | u64 nulls | 8 | bool sorted keys |
//! | | | 5 | u64 distinct estimate | | |
//!
//! The checksum (tag 15) is always the last field of the file: its key byte `0x79`, then the xxh3-64
//! of everything before it. Invariant: tags are never reused. Left out: checking, see `manifest.rs`.

use std::collections::BTreeMap;

use crate::checksum::FileRef;
use crate::manifest::ColumnStats;
use crate::value::Value;

/// The key of the checksum: tag 15, wire type 1 (64 bits).
pub(crate) const CHECKSUM_KEY: u8 = (15 << 3) | 1;

/// The bytes of the checksum's field, key included.
pub(crate) const CHECKSUM_FIELD_BYTES: usize = 9;

/// The one field that every version keeps.
#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct VersionWire {
    #[prost(uint32, tag = "1")]
    pub(crate) format_version: u32,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct ManifestWire {
    #[prost(uint32, tag = "1")]
    pub(crate) format_version: u32,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(uint64, tag = "3")]
    pub(crate) rows: u64,
    #[prost(uint32, tag = "4")]
    pub(crate) block_rows: u32,
    #[prost(string, tag = "5")]
    pub(crate) writer_version: String,
    #[prost(uint32, optional, tag = "6")]
    pub(crate) primary: Option<u32>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) columns: Vec<ColumnWire>,
    #[prost(message, optional, tag = "8")]
    pub(crate) index: Option<FileWire>,
    #[prost(message, optional, tag = "9")]
    pub(crate) data: Option<FileWire>,
    #[prost(string, optional, tag = "10")]
    pub(crate) shard: Option<String>,
    #[prost(btree_map = "uint32, string", tag = "11")]
    pub(crate) mapped: BTreeMap<u32, String>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct ColumnWire {
    #[prost(uint32, tag = "1")]
    pub(crate) id: u32,
    #[prost(message, optional, tag = "2")]
    pub(crate) field: Option<FieldWire>,
    #[prost(message, optional, tag = "3")]
    pub(crate) stats: Option<StatsWire>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) bloom: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct FieldWire {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bool, tag = "2")]
    pub(crate) nullable: bool,
    #[prost(message, optional, tag = "3")]
    pub(crate) data_type: Option<TypeWire>,
    #[prost(btree_map = "string, string", tag = "4")]
    pub(crate) metadata: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct TypeWire {
    #[prost(enumeration = "TypeKind", tag = "1")]
    pub(crate) kind: i32,
    #[prost(uint32, tag = "2")]
    pub(crate) unit: u32,
    #[prost(string, optional, tag = "3")]
    pub(crate) timezone: Option<String>,
    #[prost(uint32, tag = "4")]
    pub(crate) precision: u32,
    #[prost(sint32, tag = "5")]
    pub(crate) scale: i32,
    #[prost(sint32, tag = "6")]
    pub(crate) width: i32,
    #[prost(message, repeated, tag = "7")]
    pub(crate) children: Vec<FieldWire>,
    #[prost(bool, tag = "8")]
    pub(crate) is_sorted: bool,
}

/// The kinds of types that a partition stores. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub(crate) enum TypeKind {
    Unspecified = 0,
    Null = 1,
    Boolean = 2,
    Int8 = 3,
    Int16 = 4,
    Int32 = 5,
    Int64 = 6,
    UInt8 = 7,
    UInt16 = 8,
    UInt32 = 9,
    UInt64 = 10,
    Float16 = 11,
    Float32 = 12,
    Float64 = 13,
    Utf8 = 14,
    Binary = 15,
    FixedSizeBinary = 16,
    Date32 = 17,
    Date64 = 18,
    Time32 = 19,
    Time64 = 20,
    Timestamp = 21,
    Decimal128 = 22,
    Decimal256 = 23,
    List = 24,
    FixedSizeList = 25,
    Struct = 26,
    Map = 27,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct FileWire {
    #[prost(uint64, tag = "1")]
    pub(crate) bytes: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) checksum: Vec<u8>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct StatsWire {
    #[prost(message, optional, tag = "1")]
    pub(crate) min: Option<ValueWire>,
    #[prost(message, optional, tag = "2")]
    pub(crate) max: Option<ValueWire>,
    #[prost(bool, tag = "3")]
    pub(crate) exact_bounds: bool,
    #[prost(uint64, tag = "4")]
    pub(crate) null_count: u64,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) distinct_estimate: Option<u64>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub(crate) struct ValueWire {
    #[prost(oneof = "KindWire", tags = "1, 2, 3, 4, 5")]
    pub(crate) kind: Option<KindWire>,
}

#[derive(Clone, PartialEq, ::prost::Oneof)]
pub(crate) enum KindWire {
    #[prost(bool, tag = "1")]
    Bool(bool),
    #[prost(sint64, tag = "2")]
    Int(i64),
    #[prost(uint64, tag = "3")]
    UInt(u64),
    #[prost(double, tag = "4")]
    Float(f64),
    #[prost(bytes, tag = "5")]
    Bytes(Vec<u8>),
}

impl From<FileRef> for FileWire {
    fn from(file: FileRef) -> Self {
        Self { bytes: file.bytes, checksum: file.checksum.as_bytes().to_vec() }
    }
}

impl From<&Value> for ValueWire {
    fn from(value: &Value) -> Self {
        let kind = match value {
            Value::Bool(value) => KindWire::Bool(*value),
            Value::Int(value) => KindWire::Int(*value),
            Value::UInt(value) => KindWire::UInt(*value),
            Value::Float(value) => KindWire::Float(*value),
            Value::Bytes(value) => KindWire::Bytes(value.clone()),
        };
        Self { kind: Some(kind) }
    }
}

impl ValueWire {
    /// Returns the value; `None` for kinds of later writers.
    fn decode(self) -> Option<Value> {
        self.kind.map(|kind| match kind {
            KindWire::Bool(value) => Value::Bool(value),
            KindWire::Int(value) => Value::Int(value),
            KindWire::UInt(value) => Value::UInt(value),
            KindWire::Float(value) => Value::Float(value),
            KindWire::Bytes(value) => Value::Bytes(value),
        })
    }
}

impl From<&ColumnStats> for StatsWire {
    fn from(stats: &ColumnStats) -> Self {
        Self {
            min: stats.min.as_ref().map(ValueWire::from),
            max: stats.max.as_ref().map(ValueWire::from),
            exact_bounds: stats.exact_bounds,
            null_count: stats.null_count,
            distinct_estimate: stats.distinct_estimate,
        }
    }
}

impl From<StatsWire> for ColumnStats {
    fn from(wire: StatsWire) -> Self {
        Self {
            min: wire.min.and_then(ValueWire::decode),
            max: wire.max.and_then(ValueWire::decode),
            exact_bounds: wire.exact_bounds,
            null_count: wire.null_count,
            distinct_estimate: wire.distinct_estimate,
        }
    }
}
