//! What the cache holds and in which order it goes: least recently used first, by bytes.
//!
//! Pure: says what to evict and never touches the disk.

use std::sync::{Arc, Weak};

use lru::LruCache;

use super::CacheKey;
use super::file::CachedFile;

/// The files of the cache by recency.
#[derive(Debug)]
pub(super) struct Recency {
    entries: LruCache<CacheKey, Entry>,
    bytes: u64,
    bytes_max: u64,
}

#[derive(Debug)]
struct Entry {
    bytes: u64,
    /// The mapped file while somebody holds it: checked once, shared by all readers. The cache itself
    /// holds none, since a process may have only so many mappings.
    file: Weak<CachedFile>,
}

impl Recency {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { entries: LruCache::unbounded(), bytes: 0, bytes_max }
    }

    pub(super) fn files(&self) -> u64 {
        u64::try_from(self.entries.len()).unwrap_or(u64::MAX)
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    pub(super) fn contains(&self, key: &CacheKey) -> bool {
        self.entries.contains(key)
    }

    /// Returns the mapped file and makes it the most recent.
    pub(super) fn get(&mut self, key: &CacheKey) -> Option<Arc<CachedFile>> {
        self.entries.get(key)?.file.upgrade()
    }

    /// Keeps a file mapped.
    pub(super) fn map(&mut self, key: &CacheKey, file: &Arc<CachedFile>) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.file = Arc::downgrade(file);
        }
    }

    /// Adds a file as the most recent and returns what has to go for it.
    pub(super) fn insert(&mut self, key: CacheKey, bytes: u64) -> Vec<CacheKey> {
        self.remove(&key);
        let evicted = self.make_room(bytes);
        self.entries.put(key, Entry { bytes, file: Weak::new() });
        self.bytes = self.bytes.saturating_add(bytes);
        evicted
    }

    pub(super) fn remove(&mut self, key: &CacheKey) {
        if let Some(entry) = self.entries.pop(key) {
            self.bytes = self.bytes.saturating_sub(entry.bytes);
        }
    }

    /// Evicts until `bytes` more fit below the limit.
    pub(super) fn make_room(&mut self, bytes: u64) -> Vec<CacheKey> {
        let mut evicted = Vec::new();
        while self.bytes.saturating_add(bytes) > self.bytes_max {
            let Some((key, entry)) = self.entries.pop_lru() else { break };
            self.bytes = self.bytes.saturating_sub(entry.bytes);
            evicted.push(key);
        }
        evicted
    }
}
