//! From a partition's columns to the table's: by id, so that renamed and added columns work.
//!
//! A column that the partition does not have reads as NULL; one of another type is cast.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::conjunction;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use parquet::arrow::ProjectionMask;
use parquet::schema::types::SchemaDescriptor;
use peerage_engine::GroupScan;
use peerage_partition::{ColumnId, Manifest};

/// The filters of a scan as one expression over just the columns that they need.
#[derive(Debug)]
pub(super) struct FilterPlan {
    pub(super) expr: Arc<dyn PhysicalExpr>,
    pub(super) schema: SchemaRef,
    pub(super) column_ids: Vec<ColumnId>,
}

impl FilterPlan {
    /// Returns `None` when the scan has no filter.
    pub(super) fn try_new(scan: &GroupScan) -> Result<Option<Self>> {
        if scan.filters.is_empty() {
            return Ok(None);
        }
        let expr = conjunction(scan.filters.iter().map(Arc::clone));
        let mut positions: Vec<_> = collect_columns(&expr).iter().map(|c| c.index()).collect();
        positions.sort_unstable();
        let table = scan.table.project(&positions)?;
        let expr = reassign_expr_columns(expr, table.schema())?;
        let schema = Arc::clone(table.schema());
        Ok(Some(Self { expr, schema, column_ids: table.column_ids().to_vec() }))
    }
}

/// Turns decoded batches of one partition into batches of a wanted schema.
#[derive(Debug, Clone)]
pub(super) struct Adapter {
    schema: SchemaRef,
    /// For each wanted column its position in the decoded batch.
    sources: Vec<Option<usize>>,
    /// Columns of the data file to decode, ascending.
    roots: Vec<usize>,
}

impl Adapter {
    pub(super) fn new(manifest: &Manifest, schema: SchemaRef, column_ids: &[ColumnId]) -> Self {
        let columns = manifest.schema().columns();
        let root_of = |id: &ColumnId| columns.iter().position(|column| column.id == *id);
        let wanted: Vec<_> = column_ids.iter().map(root_of).collect();
        let mut roots: Vec<_> = wanted.iter().flatten().copied().collect();
        roots.sort_unstable();
        roots.dedup();
        let sources =
            wanted.iter().map(|root| root.and_then(|root| roots.binary_search(&root).ok()));
        Self { schema, sources: sources.collect(), roots }
    }

    pub(super) fn mask(&self, descriptor: &SchemaDescriptor) -> ProjectionMask {
        ProjectionMask::roots(descriptor, self.roots.iter().copied())
    }

    pub(super) fn adapt(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let column = |(field, source): (&Arc<arrow::datatypes::Field>, &Option<usize>)| {
            let Some(array) = source.map(|source| batch.column(source)) else {
                return Ok(new_null_array(field.data_type(), rows));
            };
            if array.data_type() == field.data_type() {
                return Ok(Arc::clone(array));
            }
            cast(array, field.data_type())
        };
        let columns: Vec<ArrayRef> =
            self.schema.fields().iter().zip(&self.sources).map(column).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

/// Returns the schema that a scan puts out.
pub(super) fn projected_schema(scan: &GroupScan) -> Result<(Schema, Vec<ColumnId>)> {
    let table = scan.table.project(&scan.projection)?;
    Ok((table.schema().as_ref().clone(), table.column_ids().to_vec()))
}
