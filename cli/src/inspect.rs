//! `peerage inspect`: what is in a partition, or in one of its files.
//!
//! It trusts nothing: every checksum that the manifest, the index or the catalog holds is compared
//! with the bytes, and what does not decode is reported, never a panic. Reading is here; what the
//! answer looks like is in `inspect/report.rs`.

mod report;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use object_store::ObjectStoreExt;
use peerage_catalog::{CatalogError, PartitionRecord};
use peerage_partition::{DATA_FILE, FileRef, INDEX_FILE, MANIFEST_FILE};

use crate::args::{ClusterArgs, QualifiedTable};
use crate::error::CommandError;
use crate::inspect::report::PartitionReport;
use crate::open::{open_catalog, open_storage_of, read_config};

/// Longest file that is read: above any partition that is written with sensible options.
const FILE_BYTES_MAX: u64 = 8 << 30;

/// What stands below the flags in the help text.
const EXAMPLES: &str = "\
Examples:
  # a partition of a table, through the catalog and its storage
  peerage inspect web.requests/1431857103000-1431943503000-01ARZ3NDEKTSV4RRFFQ69G5FAV

  # a partition folder, or one of its files
  peerage inspect data/web/requests/2015/05/17/1431857103000-1431943503000-01ARZ3NDEKTSV4RRFFQ69G5FAV
  peerage inspect --json some/folder/index.bin";

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The argument is neither a path nor `database.table/PARTITION`.
    #[error("{target} is neither a file or folder nor database.table/PARTITION")]
    NoTarget {
        /// The argument.
        target: String,
    },
    /// The folder holds none of the three files of a partition.
    #[error("the folder {path} holds no partition")]
    NoPartition {
        /// The folder.
        path: String,
    },
    /// A file can't be read.
    #[error("read {file}")]
    Read {
        /// The file or object.
        file: String,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file is too long to be a file of a partition.
    #[error("{file} has {bytes} bytes, more than {FILE_BYTES_MAX}")]
    TooLong {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
    },
}

impl InspectError {
    /// Returns what the user can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoTarget { .. } => {
                Some("peerage table show database.table --partitions to list partitions".to_owned())
            }
            Self::NoPartition { .. } => {
                Some(format!("a folder with {MANIFEST_FILE}, {INDEX_FILE} and {DATA_FILE}"))
            }
            Self::Read { .. } | Self::TooLong { .. } => None,
        }
    }
}

/// Shows what is in a partition or one of its files.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InspectArgs {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// A partition folder, a manifest, index or data file, or database.table/PARTITION
    target: String,

    /// Read the data file of a partition in a storage too, and check its checksum
    #[arg(long, env = "PEERAGE_VERIFY")]
    verify: bool,

    /// Answer as JSON
    #[arg(long, env = "PEERAGE_JSON")]
    json: bool,
}

/// One file of a partition: its bytes, if they were read, and what they should be.
#[derive(Debug, Default)]
pub(crate) struct PartitionFile {
    /// Where it is.
    pub(crate) place: String,
    /// The content; none if only the size was asked for.
    pub(crate) bytes: Option<Bytes>,
    /// The size in the store.
    pub(crate) size: u64,
    /// Size and checksum in the catalog.
    pub(crate) expected: Option<FileRef>,
}

/// The files of a partition, as far as they are there.
#[derive(Debug, Default)]
pub(crate) struct PartitionFiles {
    pub(crate) manifest: Option<PartitionFile>,
    pub(crate) index: Option<PartitionFile>,
    pub(crate) data: Option<PartitionFile>,
}

impl InspectArgs {
    /// Runs the command. Returns its answer.
    ///
    /// # Errors
    /// [`CommandError`], for `main` to print.
    pub async fn run(self) -> Result<String, CommandError> {
        let files = if Path::new(&self.target).exists() {
            read_local(Path::new(&self.target))?
        } else {
            self.read_stored().await?
        };
        let report = PartitionReport::new(&self.target, &files);
        Ok(if self.json { report.json() } else { report.text() })
    }

