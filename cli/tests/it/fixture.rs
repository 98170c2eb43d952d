//! What the tests share: a cluster in a temporary folder, loads into it, and reading back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::util::pretty::pretty_format_batches;
use bytes::Bytes;
use clap::Parser;
use object_store::ObjectStoreExt;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use peerage::args::{Cli, ClusterArgs, Command};
use peerage::error::{CommandError, error_line};
use peerage::load::LoadSummary;
use peerage::open::{OpenCluster, open_cluster};
use peerage_catalog::PartitionRecord;
use peerage_partition::{DATA_FILE, FileRef, INDEX_FILE, Index, MANIFEST_FILE, Manifest};
use tempfile::TempDir;

/// A cluster with one local storage and an empty catalog.
pub(crate) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let text = "\
version: 1
catalog:
  url: sqlite://./catalog.db
storages:
  local:
    url: file://./data
default_storage: local
membership:
  static: [\"127.0.0.1:1\"]
";
        std::fs::write(folder.path().join("cluster.yaml"), text).expect("write");
        Self { folder }
    }

    /// Returns the path of a file in the folder of the cluster.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file. Names that end in .gz or .zst are compressed.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, compressed(&path, content)).expect("write");
        path.display().to_string()
    }

    /// Runs a command line without the name of the program.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<String, CommandError> {
        match self.parse(arguments) {
            Command::Load(args) => args.run().await.map(|summary| summary.to_string()),
            Command::Table(args) => args.run().await,
            Command::Inspect(args) => args.run().await,
            other => unreachable!("{other:?} is not tested in process"),
        }
    }

    /// Runs `load` into `db.t` and returns its summary.
    pub(crate) async fn load(&self, arguments: &[&str]) -> Result<LoadSummary, CommandError> {
        let all: Vec<&str> = ["load", "--table", "db.t"].iter().chain(arguments).copied().collect();
        match self.parse(&all) {
            Command::Load(args) => args.run().await,
            _ => unreachable!("the arguments begin with load"),
        }
    }

    /// Runs `load`, which must fail, and returns its error line without the temporary path.
    pub(crate) async fn load_error(&self, arguments: &[&str]) -> String {
        match self.load(arguments).await {
            Ok(summary) => format!("no error: {summary}"),
            Err(error) => self.line(&error),
        }
    }

    /// Returns the error line without the temporary path.
    pub(crate) fn line(&self, error: &CommandError) -> String {
        error_line(error).replace(&format!("{}/", self.folder.path().display()), "")
    }

    fn parse(&self, arguments: &[&str]) -> Command {
        let cluster = self.path("cluster.yaml").display().to_string();
        let mut line = vec!["peerage"];
        line.extend(arguments);
        line.extend(["--cluster", &cluster]);
        Cli::try_parse_from(line).expect("valid command line").command
    }

    /// Opens the cluster.
    pub(crate) async fn open(&self) -> OpenCluster {
        let args = ClusterArgs { cluster: self.path("cluster.yaml") };
        open_cluster(&args, None).await.expect("cluster")
    }

    /// Returns the partitions of `db.t`, none if it does not exist.
    pub(crate) async fn partitions(&self) -> Vec<PartitionRecord> {
        let snapshot = self.open().await.catalog.snapshot().await.expect("snapshot");
        match snapshot.table("db", "t").await {
            Ok(table) => snapshot.partitions(table.id, None).await.expect("partitions"),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the number of files below the storage, registered or not.
    pub(crate) fn stored_files(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
            let entries = entries.map(|entry| entry.expect("entry").path());
            entries.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
        }
        count(&self.path("data"))
    }

    /// Reads every partition of `db.t` back, checking each file against the catalog, the manifest
    /// and the index; the rows in the order of the partitions, with the columns of the table.
    pub(crate) async fn rows(&self) -> RecordBatch {
        let OpenCluster { catalog, storage, .. } = self.open().await;
        let table = catalog.table("db", "t").await.expect("table");
        let schema = table.arrow_schema();
        let mut batches = Vec::new();
        for record in self.partitions().await {
            let read = async |file: &str, expected: FileRef| {
                let key = storage.object_path(&record.path, file);
                let bytes =
                    storage.store.get(&key).await.expect("get").bytes().await.expect("bytes");
                assert_eq!(FileRef::of(&bytes), expected, "{file} of {}", record.name);
                bytes
            };
            let manifest = read(MANIFEST_FILE, record.manifest).await;
            let manifest = Manifest::decode(&manifest).expect("manifest");
            assert_eq!((manifest.name(), manifest.rows()), (&record.name, record.rows));
            let index = read(INDEX_FILE, record.index).await;
            assert_eq!(Index::open(index.as_ref()).expect("index").row_count(), record.rows);
            for batch in read_parquet(read(DATA_FILE, record.data).await) {
                // A partition from before a column was added does not have it.
                let columns = schema.fields().iter().map(|field| {
                    batch.column_by_name(field.name()).cloned().unwrap_or_else(|| {
                        arrow::array::new_null_array(field.data_type(), batch.num_rows())
                    })
                });
                let columns: Vec<_> = columns.collect();
                batches.push(RecordBatch::try_new(Arc::clone(&schema), columns).expect("batch"));
            }
        }
        concat_batches(&schema, &batches).expect("batches")
    }

    /// Returns the rows of `db.t` as text.
    pub(crate) async fn text(&self) -> String {
        pretty_format_batches(&[self.rows().await]).expect("table").to_string()
    }
}

/// Reads all batches of a Parquet file.
pub(crate) fn read_parquet(bytes: Bytes) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).expect("Parquet");
    let reader = reader.build().expect("Parquet");
    reader.collect::<Result<_, _>>().expect("batches")
}

/// Compresses as the name says.
fn compressed(path: &Path, content: &[u8]) -> Vec<u8> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("gz") => {
            // Two members, as `cat a.gz b.gz` makes them.
            let (first, second) = content.split_at(content.len() / 2);
            let mut bytes = Vec::new();
            for part in [first, second] {
                let mut encoder =
                    flate2::write::GzEncoder::new(&mut bytes, flate2::Compression::fast());
                encoder.write_all(part).expect("memory");
                encoder.finish().expect("memory");
            }
            bytes
        }
        Some("zst") => zstd::encode_all(content, 1).expect("memory"),
        _ => content.to_vec(),
    }
}
