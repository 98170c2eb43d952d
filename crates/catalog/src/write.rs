//! The changes of the catalog, each inside a transaction that the caller commits.
//!
//! Invariant: a change takes exactly one sequence, and whatever it adds or ends carries that
//! sequence. If any part fails, the caller drops the transaction and nothing is left.

use chrono::Utc;
use rusqlite::{Connection, OptionalExtension, Params};

use crate::column_type::encode_type;
use crate::draft::{NewColumn, TableDraft};
use crate::error::{CatalogError, EngineContext};
use crate::partition::NewPartition;
use crate::snapshot::{find_table, find_table_by_id, last_sequence};
use crate::span::level;
use crate::sql;
use crate::table::{Table, TableColumn, TableId};

/// Makes `draft` true and registers `partitions`. Returns the table and the sequence.
pub(crate) fn commit(
    connection: &Connection,
    draft: &TableDraft,
    partitions: &[NewPartition],
) -> Result<(Table, i64), CatalogError> {
    let sequence = next_sequence(connection)?;
    let table = match draft.base {
        None => create(connection, draft, sequence)?,
        Some(base) => extend(connection, draft, base, sequence)?,
    };
    for partition in partitions {
        insert_partition(connection, table, partition, sequence)?;
    }
    let kind = if draft.is_new() { "create" } else { "register" };
    insert_change(connection, sequence, table, kind, partitions.len())?;
    let table = existing(connection, table, sequence)?;
    Ok((table, sequence))
}

/// Adds columns to a table. Returns the table and the sequence.
pub(crate) fn add_columns(
    connection: &Connection,
    table: TableId,
    columns: Vec<NewColumn>,
) -> Result<(Table, i64), CatalogError> {
    let sequence = next_sequence(connection)?;
    let mut draft = TableDraft::extend(&existing(connection, table, sequence)?);
    // Never below the counter: a column may have been dropped, and its id is not used again.
    let lowest = next_column_id(connection, table)?;
    for column in columns {
        if !column.nullable {
            return Err(CatalogError::InvalidTable {
                table: draft.qualified_name(),
                reason: format!("the added column {} is not nullable", column.name),
            });
        }
        draft.push(column, lowest)?;
    }
    draft.partition_schema()?;
    extend(connection, &draft, table, sequence)?;
    insert_change(connection, sequence, table, "columns", 0)?;
    Ok((existing(connection, table, sequence)?, sequence))
}

/// Registers partitions of an existing table. Returns the sequence.
pub(crate) fn register(
    connection: &Connection,
    table: TableId,
    partitions: &[NewPartition],
) -> Result<i64, CatalogError> {
    let sequence = next_sequence(connection)?;
    existing(connection, table, sequence)?;
    for partition in partitions {
        insert_partition(connection, table, partition, sequence)?;
    }
    insert_change(connection, sequence, table, "register", partitions.len())?;
    Ok(sequence)
}

/// Retires partitions of a table, all or none. Returns the sequence.
pub(crate) fn retire(
    connection: &Connection,
    table: TableId,
    names: &[String],
) -> Result<i64, CatalogError> {
    let sequence = next_sequence(connection)?;
    existing(connection, table, sequence)?;
    for name in names {
        let parameters = (sequence, table.0, name.as_str());
        if execute(connection, sql::RETIRE_PARTITION, parameters)? == 0 {
            return Err(CatalogError::NotFound { what: "partition", name: name.clone() });
        }
    }
    insert_change(connection, sequence, table, "retire", names.len())?;
    Ok(sequence)
}

/// Drops a table and retires its partitions. Returns the sequence.
pub(crate) fn drop_table(
    connection: &Connection,
    database: &str,
    name: &str,
) -> Result<i64, CatalogError> {
    let sequence = next_sequence(connection)?;
    let table = find_table(connection, database, name, sequence)?.ok_or_else(|| {
        CatalogError::NotFound { what: "table", name: format!("{database}.{name}") }
    })?;
    let retired = execute(connection, sql::RETIRE_ALL, (sequence, table.id.0))?;
    execute(connection, sql::DROP_TABLE, (sequence, table.id.0))?;
    insert_change(connection, sequence, table.id, "drop", retired)?;
    Ok(sequence)
}

