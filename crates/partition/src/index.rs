//! `index.bin` over borrowed bytes: a memory map or a vector.
//!
//! Invariant: opening reads the trailer and the directory only; a section is checked against its
//! checksum when it is first asked for (at several GB/s, once per open index), so that nothing of a
//! damaged section is ever decoded. Left out: what the sections say, see `tail.rs` and `zone.rs`.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::checksum::widen;
use crate::column::ColumnId;
use crate::error::DecodeError;
use crate::layout::{
    Cursor, ENTRY_BYTES, FORMAT_VERSION, INDEX_MAGIC, SectionKind, TRAILER_BODY_BYTES,
    TRAILER_BYTES,
};
use crate::tail::ParquetTail;
use crate::zone::ZoneMap;

mod build;

pub(crate) use build::IndexBuilder;

/// One entry of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionEntry {
    /// What the section holds.
    pub kind: SectionKind,
    /// The column it is about; 0 for sections of the whole partition.
    pub column: ColumnId,
    /// Where it starts in the index.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The xxh3-64 of its bytes.
    pub checksum: u64,
}

/// A section as it stands in the open index: a range that lies inside it.
#[derive(Debug)]
struct Section {
    entry: SectionEntry,
    range: Range<usize>,
    is_verified: AtomicBool,
}

/// The decoded trailer.
#[derive(Debug, Clone, Copy)]
struct Trailer {
    directory_offset: u64,
    directory_length: u64,
    directory_checksum: u64,
    row_count: u64,
    block_rows: u32,
}

/// An open index. Its bytes do not change while it is open: partitions never do.
#[derive(Debug)]
pub struct Index<B> {
    bytes: B,
    row_count: u64,
    block_rows: u32,
    block_count: u32,
    sections: Vec<Section>,
}

impl<B: AsRef<[u8]>> Index<B> {
    /// Returns the index in `bytes`, after a check of its trailer and directory.
    ///
    /// # Errors
    /// If the bytes are not an index of this version, or are damaged there.
    pub fn open(bytes: B) -> Result<Self, DecodeError> {
        let (body, trailer) = split_trailer(bytes.as_ref())?;
        let trailer = decode_trailer(trailer)?;
        let sections = decode_directory(body, &trailer)?;
        let block_count = trailer.row_count.div_ceil(u64::from(trailer.block_rows));
        let block_count = u32::try_from(block_count).map_err(|error| {
            DecodeError::corrupt_by("index trailer", "more blocks than 32 bits count", error)
        })?;
        let (row_count, block_rows) = (trailer.row_count, trailer.block_rows);
        Ok(Self { bytes, row_count, block_rows, block_count, sections })
    }

    /// Returns the rows of a block; the last block may have fewer.
    pub fn block_rows(&self) -> u32 {
        self.block_rows
    }

    /// Returns the rows of the partition.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Returns the count of blocks.
    pub fn block_count(&self) -> u32 {
        self.block_count
    }

    /// Returns the rows of one block; none where there is no such block.
    pub fn rows_in_block(&self, block: u32) -> u32 {
        let before = u64::from(block).saturating_mul(u64::from(self.block_rows));
        let rest = self.row_count.saturating_sub(before);
        u32::try_from(rest).map_or(self.block_rows, |rest| rest.min(self.block_rows))
    }

    /// Returns the end of the data file: its page index, footer and magic.
    ///
    /// # Errors
    /// If the section is missing or damaged.
    pub fn parquet_tail(&self) -> Result<ParquetTail<'_>, DecodeError> {
        let section = self.section(SectionKind::ParquetTail, ColumnId(0))?;
        let missing = || DecodeError::corrupt("parquet tail", "the index has none");
        ParquetTail::decode(section.ok_or_else(missing)?)
    }

    /// Returns the zone map of a column, or `None` where the index has none.
    ///
    /// # Errors
    /// If the section is damaged.
    pub fn zone_map(&self, column: ColumnId) -> Result<Option<ZoneMap<'_>>, DecodeError> {
        let Some(section) = self.section(SectionKind::ZoneMap, column)? else {
            return Ok(None);
        };
        let zones = ZoneMap::decode(section)?;
        if zones.block_count() != self.block_count {
            let (found, expected) = (zones.block_count(), self.block_count);
            let detail = format!("column {column} has {found} of {expected} blocks");
            return Err(DecodeError::corrupt("zone map", detail));
        }
        Ok(Some(zones))
    }

    /// Returns the entries of the directory, those of unknown kinds too.
    pub fn sections(&self) -> impl Iterator<Item = SectionEntry> {
        self.sections.iter().map(|section| section.entry)
    }

    /// Returns the bytes of a section, checked against its checksum when first asked for.
    fn section(&self, kind: SectionKind, column: ColumnId) -> Result<Option<&[u8]>, DecodeError> {
        let is_wanted = |s: &&Section| s.entry.kind == kind && s.entry.column == column;
        let Some(section) = self.sections.iter().find(is_wanted) else {
            return Ok(None);
        };
        let all = self.bytes.as_ref();
        let bytes = all.get(section.range.clone()).ok_or_else(|| DecodeError::Truncated {
            what: kind.name(),
            expected: widen(section.range.end),
            actual: widen(all.len()),
        })?;
        if !section.is_verified.load(Ordering::Relaxed) {
            if xxh3_64(bytes) != section.entry.checksum {
                return Err(DecodeError::Checksum { section: kind.name() });
            }
            section.is_verified.store(true, Ordering::Relaxed);
        }
        Ok(Some(bytes))
    }
}

