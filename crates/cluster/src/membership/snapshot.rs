//! The set of peers at one moment.
//!
//! Invariants: peers are sorted by address and none is in the set twice; two peers never have the
//! same cache id; a snapshot does not change.

use std::collections::{HashMap, HashSet};

use url::Url;

use super::PeerAddress;

/// Most cores of one peer: four times the largest machine that can be rented, so that a wrong
/// figure cannot draw all partitions to one peer unnoticed.
pub const CORES_MAX: u32 = 4096;

/// One query peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    address: PeerAddress,
    cores: u32,
    cache_id: String,
}

impl Member {
    /// Returns the peer at `address`, which is its cache id too until it reports one.
    ///
    /// `cores` is brought into 1 to [`CORES_MAX`].
    pub fn new(address: PeerAddress, cores: u32) -> Self {
        let cache_id = address.to_string();
        Self { address, cores: cores.clamp(1, CORES_MAX), cache_id }
    }

    /// Returns the same peer with the cache id that it keeps beside its cache.
    #[must_use]
    pub fn with_cache_id(mut self, cache_id: impl Into<String>) -> Self {
        self.cache_id = cache_id.into();
        self
    }

    /// Returns the address of the peer's gRPC services.
    pub fn address(&self) -> &PeerAddress {
        &self.address
    }

    /// Returns `http://host:port`.
    pub fn url(&self) -> Url {
        self.address.url()
    }

    /// Returns the peer's weight in placement.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// Returns the identity that placement hashes: the owner of the files in the peer's cache.
    pub fn cache_id(&self) -> &str {
        &self.cache_id
    }
}

/// The query peers at one moment; a query takes one and keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberSnapshot {
    /// Grows with every change of the set; 0 before the first.
    pub epoch: u64,
    /// The peers, sorted by address.
    pub peers: Vec<Member>,
    /// Where the set comes from, for logs and errors: `static` or `pods_file`.
    pub source: &'static str,
}

impl MemberSnapshot {
    pub(super) fn empty() -> Self {
        Self { epoch: 0, peers: Vec::new(), source: "none" }
    }

    /// Returns a snapshot of these peers, sorted; of peers with one address the first stays.
    pub fn new(epoch: u64, peers: Vec<Member>, source: &'static str) -> Self {
        Self { epoch, peers: sorted(peers), source }
    }

    /// Returns the snapshot that follows this one, or `None` when nothing changed.
    pub(super) fn next(&self, peers: Vec<Member>, source: &'static str) -> Option<Self> {
        let next = Self::new(self.epoch.saturating_add(1), peers, source);
        (next.peers != self.peers || source != self.source).then_some(next)
    }

    /// Returns this snapshot with what the peers themselves reported: address → (cache id, cores).
    ///
    /// A peer that reported nothing keeps its address as its cache id. So does the second of two
    /// peers that report the same one (a copied disk): both would draw the same partitions, and
    /// only one would ever get them. Zero cores mean that the peer does not know.
    #[must_use]
    pub fn with_cache_ids(&self, reported: &HashMap<String, (String, u32)>) -> Self {
        let mut taken = HashSet::new();
        let known = |peer: &Member| match reported.get(peer.address.as_str()) {
            Some((cache_id, cores)) => {
                let cores = if *cores == 0 { peer.cores } else { *cores };
                let is_first = !cache_id.is_empty() && taken.insert(cache_id.clone());
                let known = Member::new(peer.address.clone(), cores);
                if is_first { known.with_cache_id(cache_id) } else { known }
            }
            None => peer.clone(),
        };
        Self {
            epoch: self.epoch,
            peers: self.peers.iter().map(known).collect(),
            source: self.source,
        }
    }
}

fn sorted(mut peers: Vec<Member>) -> Vec<Member> {
    peers.sort_by(|a, b| a.address.cmp(&b.address));
    peers.dedup_by(|a, b| a.address == b.address);
    peers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(address: &str, cores: u32) -> Member {
        Member::new(address.parse().expect("an address"), cores)
    }

    #[test]
    fn the_order_and_repetition_of_the_source_do_not_matter() {
        let one = MemberSnapshot::new(1, vec![member("b:1", 2), member("a:1", 1)], "static");
        let repeated = vec![member("a:1", 1), member("b:1", 2), member("a:1", 9)];
        assert_eq!(one.next(repeated, "static"), None);
        let changed = one.next(vec![member("a:1", 2), member("b:1", 2)], "static");
        assert_eq!(changed.map(|it| it.epoch), Some(2));
    }

    #[test]
    fn reports_fill_in_identity_and_cores() {
        let peers = ["a:1", "b:1", "c:1", "d:1"].map(|it| member(it, 4)).to_vec();
        let snapshot = MemberSnapshot::new(7, peers, "static");
        let report = |id: &str, cores| (id.to_owned(), cores);
        let reported = HashMap::from([
            ("a:1".to_owned(), report("x", 8)),
            ("b:1".to_owned(), report("x", 0)),
            ("c:1".to_owned(), report("", 2)),
        ]);
        let known = snapshot.with_cache_ids(&reported);
        let shown: Vec<_> = known.peers.iter().map(|it| (it.cache_id(), it.cores())).collect();
        assert_eq!(shown, [("x", 8), ("b:1", 4), ("c:1", 2), ("d:1", 4)]);
        assert_eq!(known.epoch, 7);
    }

    #[test]
    fn cores_are_kept_in_bounds() {
        assert_eq!(member("a:1", 0).cores(), 1);
        assert_eq!(member("a:1", u32::MAX).cores(), CORES_MAX);
    }
}
