//! What the writer learns about one column while rows pass by: the zone map of its blocks, and the
//! statistics and Bloom filter of the whole.
//!
//! Invariant: every value that is not NULL lies between the bounds of its block, and those between
//! the bounds of the partition. Left out: how values are read from arrays, see `visit.rs`.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;

use super::extent::{BytesExtent, Extent};
use super::visit::{each_bool, each_bytes, each_float, each_int, each_uint, kind_of};
use crate::bounds;
use crate::manifest::{ColumnFacts, ColumnStats, STATS_BYTES_MAX};
use crate::sketch::{DistinctSketch, KeySketch, number_hash};
use crate::value::{Value, ValueRef};
use crate::zone::{Sum, ZoneBounds, ZoneBuilder, ZoneKind};

/// The extent of the current block and of all blocks that have ended, by kind of value.
#[derive(Debug)]
enum Extents {
    None,
    Bool { block: Extent<bool>, all: Extent<bool> },
    Int { block: Extent<i64>, all: Extent<i64>, distinct: DistinctSketch },
    UInt { block: Extent<u64>, all: Extent<u64>, distinct: DistinctSketch },
    Float { block: Extent<f64>, all: Extent<f64>, distinct: DistinctSketch },
    Bytes { block: BytesExtent, all: BytesExtent, keys: Box<KeySketch> },
}

impl Extents {
    fn new(kind: ZoneKind) -> Self {
        let distinct = DistinctSketch::new;
        match kind {
            ZoneKind::None => Self::None,
            ZoneKind::Bool => {
                Self::Bool { block: Extent::new(bool::cmp), all: Extent::new(bool::cmp) }
            }
            ZoneKind::Int => {
                let extent = || Extent::new(i64::cmp);
                Self::Int { block: extent(), all: extent(), distinct: distinct() }
            }
            ZoneKind::UInt => {
                let extent = || Extent::new(u64::cmp);
                Self::UInt { block: extent(), all: extent(), distinct: distinct() }
            }
            ZoneKind::Float => {
                let extent = || Extent::new(f64::total_cmp);
                Self::Float { block: extent(), all: extent(), distinct: distinct() }
            }
            ZoneKind::Bytes => Self::Bytes {
                block: BytesExtent::new(),
                all: BytesExtent::new(),
                keys: Box::new(KeySketch::new()),
            },
        }
    }
}

/// A column under construction.
#[derive(Debug)]
pub(super) struct ColumnProfile {
    extents: Extents,
    zones: ZoneBuilder,
    block_nulls: u32,
    block_int_sum: i128,
    block_float_sum: f64,
    null_count: u64,
    is_null_type: bool,
}

/// A finished column.
#[derive(Debug)]
pub(super) struct ProfiledColumn {
    pub(super) facts: ColumnFacts,
    pub(super) zones: Vec<u8>,
}

impl ColumnProfile {
    pub(super) fn new(data_type: &DataType) -> Self {
        let (kind, sum_kind) = kind_of(data_type);
        Self {
            extents: Extents::new(kind),
            zones: ZoneBuilder::new(kind, sum_kind),
            block_nulls: 0,
            block_int_sum: 0,
            block_float_sum: 0.0,
            null_count: 0,
            is_null_type: *data_type == DataType::Null,
        }
    }

    /// Adds rows of the current block.
    pub(super) fn add(&mut self, array: &ArrayRef) {
        let nulls = if self.is_null_type { array.len() } else { array.null_count() };
        self.block_nulls += u32::try_from(nulls).expect("a block has 4096 rows at most");
        let array = array.as_ref();
        let int_sum = &mut self.block_int_sum;
        match &mut self.extents {
            Extents::None => {}
            Extents::Bool { block, .. } => each_bool(array, |value| block.add(value)),
            Extents::Int { block, distinct, .. } => each_int(array, |value| {
                block.add(value);
                *int_sum += i128::from(value);
                distinct.insert(number_hash(value.cast_unsigned()));
            }),
            Extents::UInt { block, distinct, .. } => each_uint(array, |value| {
                block.add(value);
                *int_sum += i128::from(value);
                distinct.insert(number_hash(value));
            }),
            Extents::Float { block, distinct, .. } => {
                let sum = &mut self.block_float_sum;
                each_float(array, |value| {
                    block.add(value);
                    *sum += value;
                    distinct.insert(number_hash(value.to_bits()));
                });
            }
            Extents::Bytes { block, keys, .. } => each_bytes(array, |value| {
                block.add(value);
                keys.insert(value);
            }),
        }
    }

