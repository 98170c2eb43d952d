//! The folder of the cache: whole files under final names, temporary files, and a quarantine.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use peerage_partition::PartitionName;
use tracing::{debug, warn};

use super::file::CachedFile;
use super::{CacheKey, FileKind};

/// Names of files that are being written start so; they are dropped at start.
const TEMPORARY_PREFIX: &str = "tmp-";
/// Damaged files are moved here for a person to look at.
const QUARANTINE: &str = "quarantine";
/// Damaged files kept at most: they are evidence, not data.
const QUARANTINE_FILES_MAX: usize = 16;

/// The folder on disk. All calls run off the async threads.
#[derive(Debug, Clone)]
pub(super) struct CacheFolder {
    path: Arc<Path>,
    temporary_count: Arc<AtomicU64>,
}

impl CacheFolder {
    /// Opens or makes the folder.
    pub(super) async fn open(path: PathBuf) -> io::Result<Self> {
        let folder = Self { path: path.into(), temporary_count: Arc::new(AtomicU64::new(0)) };
        let path = Arc::clone(&folder.path);
        off_thread(move || fs::create_dir_all(path.join(QUARANTINE))).await?;
        Ok(folder)
    }

    /// Drops what is partial and returns what is whole, the least recently used first.
    pub(super) async fn recover(&self) -> io::Result<Vec<(CacheKey, u64)>> {
        let path = Arc::clone(&self.path);
        off_thread(move || {
            let mut found = Vec::new();
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else { continue };
                if name.starts_with(TEMPORARY_PREFIX) {
                    debug!(file = name, "dropping a file that was never finished");
                    fs::remove_file(entry.path())?;
                    continue;
                }
                let (Some(key), Ok(metadata)) = (parse_name(name), entry.metadata()) else {
                    continue;
                };
                if metadata.is_file() {
                    let used = metadata.accessed().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push((used, key, metadata.len()));
                }
            }
            found.sort_by_key(|(used, ..)| *used);
            Ok(found.into_iter().map(|(_, key, bytes)| (key, bytes)).collect())
        })
        .await
    }

    /// Opens, maps and checks a file.
    pub(super) async fn read(&self, name: String) -> io::Result<CachedFile> {
        let path = self.path.join(name);
        off_thread(move || CachedFile::map(&File::open(&path)?, path)).await
    }

    /// Writes a whole file, syncs it, gives it its final name, and maps it.
    pub(super) async fn write(&self, name: String, bytes: Bytes) -> io::Result<CachedFile> {
        let number = self.temporary_count.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let temporary = self.path.join(format!("{TEMPORARY_PREFIX}{process}-{number}"));
        let path = self.path.join(name);
        off_thread(move || {
            let written = write_and_rename(&temporary, &path, &bytes);
            if written.is_err()
                && let Err(error) = fs::remove_file(&temporary)
                && error.kind() != io::ErrorKind::NotFound
            {
                warn!(file = %temporary.display(), %error, "cannot remove a temporary file");
            }
            written.and_then(|file| CachedFile::map(&file, path))
        })
        .await
    }

    /// Moves a file aside, or deletes it when there is enough evidence already.
    pub(super) async fn quarantine(&self, name: String) {
        let path = Arc::clone(&self.path);
        let moved = off_thread(move || {
            let aside = path.join(QUARANTINE);
            let is_full = fs::read_dir(&aside)?.count() >= QUARANTINE_FILES_MAX;
            let file = path.join(&name);
            if is_full { fs::remove_file(file) } else { fs::rename(file, aside.join(name)) }
        })
        .await;
        ignore_missing(moved, "cannot put a damaged file aside");
    }

    /// Deletes an evicted file.
    pub(super) async fn delete(&self, name: String) {
        let path = self.path.join(name);
        let deleted = off_thread(move || fs::remove_file(path)).await;
        ignore_missing(deleted, "cannot delete an evicted file");
    }
}

fn ignore_missing(result: io::Result<()>, what: &'static str) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(%error, what);
    }
}

fn write_and_rename(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::options().read(true).write(true).create_new(true).open(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    Ok(file)
}

fn parse_name(name: &str) -> Option<CacheKey> {
    let (partition, extension) = name.rsplit_once('.')?;
    let kind = [FileKind::Manifest, FileKind::Index]
        .into_iter()
        .find(|kind| kind.extension() == extension)?;
    let partition: PartitionName = partition.parse().ok()?;
    Some(CacheKey { partition, kind })
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}
