//! The simplest source: the peers that the cluster file lists.
//!
//! Invariant: the set changes only with the cluster file. Left out: the peers' cores, which nobody
//! has told; all weigh the same until they report them
//! ([`super::MemberSnapshot::with_cache_ids`]).

use super::{Member, PeerAddress};

/// The source's name in snapshots, logs and errors.
pub(super) const SOURCE: &str = "static";

/// Returns the listed peers as members of one core each.
pub(super) fn members(peers: &[PeerAddress]) -> Vec<Member> {
    peers.iter().map(|address| Member::new(address.clone(), 1)).collect()
}
