//! The zone map of a column: minimum, maximum, null count and sum of every block, read in place.
//!
//! Invariant: every row of a block that is not NULL lies between the block's bounds; a bound that is
//! missing although there are such rows is unbounded. Left out: what a predicate makes of it, see
//! `prune.rs`; bounds of nested values, decimals and half floats, which have null counts only.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::error::DecodeError;
use crate::layout::{Cursor, ZONE_PREFIX_BYTES};
use crate::value::{Value, ValueRef};

mod build;

pub(crate) use build::{ZoneBounds, ZoneBuilder};

/// The name of the section in errors.
const SECTION: &str = "zone map";

/// Bits of a block's flags.
mod flag {
    pub(super) const MIN_PRESENT: u8 = 1;
    pub(super) const MAX_PRESENT: u8 = 2;
    pub(super) const MIN_CUT: u8 = 4;
    pub(super) const MAX_ROUNDED: u8 = 8;
}

/// The kind of values whose bounds a zone map holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZoneKind {
    None,
    Bool,
    Int,
    UInt,
    Float,
    Bytes,
}

impl ZoneKind {
    fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Bool => 1,
            Self::Int => 2,
            Self::UInt => 3,
            Self::Float => 4,
            Self::Bytes => 5,
        }
    }

    fn from_code(code: u8) -> Result<Self, DecodeError> {
        match code {
            0 => Ok(Self::None),
            1 => Ok(Self::Bool),
            2 => Ok(Self::Int),
            3 => Ok(Self::UInt),
            4 => Ok(Self::Float),
            5 => Ok(Self::Bytes),
            other => Err(DecodeError::corrupt(SECTION, format!("kind of value {other}"))),
        }
    }
}

/// The kind of sums that a zone map holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SumKind {
    None,
    Int,
    Float,
}

impl SumKind {
    fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Int => 1,
            Self::Float => 2,
        }
    }

    fn from_code(code: u8) -> Result<Self, DecodeError> {
        match code {
            0 => Ok(Self::None),
            1 => Ok(Self::Int),
            2 => Ok(Self::Float),
            other => Err(DecodeError::corrupt(SECTION, format!("kind of sum {other}"))),
        }
    }
}

/// The sum of the values of a block that are not NULL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    /// Of integers; exact, a block cannot overflow it.
    Int(i128),
    /// Of floats, added in the order of the rows.
    Float(f64),
}

