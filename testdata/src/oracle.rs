//! The oracle: plain DataFusion over the same files, in one process, which every other way of
//! running a script must agree with.
//!
//! Invariant: nothing of ours takes part in an answer but the generator of the rows and
//! [`crate::text`]. Identifiers are taken as written and times are in UTC, as the head does it.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::MemorySchemaProvider;
use datafusion::common::TableReference;
use datafusion::common::config::Dialect;
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::ObjectStoreExt as _;
use datafusion::object_store::memory::InMemory;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use sqllogictest::{AsyncDB, DBOutput};

use crate::slt::{ColumnKind, kinds};
use crate::tables::{self, GenerateError, TableFile};
use crate::text::{self, TextError};

/// Partitions of a plan: enough that partial results are merged, as many as small machines have.
const PARTITIONS: usize = 2;

/// Where the generated files are.
const MEMORY: &str = "memory://";

/// The oracle has no answer.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// DataFusion refused the statement or failed in it; scripts compare this text.
    #[error(transparent)]
    Engine(#[from] DataFusionError),
    /// A generated table cannot be made.
    #[error("generate tables")]
    Generate(#[from] GenerateError),
    /// The answer has no text.
    #[error("write an answer as text")]
    Text(#[from] TextError),
}

/// Returns a session with all tables that the scripts name, for the generic SQL dialect.
///
/// # Errors
///
/// A file is missing or is not Parquet.
pub async fn session() -> Result<SessionContext, OracleError> {
    session_in(Dialect::Generic).await
}

/// Returns a session with all tables that the scripts name, for one SQL dialect.
///
/// # Errors
///
/// A file is missing or is not Parquet.
pub async fn session_in(dialect: Dialect) -> Result<SessionContext, OracleError> {
    let mut config = SessionConfig::new().with_target_partitions(PARTITIONS);
    let options = config.options_mut();
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.dialect = dialect;
    options.execution.time_zone = Some("UTC".to_owned());
    let session = SessionContext::new_with_config(config);
    for table in tables::checked_in().into_iter().chain(tables::extra()) {
        register_file(&session, &table).await?;
    }
    register_generated(&session).await?;
    Ok(session)
}

async fn register_file(session: &SessionContext, table: &TableFile) -> Result<(), OracleError> {
    ensure_schema(session, table.schema)?;
    let name = TableReference::partial(table.schema, table.table);
    let file = table.file.to_string_lossy();
    session.register_parquet(name, file.as_ref(), ParquetReadOptions::default()).await?;
    Ok(())
}

/// Registers the generated tables, whose files are in memory.
async fn register_generated(session: &SessionContext) -> Result<(), OracleError> {
    ensure_schema(session, "cdn")?;
    let store = Arc::new(InMemory::new());
    let url = ObjectStoreUrl::parse(MEMORY)?;
    session.register_object_store(url.as_ref(), Arc::<InMemory>::clone(&store));
    for (table, bytes) in tables::generate()? {
        let file = format!("{table}.parquet");
        let written = store.put(&file.as_str().into(), bytes.into()).await;
        written.map_err(DataFusionError::from)?;
        let name = TableReference::partial("cdn", table);
        let file = format!("{MEMORY}/{file}");
        session.register_parquet(name, file, ParquetReadOptions::default()).await?;
    }
    Ok(())
}

/// Makes the schema in the default catalog unless it is there.
fn ensure_schema(session: &SessionContext, name: &str) -> Result<(), OracleError> {
    let state = session.state();
    let default = &state.config_options().catalog.default_catalog;
    let catalog = session.catalog(default).ok_or_else(|| {
        DataFusionError::Plan(format!("the session has no catalog named {default}"))
    })?;
    if catalog.schema(name).is_none() {
        catalog.register_schema(name, Arc::new(MemorySchemaProvider::new()))?;
    }
    Ok(())
}

/// Runs scripts on a session of DataFusion.
#[derive(Clone)]
pub struct OracleRunner {
    session: SessionContext,
}

impl OracleRunner {
    /// Returns a runner on this session.
    #[must_use]
    pub fn new(session: SessionContext) -> Self {
        Self { session }
    }

    /// Returns the answer to a question and the kinds of its columns.
    ///
    /// # Errors
    ///
    /// The statement is refused or fails.
    pub async fn answer(
        &self,
        sql: &str,
    ) -> Result<(Vec<ColumnKind>, Vec<Vec<String>>), OracleError> {
        let frame = self.session.sql(sql).await?;
        let kinds = kinds(frame.schema().as_arrow());
        let batches = frame.collect().await?;
        Ok((kinds, text::rows(&batches)?))
    }
}

#[async_trait]
impl AsyncDB for OracleRunner {
    type Error = OracleError;
    type ColumnType = ColumnKind;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<ColumnKind>, OracleError> {
        let (types, rows) = self.answer(sql).await?;
        Ok(DBOutput::Rows { types, rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "DataFusion"
    }
}
