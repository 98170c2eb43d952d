//! Weighted rendezvous hashing: the score of a peer for a partition.
//!
//! The score is `-weight / ln(u)`, where `u` in (0, 1) is made from a hash of cache id and partition
//! name; the highest score wins. A peer wins with probability weight / sum of weights, and adding
//! or removing a peer moves only the partitions that it wins or had won. (C. Schindelhauer and
//! G. Schomaker, "Weighted distributed hash tables", SPAA 2005, the logarithmic method; rendezvous
//! hashing: D. Thaler and C. V. Ravishankar, IEEE/ACM ToN 6(1), 1998.)
//!
//! Invariant: equal scores are ordered by cache id, then by address, so the order of the peers does
//! not matter. Left out: the load bound. Two machines whose `ln` differs in the last bit may rank
//! two peers differently once in 2^50 times, which costs a cache miss.

use std::cmp::Ordering;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::membership::Member;

/// The peers, prepared to be scored for many partitions.
pub(super) struct Ranking<'a> {
    peers: &'a [Member],
    /// For each peer the hash of its cache id, which seeds the hash of the name, and its weight.
    seeds: Vec<(u64, f64)>,
}

impl<'a> Ranking<'a> {
    pub(super) fn new(peers: &'a [Member]) -> Self {
        let seed = |peer: &Member| (xxh3_64(peer.cache_id().as_bytes()), f64::from(peer.cores()));
        Self { peers, seeds: peers.iter().map(seed).collect() }
    }

    /// Returns the first and the second choice of `partition`, the same when there is one peer.
    pub(super) fn top_two(&self, partition: &str) -> (usize, usize) {
        let mut first: Option<(f64, usize)> = None;
        let mut second: Option<(f64, usize)> = None;
        for candidate in self.scored(partition) {
            if first.is_none_or(|first| self.order(candidate, first).is_lt()) {
                second = first.replace(candidate);
            } else if second.is_none_or(|second| self.order(candidate, second).is_lt()) {
                second = Some(candidate);
            }
        }
        let (_, first) = first.expect("a ranking has at least one peer");
        (first, second.map_or(first, |(_, second)| second))
    }

    /// Returns all peers, the best first.
    pub(super) fn all(&self, partition: &str) -> Vec<usize> {
        let mut scored: Vec<(f64, usize)> = self.scored(partition).collect();
        scored.sort_unstable_by(|a, b| self.order(*a, *b));
        scored.into_iter().map(|(_, peer)| peer).collect()
    }

    fn scored(&self, partition: &str) -> impl Iterator<Item = (f64, usize)> {
        let score = |(seed, weight): &(u64, f64)| {
            -weight / unit(xxh3_64_with_seed(partition.as_bytes(), *seed)).ln()
        };
        self.seeds.iter().map(score).enumerate().map(|(peer, score)| (score, peer))
    }

    fn order(&self, a: (f64, usize), b: (f64, usize)) -> Ordering {
        let identity = |peer: usize| (self.peers[peer].cache_id(), self.peers[peer].address());
        b.0.total_cmp(&a.0).then_with(|| identity(a.1).cmp(&identity(b.1)))
    }
}

/// Returns the hash as a number strictly between 0 and 1: its upper 52 bits behind the point, and
/// half a step more, so that neither 0 (whose logarithm is infinite) nor 1 (zero) can be.
fn unit(hash: u64) -> f64 {
    let from_one_to_two = f64::from_bits((hash >> 12) | 1.0_f64.to_bits());
    from_one_to_two - 1.0 + f64::EPSILON / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hash_gives_an_infinite_or_negative_score() {
        for hash in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 12) - 1] {
            let unit = unit(hash);
            assert!(0.0 < unit && unit < 1.0, "{hash} gives {unit}");
            let score = -1.0 / unit.ln();
            assert!(score.is_finite() && score > 0.0, "{hash} gives {score}");
        }
    }

    #[test]
    fn top_two_are_the_first_two_of_all() {
        let peers: Vec<Member> = (1..8_u16)
            .map(|port| Member::new(format!("p:{port}").parse().expect("an address"), 1))
            .collect();
        for count in 1..=peers.len() {
            let ranking = Ranking::new(&peers[..count]);
            for name in ["a", "b", "c", "d", "e", "f", "g", ""] {
                let all = ranking.all(name);
                assert_eq!(ranking.top_two(name), (all[0], all[1.min(count - 1)]));
            }
        }
    }
}
