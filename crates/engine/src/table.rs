//! What a scan knows of its table: an Arrow schema and the stable id of each column.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{Result, plan_err};
use peerage_partition::ColumnId;

/// The columns of a table, by position and by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanTable {
    name: String,
    schema: SchemaRef,
    column_ids: Vec<ColumnId>,
}

impl ScanTable {
    /// Returns the table, or an error when schema and ids do not belong together.
    pub fn try_new(name: String, schema: SchemaRef, column_ids: Vec<ColumnId>) -> Result<Self> {
        if schema.fields().len() != column_ids.len() {
            return plan_err!(
                "table {name} has {} columns but {} column ids",
                schema.fields().len(),
                column_ids.len()
            );
        }
        Ok(Self { name, schema, column_ids })
    }

    /// Returns `database.table`, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns all columns.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the ids, in the order of the schema.
    #[must_use]
    pub fn column_ids(&self) -> &[ColumnId] {
        &self.column_ids
    }

    /// Returns the columns at `positions`, in that order.
    pub fn project(&self, positions: &[usize]) -> Result<Self> {
        let column_ids =
            positions.iter().filter_map(|&position| self.column_ids.get(position)).copied();
        Ok(Self {
            name: self.name.clone(),
            schema: Arc::new(Schema::project(&self.schema, positions)?),
            column_ids: column_ids.collect(),
        })
    }
}