/// Adds the table of a draft with all its columns.
fn create(
    connection: &Connection,
    draft: &TableDraft,
    sequence: i64,
) -> Result<TableId, CatalogError> {
    if find_table(connection, &draft.database, &draft.name, sequence)?.is_some() {
        return Err(CatalogError::AlreadyExists { what: "table", name: draft.qualified_name() });
    }
    let parameters = (
        draft.database.as_str(),
        draft.name.as_str(),
        draft.primary.map(|id| id.0),
        draft.next_column_id(),
        sequence,
    );
    let action = format!("create table {}", draft.qualified_name());
    let mut statement = connection.prepare_cached(sql::INSERT_TABLE).during(&action)?;
    let id: i64 = statement.query_row(parameters, |row| row.get(0)).during(&action)?;
    let table = TableId(id);
    for (position, column) in draft.columns.iter().enumerate() {
        let sort = draft.sort_by.iter().position(|id| *id == column.id);
        insert_column(connection, table, column, position, sort, sequence)?;
    }
    for (key, value) in &draft.settings {
        execute(connection, sql::INSERT_SETTING, (table.0, key.as_str(), value.as_str()))?;
    }
    Ok(table)
}

/// Adds the columns that the draft has and the table has not.
fn extend(
    connection: &Connection,
    draft: &TableDraft,
    base: TableId,
    sequence: i64,
) -> Result<TableId, CatalogError> {
    let stored = existing(connection, base, sequence)?;
    let free = next_column_id(connection, base)?;
    for (position, column) in draft.columns.iter().enumerate() {
        let conflict =
            |reason: String| CatalogError::Conflict { table: draft.qualified_name(), reason };
        match stored.column_by_id(column.id) {
            Some(known) if known == column => {}
            Some(known) => {
                return Err(conflict(format!("column {} became {}", column.name, known.name)));
            }
            None if stored.column(&column.name).is_some() || column.id.0 < free => {
                return Err(conflict(format!("column {} was added with another id", column.name)));
            }
            None => insert_column(connection, base, column, position, None, sequence)?,
        }
    }
    let next = draft.next_column_id().max(free);
    execute(connection, sql::SET_NEXT_COLUMN_ID, (next, base.0))?;
    Ok(base)
}

/// Adds one column and its name.
fn insert_column(
    connection: &Connection,
    table: TableId,
    column: &TableColumn,
    position: usize,
    sort_position: Option<usize>,
    sequence: i64,
) -> Result<(), CatalogError> {
    let parameters = (
        table.0,
        column.id.0,
        encode_type(&column.data_type),
        column.data_type.to_string(),
        column.nullable,
        stored_count(position)?,
        sort_position.map(stored_count).transpose()?,
        sequence,
    );
    execute(connection, sql::INSERT_COLUMN, parameters)?;
    execute(connection, sql::INSERT_COLUMN_NAME, (table.0, column.name.as_str(), column.id.0))?;
    Ok(())
}

/// Adds one partition, whose name must be new.
fn insert_partition(
    connection: &Connection,
    table: TableId,
    partition: &NewPartition,
    sequence: i64,
) -> Result<(), CatalogError> {
    let name = partition.name.to_string();
    let action = "register a partition";
    let mut statement = connection.prepare_cached(sql::PARTITION_EXISTS).during(action)?;
    if statement.exists((name.as_str(),)).during(action)? {
        return Err(CatalogError::AlreadyExists { what: "partition", name });
    }
    let (min_ms, max_ms) = (partition.name.min_ms(), partition.name.max_ms());
    let level = level(min_ms, max_ms);
    let parameters = (
        table.0,
        name,
        partition.storage.as_str(),
        partition.path.as_str(),
        min_ms,
        max_ms,
        level,
        stored_size(partition.rows)?,
        stored_size(partition.manifest.bytes)?,
        partition.manifest.checksum.as_bytes(),
        stored_size(partition.index.bytes)?,
        partition.index.checksum.as_bytes(),
        stored_size(partition.data.bytes)?,
        partition.data.checksum.as_bytes(),
        sequence,
    );
    execute(connection, sql::INSERT_PARTITION, parameters)?;
    execute(connection, sql::INSERT_LEVEL, (table.0, level))?;
    Ok(())
}

/// Notes what was changed at `sequence`.
fn insert_change(
    connection: &Connection,
    sequence: i64,
    table: TableId,
    kind: &str,
    partitions: usize,
) -> Result<(), CatalogError> {
    let at_ms = Utc::now().timestamp_millis();
    let parameters = (sequence, table.0, kind, stored_count(partitions)?, at_ms);
    execute(connection, sql::INSERT_CHANGE, parameters)?;
    Ok(())
}

