//! Opening what the cluster file names: the catalog and a storage.

use std::path::PathBuf;

use peerage_catalog::{Catalog, CatalogError};
use peerage_cluster::ClusterConfig;
use peerage_cluster::config::{CatalogConfig, ConfigError};

pub use peerage_peer::store::{OpenError, Storage, open_storage};

use crate::args::ClusterArgs;

/// Why the cluster can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenClusterError {
    /// The cluster file is missing or wrong.
    #[error("read the cluster file {}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ConfigError,
    },
    /// The storage is not in the cluster file.
    #[error("storage {storage} is not in the cluster file, which has {known}")]
    UnknownStorage {
        /// The storage as asked for.
        storage: String,
        /// Those that exist.
        known: String,
    },
    /// The storage can't be opened.
    #[error("open storage {storage}")]
    Storage {
        /// The storage.
        storage: String,
        /// Why not.
        #[source]
        source: OpenError,
    },
    /// The catalog can't be opened.
    #[error("open the catalog")]
    Catalog(#[source] CatalogError),
}

impl OpenClusterError {
    /// Returns what the user can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Config { .. } => Some(
                "--cluster FILE or PEERAGE_CLUSTER; docs/cluster.example.yaml shows every key"
                    .to_owned(),
            ),
            Self::UnknownStorage { .. } => Some("one of those".to_owned()),
            Self::Storage { .. } | Self::Catalog(_) => None,
        }
    }
}

/// What most commands need.
#[derive(Debug)]
pub struct OpenCluster {
    /// The cluster file.
    pub config: ClusterConfig,
    /// The catalog.
    pub catalog: Catalog,
    /// The storage that was asked for, or the default one.
    pub storage: Storage,
}

/// Reads the cluster file and opens the catalog and one storage.
///
/// # Errors
/// [`OpenClusterError`], naming what is missing or wrong.
pub async fn open_cluster(
    args: &ClusterArgs,
    storage: Option<&str>,
) -> Result<OpenCluster, OpenClusterError> {
    let config = read_config(args)?;
    let storage = open_storage_of(&config, storage)?;
    let catalog = open_catalog(&config).await?;
    Ok(OpenCluster { config, catalog, storage })
}

/// Reads the cluster file.
///
/// # Errors
/// [`OpenClusterError::Config`].
pub fn read_config(args: &ClusterArgs) -> Result<ClusterConfig, OpenClusterError> {
    ClusterConfig::load(&args.cluster)
        .map_err(|source| OpenClusterError::Config { path: args.cluster.clone(), source })
}

/// Opens the catalog that a cluster file names.
///
/// # Errors
/// [`OpenClusterError::Catalog`].
pub async fn open_catalog(config: &ClusterConfig) -> Result<Catalog, OpenClusterError> {
    let CatalogConfig::Sqlite { path } = &config.catalog;
    let url = format!("sqlite://{}", path.display());
    Catalog::open(&url).await.map_err(OpenClusterError::Catalog)
}

/// Opens one storage of a cluster file, or its default one.
///
/// # Errors
/// [`OpenClusterError::UnknownStorage`] or [`OpenClusterError::Storage`].
pub fn open_storage_of(
    config: &ClusterConfig,
    id: Option<&str>,
) -> Result<Storage, OpenClusterError> {
    let id = id.unwrap_or(&config.default_storage);
    let found = config.storages.get(id).ok_or_else(|| OpenClusterError::UnknownStorage {
        storage: id.to_owned(),
        known: config.storages.keys().cloned().collect::<Vec<_>>().join(", "),
    })?;
    open_storage(id, found)
        .map_err(|source| OpenClusterError::Storage { storage: id.to_owned(), source })
}
