//! Raw → checked: every value of a cluster file becomes its type here, once, with its default.
//!
//! Invariant: what leaves this file needs no further check. The first fault ends it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde_saphyr::{Location, Spanned, options};

use super::raw::{
    RawCache, RawCatalog, RawCluster, RawCredentials, RawHead, RawLimits, RawMembership, RawPeer,
    RawStorage, RawVersion,
};
use super::storage::{based, bucket_and_prefix, endpoint, is_environment_name, local_path};
use super::units::{format_duration, format_size, parse_duration, parse_size};
use super::{
    CLUSTER_FILE_VERSION, CatalogConfig, ClusterConfig, ConfigError, ConfigFault, ConfigPosition,
    CredentialsSource, HeadConfig, MembershipConfig, PeerCacheConfig, PeerConfig,
    QueryLimitsConfig, S3StorageConfig, StorageConfig,
};
use crate::membership::{MEMBERS_MAX, PeerAddress};

/// Most storages: each is a client with its own connections in every peer.
const STORAGES_MAX: usize = 64;
/// Longest name of a storage, in bytes: it stands in assignments, log fields and catalog rows.
const STORAGE_NAME_BYTES_MAX: usize = 64;
/// Longest name of a region, in bytes: the longest of AWS has 14.
const REGION_BYTES_MAX: usize = 64;

const QUERY_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
const POLL_INTERVAL: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(1);
const POLL_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
/// Below 1 MiB the cache could not hold one usual index; above 1 PiB it is a slip of the pen.
const CACHE_BYTES: RangeInclusive<u64> = (1 << 20)..=(1 << 50);
/// Below 64 MiB not even one batch per core and a small hash table fit.
const MEMORY_BYTES: RangeInclusive<u64> = (64 << 20)..=(1 << 50);
const TARGET_PARTITIONS: RangeInclusive<usize> = 0..=1024;
const FETCHES_IN_FLIGHT: RangeInclusive<usize> = 1..=1024;
const QUERY_TEXT_BYTES: RangeInclusive<u64> = (1 << 10)..=(64 << 20);
const QUERIES_IN_FLIGHT: RangeInclusive<usize> = 1..=10_000;

/// Returns what the text of a cluster file says.
pub(super) fn parse(
    text: &str,
    file: &Arc<str>,
    base_dir: &Path,
) -> Result<ClusterConfig, ConfigError> {
    let checker = Checker { file, base_dir };
    let options = || options! { with_snippet: false, strict_booleans: true };
    let from_yaml = |error| ConfigError::from_yaml(file, &error);

    let RawVersion { version } =
        serde_saphyr::from_str_with_options(text, options()).map_err(from_yaml)?;
    if version.value != CLUSTER_FILE_VERSION {
        let fault = ConfigFault::Version { value: version.value };
        return Err(checker.fault(version.referenced, "version", fault));
    }
    let raw: RawCluster =
        serde_saphyr::from_str_with_options(text, options()).map_err(from_yaml)?;
    checker.cluster(raw)
}

/// Knows what every check needs: whose file it is and where relative paths start.
struct Checker<'a> {
    file: &'a Arc<str>,
    base_dir: &'a Path,
}

