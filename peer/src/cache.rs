//! The partition file cache: manifests and indexes on local disk, under the partition's name.
//!
//! Names are immutable, so nothing here is ever stale; a file is right when its checksum is the
//! catalog's. The cache can be lost at any time: a sick disk, a damaged or deleted file costs a
//! fetch, never an error. Writes go to a temporary file, are synced and renamed, so that a file
//! under its final name is whole. Many waiters cause one fetch, and a waiter that is cancelled hands
//! the fetch to the next.
//!
//! Leaves out: data files, which are streamed; choosing what to warm up.

mod disk;
mod file;
mod recency;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use peerage_partition::{Checksum, FileRef, PartitionName};
use peerage_proto::v1::CacheStatistics;
use tracing::{info, warn};

pub use file::CachedFile;

use crate::cache::disk::CacheFolder;
use crate::cache::recency::Recency;
use crate::metrics;
use crate::store::StoreError;

/// Which of a partition's small files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// What the partition holds.
    Manifest,
    /// Where in the data file it is.
    Index,
}

impl FileKind {
    /// Returns the ending of the file's name in the cache.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Index => "index",
        }
    }
}

/// Names one file in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// The partition.
    pub partition: PartitionName,
    /// The file of it.
    pub kind: FileKind,
}

impl CacheKey {
    fn file_name(&self) -> String {
        format!("{}.{}", self.partition, self.kind.extension())
    }
}

/// How a file was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheOutcome {
    /// From the local disk.
    Hit,
    /// From the object store.
    Miss,
}

/// The cache of one peer. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PartitionFileCache {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folder: CacheFolder,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    recency: Recency,
    /// One lock per file that is being fetched or checked: single flight.
    flights: HashMap<CacheKey, Arc<tokio::sync::Mutex<()>>>,
    counts: CacheStatistics,
}

impl PartitionFileCache {
    /// Opens the cache in `path`, keeps what is whole there, and drops what is partial.
    pub async fn open(path: PathBuf, bytes_max: u64) -> std::io::Result<Self> {
        let folder = CacheFolder::open(path).await?;
        let recovered = folder.recover().await?;
        let mut recency = Recency::new(bytes_max);
        let mut too_much = Vec::new();
        for (key, bytes) in recovered {
            too_much.extend(recency.insert(key, bytes));
        }
        let counts = CacheStatistics { bytes_max, ..CacheStatistics::default() };
        let state = State { recency, flights: HashMap::new(), counts };
        let cache = Self { inner: Arc::new(Inner { folder, state: Mutex::new(state) }) };
        cache.delete(too_much).await;
        let statistics = cache.statistics();
        info!(files = statistics.files, bytes = statistics.bytes, "opened partition file cache");
        Ok(cache)
    }

    /// Returns the file, from disk when it is there and right, else by `fetch`.
    ///
    /// A checksum that differs from `wanted` after a fetch is the caller's error: the object itself
    /// is not what the catalog says.
    pub async fn get<F>(
        &self,
        key: &CacheKey,
        wanted: &FileRef,
        fetch: impl FnOnce() -> F + Send,
    ) -> Result<(Arc<CachedFile>, CacheOutcome), StoreError>
    where
        F: Future<Output = Result<Bytes, StoreError>> + Send,
    {
        if let Some(file) = self.mapped(key, wanted) {
            self.count(CacheOutcome::Hit);
            return Ok((file, CacheOutcome::Hit));
        }
        let result = {
            let flight = Flight::board(self, key);
            let _alone = flight.lock.lock().await;
            self.read_or_fetch(key, wanted, fetch).await
        };
        if let Ok((_, outcome)) = &result {
            self.count(*outcome);
        }
        result
    }

    /// Returns counters and sizes.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        let state = self.state();
        CacheStatistics {
            files: state.recency.files(),
            bytes: state.recency.bytes(),
            ..state.counts
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().expect("no holder of this lock panics")
    }

    /// Returns the file when this process has mapped it and nobody touched it on disk since.
    fn mapped(&self, key: &CacheKey, wanted: &FileRef) -> Option<Arc<CachedFile>> {
        let file = self.state().recency.get(key)?;
        (file.checksum() == wanted.checksum && file.is_untouched()).then_some(file)
    }

