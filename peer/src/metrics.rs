//! The peer's metrics, one function each: `peer_<part>_<noun>_<unit>[_total]`.

use metrics::counter;

use crate::cache::CacheOutcome;

/// Counts a look-up in the partition file cache.
pub fn count_cache(outcome: CacheOutcome) {
    match outcome {
        CacheOutcome::Hit => counter!("peer_cache_hits_total").increment(1),
        CacheOutcome::Miss => counter!("peer_cache_misses_total").increment(1),
    }
}

/// Counts a file that was evicted from the cache.
pub fn count_cache_eviction() {
    counter!("peer_cache_evictions_total").increment(1);
}

/// Counts a damaged file of the cache.
pub fn count_cache_quarantined() {
    counter!("peer_cache_quarantined_total").increment(1);
}

/// Counts a request to an object store and what it brought.
pub fn count_fetch(bytes: usize) {
    counter!("peer_store_requests_total").increment(1);
    counter!("peer_store_fetch_bytes_total").increment(u64::try_from(bytes).unwrap_or(u64::MAX));
}

/// Counts a partition that a scan looked at.
pub fn count_partition(was_read: bool) {
    if was_read {
        counter!("peer_scan_partitions_read_total").increment(1);
    } else {
        counter!("peer_scan_partitions_pruned_total").increment(1);
    }
}
