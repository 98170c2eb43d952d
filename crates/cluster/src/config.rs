//! The one cluster file (YAML), read by every role and wholly checked before it takes effect.
//!
//! A file goes through three steps: text → `raw` (which keys there are) → `check` (which values may
//! be) → [`ClusterConfig`]. Whoever holds a `ClusterConfig` has nothing left to check.
//! `docs/cluster.example.yaml` shows every key.
//!
//! Invariants: an unknown key is an error; relative paths start at the cluster file's folder;
//! no secret is ever part of the file or of these types, only the name of the environment variable
//! that holds it.
//!
//! Left out: tables (they are in the catalog) and command line flags (they override these values).

mod check;
mod effective;
mod error;
mod raw;
mod reload;
mod storage;
mod units;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use self::error::{ConfigError, ConfigFault, ConfigPosition};
pub use self::reload::ConfigReloader;
pub use self::storage::{
    CredentialsError, CredentialsSource, S3StorageConfig, StorageConfig, StorageCredentials,
};
pub use self::units::{UnitError, format_duration, format_size, parse_duration, parse_size};
use crate::membership::PeerAddress;
use crate::polling::{BoundedReadError, read_bounded};

/// The version of the cluster file's format that this program reads.
pub const CLUSTER_FILE_VERSION: u64 = 1;

/// Longest cluster file, in bytes: a hundred times the example; more is another file by mistake,
/// and reading it each second must stay cheap.
pub const CLUSTER_FILE_BYTES_MAX: u64 = 1 << 20;

/// What one cluster file says, every value checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Where the list of tables and partitions is kept.
    pub catalog: CatalogConfig,
    /// Where partitions are kept, by name. Never empty.
    pub storages: BTreeMap<String, StorageConfig>,
    /// The storage of tables that name none; always one of `storages`.
    pub default_storage: String,
    /// The query head's own settings.
    pub head: HeadConfig,
    /// The query peer's own settings.
    pub peer: PeerConfig,
    /// How heads learn which peers there are.
    pub membership: MembershipConfig,
    /// Bounds on what clients may ask of a head.
    pub limits: QueryLimitsConfig,
}

/// Where the catalog is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogConfig {
    /// One SQLite file, made when it is missing.
    Sqlite {
        /// The file.
        path: PathBuf,
    },
}

/// Settings of a query head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadConfig {
    /// Listen address of the ClickHouse HTTP interface. Default `127.0.0.1:8123`: the port that
    /// ClickHouse clients expect, reachable from this machine only until someone says otherwise.
    pub http: SocketAddr,
    /// Longest time for one query, 1 s to 1 day. Default 60 s: longer than any dashboard waits.
    pub query_timeout: Duration,
}

impl Default for HeadConfig {
    fn default() -> Self {
        Self {
            http: SocketAddr::from(([127, 0, 0, 1], 8123)),
            query_timeout: Duration::from_mins(1),
        }
    }
}

/// Settings of a query peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Listen address of the gRPC services. Default `127.0.0.1:8124`.
    pub grpc: SocketAddr,
    /// Listen address of `/metrics`. Default `127.0.0.1:8125`.
    pub http: SocketAddr,
    /// The partition file cache.
    pub cache: PeerCacheConfig,
    /// Memory for decoded rows, hash tables and sorts, in bytes, at least 64 MiB. Default 2 GiB:
    /// half of the smallest machine that makes sense; what does not fit is spilled or refused.
    pub memory_max: u64,
    /// Threads that work on one task, up to 1,024; 0 (the default) means one for each core.
    pub target_partitions: usize,
    /// Range requests in flight to the object stores, 1 to 1,024, over all queries. Default 16:
    /// 16 ranges of 4 MiB cover 100 ms of latency at 640 MiB/s.
    pub fetches_in_flight_max: usize,
}

