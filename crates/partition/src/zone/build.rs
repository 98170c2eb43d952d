//! Builds a zone map block by block.
//!
//! Invariant: what is encoded here decodes to the same bounds, cut as `layout.rs` says. Left out:
//! how the bounds of a block are found, see `writer/profile.rs`.
#![allow(clippy::arithmetic_side_effects, reason = "lengths of arrays that this writer holds")]

use super::{SumKind, ZoneKind, flag};
use crate::bounds;
use crate::layout::{ZONE_HEADER_BYTES, ZONE_PREFIX_BYTES, pad};
use crate::value::ValueRef;
use crate::zone::Sum;

/// What a block adds to a zone map: the true minimum and maximum of its rows that are not NULL.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZoneBounds<'a> {
    pub(crate) min: ValueRef<'a>,
    pub(crate) max: ValueRef<'a>,
}

/// A zone map under construction; one array per part of the layout.
#[derive(Debug)]
pub(crate) struct ZoneBuilder {
    kind: ZoneKind,
    sum_kind: SumKind,
    block_count: u32,
    null_counts: Vec<u8>,
    flags: Vec<u8>,
    lengths: Vec<u8>,
    minima: Vec<u8>,
    maxima: Vec<u8>,
    sums: Vec<u8>,
}

impl ZoneBuilder {
    pub(crate) fn new(kind: ZoneKind, sum_kind: SumKind) -> Self {
        Self {
            kind,
            sum_kind,
            block_count: 0,
            null_counts: Vec::new(),
            flags: Vec::new(),
            lengths: Vec::new(),
            minima: Vec::new(),
            maxima: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Appends a block; `bounds` is `None` where every row is NULL or the column has none.
    pub(crate) fn push(&mut self, null_count: u32, bounds: Option<ZoneBounds<'_>>, sum: Sum) {
        self.block_count += 1;
        self.null_counts.extend(null_count.to_le_bytes());
        if self.kind == ZoneKind::Bytes {
            self.push_prefixes(bounds);
        } else {
            self.push_fixed(bounds);
        }
        match (self.sum_kind, sum) {
            (SumKind::Int, Sum::Int(sum)) => self.sums.extend(sum.to_le_bytes()),
            (SumKind::Float, Sum::Float(sum)) => self.sums.extend(sum.to_le_bytes()),
            (SumKind::None, _) => {}
            (kind, sum) => unreachable!("a column of {kind:?} sums adds no {sum:?}"),
        }
    }

    fn push_fixed(&mut self, bounds: Option<ZoneBounds<'_>>) {
        let present = flag::MIN_PRESENT | flag::MAX_PRESENT;
        self.flags.push(if bounds.is_some() { present } else { 0 });
        if self.kind != ZoneKind::None {
            self.minima.extend(bounds.map_or([0; 8], |bounds| fixed_bytes(bounds.min)));
            self.maxima.extend(bounds.map_or([0; 8], |bounds| fixed_bytes(bounds.max)));
        }
    }

    fn push_prefixes(&mut self, bounds: Option<ZoneBounds<'_>>) {
        let (min, max) = match bounds {
            Some(ZoneBounds { min: ValueRef::Bytes(min), max: ValueRef::Bytes(max) }) => {
                (Some(min), Some(max))
            }
            _ => (None, None),
        };
        let lower = min.map(|min| bounds::lower(min, ZONE_PREFIX_BYTES));
        let upper = max.and_then(|max| bounds::upper(max, ZONE_PREFIX_BYTES));
        let is_long = |value: Option<&[u8]>| value.is_some_and(|v| v.len() > ZONE_PREFIX_BYTES);
        let mut flags = 0;
        for (is_set, mask) in [
            (lower.is_some(), flag::MIN_PRESENT),
            (upper.is_some(), flag::MAX_PRESENT),
            (is_long(min), flag::MIN_CUT),
            (is_long(max), flag::MAX_ROUNDED),
        ] {
            flags |= if is_set { mask } else { 0 };
        }
        self.flags.push(flags);
        push_prefix(&mut self.minima, &mut self.lengths, lower.unwrap_or_default());
        push_prefix(&mut self.maxima, &mut self.lengths, upper.as_deref().unwrap_or_default());
    }

    /// Returns the section.
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut bytes = vec![self.kind.code(), self.sum_kind.code(), 0, 0];
        bytes.extend(self.block_count.to_le_bytes());
        bytes.extend([0; 8]);
        assert_eq!(bytes.len(), ZONE_HEADER_BYTES, "the header has its length");
        for array in
            [self.null_counts, self.flags, self.lengths, self.minima, self.maxima, self.sums]
        {
            bytes.extend(array);
            pad(&mut bytes);
        }
        bytes
    }
}

fn push_prefix(prefixes: &mut Vec<u8>, lengths: &mut Vec<u8>, bound: &[u8]) {
    let end = prefixes.len() + ZONE_PREFIX_BYTES;
    prefixes.extend_from_slice(bound);
    prefixes.resize(end, 0);
    lengths.push(u8::try_from(bound.len()).expect("a bound is cut to 16 bytes"));
}

fn fixed_bytes(value: ValueRef<'_>) -> [u8; 8] {
    match value {
        ValueRef::Bool(value) => u64::from(value).to_le_bytes(),
        ValueRef::Int(value) => value.to_le_bytes(),
        ValueRef::UInt(value) => value.to_le_bytes(),
        ValueRef::Float(value) => value.to_le_bytes(),
        ValueRef::Bytes(_) => unreachable!("bytes are stored as prefixes"),
    }
}
