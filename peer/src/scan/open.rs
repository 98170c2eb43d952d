//! Opening a partition: manifest and index through the cache, decoded once and shared.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lru::LruCache;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::ParquetMetaData;
use peerage_engine::{Assignment, ScanMetrics};
use peerage_partition::{
    FileRef, INDEX_FILE, Index, MANIFEST_FILE, Manifest, PartitionName, decode_parquet_metadata,
};

use super::ScanError;
use crate::cache::{CacheKey, CacheOutcome, CachedFile, FileKind, PartitionFileCache};
use crate::store::{ObjectName, PartitionStore, StoreError};

/// Partitions kept decoded. One of 26 columns and 100,000 rows takes about 100 KiB decoded.
const OPEN_PARTITIONS_MAX: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero");

/// A partition whose small files are mapped and decoded.
#[derive(Debug)]
pub struct OpenPartition {
    manifest: Manifest,
    index: Index<SharedFile>,
    metadata: ArrowReaderMetadata,
    manifest_file: Arc<CachedFile>,
    index_file: Arc<CachedFile>,
}

/// The mapped index as the reader of the format borrows it.
#[derive(Debug, Clone)]
pub struct SharedFile(Arc<CachedFile>);

impl AsRef<[u8]> for SharedFile {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().as_ref()
    }
}

impl OpenPartition {
    /// Returns the manifest.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the index.
    #[must_use]
    pub const fn index(&self) -> &Index<SharedFile> {
        &self.index
    }

    /// Returns the decoded footer of the data file.
    #[must_use]
    pub const fn metadata(&self) -> &ArrowReaderMetadata {
        &self.metadata
    }

    /// Returns the footer as Parquet's own type.
    #[must_use]
    pub fn parquet(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn block_count(&self) -> usize {
        usize::try_from(self.index.block_count()).unwrap_or(usize::MAX)
    }
}

/// Opens partitions; keeps the latest ones decoded.
#[derive(Debug, Clone)]
pub struct PartitionOpener {
    cache: PartitionFileCache,
    store: PartitionStore,
    open: Arc<Mutex<LruCache<PartitionName, Arc<OpenPartition>>>>,
}

impl PartitionOpener {
    /// Returns an opener over a cache and the stores behind it.
    #[must_use]
    pub fn new(cache: PartitionFileCache, store: PartitionStore) -> Self {
        Self { cache, store, open: Arc::new(Mutex::new(LruCache::new(OPEN_PARTITIONS_MAX))) }
    }

    /// Returns the cache.
    #[must_use]
    pub const fn cache(&self) -> &PartitionFileCache {
        &self.cache
    }

    /// Opens a partition: no request when both files are in the cache, else one for each, side by
    /// side.
    pub async fn open(
        &self,
        assignment: &Assignment,
        counts: &ScanMetrics,
    ) -> Result<Arc<OpenPartition>, ScanError> {
        // What the cache holds does not open a storage that this peer was not given.
        if let Err(source) = self.store.storage(&assignment.storage) {
            return Err(ScanError::Store { partition: assignment.name.clone(), source });
        }
        let (manifest, index) = tokio::try_join!(
            self.file(assignment, FileKind::Manifest, &assignment.manifest, counts),
            self.file(assignment, FileKind::Index, &assignment.index, counts),
        )
        .map_err(|source| ScanError::Store { partition: assignment.name.clone(), source })?;
        if let Some(open) = self.decoded(&assignment.name, &manifest, &index) {
            return Ok(open);
        }
        let open = Arc::new(decode(assignment, manifest, index)?);
        self.open
            .lock()
            .expect("no holder of this lock panics")
            .put(assignment.name.clone(), Arc::clone(&open));
        Ok(open)
    }

    /// Returns the decoded form when it was made from these very files.
    fn decoded(
        &self,
        name: &PartitionName,
        manifest: &Arc<CachedFile>,
        index: &Arc<CachedFile>,
    ) -> Option<Arc<OpenPartition>> {
        let mut all = self.open.lock().expect("no holder of this lock panics");
        let open = all.get(name)?;
        let is_same =
            Arc::ptr_eq(&open.manifest_file, manifest) && Arc::ptr_eq(&open.index_file, index);
        is_same.then(|| Arc::clone(open))
    }

    async fn file(
        &self,
        assignment: &Assignment,
        kind: FileKind,
        wanted: &FileRef,
        counts: &ScanMetrics,
    ) -> Result<Arc<CachedFile>, StoreError> {
        let key = CacheKey { partition: assignment.name.clone(), kind };
        let file = match kind {
            FileKind::Manifest => MANIFEST_FILE,
            FileKind::Index => INDEX_FILE,
        };
        let object = ObjectName { storage: &assignment.storage, folder: &assignment.path, file };
        let fetch = || self.fetch_checked(object, wanted, counts);
        let (file, outcome) = self.cache.get(&key, wanted, fetch).await?;
        match outcome {
            CacheOutcome::Hit => counts.cache_hits.add(1),
            CacheOutcome::Miss => counts.cache_misses.add(1),
        }
        Ok(file)
    }

    async fn fetch_checked(
        &self,
        object: ObjectName<'_>,
        wanted: &FileRef,
        counts: &ScanMetrics,
    ) -> Result<Bytes, StoreError> {
        self.store.fetch_whole(object, wanted.bytes, counts).await
    }
}

fn decode(
    assignment: &Assignment,
    manifest_file: Arc<CachedFile>,
    index_file: Arc<CachedFile>,
) -> Result<OpenPartition, ScanError> {
    let partition = || assignment.name.clone();
    let corrupt = |what| move |source| ScanError::Corrupt { partition: partition(), what, source };
    let manifest =
        Manifest::decode(manifest_file.as_ref().as_ref()).map_err(corrupt("manifest"))?;
    let belongs = *manifest.name() == assignment.name
        && manifest.index_ref() == assignment.index
        && manifest.data_ref() == assignment.data;
    if !belongs {
        let what = format!("the catalog and the manifest of {} disagree", manifest.name());
        return Err(ScanError::Mismatch { partition: partition(), what });
    }
    let index = Index::open(SharedFile(Arc::clone(&index_file))).map_err(corrupt("index"))?;
    let tail = index.parquet_tail().map_err(corrupt("index"))?;
    let metadata = decode_parquet_metadata(&tail).map_err(corrupt("footer"))?;
    let columns = metadata.file_metadata().schema_descr().root_schema().get_fields().len();
    if columns != manifest.schema().columns().len() {
        let what = format!(
            "the manifest has {} columns, the data file {columns}",
            manifest.schema().columns().len()
        );
        return Err(ScanError::Mismatch { partition: partition(), what });
    }
    // The types are the manifest's: what the file says of them goes through a decoder that panics on
    // damaged bytes.
    let options = ArrowReaderOptions::new().with_schema(manifest.schema().arrow_schema());
    let metadata = ArrowReaderMetadata::try_new(Arc::new(metadata), options)
        .map_err(|source| ScanError::Decode { partition: partition(), source })?;
    Ok(OpenPartition { manifest, index, metadata, manifest_file, index_file })
}
