//! Object stores: opening them by the cluster file, and reading ranges of their objects.
//!
//! Every request goes through `PartitionStore::fetch`: inside a permit, before a deadline, counted.
//! Retries of single requests are `object_store`'s own. Writing is not here: peers only read.

mod coalesce;
mod open;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use peerage_engine::ScanMetrics;
use peerage_partition::Checksum;
use thiserror::Error;
use tokio::sync::Semaphore;

pub use coalesce::coalesce;
use coalesce::split;
pub use open::{OpenError, Storage, open_storage};

use crate::metrics;

/// A request that takes longer is given up: a 4 MiB range at 1 MiB/s, with room for retries.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Ranges of one object in flight at once. Eight requests of 4 MiB cover 100 ms of latency at
/// 320 MiB/s.
const RANGES_IN_FLIGHT: usize = 8;

/// Parts of one long range in flight at once.
const PARTS_IN_FLIGHT: usize = 4;

/// A read of an object store that gave no usable bytes.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The storage is not in this peer's cluster file: the assignment is not followed.
    #[error("storage {storage:?} is not configured on this peer (it has: {known})")]
    UnknownStorage {
        /// The id in the assignment.
        storage: String,
        /// The ids in the cluster file.
        known: String,
    },
    /// The object is not there: the catalog is ahead of the store, or the object was deleted.
    #[error("object {object} not found in storage {storage}")]
    Missing {
        /// The storage's id.
        storage: String,
        /// The object.
        object: String,
        /// The store's answer.
        #[source]
        source: Box<object_store::Error>,
    },
    /// The store does not answer, or refuses.
    #[error("cannot read object {object} of storage {storage}")]
    Unavailable {
        /// The storage's id.
        storage: String,
        /// The object.
        object: String,
        /// The store's answer.
        #[source]
        source: Box<object_store::Error>,
    },
    /// The store took too long.
    #[error("object {object} of storage {storage} did not arrive within {}s", timeout.as_secs())]
    Timeout {
        /// The storage's id.
        storage: String,
        /// The object.
        object: String,
        /// The time that was given.
        timeout: Duration,
    },
    /// The object is not what the catalog says.
    #[error("checksum of {object} is {actual} but the catalog says {expected}")]
    Checksum {
        /// The object.
        object: String,
        /// What the catalog says.
        expected: Checksum,
        /// What the bytes give.
        actual: Checksum,
    },
    /// The store sent fewer or more bytes than asked for.
    #[error("asked for {expected} bytes of {object}, got {actual}")]
    WrongLength {
        /// The object.
        object: String,
        /// Bytes asked for.
        expected: u64,
        /// Bytes that came.
        actual: u64,
    },
}

/// The storages that a peer may read.
#[derive(Debug, Clone)]
pub struct PartitionStore {
    storages: Arc<BTreeMap<String, Storage>>,
    permits: Arc<Semaphore>,
}

/// One object of a storage.
#[derive(Debug, Clone, Copy)]
pub struct ObjectName<'a> {
    /// The storage's id.
    pub storage: &'a str,
    /// Folder, relative to the storage's root.
    pub folder: &'a str,
    /// File in the folder.
    pub file: &'a str,
}

impl PartitionStore {
    /// Returns a reader of `storages` with at most `fetches_in_flight_max` requests at once.
    #[must_use]
    pub fn new(storages: Vec<Storage>, fetches_in_flight_max: usize) -> Self {
        let storages = storages.into_iter().map(|storage| (storage.id.clone(), storage)).collect();
        Self {
            storages: Arc::new(storages),
            permits: Arc::new(Semaphore::new(fetches_in_flight_max.max(1))),
        }
    }

    /// Returns the ids of the storages.
    pub fn storage_ids(&self) -> impl Iterator<Item = &str> {
        self.storages.keys().map(String::as_str)
    }

    /// Fetches a whole object, whose size is known.
    pub async fn fetch_whole(
        &self,
        object: ObjectName<'_>,
        bytes: u64,
        counts: &ScanMetrics,
    ) -> Result<Bytes, StoreError> {
        self.fetch_parts(object, 0..bytes, counts).await
    }

    /// Fetches ranges, each by one request, in the order given.
    pub async fn fetch_ranges(
        &self,
        object: ObjectName<'_>,
        ranges: &[Range<u64>],
        counts: &ScanMetrics,
    ) -> Result<Vec<Bytes>, StoreError> {
        futures::stream::iter(ranges.iter().cloned())
            .map(|range| self.fetch_parts(object, range, counts))
            .buffered(RANGES_IN_FLIGHT)
            .try_collect()
            .await
    }

    /// Fetches one range, a long one in parts side by side: each part must arrive before a deadline.
    async fn fetch_parts(
        &self,
        object: ObjectName<'_>,
        range: Range<u64>,
        counts: &ScanMetrics,
    ) -> Result<Bytes, StoreError> {
        let parts = split(&range);
        if parts.len() <= 1 {
            return self.fetch(object, range, counts).await;
        }
        let parts: Vec<Bytes> = futures::stream::iter(parts)
            .map(|part| self.fetch(object, part, counts))
            .buffered(PARTS_IN_FLIGHT)
            .try_collect()
            .await?;
        let mut whole = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
        for part in parts {
            whole.extend_from_slice(&part);
        }
        Ok(whole.freeze())
    }

    /// Returns a storage of the cluster file, or the error that it is none.
    pub fn storage(&self, id: &str) -> Result<&Storage, StoreError> {
        self.storages.get(id).ok_or_else(|| {
            let known = self.storage_ids().collect::<Vec<_>>().join(", ");
            StoreError::UnknownStorage { storage: id.to_owned(), known }
        })
    }

    async fn fetch(
        &self,
        object: ObjectName<'_>,
        range: Range<u64>,
        counts: &ScanMetrics,
    ) -> Result<Bytes, StoreError> {
        let storage = self.storage(object.storage)?;
        let path = storage.object_path(object.folder, object.file);
        let expected = range.end.saturating_sub(range.start);
        if expected == 0 {
            return Ok(Bytes::new());
        }
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        counts.store_requests.add(1);
        let request = storage.store.get_range(&path, range);
        let bytes = match tokio::time::timeout(FETCH_TIMEOUT, request).await {
            Ok(answer) => answer.map_err(|source| unreadable(object.storage, &path, source))?,
            Err(_elapsed) => {
                return Err(StoreError::Timeout {
                    storage: object.storage.to_owned(),
                    object: path.to_string(),
                    timeout: FETCH_TIMEOUT,
                });
            }
        };
        counts.store_bytes.add(bytes.len());
        metrics::count_fetch(bytes.len());
        let actual = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if actual != expected {
            return Err(StoreError::WrongLength { object: path.to_string(), expected, actual });
        }
        Ok(bytes)
    }
}

fn unreadable(storage: &str, path: &Path, source: object_store::Error) -> StoreError {
    let (storage, object) = (storage.to_owned(), path.to_string());
    match source {
        object_store::Error::NotFound { .. } => {
            StoreError::Missing { storage, object, source: Box::new(source) }
        }
        _ => StoreError::Unavailable { storage, object, source: Box::new(source) },
    }
}
