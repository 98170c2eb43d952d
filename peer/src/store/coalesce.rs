//! Which byte ranges to ask for in one request.

use std::ops::Range;

/// A gap up to this long is read along instead of paying for one more request: at 15 ms and
/// 100 MiB/s a request is worth 1.5 MiB, on a local disk almost nothing; this is near the geometric
/// mean, and one page of a wide column.
const GAP_BYTES_MAX: u64 = 64 << 10;

/// One request asks for at most this much, so that requests run side by side.
const REQUEST_BYTES_MAX: u64 = 8 << 20;
/// The same as a step of a range.
const PART_BYTES: usize = 8 << 20;

/// Returns sorted, disjoint ranges that cover `ranges`, with small gaps closed. Every range of the
/// input lies inside one range of the output.
#[must_use]
pub fn coalesce(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> =
        ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            Some(last)
                if range.start - last.end <= GAP_BYTES_MAX
                    && range.end - last.start <= REQUEST_BYTES_MAX =>
            {
                last.end = range.end;
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns a range in parts of at most one request's size.
#[must_use]
pub(super) fn split(range: &Range<u64>) -> Vec<Range<u64>> {
    let starts = (range.start..range.end).step_by(PART_BYTES);
    starts.map(|start| start..range.end.min(start.saturating_add(REQUEST_BYTES_MAX))).collect()
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use super::*;

    fn check(ranges: &[Range<u64>], expected: &[Range<u64>]) {
        assert_eq!(coalesce(ranges), expected);
    }

    #[test]
    fn near_ranges_become_one_request() {
        const KIB: u64 = 1024;
        check(&[], &[]);
        check(&[5..5], &[]);
        check(&[10..20, 0..10], &[0..20]);
        check(&[0..10, KIB..2 * KIB], &[0..2 * KIB]);
        check(&[0..10, 100 * KIB..101 * KIB], &[0..10, 100 * KIB..101 * KIB]);
        check(&[0..100, 50..60, 90..200], &[0..200]);
    }

    #[test]
    fn requests_stay_below_their_size() {
        const MIB: u64 = 1 << 20;
        check(&[0..5 * MIB, 5 * MIB..10 * MIB], &[0..5 * MIB, 5 * MIB..10 * MIB]);
        check(&[0..20 * MIB], &[0..20 * MIB]);
        let parts = [3..8 * MIB + 3, 8 * MIB + 3..16 * MIB + 3, 16 * MIB + 3..20 * MIB];
        assert_eq!(split(&(3..20 * MIB)), parts);
        assert_eq!(split(&(3..5)), [3..5]);
        assert!(split(&(5..5)).is_empty());
    }
}
