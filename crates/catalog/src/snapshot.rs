//! One state of the catalog, for as long as a query needs it.
//!
//! A snapshot is a sequence number, not an open transaction: it costs nothing to keep, survives a
//! restart and can be sent to another process. It stays exact because rows of the catalog are only
//! added, and marked as ended with a later sequence.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use peerage_partition::ColumnId;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::catalog::Catalog;
use crate::column_type::decode_type;
use crate::error::{CatalogError, EngineContext};
use crate::partition::{PartitionRecord, TableTotals, read_record, read_totals};
use crate::span::earliest_begin;
use crate::sql;
use crate::table::{Table, TableColumn, TableId};

/// The catalog as of one sequence.
#[derive(Clone, Debug)]
pub struct CatalogSnapshot {
    catalog: Catalog,
    sequence: u64,
}

impl CatalogSnapshot {
    /// Returns the snapshot of `catalog` at `sequence`.
    pub(crate) fn new(catalog: Catalog, sequence: u64) -> Self {
        Self { catalog, sequence }
    }

    /// Returns the sequence that this snapshot shows.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the databases that have at least one table, by name.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn databases(&self) -> Result<Vec<String>, CatalogError> {
        self.read(|connection, sequence| {
            rows(connection, sql::DATABASES, (sequence,), |row| {
                row.get(0).during("read a database name")
            })
        })
        .await
    }

    /// Returns all tables, by database and name.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn tables(&self) -> Result<Vec<Table>, CatalogError> {
        self.read(|connection, sequence| {
            let heads = rows(connection, sql::TABLES, (sequence,), TableHead::read)?;
            heads.into_iter().map(|head| head.complete(connection, sequence)).collect()
        })
        .await
    }

    /// Returns one table.
    ///
    /// # Errors
    /// [`CatalogError::NotFound`] if the snapshot has no table of this name.
    pub async fn table(&self, database: &str, name: &str) -> Result<Table, CatalogError> {
        let (database, name) = (database.to_owned(), name.to_owned());
        self.read(move |connection, sequence| {
            find_table(connection, &database, &name, sequence)?.ok_or_else(|| {
                CatalogError::NotFound { what: "table", name: format!("{database}.{name}") }
            })
        })
        .await
    }

    /// Returns the partitions of a table that may hold rows of the time range (epoch milliseconds,
    /// both ends included), or all of them; by begin, then by name.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn partitions(
        &self,
        table: TableId,
        range_ms: Option<RangeInclusive<i64>>,
    ) -> Result<Vec<PartitionRecord>, CatalogError> {
        self.read(move |connection, sequence| match range_ms {
            None => rows(connection, sql::PARTITIONS, (table.0, sequence), read_record),
            Some(range) => partitions_in_range(connection, table, &range, sequence),
        })
        .await
    }

    /// Returns the sums over all partitions of a table.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn totals(&self, table: TableId) -> Result<TableTotals, CatalogError> {
        self.read(move |connection, sequence| {
            let found = rows(connection, sql::TOTALS, (table.0, sequence), read_totals)?;
            Ok(found.into_iter().next().unwrap_or_default())
        })
        .await
    }

    /// Returns the number of partitions of a table.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn partition_count(&self, table: TableId) -> Result<u64, CatalogError> {
        Ok(self.totals(table).await?.partitions)
    }

    /// Returns the sequence of the last change of a table: as long as it stays the same, so does
    /// every answer about the table.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn table_sequence(&self, table: TableId) -> Result<u64, CatalogError> {
        self.read(move |connection, sequence| {
            let found = rows(connection, sql::TABLE_SEQUENCE, (table.0, sequence), |row| {
                crate::partition::unsigned(row, 0)
            })?;
            Ok(found.into_iter().next().unwrap_or_default())
        })
        .await
    }

    /// Runs `read` with the sequence of this snapshot as the engine wants it.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection, i64) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let sequence = i64::try_from(self.sequence)
            .map_err(|error| CatalogError::corrupt("sequence of a snapshot", error))?;
        self.catalog.connections().read(move |connection| read(connection, sequence)).await
    }
}

/// Returns the table of this name that is visible at `sequence`.
pub(crate) fn find_table(
    connection: &Connection,
    database: &str,
    name: &str,
    sequence: i64,
) -> Result<Option<Table>, CatalogError> {
    let parameters = (database, name, sequence);
    let heads = rows(connection, sql::TABLE_BY_NAME, parameters, TableHead::read)?;
    heads.into_iter().next().map(|head| head.complete(connection, sequence)).transpose()
}