fn split_trailer(bytes: &[u8]) -> Result<(&[u8], &[u8; TRAILER_BYTES]), DecodeError> {
    bytes.split_last_chunk::<TRAILER_BYTES>().ok_or_else(|| DecodeError::Truncated {
        what: "index",
        expected: widen(TRAILER_BYTES),
        actual: widen(bytes.len()),
    })
}

fn decode_trailer(bytes: &[u8; TRAILER_BYTES]) -> Result<Trailer, DecodeError> {
    let mut cursor = Cursor::new("index trailer", bytes);
    let trailer = Trailer {
        directory_offset: cursor.u64()?,
        directory_length: cursor.u64()?,
        directory_checksum: cursor.u64()?,
        row_count: cursor.u64()?,
        block_rows: cursor.u32()?,
    };
    let version = cursor.u32()?;
    let checksum = cursor.u64()?;
    let magic = cursor.array()?;
    if magic != INDEX_MAGIC {
        return Err(DecodeError::BadMagic { what: "index", found: magic });
    }
    if version != FORMAT_VERSION {
        let (what, found, supported) = ("index", version, FORMAT_VERSION);
        return Err(DecodeError::UnsupportedVersion { what, found, supported });
    }
    if bytes.get(..TRAILER_BODY_BYTES).map(xxh3_64) != Some(checksum) {
        return Err(DecodeError::Checksum { section: "index trailer" });
    }
    if trailer.block_rows == 0 {
        return Err(DecodeError::corrupt("index trailer", "blocks of no rows"));
    }
    Ok(trailer)
}

/// Returns the sections, each of which lies before the directory.
fn decode_directory(body: &[u8], trailer: &Trailer) -> Result<Vec<Section>, DecodeError> {
    let what = "index directory";
    let range = range_inside(trailer.directory_offset, trailer.directory_length, body.len());
    let directory = range.clone().and_then(|range| body.get(range));
    let (Some(range), Some(directory)) = (range, directory) else {
        let expected = trailer.directory_offset.saturating_add(trailer.directory_length);
        return Err(DecodeError::Truncated { what, expected, actual: widen(body.len()) });
    };
    if xxh3_64(directory) != trailer.directory_checksum {
        return Err(DecodeError::Checksum { section: what });
    }
    let (entries, rest) = directory.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() {
        return Err(DecodeError::corrupt(what, format!("length {}", directory.len())));
    }
    entries.iter().map(|entry| decode_entry(entry, range.start)).collect()
}

fn decode_entry(bytes: &[u8; ENTRY_BYTES], sections_end: usize) -> Result<Section, DecodeError> {
    let mut cursor = Cursor::new("index directory", bytes);
    let kind = SectionKind::from_code(cursor.u16()?);
    cursor.u16()?;
    let column = ColumnId(cursor.u32()?);
    let (offset, length, checksum) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
    let range =
        range_inside(offset, length, sections_end).ok_or_else(|| DecodeError::Truncated {
            what: kind.name(),
            expected: offset.saturating_add(length),
            actual: widen(sections_end),
        })?;
    let entry = SectionEntry { kind, column, offset, length, checksum };
    Ok(Section { entry, range, is_verified: AtomicBool::new(false) })
}