impl Default for PeerConfig {
    /// Returns the defaults of a peer whose cluster file is in the working directory.
    fn default() -> Self {
        Self {
            grpc: SocketAddr::from(([127, 0, 0, 1], 8124)),
            http: SocketAddr::from(([127, 0, 0, 1], 8125)),
            cache: PeerCacheConfig::default(),
            memory_max: 2 << 30,
            target_partitions: 0,
            fetches_in_flight_max: 16,
        }
    }
}

/// The peer's cache of manifests and indexes on its own disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCacheConfig {
    /// The folder; one peer each. Default `./cache`. Deleting it costs time, not answers.
    pub path: PathBuf,
    /// Bytes of cached files, at least 1 MiB. Default 10 GiB: manifests and indexes are about 8 %
    /// of the data, so this serves some 125 GiB of it.
    pub bytes_max: u64,
}

impl Default for PeerCacheConfig {
    fn default() -> Self {
        Self { path: PathBuf::from("./cache"), bytes_max: 10 << 30 }
    }
}

/// How heads learn which peers there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MembershipConfig {
    /// These peers and no others, until the cluster file changes.
    Static {
        /// The peers' gRPC addresses, sorted, without repetition, at least one.
        peers: Vec<PeerAddress>,
    },
    /// The peers of a `pods.txt` file that something else keeps up to date.
    PodsFile {
        /// The file.
        path: PathBuf,
        /// Time between two looks at the file, 100 ms to 1 minute. Default 1 s: a new peer gets
        /// work within about a second, and a read of a few kilobytes a second costs nothing.
        poll_interval: Duration,
    },
}

/// Bounds on what clients may ask of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryLimitsConfig {
    /// Longest SQL text of one query, in bytes, 1 KiB to 64 MiB. Default 1 MiB: four times
    /// ClickHouse's default; generated `IN` lists fit, an upload sent by mistake does not.
    pub query_text_bytes_max: u64,
    /// Queries that one head runs at a time, 1 to 10,000. Default 100, as ClickHouse; more are
    /// refused at once, so that those that run still end in time.
    pub queries_in_flight_max: usize,
}

impl Default for QueryLimitsConfig {
    fn default() -> Self {
        Self { query_text_bytes_max: 1 << 20, queries_in_flight_max: 100 }
    }
}

impl ClusterConfig {
    /// Reads and checks the cluster file at `path`.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path)?;
        let absolute = std::path::absolute(path).map_err(|source| ConfigError::Unreadable {
            file: path.display().to_string().into(),
            source,
        })?;
        let base_dir = absolute.parent().unwrap_or(Path::new("/"));
        Self::parse(&text, &path.display().to_string(), base_dir)
    }

    /// Returns what `text` says; `file_name` is for messages, relative paths start at `base_dir`.
    pub fn parse(text: &str, file_name: &str, base_dir: &Path) -> Result<Self, ConfigError> {
        check::parse(text, &Arc::from(file_name), base_dir)
    }

    /// Returns all values that are in effect, defaults included, as YAML for the start-up log.
    ///
    /// It is a cluster file itself: reading it gives the same configuration. Secrets cannot be in
    /// it, since only the names of the variables that hold them are known here.
    pub fn effective(&self) -> String {
        effective::yaml(self)
    }

    /// Returns the storage of tables that name none.
    pub fn default_storage_config(&self) -> &StorageConfig {
        self.storages
            .get(&self.default_storage)
            .expect("a checked configuration's default storage is one of its storages")
    }
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    let file: Arc<str> = path.display().to_string().into();
    let bytes = read_bounded(path, CLUSTER_FILE_BYTES_MAX).map_err(|error| match error {
        BoundedReadError::Io(source) => ConfigError::Unreadable { file: Arc::clone(&file), source },
        other => ConfigError::NotACluster { file: Arc::clone(&file), problem: other.to_string() },
    })?;
    let problem = |error| format!("not UTF-8 text: {error}");
    String::from_utf8(bytes)
        .map_err(|error| ConfigError::NotACluster { file, problem: problem(error.utf8_error()) })
}

#[cfg(test)]
mod tests;
