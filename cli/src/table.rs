//! `peerage table`: list, show, create and drop tables.
//!
//! Invariant: `drop` changes nothing without `--yes`; `--dry-run` tells what would go.

use arrow::datatypes::DataType;
use chrono::DateTime;
use clap::{Args, Subcommand};
use indicatif::{HumanBytes, HumanCount};
use peerage_catalog::{
    CatalogError, CatalogSnapshot, NewColumn, NewTable, PartitionRecord, Table, TableColumn,
    TableTotals,
};
use serde_json::{Value, json};

use crate::args::{ClusterArgs, QualifiedTable};
use crate::error::CommandError;
use crate::load::{TYPE_NAMES, parse_columns};
use crate::open::{open_catalog, read_config};
use crate::output::{json_text, text_table};

/// A command on tables that was refused.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The list of columns can't be read.
    #[error("columns of table {table}: {problem}")]
    Columns {
        /// The table.
        table: String,
        /// What is wrong.
        problem: String,
    },
    /// A table would be dropped without being asked for plainly.
    #[error(
        "table {table} has {partitions} partitions with {rows} rows and is not dropped without --yes"
    )]
    NotConfirmed {
        /// The table.
        table: String,
        /// Its partitions.
        partitions: u64,
        /// Its rows.
        rows: u64,
    },
}

impl TableError {
    /// Returns what the user can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Columns { .. } => {
                Some(format!("--columns 'ts timestamp, host utf8'; types: {TYPE_NAMES}"))
            }
            Self::NotConfirmed { .. } => {
                Some("--dry-run to see what would go, then --yes".to_owned())
            }
        }
    }
}

/// Works on the tables of the catalog.
#[derive(Args, Debug)]
pub struct TableArgs {
    #[command(subcommand)]
    command: TableCommand,
}

#[derive(Subcommand, Debug)]
enum TableCommand {
    /// List all tables
    #[command(after_help = "Examples:\n  peerage table list\n  peerage table list --json")]
    List(ListArgs),
    /// Show the columns, settings and size of a table
    #[command(
        after_help = "Examples:\n  peerage table show web.requests\n  peerage table show web.requests --partitions --json"
    )]
    Show(ShowArgs),
    /// Create an empty table
    #[command(
        after_help = "Examples:\n  peerage table create web.requests --columns 'ts timestamp, host utf8, bytes int64' \\\n      --primary ts --sort-by host"
    )]
    Create(CreateArgs),
    /// Drop a table; its files stay until they are collected
    #[command(
        after_help = "Examples:\n  peerage table drop web.requests --dry-run\n  peerage table drop web.requests --yes"
    )]
    Drop(DropArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Answer as JSON
    #[arg(long, env = "PEERAGE_JSON")]
    json: bool,
}

#[derive(Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The table, as database.table
    table: QualifiedTable,
    /// List its partitions too
    #[arg(long, env = "PEERAGE_PARTITIONS")]
    partitions: bool,
    /// Answer as JSON
    #[arg(long, env = "PEERAGE_JSON")]
    json: bool,
}

#[derive(Args, Debug)]
struct CreateArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The table, as database.table
    table: QualifiedTable,
    /// The columns: 'ts timestamp, host utf8, bytes int64'
    #[arg(long, env = "PEERAGE_COLUMNS")]
    columns: String,
    /// The column that becomes the primary timestamp
    #[arg(long, env = "PEERAGE_PRIMARY", value_name = "COLUMN")]
    primary: Option<String>,
    /// Columns that rows are sorted by after the primary
    #[arg(long, env = "PEERAGE_SORT_BY", value_name = "COLUMNS", value_delimiter = ',')]
    sort_by: Vec<String>,
    /// Do nothing if the table exists
    #[arg(long, env = "PEERAGE_IF_MISSING")]
    if_missing: bool,
}

#[derive(Args, Debug)]
struct DropArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The table, as database.table
    table: QualifiedTable,
    /// Really drop it
    #[arg(long, env = "PEERAGE_YES", conflicts_with = "dry_run")]
    yes: bool,
    /// Only tell what would go
    #[arg(long, env = "PEERAGE_DRY_RUN")]
    dry_run: bool,
}

impl TableArgs {
    /// Runs the command. Returns its answer.
    ///
    /// # Errors
    /// [`CommandError`], for `main` to print.
    pub async fn run(self) -> Result<String, CommandError> {
        match self.command {
            TableCommand::List(args) => list(args).await,
            TableCommand::Show(args) => show(args).await,
            TableCommand::Create(args) => create(args).await,
            TableCommand::Drop(args) => drop_table(args).await,
        }
    }
}

