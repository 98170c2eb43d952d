//! The end of the data file as the index keeps it, so that a peer never reads it from the store.
//!
//! Invariant: metadata that is decoded here points only into the file: every range of pages and page
//! index was checked. Parquet's own decoder sees no bytes whose checksum was wrong, because
//! [`crate::Index::parquet_tail`] gives none out. Left out: decoding rows, and Parquet's Arrow
//! schema hint, which readers should skip: the manifest has the schema.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder,
};

use crate::checksum::widen;
use crate::error::DecodeError;
use crate::layout::{Cursor, TAIL_HEADER_BYTES};

/// The name of the section in errors.
const SECTION: &str = "parquet tail";

/// The bytes that end a Parquet file: length of the footer, and magic.
const FOOTER_TAIL_BYTES: u64 = 8;

/// The data file from its first page-index byte (or its footer, where it has no rows) to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParquetTail<'a> {
    /// The size of the data file.
    pub file_bytes: u64,
    /// Where the tail starts in the data file.
    pub offset: u64,
    /// The tail itself.
    pub bytes: &'a [u8],
}

impl<'a> ParquetTail<'a> {
    /// Returns the tail in a section.
    pub(crate) fn decode(section: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(SECTION, section);
        let (file_bytes, offset) = (cursor.u64()?, cursor.u64()?);
        let tail = Self { file_bytes, offset, bytes: cursor.rest() };
        tail.check_ends_the_file()?;
        Ok(tail)
    }

    /// Returns the section of a tail.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut section = Vec::with_capacity(self.bytes.len().saturating_add(TAIL_HEADER_BYTES));
        section.extend(self.file_bytes.to_le_bytes());
        section.extend(self.offset.to_le_bytes());
        section.extend_from_slice(self.bytes);
        section
    }

    fn check_ends_the_file(&self) -> Result<(), DecodeError> {
        if self.offset.checked_add(widen(self.bytes.len())) == Some(self.file_bytes) {
            return Ok(());
        }
        let detail = format!(
            "{} bytes at {} do not end a file of {}",
            self.bytes.len(),
            self.offset,
            self.file_bytes
        );
        Err(DecodeError::corrupt(SECTION, detail))
    }

    /// Checks what Parquet's decoder takes for granted: that the footer lies inside the file.
    fn check_footer(&self) -> Result<(), DecodeError> {
        let truncated = |expected: u64| DecodeError::Truncated {
            what: SECTION,
            expected,
            actual: widen(self.bytes.len()),
        };
        let end = self.bytes.last_chunk::<8>().ok_or_else(|| truncated(FOOTER_TAIL_BYTES))?;
        let [a, b, c, d, ..] = *end;
        let footer = u64::from(u32::from_le_bytes([a, b, c, d])).saturating_add(FOOTER_TAIL_BYTES);
        if footer > widen(self.bytes.len()) {
            return Err(truncated(footer));
        }
        Ok(())
    }

    /// Decodes one step: the footer, or the page index of a footer decoded before.
    fn step(
        &self,
        mut decoder: ParquetMetaDataPushDecoder,
        bytes: &Bytes,
    ) -> Result<ParquetMetaData, DecodeError> {
        decoder
            .push_range(self.offset..self.file_bytes, bytes.clone())
            .map_err(|error| corrupt("push", error))?;
        match decoder.try_decode().map_err(|error| corrupt("decode", error))? {
            DecodeResult::Data(metadata) => Ok(metadata),
            DecodeResult::NeedsData(_) | DecodeResult::Finished => {
                Err(DecodeError::corrupt(SECTION, "it points to bytes before the tail"))
            }
        }
    }
}

fn corrupt(step: &'static str, error: ParquetError) -> DecodeError {
    DecodeError::corrupt_by(SECTION, format!("parquet metadata, {step}"), error)
}

/// Returns the metadata of the data file, page index included.
///
/// # Errors
/// If the footer or the page index do not decode, or point outside the file.
pub fn decode_parquet_metadata(tail: &ParquetTail<'_>) -> Result<ParquetMetaData, DecodeError> {
    tail.check_ends_the_file()?;
    tail.check_footer()?;
    let bytes = Bytes::copy_from_slice(tail.bytes);
    let footer = ParquetMetaDataPushDecoder::try_new(tail.file_bytes)
        .map_err(|error| corrupt("footer", error))?
        .with_page_index_policy(PageIndexPolicy::Skip);
    let metadata = tail.step(footer, &bytes)?;
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err(DecodeError::corrupt(SECTION, "a row group of negative length"));
        }
        for chunk in group.columns() {
            check_chunk(tail, chunk)?;
        }
    }
    let page_index = ParquetMetaDataPushDecoder::try_new_with_metadata(tail.file_bytes, metadata)
        .map_err(|error| corrupt("page index", error))?
        .with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = tail.step(page_index, &bytes)?;
    check_pages(&metadata)?;
    Ok(metadata)
}

/// Checks that the pages of a chunk lie before the tail, and its page index in it.
fn check_chunk(tail: &ParquetTail<'_>, chunk: &ColumnChunkMetaData) -> Result<(), DecodeError> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    check_range(Some(start), Some(chunk.compressed_size()), 0, tail.offset)?;
    check_range(Some(chunk.data_page_offset()), Some(0), 0, tail.offset)?;
    let column_index = (chunk.column_index_offset(), chunk.column_index_length());
    let offset_index = (chunk.offset_index_offset(), chunk.offset_index_length());
    for (offset, length) in [column_index, offset_index] {
        if offset.is_some() || length.is_some() {
            check_range(offset, length.map(i64::from), tail.offset, tail.file_bytes)?;
        }
    }
    Ok(())
}

fn check_range(
    offset: Option<i64>,
    length: Option<i64>,
    start: u64,
    end: u64,
) -> Result<(), DecodeError> {
    let first = offset.and_then(|offset| u64::try_from(offset).ok());
    let length_bytes = length.and_then(|length| u64::try_from(length).ok());
    let last = first.zip(length_bytes).and_then(|(first, length)| first.checked_add(length));
    if first.is_some_and(|first| first >= start) && last.is_some_and(|last| last <= end) {
        return Ok(());
    }
    let detail = format!("a range {offset:?} + {length:?} outside {start}..{end}");
    Err(DecodeError::corrupt(SECTION, detail))
}

/// Checks that the pages of each chunk lie in it, and that their rows ascend from its first row.
fn check_pages(metadata: &ParquetMetaData) -> Result<(), DecodeError> {
    let wrong = || DecodeError::corrupt(SECTION, "the offset index contradicts the footer");
    let groups = metadata.row_groups();
    for (group, chunks) in groups.iter().zip(metadata.offset_index().into_iter().flatten()) {
        for (chunk, index) in group.columns().iter().zip(chunks) {
            let (start, length) = chunk.byte_range();
            let end = start.saturating_add(length);
            let mut row_before = -1;
            for page in index.page_locations() {
                let size = Some(i64::from(page.compressed_page_size));
                check_range(Some(page.offset), size, start, end)?;
                let row = page.first_row_index;
                let starts_well = row_before >= 0 || row == 0;
                if row <= row_before || row >= group.num_rows().max(1) || !starts_well {
                    return Err(wrong());
                }
                row_before = row;
            }
        }
    }
    Ok(())
}
