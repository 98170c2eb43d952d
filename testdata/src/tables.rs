//! Which Parquet file stands behind each table that the SQL scripts name.
//!
//! Invariant: the scripts' answers hold for exactly these files. Left out: how an engine comes to
//! serve a file; [`crate::oracle`] registers it, a peer has it loaded into partitions.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::cdn::{self, CdnOptions, Generator, TypesGenerator};

/// Rows of a row group in the generated files: several groups, so that pruning has a choice.
const ROW_GROUP_ROWS: usize = 5_000;

/// A table and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    /// The schema, which users call the database.
    pub schema: &'static str,
    /// The table's name within the schema.
    pub table: &'static str,
    /// The column that orders rows by time; dimension tables have none.
    pub timestamp: Option<&'static str>,
    /// A Parquet file with all rows.
    pub file: PathBuf,
}

/// A generated table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// Parquet refused the rows: a bug of the generator.
    #[error("encode table {table}")]
    Encode {
        /// The table.
        table: &'static str,
        /// What Parquet said.
        #[source]
        source: ParquetError,
    },
    /// The file cannot be written: check the folder.
    #[error("write {file}")]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Returns the tables whose files are in the repository.
#[must_use]
pub fn checked_in() -> Vec<TableFile> {
    let table = |schema, table, timestamp, file| TableFile {
        schema,
        table,
        timestamp,
        file: crate::path(file),
    };
    vec![
        table("nyc", "flights", Some("time_hour"), "flights/nycflights13_flights.parquet"),
        table("nyc", "weather", Some("time_hour"), "flights/nycflights13_weather.parquet"),
        table("nyc", "airports", None, "flights/nycflights13_airports.parquet"),
        table("nyc", "airlines", None, "flights/nycflights13_airlines.parquet"),
        table("nyc", "planes", None, "flights/nycflights13_planes.parquet"),
        table("us", "flights", Some("date"), "flights/flights-200k.parquet"),
        table("web", "access", Some("ts"), "web-logs/apache_access_10k.parquet"),
    ]
}

/// Returns the tables whose files are beside the repository, if they are there.
#[must_use]
pub fn extra() -> Vec<TableFile> {
    let file = crate::shared("data/flights/flights-3m.parquet");
    file.into_iter()
        .map(|file| TableFile { schema: "us", table: "flights_3m", timestamp: Some("date"), file })
        .collect()
}

/// Returns what `cdn.logs` is generated from; some rows are late, so it is not sorted.
#[must_use]
pub fn cdn_logs() -> CdnOptions {
    CdnOptions { seed: 7, rows: 20_000, days: 2, late_percent: 2.0, ..CdnOptions::default() }
}

/// Returns what `cdn.types` is generated from.
#[must_use]
pub fn cdn_types() -> CdnOptions {
    CdnOptions { seed: 7, rows: 5_000, days: 2, ..CdnOptions::default() }
}

/// Returns the generated tables of the schema `cdn` as Parquet: their names and bytes.
///
/// # Errors
///
/// Parquet refused the rows.
pub fn generate() -> Result<[(&'static str, Vec<u8>); 2], GenerateError> {
    let encoded = |table, schema, rows: &mut dyn Iterator<Item = RecordBatch>| {
        let bytes = encode(&schema, rows);
        bytes.map(|bytes| (table, bytes)).map_err(|source| GenerateError::Encode { table, source })
    };
    Ok([
        encoded("logs", cdn::schema(), &mut Generator::new(cdn_logs()))?,
        encoded("types", cdn::types_schema(), &mut TypesGenerator::new(cdn_types()))?,
    ])
}

/// Writes the generated tables into a folder and returns them.
///
/// # Errors
///
/// Parquet refused the rows, or a file cannot be written.
pub fn generate_into(folder: &Path) -> Result<Vec<TableFile>, GenerateError> {
    let mut tables = Vec::new();
    for (table, bytes) in generate()? {
        let file = folder.join(format!("cdn_{table}.parquet"));
        if let Err(source) = std::fs::write(&file, bytes) {
            return Err(GenerateError::Write { file, source });
        }
        tables.push(TableFile { schema: "cdn", table, timestamp: Some("ts"), file });
    }
    Ok(tables)
}

fn encode(
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = RecordBatch>,
) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), SchemaRef::clone(schema), Some(properties))?;
    for batch in batches {
        writer.write(&batch)?;
    }
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_there() {
        for table in checked_in().into_iter().chain(extra()) {
            assert!(table.file.is_file(), "{table:?}");
        }
    }

    #[test]
    fn generated_files_are_parquet() {
        let folder = tempfile::tempdir().unwrap();
        for table in generate_into(folder.path()).unwrap() {
            let bytes = std::fs::read(&table.file).unwrap();
            assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
        }
    }
}