/// Returns the range in memory, where it ends at or before `end`.
fn range_inside(offset: u64, length: u64, end: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let stop = usize::try_from(offset.checked_add(length)?).ok()?;
    (stop <= end).then_some(start..stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};

    const ROWS: u64 = 10_000;

    fn sample() -> Vec<u8> {
        let mut builder = IndexBuilder::default();
        builder.add(SectionKind::Unknown(77), ColumnId(5), b"a later kind");
        let tail = [8_u64.to_le_bytes(), 0_u64.to_le_bytes(), *b"PAR1PAR1"].concat();
        builder.add(SectionKind::ParquetTail, ColumnId(0), &tail);
        builder.finish(ROWS, 4096)
    }

    #[test]
    fn sections_of_later_kinds_are_listed_and_skipped() {
        let index = Index::open(sample()).unwrap();
        let kinds: Vec<SectionKind> = index.sections().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [SectionKind::Unknown(77), SectionKind::ParquetTail]);
        assert!(index.sections().all(|entry| entry.offset % 8 == 0));
        assert_eq!(index.parquet_tail().unwrap().bytes, b"PAR1PAR1");
        assert!(index.zone_map(ColumnId(5)).unwrap().is_none());
    }

    #[test]
    fn blocks_are_counted() {
        let index = Index::open(sample()).unwrap();
        assert_eq!((index.row_count(), index.block_rows(), index.block_count()), (ROWS, 4096, 3));
        let rows: Vec<u32> = (0..4).map(|block| index.rows_in_block(block)).collect();
        assert_eq!(rows, [4096, 4096, 1808, 0]);
    }

    #[test]
    fn a_damaged_section_is_noticed_when_asked_for() {
        let mut bytes = sample();
        let at = bytes.windows(8).position(|window| window == b"PAR1PAR1").unwrap();
        bytes[at] ^= 1;
        let index = Index::open(bytes).unwrap();
        let error = index.parquet_tail().unwrap_err();
        assert!(matches!(error, DecodeError::Checksum { section: "parquet tail" }), "{error}");
    }

    #[test]
    fn another_version_is_told_apart() {
        let mut bytes = sample();
        let at = bytes.len() - TRAILER_BYTES + 36;
        bytes[at] = 2;
        let error = Index::open(bytes).unwrap_err();
        assert!(matches!(error, DecodeError::UnsupportedVersion { found: 2, .. }), "{error}");
    }

    /// Asks for everything that an index can give.
    fn exhaust(bytes: &[u8]) -> Result<(), DecodeError> {
        let index = Index::open(bytes)?;
        index.parquet_tail()?;
        for column in [0, 5] {
            index.zone_map(ColumnId(column))?;
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_bytes_open_or_fail(bytes in any::<Vec<u8>>()) {
            assert!(exhaust(&bytes).is_err());
        }

        /// A wrong directory under right checksums: what only a faulty writer, or malice, makes.
        #[test]
        fn any_directory_opens_or_fails(
            entries: Vec<([u16; 2], u32, u64, u64, u64)>,
            rows: u64,
            block_rows: u32,
            far: bool,
        ) {
            let mut bytes = vec![7; 64];
            let range = |value: u64| if far { value } else { value % 80 };
            let directory: Vec<u8> = entries
                .into_iter()
                .flat_map(|([kind, zero], column, offset, length, checksum)| {
                    let mut entry = [kind % 4, zero].map(u16::to_le_bytes).concat();
                    entry.extend((column % 8).to_le_bytes());
                    let words = [range(offset), range(length), checksum];
                    entry.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                    entry
                })
                .collect();
            let words = [64, widen(directory.len()), xxh3_64(&directory), rows];
            bytes.extend(directory);
            bytes.extend(build::encode_trailer(words, block_rows));
            drop(exhaust(&bytes));
        }

        #[test]
        fn any_trailer_opens_or_fails(words: [u64; 4], block_rows: u32, body: Vec<u8>) {
            let mut bytes = body;
            bytes.extend(build::encode_trailer(words, block_rows));
            drop(exhaust(&bytes));
        }

        #[test]
        fn truncations_fail(cut in 1_usize..200) {
            let bytes = sample();
            let end = bytes.len().saturating_sub(cut);
            assert!(exhaust(&bytes[..end]).is_err());
        }

        #[test]
        fn a_flipped_bit_changes_no_answer(at: proptest::sample::Index, bit in 0_u8..8) {
            let mut bytes = sample();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            if exhaust(&bytes).is_ok() {
                let index = Index::open(&bytes).unwrap();
                assert_eq!(index.row_count(), ROWS);
                assert_eq!(index.parquet_tail().unwrap().bytes, b"PAR1PAR1");
            }
        }
    }
}
