//! Where partitions are kept: the storage URL, the S3 options, and the reference to credentials.
//!
//! Invariant: a [`StorageConfig`] names a place without holding a secret; secrets exist only in
//! [`StorageCredentials`], read from the environment when a store is opened, and are never printed.
//!
//! Left out: opening the store. The text after `file://` and `sqlite://` is a path as it is written,
//! without percent-decoding.

use std::fmt;
use std::path::{Path, PathBuf};

use url::Url;

/// Longest storage prefix, in bytes: object keys may have 1,024, and a partition's own part of the
/// key (table, date, name, file) needs up to 512.
pub(super) const PREFIX_BYTES_MAX: usize = 512;

/// Longest bucket name, in bytes: S3 takes 63, older and compatible services up to 255.
const BUCKET_BYTES_MAX: usize = 255;

/// Where a storage is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageConfig {
    /// A folder of a local or network file system.
    File {
        /// The folder, absolute when it came from [`super::ClusterConfig::load`].
        root: PathBuf,
    },
    /// A bucket of S3 or of a service that speaks its protocol.
    S3(S3StorageConfig),
}

/// A bucket and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3StorageConfig {
    /// The bucket.
    pub bucket: String,
    /// What all object keys start with, without slashes at its ends; may be empty.
    pub prefix: String,
    /// The service; `None` means AWS.
    pub endpoint: Option<Url>,
    /// The region; `None` means `AWS_REGION` or the client's own default.
    pub region: Option<String>,
    /// Whether `endpoint` may be plain `http://`.
    pub allow_http: bool,
    /// Where the keys are; `None` means the environment's `AWS_*` variables or the machine's role.
    pub credentials: Option<CredentialsSource>,
}

impl StorageConfig {
    /// Returns the storage's URL: `file:///folder` or `s3://bucket/prefix`.
    pub fn url(&self) -> String {
        match self {
            Self::File { root } => format!("file://{}", root.display()),
            Self::S3(S3StorageConfig { bucket, prefix, .. }) if prefix.is_empty() => {
                format!("s3://{bucket}")
            }
            Self::S3(S3StorageConfig { bucket, prefix, .. }) => format!("s3://{bucket}/{prefix}"),
        }
    }
}

/// The names of the environment variables that hold a storage's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialsSource {
    /// Holds the access key id.
    pub access_key_id_env: String,
    /// Holds the secret access key.
    pub secret_access_key_env: String,
}

impl CredentialsSource {
    /// Reads the keys from the process's environment.
    pub fn read(&self) -> Result<StorageCredentials, CredentialsError> {
        self.read_from(|name| std::env::var_os(name)?.into_string().ok())
    }

    /// Reads the keys through `variable`, which answers the value of a variable.
    pub fn read_from(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<StorageCredentials, CredentialsError> {
        let value = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .ok_or_else(|| CredentialsError::Unset { variable: name.to_owned() })
        };
        Ok(StorageCredentials {
            access_key_id: value(&self.access_key_id_env)?,
            secret_access_key: value(&self.secret_access_key_env)?,
        })
    }
}

/// Keys of a storage. `Debug` shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct StorageCredentials {
    /// The access key id.
    pub access_key_id: String,
    /// The secret access key.
    pub secret_access_key: String,
}

impl fmt::Debug for StorageCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StorageCredentials(hidden)")
    }
}

/// Why a storage's keys could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The variable is not there, is empty or is not text: set it where the process starts.
    #[error(
        "environment variable {variable} is not set; the cluster file names it for the keys of a storage"
    )]
    Unset {
        /// The variable's name.
        variable: String,
    },
}

/// Returns the path of a `scheme://path` URL, relative ones based on `base_dir`, or `None` when
/// the text is no such URL. Relative paths must start with `./` or `../`, so that a forgotten slash
/// of `file:///data` is noticed.
pub(super) fn local_path(text: &str, scheme: &str, base_dir: &Path) -> Option<PathBuf> {
    let path = text.strip_prefix(scheme)?.strip_prefix("://")?;
    let is_relative = path.starts_with("./") || path.starts_with("../");
    let is_usable = (is_relative || path.starts_with('/')) && !path.contains(['\0', '\n']);
    is_usable.then(|| based(base_dir, path))
}

/// Returns `path` based on `base_dir` unless it is absolute, without `.` steps.
pub(super) fn based(base_dir: &Path, path: &str) -> PathBuf {
    base_dir.join(path).components().collect()
}

