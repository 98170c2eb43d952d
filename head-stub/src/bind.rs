//! From names in SQL to tables: one catalog snapshot, looked at lazily.
//!
//! Databases are DataFusion's schemas. A table is looked up when a query names it; nothing lists all
//! tables on the way of a query.

mod table;
mod time_range;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::{DataFusionError, Result};
use peerage_access::Decision;
use peerage_catalog::{CatalogError, CatalogSnapshot};

pub(crate) use table::PartitionTable;

/// What the tables of one query count while it is planned.
#[derive(Debug, Default)]
pub(crate) struct BindCounts {
    /// Partitions of the tables named, before any pruning.
    pub(crate) partitions_total: u64,
    /// Partitions that the catalog knows cannot hold a row of the time range.
    pub(crate) partitions_pruned_by_time: u64,
}

/// What binding needs, the same for all tables of a query.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    pub(crate) snapshot: CatalogSnapshot,
    /// Who asks: no table is had without a decision.
    pub(crate) decision: Arc<Decision>,
    /// Output partitions of each leaf.
    pub(crate) groups: usize,
    pub(crate) counts: Arc<Mutex<BindCounts>>,
}

/// The databases of a snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotCatalog {
    binding: Binding,
    databases: BTreeSet<String>,
}

impl SnapshotCatalog {
    /// Returns the databases of the snapshot; `default` is always there.
    pub(crate) async fn open(binding: Binding, default: &str) -> Result<Self, CatalogError> {
        let mut databases: BTreeSet<_> = binding.snapshot.databases().await?.into_iter().collect();
        databases.insert(default.to_owned());
        Ok(Self { binding, databases })
    }
}

impl CatalogProvider for SnapshotCatalog {
    fn schema_names(&self) -> Vec<String> {
        self.databases.iter().cloned().collect()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        self.databases.contains(name).then(|| {
            let database = Database { name: name.to_owned(), binding: self.binding.clone() };
            Arc::new(database) as Arc<dyn SchemaProvider>
        })
    }
}

/// One database.
#[derive(Debug)]
struct Database {
    name: String,
    binding: Binding,
}

#[async_trait]
impl SchemaProvider for Database {
    fn table_names(&self) -> Vec<String> {
        // Only statements that list tables would ask, and those are answered before planning.
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.binding.snapshot.table(&self.name, name).await {
            Ok(table) => Ok(Some(Arc::new(PartitionTable::try_new(table, self.binding.clone())?))),
            Err(CatalogError::NotFound { .. }) => Ok(None),
            Err(error) => Err(DataFusionError::External(Box::new(error))),
        }
    }

    fn table_exist(&self, _name: &str) -> bool {
        true
    }
}
