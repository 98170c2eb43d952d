//! A table as a writer wants it to be: new, or an existing one with further columns.
//!
//! A loader must know column ids before it writes the first partition, but must not create the table
//! before the last one is uploaded. So ids are handed out here, in memory, and
//! [`Catalog::commit`](crate::Catalog::commit) makes them true or answers that another writer was
//! faster.
//!
//! Invariant: a draft is always valid as a table.

use std::collections::{BTreeMap, HashSet};

use arrow::datatypes::{DataType, SchemaRef};
use peerage_partition::{ColumnId, PartitionSchema};

use crate::error::CatalogError;
use crate::name::{COLUMNS_MAX, check_column, check_identifier};
use crate::table::{Table, TableColumn, TableId, arrow_schema, partition_schema};

/// The id of the first column of a table.
const FIRST_COLUMN_ID: u32 = 1;

/// A column that does not have an id yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// The name, unique in the table.
    pub name: String,
    /// The type, as `peerage_partition::normalise_type` gives it.
    pub data_type: DataType,
    /// Whether the column may hold NULL.
    pub nullable: bool,
}

impl NewColumn {
    /// Returns a column with this name and type.
    pub fn new(name: impl Into<String>, data_type: DataType, nullable: bool) -> Self {
        Self { name: name.into(), data_type, nullable }
    }
}

/// A table that does not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTable {
    /// The database, which exists as soon as it has a table.
    pub database: String,
    /// The name within the database.
    pub name: String,
    /// The columns in their order.
    pub columns: Vec<NewColumn>,
    /// The name of the primary timestamp column.
    pub primary: Option<String>,
    /// Names of the columns that rows are sorted by after the primary.
    pub sort_by: Vec<String>,
    /// Settings of the table.
    pub settings: BTreeMap<String, String>,
}

/// A table that is to be created or extended, with the ids that its columns will have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDraft {
    /// The table that is extended; none if it is to be created.
    pub(crate) base: Option<TableId>,
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) primary: Option<ColumnId>,
    pub(crate) sort_by: Vec<ColumnId>,
    pub(crate) settings: BTreeMap<String, String>,
}

impl TableDraft {
    /// Returns the draft of a table that does not exist yet.
    ///
    /// # Errors
    /// [`CatalogError::InvalidName`] or [`CatalogError::InvalidTable`], naming what is wrong.
    pub fn create(table: NewTable) -> Result<Self, CatalogError> {
        check_identifier("database", &table.database)?;
        check_identifier("table", &table.name)?;
        let mut draft = Self {
            base: None,
            database: table.database,
            name: table.name,
            columns: Vec::new(),
            primary: None,
            sort_by: Vec::new(),
            settings: table.settings,
        };
        if table.columns.is_empty() {
            return Err(draft.invalid("it has no columns"));
        }
        for column in table.columns {
            draft.push(column, FIRST_COLUMN_ID)?;
        }
        if let Some(name) = &table.primary {
            draft.primary = Some(draft.named(name, "primary")?);
        }
        let sort_by = table.sort_by.iter().map(|name| draft.named(name, "sort"));
        draft.sort_by = sort_by.collect::<Result<_, _>>()?;
        let unique: HashSet<ColumnId> = draft.sort_by.iter().copied().collect();
        if unique.len() != draft.sort_by.len() {
            return Err(draft.invalid("a column stands twice in the sort order"));
        }
        draft.partition_schema()?;
        Ok(draft)
    }

    /// Returns the draft of an existing table, as it is.
    #[must_use]
    pub fn extend(table: &Table) -> Self {
        Self {
            base: Some(table.id),
            database: table.database.clone(),
            name: table.name.clone(),
            columns: table.columns.clone(),
            primary: table.primary,
            sort_by: table.sort_by.clone(),
            settings: table.settings.clone(),
        }
    }

    /// Adds a column at the end and returns its id. A column that is added to an existing table must
    /// be nullable: the rows that are there have no value for it.
    ///
    /// # Errors
    /// [`CatalogError::InvalidName`], [`CatalogError::InvalidTable`] or
    /// [`CatalogError::AlreadyExists`].
    pub fn add_column(&mut self, column: NewColumn) -> Result<ColumnId, CatalogError> {
        if self.base.is_some() && !column.nullable {
            return Err(self.invalid(format!("the added column {} is not nullable", column.name)));
        }
        let id = self.push(column, FIRST_COLUMN_ID)?;
        self.partition_schema()?;
        Ok(id)
    }

    /// Returns `database.name`.
    #[must_use]
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// Returns the name of the database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Returns the name of the table within its database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the table is to be created.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.base.is_none()
    }

    /// Returns the columns in their order.
    #[must_use]
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Returns the column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the primary timestamp column, if there is one.
    #[must_use]
    pub fn primary_column(&self) -> Option<&TableColumn> {
        self.primary.and_then(|id| self.columns.iter().find(|column| column.id == id))
    }

    /// Returns the ids of the columns that rows are sorted by after the primary.
    #[must_use]
    pub fn sort_by(&self) -> &[ColumnId] {
        &self.sort_by
    }

    /// Returns the settings of the table.
    #[must_use]
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    /// Returns the columns as an Arrow schema.
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

    /// Returns the lowest id that no column of the draft has.
    pub(crate) fn next_column_id(&self) -> u32 {
        let ids = self.columns.iter().map(|column| column.id.0.saturating_add(1));
        ids.max().unwrap_or(FIRST_COLUMN_ID)
    }

    /// Adds a column with the next id, but not below `lowest`.
    pub(crate) fn push(
        &mut self,
        column: NewColumn,
        lowest: u32,
    ) -> Result<ColumnId, CatalogError> {
        check_column(&column.name)?;
        if self.column(&column.name).is_some() {
            let name = format!("{}.{}", self.qualified_name(), column.name);
            return Err(CatalogError::AlreadyExists { what: "column", name });
        }
        if self.columns.len() >= COLUMNS_MAX {
            return Err(self.invalid(format!("it has more than {COLUMNS_MAX} columns")));
        }
        let id = ColumnId(self.next_column_id().max(lowest));
        let NewColumn { name, data_type, nullable } = column;
        self.columns.push(TableColumn { id, name, data_type, nullable });
        Ok(id)
    }

    /// Returns the id of the column that is named as primary or sort column.
    fn named(&self, name: &str, role: &str) -> Result<ColumnId, CatalogError> {
        let found = self.column(name).map(|column| column.id);
        found.ok_or_else(|| {
            self.invalid(format!("the {role} column {name} is not among its columns"))
        })
    }

    /// Returns the error that this draft is not a valid table.
    fn invalid(&self, reason: impl Into<String>) -> CatalogError {
        CatalogError::InvalidTable { table: self.qualified_name(), reason: reason.into() }
    }
}
