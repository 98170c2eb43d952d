//! The table provider: the one place through which every reader of rows goes.
//!
//! It cannot be built without an access decision. It turns a scan into the partitions of the
//! snapshot that may match by time, and accepts every filter: the leaf checks each row.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, ToDFSchema as _};
use datafusion::datasource::TableType;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use peerage_catalog::{PartitionRecord, Table};
use peerage_engine::leaf::deal;
use peerage_engine::{Assignment, FilterConverter, PartitionScanExec, ScanTable};
use tracing::debug;

use super::Binding;
use super::time_range::time_range_ms;

/// One table as one account sees it in one snapshot.
#[derive(Debug)]
pub(crate) struct PartitionTable {
    table: Table,
    scan_table: Arc<ScanTable>,
    binding: Binding,
}

impl PartitionTable {
    pub(crate) fn try_new(table: Table, binding: Binding) -> Result<Self> {
        let account = binding.decision.account().name();
        debug!(table = table.qualified_name(), account, "table bound");
        let column_ids = table.columns.iter().map(|column| column.id).collect();
        let scan_table =
            ScanTable::try_new(table.qualified_name(), table.arrow_schema(), column_ids)?;
        Ok(Self { table, scan_table: Arc::new(scan_table), binding })
    }

    /// Returns the partitions that may match by time, and counts the others.
    async fn partitions(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Vec<Assignment>> {
        let external = |error| DataFusionError::External(Box::new(error));
        let schema = self.scan_table.schema();
        let converter = FilterConverter::new(schema, self.scan_table.column_ids());
        let predicate = converter.convert_all(filters);
        let range = self
            .table
            .primary_column()
            .and_then(|primary| time_range_ms(&predicate, primary.id, &primary.data_type));
        let snapshot = &self.binding.snapshot;
        let total = snapshot.partition_count(self.table.id).await.map_err(external)?;
        let records = if range.as_ref().is_some_and(std::ops::RangeInclusive::is_empty) {
            Vec::new()
        } else {
            snapshot.partitions(self.table.id, range).await.map_err(external)?
        };
        let kept = u64::try_from(records.len()).unwrap_or(u64::MAX);
        let mut counts = self.binding.counts.lock().expect("no holder of this lock panics");
        counts.partitions_total += total;
        counts.partitions_pruned_by_time += total.saturating_sub(kept);
        Ok(records.into_iter().map(assignment).collect())
    }
}

fn assignment(record: PartitionRecord) -> Assignment {
    Assignment {
        name: record.name,
        storage: record.storage,
        path: record.path,
        rows: record.rows,
        manifest: record.manifest,
        index: record.index,
        data: record.data,
    }
}

#[async_trait]
impl TableProvider for PartitionTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.scan_table.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.scan_table.schema();
        let df_schema = Arc::clone(schema).to_dfschema()?;
        let filters = filters
            .iter()
            .map(|filter| session.create_physical_expr(filter.clone(), &df_schema))
            .collect::<Result<Vec<_>>>()?;
        let assignments = self.partitions(&filters).await?;
        let projection = match projection {
            Some(projection) => projection.clone(),
            None => (0..schema.fields().len()).collect(),
        };
        let groups = deal(assignments, self.binding.groups);
        let leaf = PartitionScanExec::try_new(Arc::clone(&self.scan_table), projection, groups)?;
        Ok(Arc::new(leaf.with_filters(filters).with_limit(limit)))
    }
}
