//! Opening a storage of the cluster file as an object store.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use peerage_cluster::StorageConfig;
use peerage_cluster::config::S3StorageConfig;
use thiserror::Error;

/// A storage that does not take a connection within this time is taken for away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// One attempt of one request; a range of 8 MiB at 1 MiB/s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts after the first one, with exponential back-off and jitter.
const RETRIES_MAX: usize = 5;
/// All attempts of one request together.
const RETRY_TIMEOUT: Duration = Duration::from_secs(25);

/// A storage that is ready to be read and written.
#[derive(Debug, Clone)]
pub struct Storage {
    /// Id in the cluster file.
    pub id: String,
    /// The store behind it.
    pub store: Arc<dyn ObjectStore>,
    /// Prefix of all keys of this storage.
    pub prefix: Path,
}

impl Storage {
    /// Returns the key of `file` in `folder`, a folder relative to the storage's root.
    #[must_use]
    pub fn object_path(&self, folder: &str, file: &str) -> Path {
        let parts = folder.split('/').filter(|part| !part.is_empty());
        let folder = parts.fold(self.prefix.clone(), |path, part| path.join(part));
        folder.join(file)
    }
}

/// A storage that cannot be opened.
#[derive(Debug, Error)]
#[error("cannot open storage {id} ({url})")]
pub struct OpenError {
    /// Id in the cluster file.
    pub id: String,
    /// Its address.
    pub url: String,
    /// What the store said.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Opens a storage. Does no request: an absent bucket shows when it is first used.
pub fn open_storage(id: &str, config: &StorageConfig) -> Result<Storage, OpenError> {
    let opened = match config {
        StorageConfig::File { root } => open_folder(root),
        StorageConfig::S3(config) => open_bucket(config),
    };
    let (store, prefix) =
        opened.map_err(|source| OpenError { id: id.to_owned(), url: config.url(), source })?;
    Ok(Storage { id: id.to_owned(), store, prefix })
}

type Opened = Result<(Arc<dyn ObjectStore>, Path), Box<dyn std::error::Error + Send + Sync>>;

fn open_folder(root: &std::path::Path) -> Opened {
    std::fs::create_dir_all(root)?;
    Ok((Arc::new(LocalFileSystem::new_with_prefix(root)?), Path::default()))
}

fn open_bucket(config: &S3StorageConfig) -> Opened {
    let client = ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_timeout(REQUEST_TIMEOUT)
        .with_allow_http(config.allow_http);
    let retry = RetryConfig {
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIMEOUT,
        ..RetryConfig::default()
    };
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&config.bucket)
        .with_client_options(client)
        .with_retry(retry);
    if let Some(endpoint) = &config.endpoint {
        builder = builder.with_endpoint(endpoint.as_str().trim_end_matches('/'));
    }
    if let Some(region) = &config.region {
        builder = builder.with_region(region);
    }
    if let Some(source) = &config.credentials {
        let keys = source.read()?;
        builder = builder
            .with_access_key_id(keys.access_key_id)
            .with_secret_access_key(keys.secret_access_key);
    }
    Ok((Arc::new(builder.build()?), Path::parse(&config.prefix)?))
}
