//! Memory, spill folder and stores of a process's operators.
//!
//! The engine could read and write local files by itself; here nothing but the leaf reads, so a plan
//! that names a file finds no store for it.

use std::sync::Arc;

use datafusion::common::{Result, not_impl_err};
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use object_store::ObjectStore;
use url::Url;

/// Returns a runtime whose operators take at most `memory_bytes_max` and spill what is more.
pub fn runtime(memory_bytes_max: usize) -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory_bytes_max)))
        .with_disk_manager_builder(DiskManagerBuilder::default())
        .with_object_store_registry(Arc::new(NoStores))
        .build_arc()
}

/// Holds no store and takes none.
#[derive(Debug)]
struct NoStores;

impl ObjectStoreRegistry for NoStores {
    fn register_store(
        &self,
        _url: &Url,
        _store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        not_impl_err!("plans read tables only, not {url}")
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    #[tokio::test]
    async fn a_plan_that_names_a_file_finds_no_store() {
        let runtime = runtime(1 << 20).expect("built");
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let sql = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{file}'");
        let error = context.sql(&sql).await.expect_err("refused").to_string();
        assert!(error.contains("plans read tables only"), "{error}");
    }
}
