//! What the tests share: a catalog in a temporary folder, a table, partitions.

use arrow::datatypes::{DataType, TimeUnit};
use peerage_catalog::{Catalog, NewColumn, NewPartition, NewTable};
use peerage_partition::{FileRef, PartitionName};
use tempfile::TempDir;
use ulid::Ulid;

/// A catalog whose file lives as long as the fixture.
pub(crate) struct Fixture {
    pub(crate) catalog: Catalog,
    directory: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().expect("temporary folder");
        let catalog = open(&directory).await;
        Self { catalog, directory }
    }

    /// Opens the same file once more, as another process would.
    pub(crate) async fn reopen(&self) -> Catalog {
        open(&self.directory).await
    }
}

async fn open(directory: &TempDir) -> Catalog {
    // A folder that does not exist yet: the catalog creates it.
    let path = directory.path().join("deep").join("catalog.db");
    Catalog::open(&format!("sqlite://{}", path.display())).await.expect("open")
}

/// A table `db.NAME` with a timestamp, a string and a number.
pub(crate) fn events(name: &str) -> NewTable {
    let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    NewTable {
        database: "db".into(),
        name: name.into(),
        columns: vec![
            NewColumn::new("ts", utc, false),
            NewColumn::new("host", DataType::Utf8, true),
            NewColumn::new("bytes", DataType::Int64, true),
        ],
        primary: Some("ts".into()),
        sort_by: vec!["bytes".into(), "host".into()],
        settings: [("codec".to_owned(), "zstd".to_owned())].into(),
    }
}

/// A partition of one row; `id` makes its name unique.
pub(crate) fn partition(min_ms: i64, max_ms: i64, id: u128) -> NewPartition {
    let name = PartitionName::new(min_ms, max_ms, Ulid(id));
    NewPartition {
        path: format!("db/events/{name}"),
        name,
        storage: "local".into(),
        rows: 1,
        manifest: FileRef::of(b"m"),
        index: FileRef::of(b"in"),
        data: FileRef::of(b"dat"),
    }
}