/// Returns the table, which must be there.
fn existing(connection: &Connection, table: TableId, sequence: i64) -> Result<Table, CatalogError> {
    find_table_by_id(connection, table, sequence)?
        .ok_or_else(|| CatalogError::NotFound { what: "table with id", name: table.to_string() })
}

/// Returns the lowest column id that was never used in the table.
fn next_column_id(connection: &Connection, table: TableId) -> Result<u32, CatalogError> {
    let action = "read the next column id";
    let mut statement = connection.prepare_cached(sql::NEXT_COLUMN_ID).during(action)?;
    let found = statement.query_row((table.0,), |row| row.get(0)).optional().during(action)?;
    found.ok_or_else(|| CatalogError::NotFound { what: "table with id", name: table.to_string() })
}

/// Returns the sequence of the change that begins.
fn next_sequence(connection: &Connection) -> Result<i64, CatalogError> {
    let last = last_sequence(connection)?;
    last.checked_add(1)
        .ok_or_else(|| CatalogError::Corrupt { what: format!("sequence {last}"), source: None })
}

/// Runs one statement and returns the number of rows that it touched.
fn execute(
    connection: &Connection,
    statement: &str,
    parameters: impl Params,
) -> Result<usize, CatalogError> {
    let action = "write the catalog";
    connection.prepare_cached(statement).during(action)?.execute(parameters).during(action)
}

/// Returns a size as the engine stores it.
fn stored_size(size: u64) -> Result<i64, CatalogError> {
    i64::try_from(size).map_err(|error| CatalogError::corrupt("a size above 2^63", error))
}

/// Returns a count as the engine stores it.
fn stored_count(count: usize) -> Result<i64, CatalogError> {
    i64::try_from(count).map_err(|error| CatalogError::corrupt("a count above 2^63", error))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use peerage_partition::{FileRef, PartitionName};
    use rusqlite::Connection;
    use ulid::Ulid;

    use super::*;
    use crate::draft::NewTable;
    use crate::migrate::migrate;

    fn draft() -> TableDraft {
        TableDraft::create(NewTable {
            database: "db".into(),
            name: "t".into(),
            columns: vec![
                NewColumn::new("ts", DataType::Date32, false),
                NewColumn::new("v", DataType::Int64, true),
            ],
            primary: Some("ts".into()),
            ..NewTable::default()
        })
        .expect("valid")
    }

    fn partition(id: u128) -> NewPartition {
        let file = FileRef::of(b"x");
        NewPartition {
            name: PartitionName::new(0, 10, Ulid(id)),
            storage: "local".into(),
            path: format!("db/t/{id}"),
            rows: 3,
            manifest: file,
            index: file,
            data: file,
        }
    }

    fn counts(connection: &Connection) -> Vec<i64> {
        let tables = ["tables", "columns", "column_names", "partitions", "changes"];
        let count = |table| {
            let statement = format!("SELECT COUNT(*) FROM {table}");
            connection.query_row(&statement, [], |row| row.get(0)).expect("count")
        };
        tables.map(count).to_vec()
    }

    #[test]
    fn a_transaction_that_ends_early_leaves_nothing() {
        let mut connection = Connection::open_in_memory().expect("memory");
        migrate(&mut connection).expect("schema");
        {
            let transaction = connection.transaction().expect("begin");
            commit(&transaction, &draft(), &[partition(1), partition(2)]).expect("all written");
            assert_eq!(counts(&transaction), [1, 2, 2, 2, 1]);
            // The process dies here: the transaction is never committed.
        }
        assert_eq!(counts(&connection), [0, 0, 0, 0, 0]);
    }

    #[test]
    fn one_bad_partition_refuses_all() {
        let mut connection = Connection::open_in_memory().expect("memory");
        migrate(&mut connection).expect("schema");
        let transaction = connection.transaction().expect("begin");
        let error = commit(&transaction, &draft(), &[partition(1), partition(1)]);
        assert!(matches!(error, Err(CatalogError::AlreadyExists { what: "partition", .. })));
        drop(transaction);
        assert_eq!(counts(&connection), [0, 0, 0, 0, 0]);
    }
}
