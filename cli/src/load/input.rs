//! Which inputs there are: files, patterns, standard input, objects of S3.
//!
//! Invariant: every input has a format and a compression before anything is read, by its name or by
//! the request. Left out: opening them (`read.rs`).

use std::fmt;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::load::error::LoadError;

/// Most inputs of one load: each is looked at before the first row is read.
const INPUTS_MAX: usize = 100_000;

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Parquet.
    Parquet,
    /// CSV with a header line; the delimiter of the request, else by name (`.tsv`), else a comma.
    Csv,
    /// One JSON object per line.
    Ndjson,
}

impl FromStr for InputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "parquet" => Ok(Self::Parquet),
            "csv" => Ok(Self::Csv),
            "ndjson" | "jsonl" | "json" => Ok(Self::Ndjson),
            other => Err(format!("'{other}' is none of parquet, csv, ndjson")),
        }
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
        })
    }
}

/// How the bytes of an input are compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, any number of members.
    Gzip,
    /// zstd, any number of frames.
    Zstd,
}

/// Where the bytes of an input are.
#[derive(Clone, Debug)]
pub enum InputPlace {
    /// A local file.
    File(PathBuf),
    /// Standard input of this process.
    Stdin,
    /// An object in a store.
    Object {
        /// The store.
        store: Arc<dyn ObjectStore>,
        /// The key.
        key: ObjectPath,
    },
}

/// One input of a load.
#[derive(Clone, Debug)]
pub struct LoadInput {
    /// The name in messages: the path or URL as given.
    pub name: Arc<str>,
    /// Where the bytes are.
    pub place: InputPlace,
    /// The format.
    pub format: InputFormat,
    /// The compression.
    pub compression: Compression,
    /// What separates the fields of a CSV file.
    pub delimiter: u8,
    /// The size of the bytes as they are stored, if known.
    pub bytes: Option<u64>,
}

/// What the request says about all inputs.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    /// The format, where the name does not say it.
    pub format: Option<InputFormat>,
    /// The delimiter of CSV.
    pub delimiter: Option<u8>,
    /// The S3 service, if not AWS.
    pub endpoint: Option<String>,
}

/// Finds the inputs that `texts` name: paths, patterns with `*`, `?` or `[…]`, `-` for standard
/// input, `s3://bucket/key` with patterns or a final `/`.
///
/// # Errors
/// [`LoadError`] if one names nothing, or something of unknown format.
pub async fn find_inputs(
    texts: &[String],
    options: &InputOptions,
) -> Result<Vec<LoadInput>, LoadError> {
    let mut inputs = Vec::new();
    for text in texts {
        if text == "-" {
            inputs.push(stdin_input(options)?);
        } else if let Some(rest) = text.strip_prefix("s3://") {
            inputs.extend(find_objects(text, rest, options).await?);
        } else {
            inputs.extend(find_files(text, options)?);
        }
        if inputs.len() > INPUTS_MAX {
            return Err(LoadError::request(
                format!("more than {INPUTS_MAX} inputs"),
                "several loads, each with fewer files",
            ));
        }
    }
    let from_stdin = inputs.iter().filter(|input| matches!(input.place, InputPlace::Stdin)).count();
    if from_stdin > 1 {
        return Err(LoadError::request("standard input is named twice", "one '-'"));
    }
    if inputs.is_empty() {
        return Err(LoadError::request("no input is named", "a file, a pattern, s3://… or '-'"));
    }
    Ok(inputs)
}

/// Returns standard input, whose format must be given.
fn stdin_input(options: &InputOptions) -> Result<LoadInput, LoadError> {
    let format = options.format.ok_or_else(|| {
        LoadError::request(
            "standard input has no name that tells its format",
            "--format csv, ndjson or parquet",
        )
    })?;
    if std::io::stdin().is_terminal() {
        return Err(LoadError::request("standard input is a terminal", "a pipe, or a file name"));
    }
    Ok(LoadInput {
        name: "stdin".into(),
        place: InputPlace::Stdin,
        format,
        compression: Compression::None,
        delimiter: options.delimiter.unwrap_or(b','),
        bytes: None,
    })
}

