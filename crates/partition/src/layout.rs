//! The byte layout of `index.bin`, version 1.
//!
//! All numbers are little endian. The file is: sections, then the directory, then the trailer, which
//! ends the file. Sections and the directory start at multiples of 8; gaps are zero.
//!
//! Trailer, the last 56 bytes:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | offset of the directory |
//! | 8 | 8 | length of the directory |
//! | 16 | 8 | xxh3-64 of the directory |
//! | 24 | 8 | rows of the partition |
//! | 32 | 4 | rows per block |
//! | 36 | 4 | format version |
//! | 40 | 8 | xxh3-64 of the 40 bytes above |
//! | 48 | 8 | magic `PEERINDX` |
//!
//! Directory: one entry of 32 bytes per section:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 2 | kind; a reader skips kinds that it does not know |
//! | 2 | 2 | zero |
//! | 4 | 4 | column id; 0 for sections of the whole partition |
//! | 8 | 8 | offset of the section |
//! | 16 | 8 | length of the section |
//! | 24 | 8 | xxh3-64 of the section |
//!
//! Section *Parquet tail* (kind 1), the data file from its first page-index byte to its end:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | size of the data file |
//! | 8 | 8 | offset of the tail in the data file |
//! | 16 | … | the tail |
//!
//! Section *zone map* (kind 2), one per column. Each array has one element per block and is padded
//! with zeros to a multiple of 8:
//!
//! | part | bytes per block | what |
//! |---|---|---|
//! | header | 16 in all | u8 kind of value (0 none, 1 bool, 2 int, 3 uint, 4 float, 5 bytes), u8 kind of sum (0 none, 1 i128, 2 f64), u16 zero, u32 count of blocks, u64 zero |
//! | null counts | 4 | u32 |
//! | flags | 1 | bit 0 minimum present, 1 maximum present, 2 minimum cut, 3 maximum rounded up |
//! | lengths | 2 | kind 5 alone: u8 of the minimum, u8 of the maximum |
//! | minima | 8, kind 5: 16 | kinds 1 to 5; bool as 0 or 1, float as its bits, bytes padded with zeros |
//! | maxima | 8, kind 5: 16 | as the minima |
//! | sums | 16 or 8 | where there are sums, of the values that are not NULL |
//!
//! Invariant: what stands here never changes for version 1; a further kind of section needs no new
//! version. Left out: the manifest, which is protobuf (see `manifest/wire.rs`).
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::checksum::widen;
use crate::error::DecodeError;

/// The rows of one block: the data file's pages are cut at the same rows.
pub const BLOCK_ROWS: u32 = 4096;

/// The version of the manifest and of the index.
pub const FORMAT_VERSION: u32 = 1;

/// The last bytes of an index.
pub(crate) const INDEX_MAGIC: [u8; 8] = *b"PEERINDX";

/// The bytes of the trailer.
pub(crate) const TRAILER_BYTES: usize = 56;

/// The bytes of the trailer that its own checksum covers.
pub(crate) const TRAILER_BODY_BYTES: usize = 40;

/// The bytes of one entry of the directory.
pub(crate) const ENTRY_BYTES: usize = 32;

/// The bytes before the tail in its section.
pub(crate) const TAIL_HEADER_BYTES: usize = 16;

/// The bytes before the arrays of a zone map.
pub(crate) const ZONE_HEADER_BYTES: usize = 16;

/// The bytes that a zone map keeps of a minimum or maximum of bytes.
pub(crate) const ZONE_PREFIX_BYTES: usize = 16;

const _: () = assert!(TRAILER_BODY_BYTES + size_of::<u64>() + INDEX_MAGIC.len() == TRAILER_BYTES);

/// The kinds of sections that this version knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// The end of the data file, from its first page-index byte.
    ParquetTail,
    /// Minimum, maximum, null count and sum per block of a column.
    ZoneMap,
    /// A kind of a later writer.
    Unknown(u16),
}

impl SectionKind {
    /// Returns the kind with this code.
    #[must_use]
    pub fn from_code(code: u16) -> Self {
        match code {
            1 => Self::ParquetTail,
            2 => Self::ZoneMap,
            other => Self::Unknown(other),
        }
    }

    /// Returns the code of the kind.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::ParquetTail => 1,
            Self::ZoneMap => 2,
            Self::Unknown(code) => code,
        }
    }

    /// Returns the name of the kind for errors and listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ParquetTail => "parquet tail",
            Self::ZoneMap => "zone map",
            Self::Unknown(_) => "unknown section",
        }
    }
}

/// Takes the parts of a layout from the front of borrowed bytes.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, rest: bytes }
    }

    /// Returns the next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| self.truncated(count))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Returns the next `N` bytes as an array.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated(N))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Returns the next array of `count` elements of `N` bytes, and skips its padding.
    pub(crate) fn elements<const N: usize>(
        &mut self,
        count: u32,
    ) -> Result<&'a [[u8; N]], DecodeError> {
        let overflow = || DecodeError::corrupt(self.what, format!("{count} elements of {N} bytes"));
        let count = usize::try_from(count).ok();
        let length = count.and_then(|count| count.checked_mul(N)).ok_or_else(overflow)?;
        let padded = length.checked_next_multiple_of(8).ok_or_else(overflow)?;
        let taken = self.take(padded)?;
        let (elements, _) = taken.get(..length).unwrap_or_default().as_chunks::<N>();
        Ok(elements)
    }

    /// Returns what was not taken.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    fn truncated(&self, needed: usize) -> DecodeError {
        let (expected, actual) = (widen(needed), widen(self.rest.len()));
        DecodeError::Truncated { what: self.what, expected, actual }
    }
}

/// Appends zeros up to the next multiple of 8.
pub(crate) fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}