    /// Reads a partition of a table from its storage.
    async fn read_stored(&self) -> Result<PartitionFiles, CommandError> {
        let no_target = || InspectError::NoTarget { target: self.target.clone() };
        let (table, partition) = self.target.split_once('/').ok_or_else(no_target)?;
        let Ok(QualifiedTable { database, name }) = table.parse() else {
            return Err(no_target().into());
        };
        let config = read_config(&self.cluster)?;
        let snapshot = open_catalog(&config).await?.snapshot().await?;
        let table = snapshot.table(&database, &name).await?;
        let partitions = snapshot.partitions(table.id, None).await?;
        let record = partitions.into_iter().find(|record| record.name.as_str() == partition);
        let record = record.ok_or_else(|| CatalogError::NotFound {
            what: "partition",
            name: self.target.clone(),
        })?;
        let storage = open_storage_of(&config, Some(&record.storage))?;
        Ok(read_record(&storage, &record, self.verify).await?)
    }
}

/// Reads the files of a registered partition; the data file only if it is to be verified.
async fn read_record(
    storage: &crate::open::Storage,
    record: &PartitionRecord,
    reads_data: bool,
) -> Result<PartitionFiles, InspectError> {
    let read = async |file: &str, expected: FileRef, reads_bytes: bool| {
        let key = storage.object_path(&record.path, file);
        let failed = |source: object_store::Error| InspectError::Read {
            file: key.to_string(),
            source: source.into(),
        };
        let meta = storage.store.head(&key).await.map_err(failed)?;
        check_size(key.as_ref(), meta.size)?;
        let bytes = match reads_bytes {
            true => {
                Some(storage.store.get(&key).await.map_err(failed)?.bytes().await.map_err(failed)?)
            }
            false => None,
        };
        let (place, expected) = (key.to_string(), Some(expected));
        Ok::<_, InspectError>(Some(PartitionFile { place, bytes, size: meta.size, expected }))
    };
    Ok(PartitionFiles {
        manifest: read(MANIFEST_FILE, record.manifest, true).await?,
        index: read(INDEX_FILE, record.index, true).await?,
        data: read(DATA_FILE, record.data, reads_data).await?,
    })
}

/// Reads a local folder or file.
fn read_local(path: &Path) -> Result<PartitionFiles, InspectError> {
    let mut files = PartitionFiles::default();
    if path.is_dir() {
        files.manifest = read_if_there(path.join(MANIFEST_FILE))?;
        files.index = read_if_there(path.join(INDEX_FILE))?;
        files.data = read_if_there(path.join(DATA_FILE))?;
        if files.manifest.is_none() && files.index.is_none() && files.data.is_none() {
            return Err(InspectError::NoPartition { path: path.display().to_string() });
        }
        return Ok(files);
    }
    let file = read_if_there(path.to_owned())?;
    // Files in a peer's cache are named by their partition and end in .manifest or .index.
    match path.extension().and_then(|end| end.to_str()) {
        Some("parquet") => files.data = file,
        Some("bin" | "index") => files.index = file,
        _ => files.manifest = file,
    }
    Ok(files)
}

/// Reads a file, if there is one.
fn read_if_there(path: PathBuf) -> Result<Option<PartitionFile>, InspectError> {
    let place = path.display().to_string();
    let failed = |source: std::io::Error| InspectError::Read {
        file: path.display().to_string(),
        source: source.into(),
    };
    let size = match std::fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    check_size(&place, size)?;
    let bytes = Some(std::fs::read(&path).map_err(failed)?.into());
    Ok(Some(PartitionFile { place, bytes, size, expected: None }))
}

/// Refuses to read a file that is too long.
fn check_size(file: &str, bytes: u64) -> Result<(), InspectError> {
    if bytes > FILE_BYTES_MAX {
        return Err(InspectError::TooLong { file: file.to_owned(), bytes });
    }
    Ok(())
}
