//! What the micro benchmarks share: one partition of the CDN log, written by the real writer.
//!
//! Left out: the way of a partition through load, store and catalog.

use std::error::Error;
use std::path::Path;

use arrow::datatypes::SchemaRef;
use peerage_engine::Assignment;
use peerage_partition::{
    ColumnId, DATA_FILE, FinishedPartition, INDEX_FILE, MANIFEST_FILE, PartitionColumn,
    PartitionSchema, PartitionWriter, WriterOptions,
};
use peerage_testdata::cdn::{self, CdnOptions, Generator};

/// Rows of the partition: as the larger measurements load them.
pub(crate) const ROWS: u64 = 100_000;
/// The id of the storage.
pub(crate) const STORAGE: &str = "main";
/// The folder of the partition in it.
const FOLDER: &str = "partition";

/// What fails in a benchmark.
pub(crate) type Failure = Box<dyn Error>;

/// A partition in memory.
pub(crate) struct Sample {
    pub(crate) generator: Generator,
    pub(crate) finished: FinishedPartition,
    pub(crate) data: Vec<u8>,
}

/// Returns the options of the rows.
fn options() -> CdnOptions {
    CdnOptions { seed: 42, rows: ROWS, ..CdnOptions::default() }
}

/// Returns the ids of the columns, in the order of the schema.
pub(crate) fn column_ids() -> Vec<ColumnId> {
    (1..).map(ColumnId).take(cdn::schema().fields().len()).collect()
}

/// Returns the id of a column.
pub(crate) fn column(name: &str) -> Result<ColumnId, Failure> {
    let position = cdn::schema().index_of(name)?;
    column_ids().get(position).copied().ok_or_else(|| format!("no column {name}").into())
}

impl Sample {
    /// Writes the partition.
    pub(crate) fn write() -> Result<Self, Failure> {
        let generator = Generator::new(options());
        let schema: SchemaRef = cdn::schema();
        let columns = schema.fields().iter().zip(column_ids());
        let columns =
            columns.map(|(field, id)| PartitionColumn { id, field: field.as_ref().clone() });
        let schema = PartitionSchema::try_new(columns.collect(), Some(column("ts")?))?;
        let mut writer = PartitionWriter::try_new(schema, WriterOptions::default(), Vec::new())?;
        for batch in generator.clone() {
            writer.write(&batch)?;
        }
        let (data, finished) = writer.finish()?;
        Ok(Self { generator, finished, data })
    }

    /// Stores the partition below `root` and returns what a head would hand out.
    pub(crate) fn store(&self, root: &Path) -> Result<Assignment, Failure> {
        let folder = root.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(MANIFEST_FILE), &self.finished.manifest)?;
        std::fs::write(folder.join(INDEX_FILE), &self.finished.index)?;
        std::fs::write(folder.join(DATA_FILE), &self.data)?;
        Ok(Assignment {
            name: self.finished.name.clone(),
            storage: STORAGE.to_owned(),
            path: FOLDER.to_owned(),
            rows: self.finished.rows,
            manifest: self.finished.manifest_ref,
            index: self.finished.index_ref,
            data: self.finished.data_ref,
        })
    }
}
