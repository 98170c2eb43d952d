//! The cluster file as it is written: which keys there are, each value still unchecked.
//!
//! Invariant: every struct denies unknown keys, and what is not given is `None`, so that defaults
//! stand in one place (`check.rs`). The same shape prints the effective configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

/// Reads only the version, so that a file of a later version is refused for its version and not
/// for its first new key.
#[derive(Debug, Deserialize)]
pub(super) struct RawVersion {
    pub(super) version: Spanned<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCluster {
    pub(super) version: u64,
    pub(super) catalog: RawCatalog,
    pub(super) storages: Spanned<BTreeMap<String, Spanned<RawStorage>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default_storage: Option<Spanned<String>>,
    pub(super) head: Option<RawHead>,
    pub(super) peer: Option<RawPeer>,
    pub(super) membership: Spanned<RawMembership>,
    pub(super) limits: Option<RawLimits>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCatalog {
    pub(super) url: Spanned<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStorage {
    pub(super) url: Spanned<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) endpoint: Option<Spanned<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<Spanned<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_http: Option<Spanned<bool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) credentials: Option<Spanned<RawCredentials>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCredentials {
    pub(super) access_key_id_env: Spanned<String>,
    pub(super) secret_access_key_env: Spanned<String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHead {
    pub(super) http: Option<Spanned<String>>,
    pub(super) query_timeout: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPeer {
    pub(super) grpc: Option<Spanned<String>>,
    pub(super) http: Option<Spanned<String>>,
    pub(super) cache: Option<RawCache>,
    pub(super) memory_max: Option<Spanned<String>>,
    pub(super) target_partitions: Option<Spanned<u64>>,
    pub(super) fetches_in_flight_max: Option<Spanned<u64>>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCache {
    pub(super) path: Option<Spanned<String>>,
    pub(super) bytes_max: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMembership {
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    pub(super) static_list: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pods_file: Option<Spanned<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) poll_interval: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) query_text_bytes_max: Option<Spanned<String>>,
    pub(super) queries_in_flight_max: Option<Spanned<u64>>,
}
