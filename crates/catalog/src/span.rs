//! Time ranges in levels, so that an ordinary B-tree finds all partitions that overlap a range.
//!
//! A partition is an interval. An index over its two ends alone must walk half of the table for most
//! ranges. So each partition carries a *level*: the smallest power of two above its length. Within
//! one level an overlapping partition begins at most that power before the range, so one index range
//! per level holds all of them and little else: O(levels × log n + answers), and a table has few
//! levels because its partitions are made alike.

/// The level above all widths that fit: intervals of this level may begin anywhere.
const LEVEL_UNBOUNDED: u32 = 63;

/// Returns the level of a partition with this time range in milliseconds, both ends included.
pub(crate) fn level(min_ms: i64, max_ms: i64) -> u32 {
    let length = max_ms.abs_diff(min_ms);
    (u64::BITS - length.leading_zeros()).min(LEVEL_UNBOUNDED)
}

/// Returns the earliest begin that a partition of `level` may have and still reach `from_ms`.
pub(crate) fn earliest_begin(level: u32, from_ms: i64) -> i64 {
    if level >= LEVEL_UNBOUNDED {
        return i64::MIN;
    }
    from_ms.saturating_sub(1_i64 << level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_grow_with_the_length() {
        let check = |min, max, expected| assert_eq!(level(min, max), expected, "{min}..={max}");
        check(5, 5, 0);
        check(0, 1, 1);
        check(0, 2, 2);
        check(-1, 2, 2);
        check(0, 1023, 10);
        check(0, 1024, 11);
        check(i64::MIN, i64::MAX, 63);
    }

    #[test]
    fn no_overlap_begins_before_the_bound() {
        let ends = [i64::MIN, i64::MIN + 1, -1000, -1, 0, 1, 7, 1 << 40, i64::MAX - 1, i64::MAX];
        for &min in &ends {
            for &max in ends.iter().filter(|&&max| max >= min) {
                for &from in ends.iter().filter(|&&from| from <= max) {
                    let bound = earliest_begin(level(min, max), from);
                    assert!(bound <= min || min >= from, "{min}..={max} from {from}: {bound}");
                }
            }
        }
    }
}