/// Returns the table of this id that is visible at `sequence`.
pub(crate) fn find_table_by_id(
    connection: &Connection,
    table: TableId,
    sequence: i64,
) -> Result<Option<Table>, CatalogError> {
    let heads = rows(connection, sql::TABLE_BY_ID, (table.0, sequence), TableHead::read)?;
    heads.into_iter().next().map(|head| head.complete(connection, sequence)).transpose()
}

/// Returns the newest sequence.
pub(crate) fn last_sequence(connection: &Connection) -> Result<i64, CatalogError> {
    let mut statement =
        connection.prepare_cached(sql::LAST_SEQUENCE).during("read the sequence")?;
    let found = statement.query_row([], |row| row.get(0)).optional().during("read the sequence")?;
    Ok(found.unwrap_or(0))
}

/// Runs one statement and reads all its rows.
pub(crate) fn rows<T>(
    connection: &Connection,
    statement: &str,
    parameters: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, CatalogError>,
) -> Result<Vec<T>, CatalogError> {
    let action = "read the catalog";
    let mut statement = connection.prepare_cached(statement).during(action)?;
    let mut found = statement.query(parameters).during(action)?;
    let mut values = Vec::new();
    while let Some(row) = found.next().during(action)? {
        values.push(read(row)?);
    }
    Ok(values)
}

/// Looks into each level of the table (see `span.rs`).
fn partitions_in_range(
    connection: &Connection,
    table: TableId,
    range: &RangeInclusive<i64>,
    sequence: i64,
) -> Result<Vec<PartitionRecord>, CatalogError> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let (from, to) = (*range.start(), *range.end());
    let levels: Vec<u32> = rows(connection, sql::LEVELS, (table.0,), |row| {
        row.get(0).during("read a level of partitions")
    })?;
    let mut found = Vec::new();
    for level in levels {
        let parameters = (table.0, level, earliest_begin(level, from), to, from, sequence);
        found.extend(rows(connection, sql::PARTITIONS_IN_RANGE, parameters, read_record)?);
    }
    found.sort_unstable_by(|a: &PartitionRecord, b| {
        (a.name.min_ms(), a.name.as_str()).cmp(&(b.name.min_ms(), b.name.as_str()))
    });
    Ok(found)
}

/// The row of a table, without its columns.
struct TableHead {
    id: i64,
    database: String,
    name: String,
    primary: Option<u32>,
}

impl TableHead {
    /// Reads a row of `sql::TABLES`.
    fn read(row: &Row<'_>) -> Result<Self, CatalogError> {
        let action = "read a table of the catalog";
        Ok(Self {
            id: row.get(0).during(action)?,
            database: row.get(1).during(action)?,
            name: row.get(2).during(action)?,
            primary: row.get(3).during(action)?,
        })
    }

    /// Adds columns and settings.
    fn complete(self, connection: &Connection, sequence: i64) -> Result<Table, CatalogError> {
        let found = rows(connection, sql::COLUMNS, (self.id, sequence), read_column)?;
        let mut sorted: Vec<(i64, ColumnId)> =
            found.iter().filter_map(|(column, sort)| sort.map(|sort| (sort, column.id))).collect();
        sorted.sort_unstable_by_key(|(sort, _)| *sort);
        let settings = rows(connection, sql::SETTINGS, (self.id,), |row| {
            let action = "read a setting of a table";
            Ok((row.get(0).during(action)?, row.get(1).during(action)?))
        })?;
        Ok(Table {
            id: TableId(self.id),
            database: self.database,
            name: self.name,
            columns: found.into_iter().map(|(column, _)| column).collect(),
            primary: self.primary.map(ColumnId),
            sort_by: sorted.into_iter().map(|(_, id)| id).collect(),
            settings: settings.into_iter().collect::<BTreeMap<String, String>>(),
        })
    }
}

/// Reads a row of `sql::COLUMNS`: the column and its place in the sort order.
fn read_column(row: &Row<'_>) -> Result<(TableColumn, Option<i64>), CatalogError> {
    let action = "read a column of the catalog";
    let data_type: Vec<u8> = row.get(2).during(action)?;
    let column = TableColumn {
        id: ColumnId(row.get(0).during(action)?),
        name: row.get(1).during(action)?,
        data_type: decode_type(&data_type)?,
        nullable: row.get(3).during(action)?,
    };
    Ok((column, row.get(4).during(action)?))
}
