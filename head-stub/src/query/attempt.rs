//! One attempt of a query: planned over one snapshot of catalog and members.

use std::sync::{Arc, Mutex};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SQLOptions, SessionContext};
use peerage_catalog::CatalogSnapshot;
use peerage_cluster::{Member, MemberSnapshot};
use peerage_engine::session::{CATALOG_NAME, DEFAULT_DATABASE};
use peerage_engine::{HeadSession, QueryPeers, ScannerHandle};

use super::scalar;
use super::{
    QueryEngine, QueryRequest, TARGET_PARTITIONS_DEFAULT, TARGET_PARTITIONS_MAX,
    TARGET_PARTITIONS_MIN,
};
use crate::bind::{BindCounts, Binding, SnapshotCatalog};
use crate::placement::RendezvousPlacement;
use crate::remote_scan::RemoteScanner;

/// A planned attempt, ready to run once.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    pub(super) counts: Arc<Mutex<BindCounts>>,
    pub(super) number: u32,
    pub(super) peer_count: usize,
    pub(super) described_count: usize,
    context: Arc<TaskContext>,
}

impl Attempt {
    /// Binds and plans a query.
    pub(super) async fn plan(
        engine: &QueryEngine,
        request: &QueryRequest,
        snapshot: CatalogSnapshot,
        members: MemberSnapshot,
        number: u32,
    ) -> Result<Self> {
        let peer_count = members.peers.len();
        let is_described = |peer: &&Member| peer.cache_id() != peer.address().as_str();
        let described_count = members.peers.iter().filter(is_described).count();
        let groups = target_partitions(&members);
        let context = session(engine, request, members, groups)?;
        let counts = Arc::new(Mutex::new(BindCounts::default()));
        let binding = Binding {
            snapshot,
            decision: Arc::new(request.decision.clone()),
            groups,
            counts: Arc::clone(&counts),
        };
        let catalog = SnapshotCatalog::open(binding, DEFAULT_DATABASE)
            .await
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        context.register_catalog(CATALOG_NAME, Arc::new(catalog));
        let state = context.state();
        let logical = state.statement_to_plan(request.statement.clone()).await?;
        refuse_writes(&logical)?;
        let logical = scalar::evaluate(&state, logical).await?;
        let plan = state.create_physical_plan(&logical).await?;
        let context = context.task_ctx();
        Ok(Self { plan, counts, number, peer_count, described_count, context })
    }

    /// Runs the plan; once, since a plan carries the identity of its run.
    pub(super) fn execute(&self) -> Result<SendableRecordBatchStream> {
        execute_stream(Arc::clone(&self.plan), Arc::clone(&self.context))
    }
}

fn session(
    engine: &QueryEngine,
    request: &QueryRequest,
    members: MemberSnapshot,
    groups: usize,
) -> Result<SessionContext> {
    let urls = members.peers.iter().map(Member::url).collect();
    let scanner = RemoteScanner::new(engine.channels.clone(), RendezvousPlacement(members.clone()));
    HeadSession {
        peers: QueryPeers::new(urls, Arc::new(RendezvousPlacement(members))),
        channels: engine.channels.clone(),
        scanner: ScannerHandle(Arc::new(scanner)),
        runtime: Arc::clone(&engine.runtime),
        target_partitions: groups,
        database: request.database.clone(),
        time_zone: request.time_zone.clone(),
    }
    .build()
}

/// Returns how many streams each task gets: the cores of the smallest peer.
fn target_partitions(members: &MemberSnapshot) -> usize {
    let cores = members.peers.iter().map(Member::cores).min();
    cores
        .and_then(|cores| usize::try_from(cores).ok())
        .unwrap_or(TARGET_PARTITIONS_DEFAULT)
        .clamp(TARGET_PARTITIONS_MIN, TARGET_PARTITIONS_MAX)
}

/// The statement was checked when it was parsed; this holds for whatever it was expanded to.
fn refuse_writes(plan: &LogicalPlan) -> Result<()> {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(plan)
}
