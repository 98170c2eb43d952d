//! Statements that the catalog answers by itself: SHOW, DESCRIBE, EXISTS.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema};
use peerage_catalog::{CatalogError, CatalogSnapshot, Table};
use peerage_clickhouse::{ErrorCode, Exception, StatementKind, type_name};

use crate::exception;

/// Columns of DESCRIBE as ClickHouse gives them.
const DESCRIBE_COLUMNS: [&str; 7] = [
    "name",
    "type",
    "default_type",
    "default_expression",
    "comment",
    "codec_expression",
    "ttl_expression",
];

/// Answers a statement from a snapshot, or returns `None` for a query.
pub(crate) async fn answer(
    snapshot: &CatalogSnapshot,
    statement: &StatementKind,
    current_database: &str,
) -> Result<Option<RecordBatch>, Exception> {
    let batch = match statement {
        StatementKind::Query(_) => return Ok(None),
        StatementKind::ShowDatabases => names(databases(snapshot).await?),
        StatementKind::ShowTables { database } => {
            let database = database.as_deref().unwrap_or(current_database);
            require_database(snapshot, database).await?;
            let tables =
                snapshot.tables().await.map_err(|error| exception::from_catalog(&error))?;
            let inside = tables.into_iter().filter(|table| table.database == database);
            names(inside.map(|table| table.name).collect())
        }
        StatementKind::Describe { database, table } => {
            let database = database.as_deref().unwrap_or(current_database);
            let table = find(snapshot, database, table).await?.ok_or_else(|| {
                Exception::new(
                    ErrorCode::UnknownTable,
                    format!("Table {database}.{table} does not exist"),
                )
            })?;
            describe(&table)
        }
        StatementKind::Exists { database, table } => {
            let database = database.as_deref().unwrap_or(current_database);
            let exists = find(snapshot, database, table).await?.is_some();
            let result: ArrayRef = Arc::new(UInt8Array::from(vec![u8::from(exists)]));
            batch(vec![("result", result)])
        }
        StatementKind::Use { database } => {
            require_database(snapshot, database).await?;
            RecordBatch::new_empty(Arc::new(Schema::empty()))
        }
    };
    Ok(Some(batch))
}

async fn databases(snapshot: &CatalogSnapshot) -> Result<Vec<String>, Exception> {
    let mut names = snapshot.databases().await.map_err(|error| exception::from_catalog(&error))?;
    let default = peerage_engine::session::DEFAULT_DATABASE;
    if !names.iter().any(|name| name == default) {
        names.push(default.to_owned());
        names.sort();
    }
    Ok(names)
}

async fn require_database(snapshot: &CatalogSnapshot, database: &str) -> Result<(), Exception> {
    if databases(snapshot).await?.iter().any(|name| name == database) {
        return Ok(());
    }
    let message = format!("Database {database} does not exist");
    Err(Exception::new(ErrorCode::UnknownDatabase, message))
}

async fn find(
    snapshot: &CatalogSnapshot,
    database: &str,
    table: &str,
) -> Result<Option<Table>, Exception> {
    match snapshot.table(database, table).await {
        Ok(table) => Ok(Some(table)),
        Err(CatalogError::NotFound { .. }) => Ok(None),
        Err(error) => Err(exception::from_catalog(&error)),
    }
}

fn describe(table: &Table) -> RecordBatch {
    let schema = table.arrow_schema();
    let strings = |values: Vec<String>| Arc::new(StringArray::from(values)) as ArrayRef;
    let columns = DESCRIBE_COLUMNS.into_iter().map(|title| {
        let values = schema.fields().iter().map(|field| match title {
            "name" => field.name().clone(),
            "type" => type_name(field),
            _ => String::new(),
        });
        (title, strings(values.collect()))
    });
    batch(columns.collect())
}

fn names(names: Vec<String>) -> RecordBatch {
    batch(vec![("name", Arc::new(StringArray::from(names)))])
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| {
        Field::new(*name, array.data_type().clone(), *array.data_type() == DataType::Null)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of equal length by construction")
}