impl Checker<'_> {
    fn fault(&self, at: Location, key: impl Into<String>, fault: ConfigFault) -> ConfigError {
        let at = ConfigPosition::new(self.file, at);
        ConfigError::InvalidValue { at, key: key.into(), fault: Box::new(fault) }
    }

    fn cluster(&self, raw: RawCluster) -> Result<ClusterConfig, ConfigError> {
        let storages_at = raw.storages.referenced;
        let storages = self.storages(raw.storages)?;
        Ok(ClusterConfig {
            catalog: self.catalog(&raw.catalog)?,
            default_storage: self.default_storage(raw.default_storage, &storages, storages_at)?,
            storages,
            head: self.head(&raw.head.unwrap_or_default())?,
            peer: self.peer(raw.peer.unwrap_or_default())?,
            membership: self.membership(&raw.membership)?,
            limits: self.limits(&raw.limits.unwrap_or_default())?,
        })
    }

    fn catalog(&self, raw: &RawCatalog) -> Result<CatalogConfig, ConfigError> {
        let path = local_path(&raw.url.value, "sqlite", self.base_dir).ok_or_else(|| {
            self.fault(raw.url.referenced, "catalog.url", ConfigFault::CatalogUrl)
        })?;
        Ok(CatalogConfig::Sqlite { path })
    }

    fn storages(
        &self,
        raw: Spanned<BTreeMap<String, Spanned<RawStorage>>>,
    ) -> Result<BTreeMap<String, StorageConfig>, ConfigError> {
        let count = raw.value.len();
        if count == 0 || count > STORAGES_MAX {
            let fault = ConfigFault::StorageCount { count, most: STORAGES_MAX };
            return Err(self.fault(raw.referenced, "storages", fault));
        }
        let checked = |(name, raw): (String, Spanned<RawStorage>)| {
            let key = format!("storages.{name}");
            if !is_storage_name(&name) {
                let fault = ConfigFault::StorageName { most: STORAGE_NAME_BYTES_MAX };
                return Err(self.fault(raw.referenced, key, fault));
            }
            Ok((name, self.storage(&key, &raw.value)?))
        };
        raw.value.into_iter().map(checked).collect()
    }

    fn storage(&self, key: &str, raw: &RawStorage) -> Result<StorageConfig, ConfigError> {
        if let Some(root) = local_path(&raw.url.value, "file", self.base_dir) {
            return match first_s3_key(raw) {
                Some((at, name)) => {
                    Err(self.fault(at, format!("{key}.{name}"), ConfigFault::S3Only))
                }
                None => Ok(StorageConfig::File { root }),
            };
        }
        let (bucket, prefix) = bucket_and_prefix(&raw.url.value).map_err(|wrong| {
            let at = raw.url.referenced;
            self.fault(at, format!("{key}.url"), ConfigFault::StorageUrl { wrong })
        })?;
        let allow_http = raw.allow_http.as_ref().is_some_and(|flag| flag.value);
        let credentials = raw.credentials.as_ref();
        Ok(StorageConfig::S3(S3StorageConfig {
            bucket,
            prefix,
            endpoint: self.endpoint(key, raw.endpoint.as_ref(), allow_http)?,
            region: self.region(key, raw.region.as_ref())?,
            allow_http,
            credentials: credentials.map(|raw| self.credentials(key, &raw.value)).transpose()?,
        }))
    }

    fn endpoint(
        &self,
        key: &str,
        raw: Option<&Spanned<String>>,
        allow_http: bool,
    ) -> Result<Option<url::Url>, ConfigError> {
        let Some(raw) = raw else { return Ok(None) };
        let fault = |fault| self.fault(raw.referenced, format!("{key}.endpoint"), fault);
        let url = endpoint(&raw.value).ok_or_else(|| fault(ConfigFault::Endpoint))?;
        if url.scheme() == "http" && !allow_http {
            return Err(fault(ConfigFault::PlainHttp));
        }
        Ok(Some(url))
    }

    fn region(
        &self,
        key: &str,
        raw: Option<&Spanned<String>>,
    ) -> Result<Option<String>, ConfigError> {
        let Some(raw) = raw else { return Ok(None) };
        let in_region = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_long = raw.value.len() > REGION_BYTES_MAX;
        if raw.value.is_empty() || is_long || !raw.value.chars().all(in_region) {
            return Err(self.fault(raw.referenced, format!("{key}.region"), ConfigFault::Region));
        }
        Ok(Some(raw.value.clone()))
    }

    fn credentials(
        &self,
        key: &str,
        raw: &RawCredentials,
    ) -> Result<CredentialsSource, ConfigError> {
        let name = |field: &str, raw: &Spanned<String>| {
            if is_environment_name(&raw.value) {
                return Ok(raw.value.clone());
            }
            let key = format!("{key}.credentials.{field}");
            Err(self.fault(raw.referenced, key, ConfigFault::EnvironmentName))
        };
        Ok(CredentialsSource {
            access_key_id_env: name("access_key_id_env", &raw.access_key_id_env)?,
            secret_access_key_env: name("secret_access_key_env", &raw.secret_access_key_env)?,
        })
    }

    fn default_storage(
        &self,
        raw: Option<Spanned<String>>,
        storages: &BTreeMap<String, StorageConfig>,
        storages_at: Location,
    ) -> Result<String, ConfigError> {
        let known = || storages.keys().cloned().collect::<Vec<_>>();
        match (raw, storages.first_key_value()) {
            (Some(name), _) if storages.contains_key(&name.value) => Ok(name.value),
            (Some(name), _) => {
                let fault = ConfigFault::UnknownStorage { value: name.value, known: known() };
                Err(self.fault(name.referenced, "default_storage", fault))
            }
            (None, Some((only, _))) if storages.len() == 1 => Ok(only.clone()),
            (None, _) => {
                let fault = ConfigFault::DefaultStorageMissing { known: known() };
                Err(self.fault(storages_at, "default_storage", fault))
            }
        }
    }

    fn head(&self, raw: &RawHead) -> Result<HeadConfig, ConfigError> {
        let default = HeadConfig::default();
        Ok(HeadConfig {
            http: self.listen("head.http", raw.http.as_ref(), default.http)?,
            query_timeout: self.duration(
                "head.query_timeout",
                raw.query_timeout.as_ref(),
                default.query_timeout,
                &QUERY_TIMEOUT,
            )?,
        })
    }

    fn peer(&self, raw: RawPeer) -> Result<PeerConfig, ConfigError> {
        let default = PeerConfig::default();
        let grpc = self.listen("peer.grpc", raw.grpc.as_ref(), default.grpc)?;
        let http = self.listen("peer.http", raw.http.as_ref(), default.http)?;
        if grpc == http && grpc.port() != 0 {
            let at = [&raw.http, &raw.grpc].into_iter().flatten().next();
            let at = at.map_or(Location::UNKNOWN, |raw| raw.referenced);
            let fault = ConfigFault::SharedAddress { value: http.to_string(), other: "peer.grpc" };
            return Err(self.fault(at, "peer.http", fault));
        }
        Ok(PeerConfig {
            grpc,
            http,
            cache: self.cache(&raw.cache.unwrap_or_default())?,
            memory_max: self.size(
                "peer.memory_max",
                raw.memory_max.as_ref(),
                default.memory_max,
                &MEMORY_BYTES,
            )?,
            target_partitions: self.count(
                "peer.target_partitions",
                raw.target_partitions.as_ref(),
                default.target_partitions,
                &TARGET_PARTITIONS,
            )?,
            fetches_in_flight_max: self.count(
                "peer.fetches_in_flight_max",
                raw.fetches_in_flight_max.as_ref(),
                default.fetches_in_flight_max,
                &FETCHES_IN_FLIGHT,
            )?,
        })
    }

    fn cache(&self, raw: &RawCache) -> Result<PeerCacheConfig, ConfigError> {
        let default = PeerCacheConfig::default();
        let path = match &raw.path {
            Some(path) => self.path("peer.cache.path", path)?,
            None => self.base_dir.join(default.path).components().collect(),
        };
        let bytes_max = self.size(
            "peer.cache.bytes_max",
            raw.bytes_max.as_ref(),
            default.bytes_max,
            &CACHE_BYTES,
        )?;
        Ok(PeerCacheConfig { path, bytes_max })
    }

    fn membership(&self, raw: &Spanned<RawMembership>) -> Result<MembershipConfig, ConfigError> {
        let RawMembership { static_list, pods_file, poll_interval } = &raw.value;
        match (static_list, pods_file) {
            (Some(list), None) => match poll_interval {
                Some(interval) => {
                    let key = "membership.poll_interval";
                    Err(self.fault(interval.referenced, key, ConfigFault::NothingToPoll))
                }
                None => self.static_list(list),
            },
            (None, Some(path)) => Ok(MembershipConfig::PodsFile {
                path: self.path("membership.pods_file", path)?,
                poll_interval: self.duration(
                    "membership.poll_interval",
                    poll_interval.as_ref(),
                    POLL_INTERVAL_DEFAULT,
                    &POLL_INTERVAL,
                )?,
            }),
            (Some(_), Some(_)) | (None, None) => {
                Err(self.fault(raw.referenced, "membership", ConfigFault::MembershipSource))
            }
        }
    }

    fn static_list(
        &self,
        list: &Spanned<Vec<Spanned<String>>>,
    ) -> Result<MembershipConfig, ConfigError> {
        let key = "membership.static";
        let count = list.value.len();
        if count == 0 || count > MEMBERS_MAX {
            let fault = ConfigFault::PeerCount { count, most: MEMBERS_MAX };
            return Err(self.fault(list.referenced, key, fault));
        }
        let mut peers = std::collections::BTreeSet::new();
        for raw in &list.value {
            let fault = |fault| self.fault(raw.referenced, key, fault);
            let address = PeerAddress::from_str(&raw.value).map_err(|error| fault(error.into()))?;
            if !peers.insert(address) {
                return Err(fault(ConfigFault::RepeatedPeer { value: raw.value.clone() }));
            }
        }
        Ok(MembershipConfig::Static { peers: peers.into_iter().collect() })
    }

    fn limits(&self, raw: &RawLimits) -> Result<QueryLimitsConfig, ConfigError> {
        let default = QueryLimitsConfig::default();
        Ok(QueryLimitsConfig {
            query_text_bytes_max: self.size(
                "limits.query_text_bytes_max",
                raw.query_text_bytes_max.as_ref(),
                default.query_text_bytes_max,
                &QUERY_TEXT_BYTES,
            )?,
            queries_in_flight_max: self.count(
                "limits.queries_in_flight_max",
                raw.queries_in_flight_max.as_ref(),
                default.queries_in_flight_max,
                &QUERIES_IN_FLIGHT,
            )?,
        })
    }

    fn listen(
        &self,
        key: &str,
        raw: Option<&Spanned<String>>,
        default: SocketAddr,
    ) -> Result<SocketAddr, ConfigError> {
        let Some(raw) = raw else { return Ok(default) };
        raw.value.parse().ok().ok_or_else(|| {
            let fault = ConfigFault::ListenAddress { value: raw.value.clone() };
            self.fault(raw.referenced, key, fault)
        })
    }

    fn path(&self, key: &str, raw: &Spanned<String>) -> Result<PathBuf, ConfigError> {
        if raw.value.is_empty() {
            return Err(self.fault(raw.referenced, key, ConfigFault::EmptyPath));
        }
        Ok(based(self.base_dir, &raw.value))
    }

    fn size(
        &self,
        key: &str,
        raw: Option<&Spanned<String>>,
        default: u64,
        range: &RangeInclusive<u64>,
    ) -> Result<u64, ConfigError> {
        let Some(raw) = raw else { return Ok(default) };
        let fault = |fault| self.fault(raw.referenced, key, fault);
        let bytes = parse_size(&raw.value).map_err(|error| fault(error.into()))?;
        within(bytes, range, |bytes| format_size(*bytes)).map_err(fault)
    }

    fn duration(
        &self,
        key: &str,
        raw: Option<&Spanned<String>>,
        default: Duration,
        range: &RangeInclusive<Duration>,
    ) -> Result<Duration, ConfigError> {
        let Some(raw) = raw else { return Ok(default) };
        let fault = |fault| self.fault(raw.referenced, key, fault);
        let duration = parse_duration(&raw.value).map_err(|error| fault(error.into()))?;
        within(duration, range, |duration| format_duration(*duration)).map_err(fault)
    }

    fn count(
        &self,
        key: &str,
        raw: Option<&Spanned<u64>>,
        default: usize,
        range: &RangeInclusive<usize>,
    ) -> Result<usize, ConfigError> {
        let Some(raw) = raw else { return Ok(default) };
        // What does not fit is out of every range anyway.
        let count = usize::try_from(raw.value).unwrap_or(usize::MAX);
        within(count, range, usize::to_string)
            .map_err(|fault| self.fault(raw.referenced, key, fault))
    }
}

fn within<T: PartialOrd>(
    value: T,
    range: &RangeInclusive<T>,
    show: impl Fn(&T) -> String,
) -> Result<T, ConfigFault> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(ConfigFault::OutOfRange {
        value: show(&value),
        least: show(range.start()),
        most: show(range.end()),
    })
}

fn is_storage_name(name: &str) -> bool {
    let in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= STORAGE_NAME_BYTES_MAX && name.chars().all(in_name)
}

/// Returns the first key that only S3 storages have, and where it stands.
fn first_s3_key(raw: &RawStorage) -> Option<(Location, &'static str)> {
    fn place<T>(raw: &Option<Spanned<T>>, name: &'static str) -> Option<(Location, &'static str)> {
        raw.as_ref().map(|raw| (raw.referenced, name))
    }
    place(&raw.endpoint, "endpoint")
        .or_else(|| place(&raw.region, "region"))
        .or_else(|| place(&raw.allow_http, "allow_http"))
        .or_else(|| place(&raw.credentials, "credentials"))
}
