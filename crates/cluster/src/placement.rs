//! Where each partition of a query belongs: weighted rendezvous hashing with a load bound. Pure.
//!
//! Each partition ranks all peers by a score of (cache id, partition name), and goes to the first
//! in its rank that has room. A peer has room while its bytes stay within 105 % of its weighted
//! share of the query's bytes; an empty one always has room for one partition, so that few big
//! partitions can be placed at all. When no peer has room, the partition goes where it overfills
//! least.
//!
//! Invariants: the result depends on the sets of peers and partitions, never on their order; a
//! partition that overflows goes to the same next peer each time, so that its files become warm
//! there; when no partition is larger than 5 % of the query's bytes divided by the number of peers,
//! every peer keeps its bound.
//!
//! Left out: which peers answer and what they have cached. A wrong placement costs time only.

mod rendezvous;

use xxhash_rust::xxh3::xxh3_64;

use self::rendezvous::Ranking;
use crate::membership::{Member, MemberSnapshot};

/// What a peer may get of its weighted share of a query's bytes, in percent. Five percent are
/// enough room that few partitions leave their first choice, and keep the slowest peer within 5 %
/// of the mean.
pub const LOAD_BOUND_PERCENT: u64 = 105;

/// The peers of a query's partitions; indexes into `MemberSnapshot::peers`, one for each partition
/// in the order they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The peer that gets the partition.
    pub peer_of: Vec<usize>,
    /// Where the partition goes when that peer is lost: the best ranked of the others, or the same
    /// peer when there is only one.
    pub second: Vec<usize>,
}

/// Why partitions could not be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// There is nobody to place them on: start peers, or correct the membership.
    #[error("no query peers, membership source {membership} is empty at epoch {epoch}")]
    NoPeers {
        /// The source of the membership.
        membership: &'static str,
        /// The snapshot's epoch.
        epoch: u64,
    },
}

/// Returns all peers in the order in which `partition` prefers them, as indexes into `peers`.
pub fn rank(partition: &str, peers: &[Member]) -> Vec<usize> {
    Ranking::new(peers).all(partition)
}

/// Gives each partition, a name and its bytes, to one peer of the snapshot.
pub fn place<N: AsRef<str>>(
    partitions: &[(N, u64)],
    members: &MemberSnapshot,
) -> Result<Placement, PlacementError> {
    if members.peers.is_empty() {
        let (membership, epoch) = (members.source, members.epoch);
        return Err(PlacementError::NoPeers { membership, epoch });
    }
    let ranking = Ranking::new(&members.peers);
    let mut loads = Loads::new(partitions.iter().map(|(_, bytes)| *bytes), &members.peers);
    let mut placement =
        Placement { peer_of: vec![0; partitions.len()], second: vec![0; partitions.len()] };
    for index in fixed_order(partitions) {
        let (name, bytes) = &partitions[index];
        let (first, second) = ranking.top_two(name.as_ref());
        let peer = match [first, second].into_iter().find(|peer| loads.has_room(*peer, *bytes)) {
            Some(peer) => peer,
            None => loads.best_of(&ranking.all(name.as_ref()), *bytes),
        };
        loads.add(peer, *bytes);
        placement.peer_of[index] = peer;
        placement.second[index] = if peer == first { second } else { first };
    }
    Ok(placement)
}

/// Returns the partitions' indexes in an order that depends on the partitions only. It is the order
/// of hashes and not of names, which would let the same time ranges overflow in every query.
fn fixed_order<N: AsRef<str>>(partitions: &[(N, u64)]) -> Vec<usize> {
    let key = |(name, bytes): &(N, u64)| (xxh3_64(name.as_ref().as_bytes()), *bytes);
    let mut order: Vec<_> =
        partitions.iter().enumerate().map(|(index, it)| (key(it), it.0.as_ref(), index)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, index)| index).collect()
}

/// What each peer has got so far, and may get. Sums of `u64` bytes are held in `u128`.
struct Loads {
    bytes: Vec<u128>,
    bounds: Vec<u128>,
    weights: Vec<u128>,
}

impl Loads {
    fn new(partition_bytes: impl Iterator<Item = u64>, peers: &[Member]) -> Self {
        let total: u128 = partition_bytes.map(u128::from).sum();
        let weights: Vec<u128> = peers.iter().map(|peer| u128::from(peer.cores())).collect();
        let whole = weights.iter().sum::<u128>() * 100;
        let bound =
            |weight: &u128| (total * weight * u128::from(LOAD_BOUND_PERCENT)).div_ceil(whole);
        Self { bytes: vec![0; peers.len()], bounds: weights.iter().map(bound).collect(), weights }
    }

    fn has_room(&self, peer: usize, bytes: u64) -> bool {
        let load = self.bytes[peer];
        load == 0 || load + u128::from(bytes) <= self.bounds[peer]
    }

    /// Returns the first of `ranked` that has room, or else the one that is overfilled least.
    fn best_of(&self, ranked: &[usize], bytes: u64) -> usize {
        let with_room = ranked.iter().copied().find(|peer| self.has_room(*peer, bytes));
        let filled = |peer: &usize| {
            // Fixed point with 20 bits behind the point: bytes for each core.
            ((self.bytes[*peer] + u128::from(bytes)) << 20) / self.weights[*peer]
        };
        let least_filled = || ranked.iter().copied().min_by_key(filled);
        with_room.or_else(least_filled).expect("placement has at least one peer")
    }

    fn add(&mut self, peer: usize, bytes: u64) {
        self.bytes[peer] += u128::from(bytes);
    }
}

#[cfg(test)]
mod tests;
