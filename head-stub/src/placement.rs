//! Placement of one query: the cluster's rendezvous hashing behind the engine's seam.

use datafusion::common::{DataFusionError, Result};
use peerage_cluster::{MemberSnapshot, place};
use peerage_engine::{Assignment, PartitionPlacement};

/// Places partitions on the members of one snapshot.
#[derive(Debug)]
pub(crate) struct RendezvousPlacement(pub(crate) MemberSnapshot);

impl PartitionPlacement for RendezvousPlacement {
    fn place(&self, assignments: &[Assignment]) -> Result<Vec<usize>> {
        let named: Vec<_> = assignments
            .iter()
            .map(|assignment| (assignment.name.as_str(), assignment.total_bytes()))
            .collect();
        let placement =
            place(&named, &self.0).map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(placement.peer_of)
    }
}
