//! How Parquet is told to write: pages of one block, zstd, statistics and page index.
//!
//! Invariant: for flat columns no limit but the count of rows cuts a page (see [`PAGE_BYTES_MAX`]).
//! Version 1 pages and the encodings plain, dictionary and delta are those that pyarrow, DuckDB,
//! ClickHouse and Spark read. Left out: Parquet's Bloom filters; the manifest has its own.

use arrow::datatypes::DataType;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use super::WriterOptions;
use crate::column::PartitionSchema;
use crate::error::WriteError;
use crate::layout::BLOCK_ROWS;

/// The size at which Parquet cuts a page before the block ends: 1 GiB, half of what a page header
/// can say. Only blocks of values above 256 KiB on average reach it; they are cut, not refused.
const PAGE_BYTES_MAX: usize = 1 << 30;

/// The size at which Parquet gives a dictionary up: 512 MiB. The sample has found the values to
/// recur, so only a column that changes its nature gets near it.
const DICTIONARY_BYTES_MAX: usize = 1 << 29;

/// What the properties are made of, before the sample is known.
#[derive(Debug)]
pub(super) struct PropertiesPlan {
    columns: Vec<ColumnPlan>,
    sorting: Option<Vec<SortingColumn>>,
    compression: Compression,
    row_group_rows: usize,
}

#[derive(Debug)]
struct ColumnPlan {
    path: ColumnPath,
    is_flat: bool,
    is_delta: bool,
    is_primary: bool,
}

impl PropertiesPlan {
    pub(super) fn new(
        schema: &PartitionSchema,
        descriptor: &SchemaDescriptor,
        compression: Compression,
        row_group_rows: u32,
    ) -> Self {
        let columns = schema.columns().iter().map(|column| ColumnPlan {
            path: ColumnPath::new(vec![column.field.name().clone()]),
            is_flat: is_flat(column.field.data_type()),
            is_delta: is_delta(column.field.data_type()),
            is_primary: schema.primary() == Some(column.id),
        });
        Self {
            columns: columns.collect(),
            sorting: sorting_column(schema, descriptor).map(|column| vec![column]),
            compression,
            row_group_rows: usize::try_from(row_group_rows).expect("32 bits fit the memory"),
        }
    }

    /// Returns the properties, where `pays` says for each column whether a dictionary pays.
    pub(super) fn properties(&self, pays: &[bool]) -> WriterProperties {
        let block_rows = usize::try_from(BLOCK_ROWS).expect("32 bits fit the memory");
        let mut builder = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(self.compression)
            .set_write_batch_size(block_rows)
            .set_data_page_row_count_limit(block_rows)
            .set_data_page_size_limit(PAGE_BYTES_MAX)
            .set_max_row_group_row_count(Some(self.row_group_rows))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_sorting_columns(self.sorting.clone());
        for (column, &pays) in self.columns.iter().zip(pays) {
            if !column.is_flat {
                continue;
            }
            let path = || column.path.clone();
            let has_dictionary = pays && !column.is_primary;
            builder = builder
                .set_column_dictionary_enabled(path(), has_dictionary)
                .set_column_dictionary_page_size_limit(path(), DICTIONARY_BYTES_MAX);
            if !has_dictionary && column.is_delta {
                builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
            }
        }
        builder.build()
    }
}

/// Returns the compression that the options ask for.
pub(super) fn check_options(options: &WriterOptions) -> Result<Compression, WriteError> {
    let rows = options.row_group_rows;
    if rows == 0 || !rows.is_multiple_of(BLOCK_ROWS) {
        return Err(WriteError::Options {
            option: "row_group_rows",
            value: i64::from(rows),
            expected: "a positive multiple of 4096",
        });
    }
    let level = ZstdLevel::try_new(options.zstd_level).ok().ok_or(WriteError::Options {
        option: "zstd_level",
        value: i64::from(options.zstd_level),
        expected: "a level from 1 to 22",
    })?;
    Ok(Compression::ZSTD(level))
}

/// Returns the primary as the leaf column by which Parquet's rows are sorted.
fn sorting_column(
    schema: &PartitionSchema,
    descriptor: &SchemaDescriptor,
) -> Option<SortingColumn> {
    let name = schema.column(schema.primary()?)?.field.name();
    let mut leaves = descriptor.columns().iter();
    let leaf = leaves.position(|leaf| leaf.path().parts() == std::slice::from_ref(name))?;
    let column_idx = i32::try_from(leaf).ok()?;
    Some(SortingColumn { column_idx, descending: false, nulls_first: false })
}

/// Returns whether a column of this type is one leaf that does not repeat.
pub(super) fn is_flat(data_type: &DataType) -> bool {
    !data_type.is_nested()
}

/// Returns whether Parquet stores the type as integers that the delta encoding packs.
fn is_delta(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _))
        || matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}