/// Lists all tables.
async fn list(args: ListArgs) -> Result<String, CommandError> {
    let snapshot = open_catalog(&read_config(&args.cluster)?).await?.snapshot().await?;
    let mut tables = Vec::new();
    for table in snapshot.tables().await? {
        let totals = snapshot.totals(table.id).await?;
        tables.push((table, totals));
    }
    if args.json {
        let tables: Vec<Value> =
            tables.iter().map(|(table, totals)| table_json(table, totals)).collect();
        return Ok(json_text(&Value::Array(tables)));
    }
    let rows: Vec<Vec<String>> =
        tables.iter().map(|(table, totals)| list_row(table, totals)).collect();
    let header = [
        ("table", false),
        ("columns", true),
        ("primary", false),
        ("partitions", true),
        ("rows", true),
        ("bytes", true),
        ("from", false),
        ("to", false),
    ];
    Ok(text_table(&header, &rows))
}

/// Returns a table as a line of the list.
fn list_row(table: &Table, totals: &TableTotals) -> Vec<String> {
    let range = totals.range_ms.filter(|_| table.primary.is_some());
    vec![
        table.qualified_name(),
        table.columns.len().to_string(),
        table.primary_column().map_or("-".to_owned(), |column| column.name.clone()),
        HumanCount(totals.partitions).to_string(),
        HumanCount(totals.rows).to_string(),
        HumanBytes(bytes_of(totals)).to_string(),
        range.map_or("-".to_owned(), |(min, _)| time_text(min)),
        range.map_or("-".to_owned(), |(_, max)| time_text(max)),
    ]
}

/// Shows one table.
async fn show(args: ShowArgs) -> Result<String, CommandError> {
    let snapshot = open_catalog(&read_config(&args.cluster)?).await?.snapshot().await?;
    let table = snapshot.table(&args.table.database, &args.table.name).await?;
    let totals = snapshot.totals(table.id).await?;
    let partitions = match args.partitions {
        true => Some(snapshot.partitions(table.id, None).await?),
        false => None,
    };
    if args.json {
        let mut shown = table_json(&table, &totals);
        if let (Value::Object(shown), Some(partitions)) = (&mut shown, &partitions) {
            let partitions = partitions.iter().map(partition_json).collect();
            shown.insert("partitions".to_owned(), Value::Array(partitions));
        }
        return Ok(json_text(&shown));
    }
    let mut text = show_text(&table, &totals);
    if let Some(partitions) = partitions {
        text.push_str("\n\n");
        text.push_str(&partitions_text(&partitions));
    }
    Ok(text)
}

/// Returns a table as text.
fn show_text(table: &Table, totals: &TableTotals) -> String {
    let sort = |column: &TableColumn| {
        let place = table.sort_by.iter().position(|id| *id == column.id);
        match place {
            _ if table.primary == Some(column.id) => "primary".to_owned(),
            Some(place) => format!("sort {}", place + 1),
            None => String::new(),
        }
    };
    let rows: Vec<Vec<String>> = table
        .columns
        .iter()
        .map(|column| {
            let null = if column.nullable { "null" } else { "not null" };
            let data_type = column.data_type.to_string();
            vec![
                column.id.to_string(),
                column.name.clone(),
                data_type,
                null.to_owned(),
                sort(column),
            ]
        })
        .collect();
    let header =
        [("id", true), ("column", false), ("type", false), ("null", false), ("order", false)];
    let mut lines = vec![
        format!("table       {}", table.qualified_name()),
        format!("partitions  {}", HumanCount(totals.partitions)),
        format!("rows        {}", HumanCount(totals.rows)),
        format!(
            "bytes       {} (data {}, index {}, manifests {})",
            HumanBytes(bytes_of(totals)),
            HumanBytes(totals.data_bytes),
            HumanBytes(totals.index_bytes),
            HumanBytes(totals.manifest_bytes)
        ),
    ];
    if let Some((min, max)) = totals.range_ms.filter(|_| table.primary.is_some()) {
        lines.push(format!("time        {} to {}", time_text(min), time_text(max)));
    }
    lines.extend(table.settings.iter().map(|(key, value)| format!("setting     {key} = {value}")));
    format!("{}\n\n{}", lines.join("\n"), text_table(&header, &rows))
}

