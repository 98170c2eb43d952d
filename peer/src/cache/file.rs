//! One file of the cache as readers hold it: mapped from disk, or in memory when the disk is sick.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use memmap2::Mmap;
use peerage_partition::Checksum;

/// The bytes of one cached file, whose checksum was verified when it was opened.
///
/// A reader that holds it keeps the bytes even when the file is evicted meanwhile.
#[derive(Debug)]
pub struct CachedFile {
    content: Content,
    checksum: Checksum,
}

#[derive(Debug)]
enum Content {
    /// The file itself is closed again: what is mapped needs no descriptor.
    Mapped {
        map: Mmap,
        path: PathBuf,
        seen: Option<(u64, SystemTime)>,
    },
    Memory(Bytes),
}

impl CachedFile {
    /// Maps an open file, which lies at `path`, and computes its checksum.
    #[expect(
        unsafe_code,
        reason = "a memory map; files of the cache are written once, renamed into place and only ever \
                  unlinked, which leaves the mapped pages as they are; a stranger who writes into one \
                  can change bytes, which checksums of sections find, but not make the map invalid \
                  unless he shortens the file"
    )]
    pub fn map(file: &File, path: PathBuf) -> std::io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::from_memory(Bytes::new(), Checksum::of(&[])));
        }
        // SAFETY: see above.
        let map = unsafe { Mmap::map(file)? };
        let checksum = Checksum::of(&map);
        let seen = stamp(&path);
        Ok(Self { content: Content::Mapped { map, path, seen }, checksum })
    }

    /// Wraps bytes that could not be kept on disk.
    #[must_use]
    pub const fn from_memory(bytes: Bytes, checksum: Checksum) -> Self {
        Self { content: Content::Memory(bytes), checksum }
    }

    /// Returns the checksum of the whole file.
    #[must_use]
    pub const fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// Returns true when length and time of modification are what they were when it was mapped.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        match &self.content {
            Content::Mapped { path, seen, .. } => seen.is_some() && stamp(path) == *seen,
            Content::Memory(_) => true,
        }
    }
}

impl AsRef<[u8]> for CachedFile {
    fn as_ref(&self) -> &[u8] {
        match &self.content {
            Content::Mapped { map, .. } => map,
            Content::Memory(bytes) => bytes,
        }
    }
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}