/// Returns the local files of a path or pattern, in the order of their names.
fn find_files(text: &str, options: &InputOptions) -> Result<Vec<LoadInput>, LoadError> {
    let path = Path::new(text);
    if path.is_file() {
        return Ok(vec![file_input(path, options)?]);
    }
    if path.is_dir() {
        let hint = format!("'{}/*.parquet' or another pattern", text.trim_end_matches('/'));
        return Err(LoadError::request(format!("{text} is a folder"), hint));
    }
    let pattern = glob::glob(text).map_err(|error| LoadError::input(text, error))?;
    let mut found = Vec::new();
    for entry in pattern.take(INPUTS_MAX.saturating_add(1)) {
        let path = entry.map_err(|error| LoadError::input(text, error))?;
        if path.is_file() {
            found.push(file_input(&path, options)?);
        }
    }
    if found.is_empty() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(LoadError::input(text, missing));
    }
    Ok(found)
}

/// Returns one local file.
fn file_input(path: &Path, options: &InputOptions) -> Result<LoadInput, LoadError> {
    let name = path.display().to_string();
    let size = std::fs::metadata(path).map_err(|error| LoadError::input(&*name, error))?.len();
    named_input(&name, InputPlace::File(path.to_owned()), Some(size), options)
}

/// Returns the objects of an `s3://` URL.
async fn find_objects(
    url: &str,
    rest: &str,
    options: &InputOptions,
) -> Result<Vec<LoadInput>, LoadError> {
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    if let Some(endpoint) = &options.endpoint {
        let is_plain = endpoint.starts_with("http://");
        builder = builder.with_endpoint(endpoint.trim_end_matches('/')).with_allow_http(is_plain);
    }
    let store = builder.build().map_err(|error| LoadError::input(url, error))?;
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    find_in_store(url, bucket, key, &store, options).await
}

/// Returns the objects of a store that a key or pattern names, in the order of their keys.
async fn find_in_store(
    url: &str,
    bucket: &str,
    key: &str,
    store: &Arc<dyn ObjectStore>,
    options: &InputOptions,
) -> Result<Vec<LoadInput>, LoadError> {
    let input = |meta: object_store::ObjectMeta| {
        let name = format!("s3://{bucket}/{}", meta.location);
        let place = InputPlace::Object { store: Arc::clone(store), key: meta.location };
        named_input(&name, place, Some(meta.size), options)
    };
    let wildcard = key.find(['*', '?', '[']);
    if wildcard.is_none() && !key.ends_with('/') && !key.is_empty() {
        let path = ObjectPath::parse(key).map_err(|error| LoadError::input(url, error))?;
        let meta = store.head(&path).await.map_err(|error| LoadError::input(url, error))?;
        return Ok(vec![input(meta)?]);
    }
    // Stores list whole folders: the pattern is applied to what is below the last one before it.
    let fixed = key.get(..wildcard.unwrap_or(key.len())).unwrap_or(key);
    let folder = fixed.rsplit_once('/').map_or("", |(folder, _)| folder);
    let pattern = if wildcard.is_some() { key.to_owned() } else { format!("{key}**") };
    let pattern = glob::Pattern::new(&pattern).map_err(|error| LoadError::input(url, error))?;
    let is_exact = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
    let prefix = ObjectPath::parse(folder).map_err(|error| LoadError::input(url, error))?;
    let mut listed = store.list(Some(&prefix).filter(|prefix| !prefix.as_ref().is_empty()));
    let mut found = Vec::new();
    while let Some(meta) = listed.try_next().await.map_err(|error| LoadError::input(url, error))? {
        let is_wanted = match wildcard {
            Some(_) => pattern.matches_with(meta.location.as_ref(), is_exact),
            None => meta.location.as_ref().starts_with(key),
        };
        if is_wanted && found.len() <= INPUTS_MAX {
            found.push(meta);
        }
    }
    found.sort_by(|a, b| a.location.cmp(&b.location));
    if found.is_empty() {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(LoadError::input(url, missing));
    }
    found.into_iter().map(input).collect()
}

