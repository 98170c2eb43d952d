//! Putting the files of a partition into a storage.
//!
//! Invariant: a partition is handed on only after all three files are stored. What was stored by a
//! load that fails is removed again as far as possible; a killed load leaves files that no catalog
//! row names, which are harmless.

use bytes::Bytes;
use futures::future::try_join3;
use futures::stream::{FuturesUnordered, StreamExt};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload, WriteMultipart};
use peerage_catalog::NewPartition;
use peerage_partition::{DATA_FILE, INDEX_FILE, MANIFEST_FILE};
use tracing::debug;

use crate::load::encode::EncodedPartition;
use crate::load::error::LoadError;
use crate::open::Storage;

/// Files above this size go up in parts, so that one slow request does not time out: 8 MiB take 8
/// seconds at 1 MiB/s.
const PART_BYTES: usize = 8 << 20;

/// Parts of one file in flight at the same time.
const PARTS_IN_FLIGHT: usize = 4;

/// Files that are removed at the same time after a failed load.
const REMOVALS_IN_FLIGHT: usize = 16;

/// Uploads a partition below the folder of its table. Returns what is to be registered.
pub(crate) async fn upload(
    storage: &Storage,
    table_folder: &str,
    encoded: EncodedPartition,
) -> Result<NewPartition, LoadError> {
    let EncodedPartition { finished, data } = encoded;
    let partition = NewPartition {
        path: format!("{table_folder}/{}", finished.name.directory()),
        name: finished.name,
        storage: storage.id.clone(),
        rows: finished.rows,
        manifest: finished.manifest_ref,
        index: finished.index_ref,
        data: finished.data_ref,
    };
    let stored = try_join3(
        put(storage, &partition.path, DATA_FILE, data.into()),
        put(storage, &partition.path, INDEX_FILE, finished.index.into()),
        put(storage, &partition.path, MANIFEST_FILE, finished.manifest.into()),
    )
    .await;
    if let Err(error) = stored {
        remove(storage, std::slice::from_ref(&partition)).await;
        return Err(error);
    }
    Ok(partition)
}

/// Stores one file.
async fn put(storage: &Storage, folder: &str, file: &str, bytes: Bytes) -> Result<(), LoadError> {
    let key = storage.object_path(folder, file);
    let stored = if bytes.len() <= PART_BYTES {
        storage.store.put(&key, PutPayload::from_bytes(bytes)).await.map(|_| ())
    } else {
        put_parts(storage, &key, bytes).await
    };
    stored.map_err(|source| LoadError::Storage {
        storage: storage.id.clone(),
        object: key.to_string(),
        source,
    })
}

/// Stores one file in parts; it appears as a whole or not at all.
async fn put_parts(storage: &Storage, key: &Path, bytes: Bytes) -> object_store::Result<()> {
    let upload = storage.store.put_multipart(key).await?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
    let mut rest = bytes;
    while !rest.is_empty() {
        upload.wait_for_capacity(PARTS_IN_FLIGHT).await?;
        let part = rest.split_to(PART_BYTES.min(rest.len()));
        upload.put(part);
    }
    upload.finish().await.map(|_| ())
}

/// Removes the files of partitions that will not be registered. Failing to is no error: nobody will
/// read them.
pub(crate) async fn remove(storage: &Storage, partitions: &[NewPartition]) {
    let mut removals = FuturesUnordered::new();
    for partition in partitions {
        for file in [DATA_FILE, INDEX_FILE, MANIFEST_FILE] {
            if removals.len() >= REMOVALS_IN_FLIGHT {
                removals.next().await;
            }
            let key = storage.object_path(&partition.path, file);
            removals.push(async move {
                if let Err(error) = storage.store.delete(&key).await {
                    debug!(%key, %error, "left a file of a failed load behind");
                }
            });
        }
    }
    while removals.next().await.is_some() {}
}
