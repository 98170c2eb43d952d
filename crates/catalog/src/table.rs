//! A table as one snapshot of the catalog shows it.
//!
//! Invariant: the columns of a [`Table`] are in their order, their ids and names are unique, and the
//! primary and the sort columns are among them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use peerage_partition::{ColumnId, PartitionColumn, PartitionSchema};

use crate::error::CatalogError;

/// Identifies a table for ever: a table that is dropped and created again has another id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub i64);

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// The identity of the column in its table, never used again.
    pub id: ColumnId,
    /// The current name.
    pub name: String,
    /// The type, as `peerage_partition::normalise_type` gives it.
    pub data_type: DataType,
    /// Whether the column may hold NULL.
    pub nullable: bool,
}

impl TableColumn {
    /// Returns the column as an Arrow field under its current name.
    #[must_use]
    pub fn arrow_field(&self) -> Field {
        Field::new(&self.name, self.data_type.clone(), self.nullable)
    }
}

/// A table: its columns, its primary timestamp, its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The identity of the table.
    pub id: TableId,
    /// The database that the table belongs to.
    pub database: String,
    /// The name within the database.
    pub name: String,
    /// The columns in their order.
    pub columns: Vec<TableColumn>,
    /// The primary timestamp; a table without one (a small table to join with) is never pruned by
    /// time.
    pub primary: Option<ColumnId>,
    /// The columns that rows are sorted by after the primary.
    pub sort_by: Vec<ColumnId>,
    /// Settings of the table.
    pub settings: BTreeMap<String, String>,
}

impl Table {
    /// Returns `database.name`.
    #[must_use]
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// Returns the column with this current name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the column with this id.
    #[must_use]
    pub fn column_by_id(&self, id: ColumnId) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// Returns the primary timestamp column, if the table has one.
    #[must_use]
    pub fn primary_column(&self) -> Option<&TableColumn> {
        self.primary.and_then(|id| self.column_by_id(id))
    }

    /// Returns the columns as an Arrow schema under their current names.
    #[must_use]
    pub fn arrow_schema(&self) -> SchemaRef {
        arrow_schema(&self.columns)
    }

    /// Returns the schema that a partition of this table is written with.
    ///
    /// # Errors
    /// [`CatalogError::InvalidTable`] if the partition format does not know a type.
    pub fn partition_schema(&self) -> Result<PartitionSchema, CatalogError> {
        partition_schema(&self.qualified_name(), &self.columns, self.primary)
    }
}

/// Returns `columns` as an Arrow schema.
pub(crate) fn arrow_schema(columns: &[TableColumn]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(TableColumn::arrow_field).collect::<Vec<_>>()))
}

/// Returns `columns` as the schema of a partition.
pub(crate) fn partition_schema(
    table: &str,
    columns: &[TableColumn],
    primary: Option<ColumnId>,
) -> Result<PartitionSchema, CatalogError> {
    let columns = columns
        .iter()
        .map(|column| PartitionColumn { id: column.id, field: column.arrow_field() })
        .collect();
    PartitionSchema::try_new(columns, primary).map_err(|error| CatalogError::InvalidTable {
        table: table.to_owned(),
        reason: error.to_string(),
    })
}