    async fn read_or_fetch<F>(
        &self,
        key: &CacheKey,
        wanted: &FileRef,
        fetch: impl FnOnce() -> F + Send,
    ) -> Result<(Arc<CachedFile>, CacheOutcome), StoreError>
    where
        F: Future<Output = Result<Bytes, StoreError>> + Send,
    {
        if let Some(file) = self.mapped(key, wanted) {
            return Ok((file, CacheOutcome::Hit));
        }
        if self.state().recency.contains(key) {
            if let Some(file) = self.read(key, wanted).await {
                self.state().recency.map(key, &file);
                return Ok((file, CacheOutcome::Hit));
            }
            self.state().recency.remove(key);
        }
        let bytes = fetch().await?;
        let actual = Checksum::of(&bytes);
        if actual != wanted.checksum {
            return Err(StoreError::Checksum {
                object: key.file_name(),
                expected: wanted.checksum,
                actual,
            });
        }
        // A task of its own: a reader that goes away in mid-write must not leave a file behind that is
        // not counted.
        let (cache, key, wanted, kept) = (self.clone(), key.clone(), *wanted, bytes.clone());
        let keeping = tokio::spawn(async move { cache.keep(&key, kept, &wanted).await });
        let file = match keeping.await {
            Ok(file) => file,
            Err(_stopping) => Arc::new(CachedFile::from_memory(bytes, actual)),
        };
        Ok((file, CacheOutcome::Miss))
    }

    /// Reads a file of the cache; whatever is wrong with it puts it aside.
    async fn read(&self, key: &CacheKey, wanted: &FileRef) -> Option<Arc<CachedFile>> {
        match self.inner.folder.read(key.file_name()).await {
            Ok(file) if file.checksum() == wanted.checksum => return Some(Arc::new(file)),
            Ok(file) => {
                let actual = file.checksum();
                warn!(file = key.file_name(), expected = %wanted.checksum, %actual,
                    "damaged file in the cache; putting it aside and fetching it again");
                self.state().counts.quarantined += 1;
                metrics::count_cache_quarantined();
            }
            // Gone, or not readable now, which says nothing of its bytes: fetched and written again.
            Err(error) => {
                info!(file = key.file_name(), %error, "cannot read a file of the cache; fetching it");
                return None;
            }
        }
        self.inner.folder.quarantine(key.file_name()).await;
        None
    }

    /// Writes a fetched file to disk; when the disk is sick the bytes serve from memory.
    async fn keep(&self, key: &CacheKey, bytes: Bytes, wanted: &FileRef) -> Arc<CachedFile> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > self.state().recency.bytes_max() {
            return Arc::new(CachedFile::from_memory(bytes, wanted.checksum));
        }
        // Room is made before the file is written, so that the limit holds on disk at any time.
        let evicted = self.state().recency.make_room(length);
        self.delete(evicted).await;
        match self.inner.folder.write(key.file_name(), bytes.clone()).await {
            Ok(file) => {
                let file = Arc::new(file);
                let evicted = {
                    let mut state = self.state();
                    let evicted = state.recency.insert(key.clone(), length);
                    state.recency.map(key, &file);
                    evicted
                };
                self.delete(evicted).await;
                file
            }
            Err(error) => {
                warn!(file = key.file_name(), %error, "cannot write to the cache; serving from memory");
                Arc::new(CachedFile::from_memory(bytes, wanted.checksum))
            }
        }
    }

    async fn delete(&self, evicted: Vec<CacheKey>) {
        for key in evicted {
            self.state().counts.evictions += 1;
            metrics::count_cache_eviction();
            self.inner.folder.delete(key.file_name()).await;
        }
    }

    fn count(&self, outcome: CacheOutcome) {
        let mut state = self.state();
        match outcome {
            CacheOutcome::Hit => state.counts.hits += 1,
            CacheOutcome::Miss => state.counts.misses += 1,
        }
        metrics::count_cache(outcome);
    }
}

/// A wait for one file, alone among those who want it; forgotten with the last of them, however that
/// one ends.
struct Flight<'a> {
    cache: &'a PartitionFileCache,
    key: &'a CacheKey,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> Flight<'a> {
    fn board(cache: &'a PartitionFileCache, key: &'a CacheKey) -> Self {
        let lock = Arc::clone(cache.state().flights.entry(key.clone()).or_default());
        Self { cache, key, lock }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.state();
        // This one's and the map's own.
        if Arc::strong_count(&self.lock) == 2 {
            state.flights.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests;
