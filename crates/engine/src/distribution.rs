//! How a leaf is spread over peers: one task per peer, each task the partitions that placement gave
//! its peer.
//!
//! The three hooks of the engine meet here. Pinning is best effort: where the planner cuts a stage
//! to fewer tasks, the leaf still runs (a peer reads what it has not cached, a head asks a peer).

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedLeafExec, RouteTasksEvent,
    RouteTasksEventResponse, ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse, WorkerResolver,
};
use url::Url;

use crate::assignment::Assignment;
use crate::leaf::{PartitionScanExec, deal};

/// Tasks of a leaf stage at least. With one task the engine would run the stage inside the head.
const TASKS_MIN: usize = 2;

/// Decides which peer reads a partition.
pub trait PartitionPlacement: fmt::Debug + Send + Sync {
    /// Returns, for each assignment, the position of its peer in the query's list of peers.
    fn place(&self, assignments: &[Assignment]) -> Result<Vec<usize>>;
}

/// The peers of one query: one snapshot, the same for every table and stage.
#[derive(Debug, Clone)]
pub struct QueryPeers {
    urls: Vec<Url>,
    placement: Arc<dyn PartitionPlacement>,
}

impl QueryPeers {
    /// Returns the peers of one query; `placement` answers with positions in `urls`.
    #[must_use]
    pub fn new(urls: Vec<Url>, placement: Arc<dyn PartitionPlacement>) -> Self {
        Self { urls, placement }
    }

    /// Returns the addresses.
    #[must_use]
    pub fn urls(&self) -> &[Url] {
        &self.urls
    }

    /// Returns the number of tasks of a stage that reads partitions.
    #[must_use]
    pub fn task_count(&self) -> usize {
        self.urls.len().max(TASKS_MIN)
    }

    /// Returns the peer that runs task `task`.
    fn peer_of_task(&self, task: usize) -> Option<&Url> {
        self.urls.get(task.checked_rem(self.urls.len())?)
    }

    /// Returns the assignments of each of `task_count` tasks.
    pub fn share(
        &self,
        assignments: Vec<Assignment>,
        task_count: usize,
    ) -> Result<Vec<Vec<Assignment>>> {
        let peer_of = self.placement.place(&assignments)?;
        let mut shares = vec![Vec::new(); task_count.max(1)];
        if task_count > self.urls.len() && self.urls.len() == 1 {
            return Ok(deal(assignments, task_count));
        }
        for (assignment, peer) in assignments.into_iter().zip(peer_of) {
            let task = peer.checked_rem(shares.len()).unwrap_or(0);
            if let Some(share) = shares.get_mut(task) {
                share.push(assignment);
            }
        }
        Ok(shares)
    }
}

impl WorkerResolver for QueryPeers {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.urls.clone())
    }
}

/// Answers how many tasks a leaf wants.
pub(crate) fn desired_tasks(
    event: DesiredTaskCountEvent<'_>,
) -> Option<Result<DesiredTaskCountEventResponse>> {
    event.plan.downcast_ref::<PartitionScanExec>()?;
    let peers = event.session_config.get_extension::<QueryPeers>()?;
    Some(Ok(DesiredTaskCountEventResponse::desired(peers.task_count())))
}

/// Answers with one variant of the leaf per task.
pub(crate) fn scale_up(
    event: ScaleUpLeafNodeEvent<'_>,
) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let leaf = event.plan.downcast_ref::<PartitionScanExec>()?;
    let peers = event.session_config.get_extension::<QueryPeers>()?;
    Some(variants(event.plan, leaf, &peers, event.task_count))
}

fn variants(
    plan: &Arc<dyn ExecutionPlan>,
    leaf: &PartitionScanExec,
    peers: &QueryPeers,
    task_count: usize,
) -> Result<ScaleUpLeafNodeEventResponse> {
    let assignments = leaf.groups().iter().flatten().cloned().collect();
    let group_count = leaf.groups().len();
    let variants = peers.share(assignments, task_count)?.into_iter().map(|share| {
        Arc::new(leaf.with_groups(deal(share, group_count))) as Arc<dyn ExecutionPlan>
    });
    let leaf = DistributedLeafExec::try_new(Arc::clone(plan), variants)?;
    Ok(ScaleUpLeafNodeEventResponse::new(Arc::new(leaf)))
}

/// Answers where the tasks of a stage with our leaf run.
pub(crate) fn route(event: RouteTasksEvent<'_>) -> Option<Result<RouteTasksEventResponse>> {
    let peers = event.task_ctx.session_config().get_extension::<QueryPeers>()?;
    if event.task_count != peers.task_count() || !has_our_leaf(event.plan)? {
        return None;
    }
    let urls = (0..event.task_count).filter_map(|task| peers.peer_of_task(task)).cloned();
    Some(Ok(RouteTasksEventResponse::new(urls.collect())))
}

fn has_our_leaf(plan: &Arc<dyn ExecutionPlan>) -> Option<bool> {
    let mut found = false;
    plan.apply(|node| {
        found |= node
            .downcast_ref::<DistributedLeafExec>()
            .is_some_and(|leaf| leaf.original().is::<PartitionScanExec>());
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .ok()?;
    Some(found)
}