/// Returns bucket and prefix of an `s3://bucket/prefix` URL, or what is wrong with it.
pub(super) fn bucket_and_prefix(text: &str) -> Result<(String, String), &'static str> {
    let rest = text.strip_prefix("s3://").ok_or("is neither a file:// nor an s3:// URL")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let in_bucket = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if bucket.is_empty() || bucket.len() > BUCKET_BYTES_MAX || !bucket.chars().all(in_bucket) {
        return Err("has no valid bucket name after s3://");
    }
    let prefix = prefix.trim_end_matches('/');
    if prefix.len() > PREFIX_BYTES_MAX {
        return Err("has a prefix of more than 512 bytes");
    }
    let is_step = |step: &str| step.is_empty() || step == "." || step == "..";
    if !prefix.is_empty() && prefix.split('/').any(is_step) {
        return Err("has an empty, `.` or `..` step in its prefix");
    }
    if prefix.contains(['?', '#']) || prefix.chars().any(char::is_control) {
        return Err("has a query, a fragment or a control character in its prefix");
    }
    Ok((bucket.to_owned(), prefix.to_owned()))
}

/// Returns the endpoint when it is nothing but `http(s)://host[:port]`.
pub(super) fn endpoint(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.host().is_some();
    let has_user = !url.username().is_empty() || url.password().is_some();
    let has_more = url.path() != "/" || url.query().is_some() || url.fragment().is_some();
    (is_http && !has_user && !has_more).then_some(url)
}

/// Whether the text can only be the name of a variable.
///
/// Lower case is refused and so is the shape of an AWS access key id: both are most likely a key
/// that was pasted where its variable's name belongs.
pub(super) fn is_environment_name(text: &str) -> bool {
    let in_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_key_id = text.len() == 20 && (text.starts_with("AKIA") || text.starts_with("ASIA"));
    let starts_well = text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    starts_well && text.chars().all(in_name) && text.len() <= 128 && !is_key_id
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn local_paths_are_based_on_the_folder() {
        let check = |text: &str, path: Option<&str>| {
            assert_eq!(local_path(text, "file", Path::new("/base")), path.map(PathBuf::from));
        };
        check("file://./data", Some("/base/data"));
        check("file://../data", Some("/base/../data"));
        check("file:///abs/./data", Some("/abs/data"));
        check("file://data", None);
        check("file://", None);
        check("file:/data", None);
        check("http://x", None);
        check("file:///a\0b", None);
    }

    #[test]
    fn buckets_and_prefixes() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(a, b)| (a.to_owned(), b.to_owned()));
            assert_eq!(bucket_and_prefix(text).ok(), expected, "{text}");
        };
        check("s3://logs", Some(("logs", "")));
        check("s3://logs/", Some(("logs", "")));
        check("s3://logs/a/b/", Some(("logs", "a/b")));
        check("s3://", None);
        check("s3:///a", None);
        check("s3://user:secret@logs/a", None);
        check("s3://logs/a//b", None);
        check("s3://logs/../b", None);
        check("s3://logs/a?x=1", None);
        check("gs://logs", None);
    }

    #[test]
    fn endpoints_hold_no_secret_and_no_path() {
        let check = |text: &str, good: bool| assert_eq!(endpoint(text).is_some(), good, "{text}");
        check("http://127.0.0.1:8333", true);
        check("https://s3.example.com/", true);
        check("http://user:secret@host", false);
        check("http://host/path", false);
        check("http://host?x", false);
        check("ftp://host", false);
        check("host:80", false);
    }

    #[test]
    fn credentials_come_from_the_named_variables_and_are_not_printed() {
        let source = CredentialsSource {
            access_key_id_env: "ID".to_owned(),
            secret_access_key_env: "SECRET".to_owned(),
        };
        let read = source.read_from(|name| Some(format!("value of {name}")));
        let credentials = read.expect("both variables are set");
        assert_eq!(credentials.secret_access_key, "value of SECRET");
        assert!(!format!("{credentials:?}").contains("value"));

        let unset = source.read_from(|name| (name == "ID").then(|| "x".to_owned()));
        assert_eq!(unset, Err(CredentialsError::Unset { variable: "SECRET".to_owned() }));
    }

    #[test]
    fn pasted_keys_are_no_variable_names() {
        assert!(is_environment_name("EU_ACCESS_KEY_ID"));
        assert!(is_environment_name("_X1"));
        assert!(!is_environment_name("AKIAIOSFODNN7EXAMPLE"));
        assert!(!is_environment_name("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
        assert!(!is_environment_name("1X"));
        assert!(!is_environment_name(""));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            drop(bucket_and_prefix(&format!("s3://{text}")));
            drop(local_path(&text, "file", Path::new("/")));
            drop(endpoint(&text));
            is_environment_name(&text);
        }
    }
}