/// Returns an input whose name tells its format, unless the request does.
fn named_input(
    name: &str,
    place: InputPlace,
    bytes: Option<u64>,
    options: &InputOptions,
) -> Result<LoadInput, LoadError> {
    let (format, compression, delimiter) = read_name(name);
    let format = options.format.or(format).ok_or_else(|| {
        LoadError::request(
            format!("the name {name} does not tell its format"),
            "--format csv, ndjson or parquet",
        )
    })?;
    let delimiter = options.delimiter.unwrap_or(delimiter);
    Ok(LoadInput { name: name.into(), place, format, compression, delimiter, bytes })
}

/// Returns what the end of a name says: format, compression and CSV delimiter.
fn read_name(name: &str) -> (Option<InputFormat>, Compression, u8) {
    let name = name.to_ascii_lowercase();
    let (stem, compression) = if let Some(stem) = name.strip_suffix(".gz") {
        (stem, Compression::Gzip)
    } else if let Some(stem) = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".zstd")) {
        (stem, Compression::Zstd)
    } else {
        (name.as_str(), Compression::None)
    };
    let (format, delimiter) = match stem.rsplit_once('.').map(|(_, end)| end) {
        Some("parquet" | "pq") => (Some(InputFormat::Parquet), b','),
        Some("csv") => (Some(InputFormat::Csv), b','),
        Some("tsv" | "tab") => (Some(InputFormat::Csv), b'\t'),
        Some("ndjson" | "jsonl" | "json") => (Some(InputFormat::Ndjson), b','),
        _ => (None, b','),
    };
    (format, compression, delimiter)
}

#[cfg(test)]
mod tests {
    use object_store::PutPayload;
    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn names_tell_format_and_compression() {
        let check = |name, expected| assert_eq!(read_name(name), expected, "{name}");
        check("a/b.parquet", (Some(InputFormat::Parquet), Compression::None, b','));
        check("b.CSV.GZ", (Some(InputFormat::Csv), Compression::Gzip, b','));
        check("b.tsv.zst", (Some(InputFormat::Csv), Compression::Zstd, b'\t'));
        check("b.jsonl", (Some(InputFormat::Ndjson), Compression::None, b','));
        check("access.log", (None, Compression::None, b','));
    }

    #[tokio::test]
    async fn what_is_not_there_is_an_error() {
        let options = InputOptions::default();
        for text in ["/nowhere/x.csv", "/nowhere/*.csv", "/"] {
            assert!(find_inputs(&[text.to_owned()], &options).await.is_err(), "{text}");
        }
        assert!(find_inputs(&[], &options).await.is_err());
    }

    #[tokio::test]
    async fn patterns_find_files_in_order() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for name in ["b.csv", "a.csv", "c.json", "d.txt"] {
            std::fs::write(folder.path().join(name), "x").expect("write");
        }
        let pattern = format!("{}/*.csv", folder.path().display());
        let found = find_inputs(&[pattern], &InputOptions::default()).await.expect("found");
        let names: Vec<&str> = found
            .iter()
            .filter_map(|input| input.name.rsplit_once('/'))
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names, ["a.csv", "b.csv"]);
        let unknown = format!("{}/d.txt", folder.path().display());
        assert!(find_inputs(&[unknown], &InputOptions::default()).await.is_err());
    }

    #[tokio::test]
    async fn keys_patterns_and_folders_find_objects() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for key in ["logs/1/a.csv", "logs/1/b.csv", "logs/2/a.csv", "logs/2/x.json", "other/a.csv"]
        {
            let path = ObjectPath::parse(key).expect("key");
            store.put(&path, PutPayload::from_static(b"x")).await.expect("put");
        }
        let check = async |key: &str, expected: &[&str]| {
            let options = InputOptions::default();
            let found = find_in_store("s3://b/", "b", key, &store, &options).await;
            let names: Vec<String> = found
                .unwrap_or_default()
                .iter()
                .map(|input| input.name.trim_start_matches("s3://b/").to_owned())
                .collect();
            assert_eq!(names, expected, "{key}");
        };
        check("logs/1/a.csv", &["logs/1/a.csv"]).await;
        check("logs/*/a.csv", &["logs/1/a.csv", "logs/2/a.csv"]).await;
        check("logs/*.csv", &[]).await;
        check("logs/1/", &["logs/1/a.csv", "logs/1/b.csv"]).await;
        check("logs/**/*.csv", &["logs/1/a.csv", "logs/1/b.csv", "logs/2/a.csv"]).await;
        check("nothing/", &[]).await;
    }
}