/// Returns partitions as text.
fn partitions_text(partitions: &[PartitionRecord]) -> String {
    let row = |partition: &PartitionRecord| {
        vec![
            partition.name.to_string(),
            partition.storage.clone(),
            HumanCount(partition.rows).to_string(),
            HumanBytes(partition.data.bytes).to_string(),
            HumanBytes(partition.index.bytes).to_string(),
            HumanBytes(partition.manifest.bytes).to_string(),
        ]
    };
    let header = [
        ("partition", false),
        ("storage", false),
        ("rows", true),
        ("data", true),
        ("index", true),
        ("manifest", true),
    ];
    text_table(&header, &partitions.iter().map(row).collect::<Vec<_>>())
}

/// Creates a table.
async fn create(args: CreateArgs) -> Result<String, CommandError> {
    let catalog = open_catalog(&read_config(&args.cluster)?).await?;
    let QualifiedTable { database, name } = args.table;
    let columns = parse_columns(&args.columns)
        .map_err(|problem| TableError::Columns { table: format!("{database}.{name}"), problem })?;
    let primary = args.primary.as_deref();
    let column = |(name, data_type): (String, DataType)| {
        let nullable = primary != Some(name.as_str());
        NewColumn::new(name, data_type, nullable)
    };
    let table = NewTable {
        database,
        name,
        columns: columns.into_iter().map(column).collect(),
        primary: args.primary.clone(),
        sort_by: args.sort_by,
        settings: std::collections::BTreeMap::new(),
    };
    match catalog.create_table(table).await {
        Ok(table) => Ok(format!("created table {}", table.qualified_name())),
        Err(CatalogError::AlreadyExists { what: "table", name }) if args.if_missing => {
            Ok(format!("table {name} exists"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Drops a table, or tells what would go.
async fn drop_table(args: DropArgs) -> Result<String, CommandError> {
    let catalog = open_catalog(&read_config(&args.cluster)?).await?;
    let QualifiedTable { database, name } = args.table;
    let totals = totals_of(&catalog.snapshot().await?, &database, &name).await?;
    let table = format!("{database}.{name}");
    let what = format!(
        "table {table}: {} partitions, {} rows, {}",
        HumanCount(totals.partitions),
        HumanCount(totals.rows),
        HumanBytes(bytes_of(&totals))
    );
    if args.dry_run {
        return Ok(format!("would drop {what}"));
    }
    if !args.yes {
        let (partitions, rows) = (totals.partitions, totals.rows);
        return Err(TableError::NotConfirmed { table, partitions, rows }.into());
    }
    catalog.drop_table(&database, &name).await?;
    Ok(format!("dropped {what}"))
}

/// Returns the totals of a table, which must exist.
async fn totals_of(
    snapshot: &CatalogSnapshot,
    database: &str,
    name: &str,
) -> Result<TableTotals, CatalogError> {
    let table = snapshot.table(database, name).await?;
    snapshot.totals(table.id).await
}

/// Returns the bytes of all files.
fn bytes_of(totals: &TableTotals) -> u64 {
    totals.manifest_bytes.saturating_add(totals.index_bytes).saturating_add(totals.data_bytes)
}

/// Returns a point in time as people read it; the number if no calendar has it.
pub(crate) fn time_text(epoch_ms: i64) -> String {
    match DateTime::from_timestamp_millis(epoch_ms) {
        Some(time) => time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        None => epoch_ms.to_string(),
    }
}

/// Returns a table as JSON.
fn table_json(table: &Table, totals: &TableTotals) -> Value {
    let column = |column: &TableColumn| {
        json!({
            "id": column.id.0,
            "name": column.name,
            "type": column.data_type.to_string(),
            "nullable": column.nullable,
        })
    };
    let name_of = |id| table.column_by_id(id).map(|column| column.name.clone());
    let range = totals.range_ms.filter(|_| table.primary.is_some());
    json!({
        "database": table.database,
        "table": table.name,
        "primary": table.primary_column().map(|column| column.name.clone()),
        "sort_by": table.sort_by.iter().filter_map(|id| name_of(*id)).collect::<Vec<_>>(),
        "settings": table.settings,
        "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
        "partition_count": totals.partitions,
        "rows": totals.rows,
        "manifest_bytes": totals.manifest_bytes,
        "index_bytes": totals.index_bytes,
        "data_bytes": totals.data_bytes,
        "min_ms": range.map(|(min, _)| min),
        "max_ms": range.map(|(_, max)| max),
    })
}

/// Returns a partition as JSON.
fn partition_json(partition: &PartitionRecord) -> Value {
    json!({
        "name": partition.name.to_string(),
        "storage": partition.storage,
        "path": partition.path,
        "rows": partition.rows,
        "manifest_bytes": partition.manifest.bytes,
        "index_bytes": partition.index.bytes,
        "data_bytes": partition.data.bytes,
        "registered_sequence": partition.registered_sequence,
    })
}
