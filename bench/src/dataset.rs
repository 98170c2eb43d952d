//! The data of a measurement: made by the seeded generator, loaded by the ordinary load, kept.
//!
//! A data set has a folder of its own with the S3 server's data, the catalog and the right answers.
//! Invariant: a data set is used again only when it was loaded whole, by the same version, in the
//! same partition format. Left out: running the server.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use peerage::load::{self, LoadOptions, LoadRequest, LoadSource, ProgressLine};
use peerage_catalog::{Catalog, TableTotals};
use peerage_partition::FORMAT_VERSION;
use peerage_testdata::cdn::{self, CdnOptions, Generator};
use serde::{Deserialize, Serialize};

use crate::figures::{DataFigures, LoadFigures};
use crate::store::S3Server;
use crate::suite::{DATABASE, TABLE};

/// The file that says what was loaded; written last.
const MARK_FILE: &str = "dataset.json";

/// What makes a data set the one that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DatasetKey {
    /// Rows of the log.
    pub(crate) rows: u64,
    /// Rows of one partition.
    pub(crate) partition_rows: u64,
    /// The generator's seed.
    pub(crate) seed: u64,
    /// Days that the rows are spread over.
    pub(crate) days: u32,
}

/// What was loaded, and by what.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Mark {
    key: DatasetKey,
    format_version: u32,
    program_version: String,
    load: LoadFigures,
}

impl DatasetKey {
    /// Returns the generator's options.
    pub(crate) fn options(&self) -> CdnOptions {
        CdnOptions { seed: self.seed, rows: self.rows, days: self.days, ..CdnOptions::default() }
    }

    /// Returns a name that no other data set has.
    fn folder_name(&self) -> String {
        let Self { rows, partition_rows, seed, days } = self;
        format!("logs-{rows}-by-{partition_rows}-seed-{seed}-days-{days}")
    }
}

/// The folder of a data set.
#[derive(Debug, Clone)]
pub(crate) struct DatasetFolder {
    key: DatasetKey,
    path: PathBuf,
}

impl DatasetFolder {
    /// Makes the folder below `base`, or finds it.
    pub(crate) fn prepare(base: &Path, key: &DatasetKey) -> anyhow::Result<Self> {
        let path = base.join(key.folder_name());
        let unusable = || format!("use folder {}", path.display());
        std::fs::create_dir_all(&path).with_context(unusable)?;
        let path = path.canonicalize().with_context(unusable)?;
        Ok(Self { key: key.clone(), path })
    }

    /// Returns whether the data is there and can be used again.
    pub(crate) fn is_loaded(&self) -> bool {
        read_mark(&self.path, &self.key).is_some()
    }

    /// Removes everything in the folder; nothing may run in it.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        let unusable = || format!("empty folder {}", self.path.display());
        std::fs::remove_dir_all(&self.path).with_context(unusable)?;
        std::fs::create_dir_all(&self.path).with_context(unusable)
    }

    /// Returns the path of something in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the catalog's URL, for programs that run elsewhere.
    pub(crate) fn catalog_url(&self) -> String {
        format!("sqlite://{}", self.path("catalog.db").display())
    }

    /// Returns what is loaded, after loading it where it is not.
    pub(crate) async fn load(&self, server: &S3Server) -> anyhow::Result<DataFigures> {
        let catalog = Catalog::open(&self.catalog_url()).await.context("open the catalog")?;
        let load = match read_mark(&self.path, &self.key) {
            Some(mark) => mark.load,
            None => self.load_rows(catalog.clone(), server).await?,
        };
        let snapshot = catalog.snapshot().await.context("read the catalog")?;
        let table = snapshot.table(DATABASE, TABLE).await.context("read the catalog")?;
        let totals = snapshot.totals(table.id).await.context("read the catalog")?;
        let (wanted, found) = (self.key.rows, totals.rows);
        ensure!(wanted == found, "the catalog has {found} rows, not {wanted}; try --reload");
        Ok(figures(&totals, load))
    }

    async fn load_rows(&self, catalog: Catalog, server: &S3Server) -> anyhow::Result<LoadFigures> {
        eprintln!("loading {} generated rows ...", self.key.rows);
        let partition_rows = usize::try_from(self.key.partition_rows)
            .ok()
            .and_then(NonZeroUsize::new)
            .context("rows of a partition")?;
        let generator = Generator::new(self.key.options());
        let request = LoadRequest {
            catalog,
            storage: server.storage()?,
            database: DATABASE.to_owned(),
            table: TABLE.to_owned(),
            source: LoadSource::Batches {
                schema: cdn::schema(),
                batches: futures::stream::iter(generator).boxed(),
            },
            options: LoadOptions {
                timestamp: Some("ts".to_owned()),
                partition_rows,
                ..LoadOptions::default()
            },
        };
        let summary = load::run(request, &ProgressLine::new()).await.context("load the rows")?;
        let load = LoadFigures {
            seconds: summary.elapsed.as_secs_f64(),
            rows_per_second: summary.rows_per_second(),
        };
        eprintln!("loaded in {:.1} s, {} rows/s", load.seconds, load.rows_per_second);
        let mark = mark(&self.key, load.clone());
        let path = self.path(MARK_FILE);
        std::fs::write(&path, serde_json::to_vec_pretty(&mark)?)
            .with_context(|| format!("write {}", path.display()))?;
        Ok(load)
    }
}

fn figures(totals: &TableTotals, load: LoadFigures) -> DataFigures {
    DataFigures {
        rows: totals.rows,
        partitions: totals.partitions,
        data_bytes: totals.data_bytes,
        index_bytes: totals.index_bytes,
        manifest_bytes: totals.manifest_bytes,
        load,
    }
}

fn mark(key: &DatasetKey, load: LoadFigures) -> Mark {
    let program_version = env!("CARGO_PKG_VERSION").to_owned();
    Mark { key: key.clone(), format_version: FORMAT_VERSION, program_version, load }
}

/// Returns the mark of a data set that can be used again.
fn read_mark(folder: &Path, key: &DatasetKey) -> Option<Mark> {
    let text = std::fs::read(folder.join(MARK_FILE)).ok()?;
    let found: Mark = serde_json::from_slice(&text).ok()?;
    (found == mark(key, found.load.clone())).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_loaded_whole_by_this_version_is_used_again() {
        let base = tempfile::tempdir().expect("a folder");
        let key = DatasetKey { rows: 10, partition_rows: 5, seed: 1, days: 1 };
        let folder = DatasetFolder::prepare(base.path(), &key).expect("a usable folder");
        let write = |mark: &Mark| {
            let text = serde_json::to_vec(mark).expect("text");
            std::fs::write(folder.path(MARK_FILE), text).expect("written");
        };
        let load = LoadFigures { seconds: 1.5, rows_per_second: 3 };

        assert!(!folder.is_loaded());
        write(&mark(&key, load.clone()));
        assert!(folder.is_loaded());
        write(&Mark { format_version: FORMAT_VERSION + 1, ..mark(&key, load.clone()) });
        assert!(!folder.is_loaded());
        write(&mark(&DatasetKey { seed: 2, ..key }, load.clone()));
        assert!(!folder.is_loaded());
        write(&mark(&key, load));
        folder.clear().expect("emptied");
        assert!(!folder.is_loaded());
    }
}
