//! Cutting a text stream into records: lines of NDJSON, or CSV records that may span lines.
//!
//! Invariants: every record knows the line that it begins on; a chunk holds whole records only; and
//! a record ends exactly where the CSV decoder ends it (a quote counts only at the start of a field,
//! `\n`, `\r` and `\r\n` end a record), so that row *n* of a decoded chunk is record *n*.
//!
//! Left out: what is in the records.

use std::io::{self, Read};
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3};

/// Bytes read before they are cut: some ten thousand records, enough work for one decoding job.
const CHUNK_BYTES: usize = 4 << 20;

/// Most records of one chunk, so that very short lines do not make huge batches.
const CHUNK_RECORDS_MAX: usize = 65_536;

/// Longest record. A longer one is nearly always a quote that is never closed, and would be held in
/// memory as a whole.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// What ends a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// CSV with double quotes.
    Csv {
        /// What separates fields.
        delimiter: u8,
    },
    /// One record per line.
    Lines,
}

impl Framing {
    /// Returns the end of the record that begins at `start`, past its line end; none if the bytes
    /// end first.
    fn record_end(self, bytes: &[u8], start: usize) -> Option<usize> {
        match self {
            Self::Lines => Some(start + memchr(b'\n', bytes.get(start..)?)? + 1),
            Self::Csv { delimiter } => csv_record_end(bytes, start, delimiter),
        }
    }

    /// Returns whether decoders skip such a record.
    fn is_blank(self, record: &[u8]) -> bool {
        match self {
            Self::Lines => record.iter().all(u8::is_ascii_whitespace),
            Self::Csv { .. } => record.iter().all(|byte| matches!(byte, b'\n' | b'\r')),
        }
    }
}

/// Finds the end of a CSV record as RFC 4180 and the decoder see it.
fn csv_record_end(bytes: &[u8], start: usize, delimiter: u8) -> Option<usize> {
    let mut at = start;
    loop {
        let found = at + memchr3(b'"', b'\n', b'\r', bytes.get(at..)?)?;
        let next = bytes.get(found + 1);
        match bytes.get(found)? {
            b'\n' => return Some(found + 1),
            b'\r' => return next.map(|next| found + 1 + usize::from(*next == b'\n')),
            _ => {}
        }
        let before = found.checked_sub(1).filter(|before| *before >= start);
        let opens_field = before.is_none_or(|before| bytes.get(before) == Some(&delimiter));
        at = if opens_field { quoted_end(bytes, found + 1)? } else { found + 1 };
    }
}

/// Returns the place after the quote that closes the field whose text begins at `at`.
fn quoted_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let quote = at + memchr(b'"', bytes.get(at..)?)?;
        if *bytes.get(quote + 1)? != b'"' {
            return Some(quote + 1);
        }
        at = quote + 2;
    }
}

/// Whole records, in order.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    spans: Vec<Range<usize>>,
    lines: Vec<u64>,
    /// The last record ends with the file, inside a quoted field.
    is_unclosed: bool,
}

impl Records {
    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns whether there is no record.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns whether the last record is cut off by the end of the file.
    pub(crate) fn is_unclosed(&self) -> bool {
        self.is_unclosed
    }

    /// Returns the bytes of some records, blank lines between them included.
    pub(crate) fn region(&self, records: &Range<usize>) -> &[u8] {
        let begin = self.spans.get(records.start).map_or(0, |span| span.start);
        let last = records.end.checked_sub(1).and_then(|last| self.spans.get(last));
        let end = last.map_or(begin, |span| span.end);
        self.bytes.get(begin..end).unwrap_or_default()
    }

    /// Returns the line that a record begins on, counted from 1.
    pub(crate) fn line(&self, record: usize) -> u64 {
        self.lines.get(record).copied().unwrap_or_default()
    }

    /// Returns a record as a person sees it, without its line end.
    pub(crate) fn text(&self, record: usize) -> String {
        let bytes = self.region(&(record..record.saturating_add(1)));
        String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).to_owned()
    }
}

/// Reads records from a stream.
#[derive(Debug)]
pub(crate) struct RecordReader<R> {
    input: R,
    framing: Framing,
    buffer: Vec<u8>,
    /// The line that the buffer begins on.
    line: u64,
    is_at_end: bool,
}

impl<R: Read> RecordReader<R> {
    /// Returns a reader that begins at line 1 and skips a byte order mark.
    pub(crate) fn new(input: R, framing: Framing) -> io::Result<Self> {
        let mut reader = Self { input, framing, buffer: Vec::new(), line: 1, is_at_end: false };
        reader.fill()?;
        if reader.buffer.starts_with(b"\xef\xbb\xbf") {
            reader.buffer.drain(..3);
        }
        Ok(reader)
    }

    /// Returns the next record alone, such as a header; an empty answer at the end.
    pub(crate) fn next_one(&mut self) -> io::Result<Records> {
        loop {
            let records = self.cut(1)?;
            if !records.is_empty() || (self.is_at_end && self.buffer.is_empty()) {
                return Ok(records);
            }
        }
    }

