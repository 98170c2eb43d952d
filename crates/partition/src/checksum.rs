//! Checksums of whole files: xxh3-128, and the reference (size and checksum) that one file holds of
//! another.
//!
//! Invariant: the bytes and the text are in the canonical (big-endian) order of xxHash, so that
//! `xxh128sum` prints the same digits. Left out: the 64-bit checksums of index sections, see
//! `layout.rs`.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use crate::error::ChecksumError;

/// An xxh3-128 checksum of a file. It finds damage, not malice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Checksum([u8; 16]);

impl Checksum {
    /// Returns the checksum of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes).to_be_bytes())
    }

    /// Returns the checksum with these bytes, most significant first.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the checksum, most significant first.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

impl FromStr for Checksum {
    type Err = ChecksumError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(is_digit) {
            return Err(ChecksumError { text: text.to_owned() });
        }
        let value = u128::from_str_radix(text, 16).expect("32 hex digits are one u128");
        Ok(Self(value.to_be_bytes()))
    }
}

/// The size and checksum of a file: what a holder needs to notice damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileRef {
    /// The size in bytes.
    pub bytes: u64,
    /// The checksum of all bytes.
    pub checksum: Checksum,
}

impl FileRef {
    /// Returns the reference to a file with the content `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { bytes: widen(bytes.len()), checksum: Checksum::of(bytes) }
    }
}

/// A writer that counts and checksums what passes through it.
pub struct ChecksumWriter<W> {
    inner: W,
    bytes: u64,
    state: Box<Xxh3Default>,
}

impl<W: Write> ChecksumWriter<W> {
    /// Returns a writer that passes everything on to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, bytes: 0, state: Box::new(Xxh3Default::new()) }
    }

    /// Returns the count of bytes that were passed on so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the inner writer, and the reference to what it was given.
    pub fn finish(self) -> (W, FileRef) {
        let checksum = Checksum(self.state.digest128().to_be_bytes());
        (self.inner, FileRef { bytes: self.bytes, checksum })
    }
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buf)?;
        self.state.update(buf.get(..count).unwrap_or(buf));
        self.bytes += widen(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W> fmt::Debug for ChecksumWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChecksumWriter").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Returns a length in memory as a length in a file.
pub(crate) fn widen(length: usize) -> u64 {
    u64::try_from(length).expect("no supported platform has addresses above 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, proptest};

    fn check(bytes: &[u8], expected: Expect) {
        expected.assert_eq(&Checksum::of(bytes).to_string());
    }

    #[test]
    fn digits_are_those_of_xxh128sum() {
        check(b"", expect!["99aa06d3014798d86001c324468d497f"]);
        check(b"a", expect!["a96faf705af16834e6c632b61e964e1f"]);
    }

    #[test]
    fn text_is_strict() {
        for text in ["", "99aa06d3014798d86001c324468d497", "99AA06D3014798D86001C324468D497F"] {
            assert!(text.parse::<Checksum>().is_err(), "{text}");
        }
        let signed = format!("+{}", "9".repeat(31));
        assert!(signed.parse::<Checksum>().is_err());
    }

    proptest! {
        #[test]
        fn text_and_bytes_round_trip(bytes: [u8; 16]) {
            let checksum = Checksum::from_bytes(bytes);
            assert_eq!(checksum.to_string().parse(), Ok(checksum));
            assert_eq!(*checksum.as_bytes(), bytes);
        }

        #[test]
        fn any_text_parses_or_fails(text in any::<String>()) {
            if let Ok(checksum) = text.parse::<Checksum>() {
                assert_eq!(checksum.to_string(), text);
            }
        }

        #[test]
        fn streaming_equals_whole(pieces: Vec<Vec<u8>>) {
            let mut writer = ChecksumWriter::new(Vec::new());
            for piece in &pieces {
                writer.write_all(piece).unwrap();
            }
            let (written, file) = writer.finish();
            assert_eq!(written, pieces.concat());
            assert_eq!(file, FileRef::of(&written));
        }
    }
}