/// The minima or maxima of all blocks, in place.
#[derive(Debug, Clone, Copy)]
enum Bounds<'a> {
    None,
    Fixed(&'a [[u8; 8]]),
    Prefix(&'a [[u8; ZONE_PREFIX_BYTES]]),
}

/// The sums of all blocks, in place.
#[derive(Debug, Clone, Copy)]
enum Sums<'a> {
    None,
    Int(&'a [[u8; 16]]),
    Float(&'a [[u8; 8]]),
}

/// The zone map of one column over borrowed bytes. Blocks are counted from 0; a block that does not
/// exist has no bounds, no sum and no nulls.
#[derive(Debug, Clone, Copy)]
pub struct ZoneMap<'a> {
    kind: ZoneKind,
    block_count: u32,
    null_counts: &'a [[u8; 4]],
    flags: &'a [[u8; 1]],
    lengths: &'a [[u8; 2]],
    minima: Bounds<'a>,
    maxima: Bounds<'a>,
    sums: Sums<'a>,
}

impl<'a> ZoneMap<'a> {
    /// Returns a view of the zone map in `bytes`, whose checksum the caller has compared.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(SECTION, bytes);
        let kind = ZoneKind::from_code(cursor.u8()?)?;
        let sum_kind = SumKind::from_code(cursor.u8()?)?;
        cursor.u16()?;
        let block_count = cursor.u32()?;
        cursor.u64()?;
        let null_counts = cursor.elements(block_count)?;
        let flags = cursor.elements(block_count)?;
        let lengths = if kind == ZoneKind::Bytes {
            cursor.elements(block_count)?
        } else {
            Default::default()
        };
        let minima = decode_bounds(&mut cursor, kind, block_count)?;
        let maxima = decode_bounds(&mut cursor, kind, block_count)?;
        let sums = match sum_kind {
            SumKind::None => Sums::None,
            SumKind::Int => Sums::Int(cursor.elements(block_count)?),
            SumKind::Float => Sums::Float(cursor.elements(block_count)?),
        };
        if !cursor.rest().is_empty() {
            return Err(DecodeError::corrupt(SECTION, "bytes after the last array"));
        }
        Ok(Self { kind, block_count, null_counts, flags, lengths, minima, maxima, sums })
    }

    /// Returns the count of blocks.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.block_count
    }

    /// Returns the count of NULLs in a block.
    #[must_use]
    pub fn null_count(&self, block: u32) -> u32 {
        element(self.null_counts, block).map_or(0, u32::from_le_bytes)
    }

    /// Returns a lower bound of a block, or `None` where it is all NULL or unbounded. Bytes are cut
    /// to 16, see [`Self::has_exact_bounds`].
    #[must_use]
    pub fn min(&self, block: u32) -> Option<Value> {
        self.min_ref(block).map(ValueRef::to_value)
    }

    /// Returns an upper bound of a block, or `None` where it is all NULL or unbounded. Bytes are
    /// rounded up to 16, see [`Self::has_exact_bounds`].
    #[must_use]
    pub fn max(&self, block: u32) -> Option<Value> {
        self.max_ref(block).map(ValueRef::to_value)
    }

    /// Returns the lower bound of a block without a copy.
    #[must_use]
    pub fn min_ref(&self, block: u32) -> Option<ValueRef<'a>> {
        self.has_flag(block, flag::MIN_PRESENT).then_some(())?;
        let length = element(self.lengths, block).map_or(0, |[min, _max]| min);
        self.bound(self.minima, block, length)
    }

    /// Returns the upper bound of a block without a copy.
    #[must_use]
    pub fn max_ref(&self, block: u32) -> Option<ValueRef<'a>> {
        self.has_flag(block, flag::MAX_PRESENT).then_some(())?;
        let length = element(self.lengths, block).map_or(0, |[_min, max]| max);
        self.bound(self.maxima, block, length)
    }

    /// Returns whether both bounds of a block are there and are values of the block.
    #[must_use]
    pub fn has_exact_bounds(&self, block: u32) -> bool {
        self.has_flag(block, flag::MIN_PRESENT)
            && self.has_flag(block, flag::MAX_PRESENT)
            && !self.has_flag(block, flag::MIN_CUT)
            && !self.has_flag(block, flag::MAX_ROUNDED)
    }

    /// Returns the sum of a block's values that are not NULL, where the column has sums: integers
    /// and floats, but not dates and times.
    #[must_use]
    pub fn sum(&self, block: u32) -> Option<Sum> {
        match self.sums {
            Sums::None => None,
            Sums::Int(sums) => element(sums, block).map(|sum| Sum::Int(i128::from_le_bytes(sum))),
            Sums::Float(sums) => {
                element(sums, block).map(|sum| Sum::Float(f64::from_le_bytes(sum)))
            }
        }
    }

    fn has_flag(&self, block: u32, mask: u8) -> bool {
        element(self.flags, block).is_some_and(|[flags]| flags & mask != 0)
    }

    fn bound(&self, bounds: Bounds<'a>, block: u32, length: u8) -> Option<ValueRef<'a>> {
        match bounds {
            Bounds::None => None,
            Bounds::Prefix(prefixes) => {
                let prefix = prefixes.get(usize::try_from(block).ok()?)?;
                prefix.get(..usize::from(length)).map(ValueRef::Bytes)
            }
            Bounds::Fixed(fixed) => {
                let bytes = element(fixed, block)?;
                match self.kind {
                    ZoneKind::Bool => Some(ValueRef::Bool(bytes != [0; 8])),
                    ZoneKind::Int => Some(ValueRef::Int(i64::from_le_bytes(bytes))),
                    ZoneKind::UInt => Some(ValueRef::UInt(u64::from_le_bytes(bytes))),
                    ZoneKind::Float => Some(ValueRef::Float(f64::from_le_bytes(bytes))),
                    ZoneKind::None | ZoneKind::Bytes => None,
                }
            }
        }
    }
}

fn decode_bounds<'a>(
    cursor: &mut Cursor<'a>,
    kind: ZoneKind,
    block_count: u32,
) -> Result<Bounds<'a>, DecodeError> {
    Ok(match kind {
        ZoneKind::None => Bounds::None,
        ZoneKind::Bytes => Bounds::Prefix(cursor.elements(block_count)?),
        ZoneKind::Bool | ZoneKind::Int | ZoneKind::UInt | ZoneKind::Float => {
            Bounds::Fixed(cursor.elements(block_count)?)
        }
    })
}

fn element<const N: usize>(elements: &[[u8; N]], block: u32) -> Option<[u8; N]> {
    elements.get(usize::try_from(block).ok()?).copied()
}

#[cfg(test)]
mod tests;
