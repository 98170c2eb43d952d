//! Builds `index.bin`.
//!
//! Invariant: sections, directory and trailer stand as `layout.rs` says. Left out: the content of
//! the sections.
#![allow(clippy::arithmetic_side_effects, reason = "lengths of bytes that this writer holds")]

use xxhash_rust::xxh3::xxh3_64;

use crate::checksum::widen;
use crate::column::ColumnId;
use crate::layout::{FORMAT_VERSION, INDEX_MAGIC, SectionKind, TRAILER_BYTES, pad};

/// An index under construction.
#[derive(Debug, Default)]
pub(crate) struct IndexBuilder {
    bytes: Vec<u8>,
    directory: Vec<u8>,
}

impl IndexBuilder {
    /// Appends a section.
    pub(crate) fn add(&mut self, kind: SectionKind, column: ColumnId, section: &[u8]) {
        pad(&mut self.bytes);
        self.directory.extend(kind.code().to_le_bytes());
        self.directory.extend([0; 2]);
        self.directory.extend(column.0.to_le_bytes());
        self.directory.extend(widen(self.bytes.len()).to_le_bytes());
        self.directory.extend(widen(section.len()).to_le_bytes());
        self.directory.extend(xxh3_64(section).to_le_bytes());
        self.bytes.extend_from_slice(section);
    }

    /// Returns the index of a partition of `row_count` rows.
    pub(crate) fn finish(mut self, row_count: u64, block_rows: u32) -> Vec<u8> {
        pad(&mut self.bytes);
        let words = [
            widen(self.bytes.len()),
            widen(self.directory.len()),
            xxh3_64(&self.directory),
            row_count,
        ];
        self.bytes.extend(self.directory);
        self.bytes.extend(encode_trailer(words, block_rows));
        self.bytes
    }
}

/// Returns a trailer; `words` are the offset, length and checksum of the directory and the rows.
pub(super) fn encode_trailer(words: [u64; 4], block_rows: u32) -> Vec<u8> {
    let mut trailer: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    trailer.extend(block_rows.to_le_bytes());
    trailer.extend(FORMAT_VERSION.to_le_bytes());
    trailer.extend(xxh3_64(&trailer).to_le_bytes());
    trailer.extend(INDEX_MAGIC);
    assert_eq!(trailer.len(), TRAILER_BYTES, "the trailer has its length");
    trailer
}