    /// Returns the next records; none at the end.
    pub(crate) fn next_chunk(&mut self) -> io::Result<Option<Records>> {
        loop {
            let records = self.cut(CHUNK_RECORDS_MAX)?;
            if !records.is_empty() {
                return Ok(Some(records));
            }
            if self.is_at_end && self.buffer.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Cuts up to `records_max` records from the front of the buffer.
    fn cut(&mut self, records_max: usize) -> io::Result<Records> {
        if self.buffer.len() < CHUNK_BYTES && !self.is_at_end {
            self.fill()?;
        }
        let mut records = Records::default();
        let mut at = 0;
        while records.len() < records_max && at < self.buffer.len() {
            let end = match self.framing.record_end(&self.buffer, at) {
                Some(end) => end,
                None if at > 0 => break,
                None if !self.is_at_end => {
                    self.grow()?;
                    continue;
                }
                None => self.end_last(&mut records),
            };
            let record = self.buffer.get(at..end).unwrap_or_default();
            if !self.framing.is_blank(record) {
                records.spans.push(at..end);
                records.lines.push(self.line);
            }
            self.line += lines_in(record);
            at = end;
        }
        let rest = self.buffer.split_off(at.min(self.buffer.len()));
        records.bytes = std::mem::replace(&mut self.buffer, rest);
        Ok(records)
    }

    /// Reads on, because the first record does not end in the buffer.
    fn grow(&mut self) -> io::Result<()> {
        if self.buffer.len() > RECORD_BYTES_MAX {
            let text = format!(
                "the record on line {} is longer than {RECORD_BYTES_MAX} bytes; is a quote not closed?",
                self.line
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.fill()
    }

    /// Returns the end of the last record of the file, whose line end may be missing.
    fn end_last(&mut self, records: &mut Records) -> usize {
        if self.buffer.last() != Some(&b'\n') {
            self.buffer.push(b'\n');
        }
        self.framing.record_end(&self.buffer, 0).unwrap_or_else(|| {
            records.is_unclosed = true;
            self.buffer.len()
        })
    }

    /// Reads until the buffer has grown by one chunk, or the stream ends.
    fn fill(&mut self) -> io::Result<()> {
        let limit = u64::try_from(CHUNK_BYTES).unwrap_or(u64::MAX);
        let read = self.input.by_ref().take(limit).read_to_end(&mut self.buffer)?;
        self.is_at_end = read < CHUNK_BYTES;
        Ok(())
    }
}

/// Counts the line ends of a record; a lone `\r` at its end is one too.
fn lines_in(record: &[u8]) -> u64 {
    let newlines = memchr_iter(b'\n', record).count();
    let lone = usize::from(record.last() == Some(&b'\r'));
    u64::try_from(newlines + lone).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const CSV: Framing = Framing::Csv { delimiter: b',' };

    fn check(framing: Framing, text: &str, expected: Expect) {
        let mut reader = RecordReader::new(text.as_bytes(), framing).expect("memory");
        let mut shown = String::new();
        while let Some(records) = reader.next_chunk().expect("memory") {
            for record in 0..records.len() {
                let line = records.line(record);
                shown += &format!("{line}: {:?}\n", records.text(record));
            }
            if records.is_unclosed() {
                shown += "unclosed\n";
            }
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn lines_are_counted_and_blank_ones_skipped() {
        check(
            Framing::Lines,
            "{}\n\n  \n{\"a\":1}\r\nx",
            expect![[r#"
            1: "{}"
            4: "{\"a\":1}"
            5: "x"
        "#]],
        );
        check(Framing::Lines, "", expect![""]);
        check(
            Framing::Lines,
            "\u{feff}{}\n",
            expect![[r#"
            1: "{}"
        "#]],
        );
    }

    #[test]
    fn quotes_hold_line_ends() {
        check(
            CSV,
            "a,b\n\"x\ny\",2\n3,4\n",
            expect![[r#"
            1: "a,b"
            2: "\"x\ny\",2"
            4: "3,4"
        "#]],
        );
        check(
            CSV,
            "\"he said \"\"no\"\"\n\",1\n2,3",
            expect![[r#"
            1: "\"he said \"\"no\"\"\n\",1"
            3: "2,3"
        "#]],
        );
    }

    #[test]
    fn a_quote_inside_a_field_is_text() {
        check(
            CSV,
            "5\" disk,1\n7\" disk,2\n",
            expect![[r#"
            1: "5\" disk,1"
            2: "7\" disk,2"
        "#]],
        );
    }

    #[test]
    fn all_line_ends_count() {
        check(
            CSV,
            "a\r\nb\rc\n\r\n\nd",
            expect![[r#"
            1: "a"
            2: "b"
            3: "c"
            6: "d"
        "#]],
        );
    }

    #[test]
    fn an_open_quote_is_marked() {
        check(
            CSV,
            "a,b\n\"x,1\ny,2\n",
            expect![[r#"
            1: "a,b"
            2: "\"x,1\ny,2"
            unclosed
        "#]],
        );
    }

    /// Whatever the sizes, the records are the same as those of one big buffer.
    #[test]
    fn chunk_borders_do_not_matter() {
        let record = format!("\"{}\n{}\",tail\n", "x".repeat(700_000), "y".repeat(900_000));
        let text = record.repeat(9);
        let mut reader = RecordReader::new(text.as_bytes(), CSV).expect("memory");
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while let Some(records) = reader.next_chunk().expect("memory") {
            lines.extend((0..records.len()).map(|record| records.line(record)));
            bytes += records.region(&(0..records.len())).len();
        }
        assert_eq!(lines, (0..9).map(|record| 1 + 2 * record).collect::<Vec<_>>());
        assert_eq!(bytes, text.len());
    }

    #[test]
    fn an_endless_record_is_an_error() {
        let endless = io::repeat(b'x');
        let mut reader = RecordReader::new(endless, Framing::Lines).expect("begins");
        let error = reader.next_chunk().expect_err("too long");
        assert!(error.to_string().contains("line 1 is longer"));
    }
}