    /// Ends the current block.
    pub(super) fn end_block(&mut self) {
        let nulls = std::mem::take(&mut self.block_nulls);
        let int_sum = std::mem::take(&mut self.block_int_sum);
        let float_sum = std::mem::take(&mut self.block_float_sum);
        self.null_count += u64::from(nulls);
        let sum = match self.extents {
            Extents::Float { .. } => Sum::Float(float_sum),
            _ => Sum::Int(int_sum),
        };
        self.zones.push(nulls, self.extents.block_bounds(), sum);
        self.extents.end_block();
    }

    /// Returns the finished column; every block has ended.
    pub(super) fn finish(self) -> ProfiledColumn {
        let (distinct_estimate, bloom) = match &self.extents {
            Extents::None | Extents::Bool { .. } => (None, None),
            Extents::Int { distinct, .. }
            | Extents::UInt { distinct, .. }
            | Extents::Float { distinct, .. } => (Some(distinct.estimate()), None),
            Extents::Bytes { keys, .. } => (Some(keys.distinct()), keys.bloom()),
        };
        let (min, max, exact_bounds) = match self.extents.all_bounds() {
            Some(ZoneBounds { min, max }) => stats_bounds(min, max),
            None => (None, None, false),
        };
        let null_count = self.null_count;
        let stats = ColumnStats { min, max, exact_bounds, null_count, distinct_estimate };
        let facts = ColumnFacts { stats: Some(stats), bloom };
        ProfiledColumn { facts, zones: self.zones.encode() }
    }
}

impl Extents {
    fn block_bounds(&self) -> Option<ZoneBounds<'_>> {
        match self {
            Self::None => None,
            Self::Bool { block, .. } => fixed(block.get(), ValueRef::Bool),
            Self::Int { block, .. } => fixed(block.get(), ValueRef::Int),
            Self::UInt { block, .. } => fixed(block.get(), ValueRef::UInt),
            Self::Float { block, .. } => fixed(block.get(), ValueRef::Float),
            Self::Bytes { block, .. } => fixed(block.get(), ValueRef::Bytes),
        }
    }

    fn all_bounds(&self) -> Option<ZoneBounds<'_>> {
        match self {
            Self::None => None,
            Self::Bool { all, .. } => fixed(all.get(), ValueRef::Bool),
            Self::Int { all, .. } => fixed(all.get(), ValueRef::Int),
            Self::UInt { all, .. } => fixed(all.get(), ValueRef::UInt),
            Self::Float { all, .. } => fixed(all.get(), ValueRef::Float),
            Self::Bytes { all, .. } => fixed(all.get(), ValueRef::Bytes),
        }
    }

    /// Adds the block to the whole, and starts the next block.
    fn end_block(&mut self) {
        match self {
            Self::None => {}
            Self::Bool { block, all } => fold(block, all),
            Self::Int { block, all, .. } => fold(block, all),
            Self::UInt { block, all, .. } => fold(block, all),
            Self::Float { block, all, .. } => fold(block, all),
            Self::Bytes { block, all, .. } => {
                all.merge(block);
                block.clear();
            }
        }
    }
}

fn fold<T: Copy>(block: &mut Extent<T>, all: &mut Extent<T>) {
    all.merge(block);
    block.clear();
}

fn fixed<'a, T>(range: Option<(T, T)>, wrap: impl Fn(T) -> ValueRef<'a>) -> Option<ZoneBounds<'a>> {
    range.map(|(min, max)| ZoneBounds { min: wrap(min), max: wrap(max) })
}

/// Returns the bounds for the statistics, and whether both are exact.
fn stats_bounds(min: ValueRef<'_>, max: ValueRef<'_>) -> (Option<Value>, Option<Value>, bool) {
    match (min, max) {
        (ValueRef::Bytes(min), ValueRef::Bytes(max)) => {
            let lower = bounds::lower(min, STATS_BYTES_MAX).to_vec();
            let upper = bounds::upper(max, STATS_BYTES_MAX).map(Value::Bytes);
            let is_exact = min.len() <= STATS_BYTES_MAX && max.len() <= STATS_BYTES_MAX;
            (Some(Value::Bytes(lower)), upper, is_exact)
        }
        (min, max) => (Some(min.to_value()), Some(max.to_value()), true),
    }
}
