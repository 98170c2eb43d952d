//! What can be wrong with a cluster file, and what the person who wrote it does next.
//!
//! Invariant: every message about the content opens with `file:line:column`, names the key and
//! says what to write instead; no message repeats a value that may be a secret.

use std::fmt;
use std::io;
use std::sync::Arc;

use serde_saphyr::{DefaultMessageFormatter, Location, MessageFormatter};

use super::units::UnitError;
use crate::membership::PeerAddressError;

/// A place in a cluster file; line and column count from 1 and are 0 where the place is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPosition {
    /// The file's name as the reader of the error knows it.
    pub file: Arc<str>,
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl ConfigPosition {
    pub(super) fn new(file: &Arc<str>, location: Location) -> Self {
        Self { file: Arc::clone(file), line: location.line(), column: location.column() }
    }
}

impl fmt::Display for ConfigPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// Why a cluster file cannot take effect.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or may not be read: give the right path.
    #[error("read cluster file {file}; give the path of a readable file")]
    Unreadable {
        /// The path as it was given.
        file: Arc<str>,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The path names something else than a text file of sane size: point it at the cluster file.
    #[error("{file} is no cluster file: {problem}")]
    NotACluster {
        /// The path as it was given.
        file: Arc<str>,
        /// What it is instead.
        problem: String,
    },
    /// A key that nothing reads: correct its spelling or its place, or remove it.
    #[error("{at}: unknown key `{key}`; known here: {}", known.join(", "))]
    UnknownKey {
        /// Where the key stands.
        at: ConfigPosition,
        /// The key as it was written.
        key: String,
        /// The keys that may stand there.
        known: Vec<&'static str>,
    },
    /// A key without a default is not there: add it.
    #[error("{at}: missing key `{key}`; add it to this section")]
    MissingKey {
        /// Where the section stands.
        at: ConfigPosition,
        /// The key.
        key: &'static str,
    },
    /// The text is not YAML, or a value is of another kind than its key takes.
    #[error("{at}: {problem}; see docs/cluster.example.yaml")]
    Malformed {
        /// Where the reader stopped.
        at: ConfigPosition,
        /// What it expected.
        problem: String,
    },
    /// A value is well-formed and still cannot be: write another.
    #[error("{at}: {key}: {fault}")]
    InvalidValue {
        /// Where the value stands.
        at: ConfigPosition,
        /// The key with its sections, such as `peer.cache.bytes_max`.
        key: String,
        /// What is wrong with the value.
        fault: Box<ConfigFault>,
    },
}

impl ConfigError {
    /// Returns what the YAML reader found, in terms of keys.
    pub(super) fn from_yaml(file: &Arc<str>, error: &serde_saphyr::Error) -> Self {
        let error = error.without_snippet();
        let at = ConfigPosition::new(file, error.location().unwrap_or(Location::UNKNOWN));
        match error {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                Self::UnknownKey { at, key: field.clone(), known: expected.clone() }
            }
            serde_saphyr::Error::SerdeMissingField { field, .. } => {
                Self::MissingKey { at, key: field }
            }
            serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
                let key = key.as_deref().unwrap_or("a key");
                Self::Malformed { at, problem: format!("`{key}` stands here twice") }
            }
            other => Self::Malformed { at, problem: problem(other) },
        }
    }
}

/// Returns what the YAML reader expected, in the words of people who write YAML.
fn problem(error: &serde_saphyr::Error) -> String {
    let expected = match error {
        serde_saphyr::Error::InvalidScalar { ty: "u64", .. } => "a whole number",
        serde_saphyr::Error::Unexpected { expected: "mapping start", .. } => "a section of keys",
        serde_saphyr::Error::Unexpected { expected: "sequence start", .. } => "a list",
        other => return DefaultMessageFormatter.format_message(other).into_owned(),
    };
    format!("{expected} is expected here")
}

/// What is wrong with one value of a cluster file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    /// The file is written for another version of the format.
    #[error(
        "version {value} is not known to this program; write 1 or install the version that the file is for"
    )]
    Version {
        /// The version as it was written.
        value: u64,
    },
    /// Not a size or not a duration.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// The value is too small or too large.
    #[error("{value} is out of range; write a value from {least} to {most}")]
    OutOfRange {
        /// The value as it was written.
        value: String,
        /// The least value.
        least: String,
        /// The largest value.
        most: String,
    },
    /// Not an address to listen on.
    #[error(
        "`{value}` is not a listen address; write IP:port, such as 127.0.0.1:8123 or 0.0.0.0:8123"
    )]
    ListenAddress {
        /// The text as it was written.
        value: String,
    },
    /// Two listeners of one process on one address.
    #[error("{value} is also the address of {other}; give each its own port")]
    SharedAddress {
        /// The address.
        value: String,
        /// The other key.
        other: &'static str,
    },
    /// Not the address of a peer.
    #[error(transparent)]
    PeerAddress(#[from] PeerAddressError),
    /// The same peer twice in one list.
    #[error("{value} is in the list twice; remove one")]
    RepeatedPeer {
        /// The address.
        value: String,
    },
    /// A list without an entry or with too many.
    #[error("{count} peers; write a list of 1 to {most}")]
    PeerCount {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// No membership source, or two.
    #[error(
        "needs exactly one source; write either static (a list of host:port) or pods_file (a path)"
    )]
    MembershipSource,
    /// A polling interval without a file to poll.
    #[error("has no meaning for a static list; remove it")]
    NothingToPoll,
    /// Not a URL of a catalog. The text is not repeated: a database URL may hold a password.
    #[error(
        "is not a catalog URL; write sqlite://./catalog.db (relative to the cluster file) or sqlite:///absolute/catalog.db"
    )]
    CatalogUrl,
    /// Not a URL of a storage.
    #[error(
        "{wrong}; write file://./data (relative to the cluster file), file:///absolute/data or s3://bucket/prefix"
    )]
    StorageUrl {
        /// What is wrong with it.
        wrong: &'static str,
    },
    /// A storage name that would not be safe in a path or a log field.
    #[error("is not a storage name; write 1 to {most} of a-z, 0-9, - and _")]
    StorageName {
        /// The longest name, in bytes.
        most: usize,
    },
    /// No storage or too many.
    #[error("{count} storages; write 1 to {most}")]
    StorageCount {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// The default is none of the storages.
    #[error("`{value}` is none of the storages; write one of: {}", known.join(", "))]
    UnknownStorage {
        /// The name as it was written.
        value: String,
        /// The names of the storages.
        known: Vec<String>,
    },
    /// Several storages and no default.
    #[error("missing with several storages; write one of: {}", known.join(", "))]
    DefaultStorageMissing {
        /// The names of the storages.
        known: Vec<String>,
    },
    /// An S3 key beside a file URL.
    #[error("has no meaning for a file:// storage; remove it")]
    S3Only,
    /// Not the URL of an S3 service.
    #[error(
        "is not the address of an S3 service; write http://host:port or https://host without user, path or query"
    )]
    Endpoint,
    /// Data would travel unencrypted without anyone having said so.
    #[error("is plain http; write https:// or add allow_http: true to send data unencrypted")]
    PlainHttp,
    /// Not a region.
    #[error("is not a region; write a name such as us-east-1")]
    Region,
    /// Most likely the secret itself.
    #[error(
        "is not the name of an environment variable; write the name (A-Z, 0-9, _) of the variable that holds the secret, never the secret itself"
    )]
    EnvironmentName,
    /// A path without a character.
    #[error("is empty; write a path, relative ones start at the cluster file's folder")]
    EmptyPath,
}
