//! Checked → raw → YAML: prints the values that are in effect.
//!
//! Invariant: the text is a cluster file that gives the same configuration again, and holds no
//! secret, since none is in the types that it is made from.

use serde_saphyr::{Location, Spanned};

use super::raw::{
    RawCache, RawCatalog, RawCluster, RawCredentials, RawHead, RawLimits, RawMembership, RawPeer,
    RawStorage,
};
use super::units::{format_duration, format_size};
use super::{
    CLUSTER_FILE_VERSION, CatalogConfig, ClusterConfig, CredentialsSource, MembershipConfig,
    PeerConfig, StorageConfig,
};

/// Returns the configuration as the text of a cluster file.
pub(super) fn yaml(config: &ClusterConfig) -> String {
    let raw = RawCluster {
        version: CLUSTER_FILE_VERSION,
        catalog: catalog(&config.catalog),
        storages: here(
            config.storages.iter().map(|(name, it)| (name.clone(), here(storage(it)))).collect(),
        ),
        default_storage: given(config.default_storage.clone()),
        head: Some(RawHead {
            http: given(config.head.http.to_string()),
            query_timeout: given(format_duration(config.head.query_timeout)),
        }),
        peer: Some(peer(&config.peer)),
        membership: here(membership(&config.membership)),
        limits: Some(RawLimits {
            query_text_bytes_max: given(format_size(config.limits.query_text_bytes_max)),
            queries_in_flight_max: count(config.limits.queries_in_flight_max),
        }),
    };
    serde_saphyr::to_string(&raw).expect("maps, lists, texts and numbers can always be written")
}

fn here<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Location::UNKNOWN, Location::UNKNOWN)
}

fn given<T>(value: T) -> Option<Spanned<T>> {
    Some(here(value))
}

fn count(value: usize) -> Option<Spanned<u64>> {
    given(u64::try_from(value).unwrap_or(u64::MAX))
}

fn catalog(config: &CatalogConfig) -> RawCatalog {
    match config {
        CatalogConfig::Sqlite { path } => {
            RawCatalog { url: here(format!("sqlite://{}", path.display())) }
        }
    }
}

fn storage(config: &StorageConfig) -> RawStorage {
    let url = here(config.url());
    match config {
        StorageConfig::File { root: _ } => {
            RawStorage { url, endpoint: None, region: None, allow_http: None, credentials: None }
        }
        StorageConfig::S3(s3) => RawStorage {
            url,
            endpoint: s3.endpoint.as_ref().map(|endpoint| here(endpoint.to_string())),
            region: s3.region.clone().map(here),
            allow_http: given(s3.allow_http),
            credentials: s3.credentials.as_ref().map(|it| here(credentials(it))),
        },
    }
}

fn credentials(source: &CredentialsSource) -> RawCredentials {
    RawCredentials {
        access_key_id_env: here(source.access_key_id_env.clone()),
        secret_access_key_env: here(source.secret_access_key_env.clone()),
    }
}

fn peer(config: &PeerConfig) -> RawPeer {
    RawPeer {
        grpc: given(config.grpc.to_string()),
        http: given(config.http.to_string()),
        cache: Some(RawCache {
            path: given(config.cache.path.display().to_string()),
            bytes_max: given(format_size(config.cache.bytes_max)),
        }),
        memory_max: given(format_size(config.memory_max)),
        target_partitions: count(config.target_partitions),
        fetches_in_flight_max: count(config.fetches_in_flight_max),
    }
}

fn membership(config: &MembershipConfig) -> RawMembership {
    match config {
        MembershipConfig::Static { peers } => RawMembership {
            static_list: given(peers.iter().map(|peer| here(peer.to_string())).collect()),
            pods_file: None,
            poll_interval: None,
        },
        MembershipConfig::PodsFile { path, poll_interval } => RawMembership {
            static_list: None,
            pods_file: given(path.display().to_string()),
            poll_interval: given(format_duration(*poll_interval)),
        },
    }
}
