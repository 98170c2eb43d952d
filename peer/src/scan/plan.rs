//! Which rows of a partition to look at. Pure: reads the mapped index and nothing else.

use std::ops::Range;

use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use peerage_partition::{PartitionVerdict, Predicate, prune_blocks, prune_partition};

use super::ScanError;
use super::open::OpenPartition;

/// The row groups of a partition to read, and the rows in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowPlan {
    /// Row groups with at least one selected row, ascending.
    pub(super) row_groups: Vec<usize>,
    /// For each of them its own selection; `None` means all rows.
    pub(super) selections: Vec<Option<RowSelection>>,
    /// Blocks that may hold a match.
    pub(super) blocks_read: usize,
}

impl RowPlan {
    /// Returns one selection over the row groups of the plan, or `None` when all rows are wanted.
    pub(super) fn selection(&self, rows_of: impl Fn(usize) -> usize) -> Option<RowSelection> {
        if self.selections.iter().all(Option::is_none) {
            return None;
        }
        let selectors =
            self.row_groups.iter().zip(&self.selections).flat_map(|(&group, selection)| {
                match selection {
                    Some(selection) => selection.iter().copied().collect(),
                    None => vec![RowSelector::select(rows_of(group))],
                }
            });
        Some(selectors.collect::<Vec<_>>().into())
    }
}

/// Returns the rows that may match, or `None` when there is none. Of a scan without filters no more
/// than `rows_max` rows are wanted.
pub(super) fn plan(
    open: &OpenPartition,
    predicate: &Predicate,
    rows_max: Option<u64>,
) -> Result<Option<RowPlan>, ScanError> {
    if let PartitionVerdict::Pruned(_) = prune_partition(open.manifest(), predicate) {
        return Ok(None);
    }
    let blocks = prune_blocks(open.manifest(), open.index(), predicate).map_err(|source| {
        ScanError::Corrupt { partition: open.manifest().name().clone(), what: "index", source }
    })?;
    if blocks.is_empty() {
        return Ok(None);
    }
    let wanted = first_rows(blocks.row_ranges(), rows_max.unwrap_or(u64::MAX));
    let blocks_read = blocks_of(&wanted, u64::from(open.index().block_rows()));
    let mut plan = RowPlan { row_groups: Vec::new(), selections: Vec::new(), blocks_read };
    let mut first_row = 0_u64;
    for (number, group) in open.parquet().row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let end_row = first_row.saturating_add(rows);
        let inside: Vec<_> = wanted
            .iter()
            .map(|range| range.start.max(first_row)..range.end.min(end_row))
            .filter(|range| range.start < range.end)
            .map(|range| to_usize(range.start - first_row)..to_usize(range.end - first_row))
            .collect();
        first_row = end_row;
        if inside.is_empty() {
            continue;
        }
        let is_whole = inside.iter().map(ExactSizeIterator::len).sum::<usize>() == to_usize(rows);
        plan.row_groups.push(number);
        plan.selections
            .push((!is_whole).then(|| {
                RowSelection::from_consecutive_ranges(inside.into_iter(), to_usize(rows))
            }));
    }
    Ok(Some(plan))
}

/// Returns the ranges cut off after `rows_max` rows.
fn first_rows(ranges: Vec<Range<u64>>, rows_max: u64) -> Vec<Range<u64>> {
    let mut left = rows_max;
    let mut cut = Vec::with_capacity(ranges.len());
    for range in ranges {
        let end = range.end.min(range.start.saturating_add(left));
        if range.start >= end {
            break;
        }
        left -= end - range.start;
        cut.push(range.start..end);
    }
    cut
}

/// Returns how many blocks sorted, disjoint ranges touch.
fn blocks_of(ranges: &[Range<u64>], block_rows: u64) -> usize {
    let mut count = 0;
    let mut counted_up_to = 0;
    for range in ranges {
        let first = (range.start / block_rows).max(counted_up_to);
        counted_up_to = range.end.div_ceil(block_rows).max(counted_up_to);
        count += counted_up_to.saturating_sub(first);
    }
    to_usize(count)
}

fn to_usize(rows: u64) -> usize {
    usize::try_from(rows).expect("a partition's rows fit into memory addresses")
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use super::*;

    fn check(ranges: &[Range<u64>], rows_max: u64, expected: &[Range<u64>], blocks: usize) {
        let cut = first_rows(ranges.to_vec(), rows_max);
        assert_eq!((cut.as_slice(), blocks_of(&cut, 10)), (expected, blocks));
    }

    #[test]
    fn a_limit_without_filters_cuts_the_rows() {
        check(&[0..30, 50..60], u64::MAX, &[0..30, 50..60], 4);
        check(&[0..30, 50..60], 35, &[0..30, 50..55], 4);
        check(&[0..30, 50..60], 5, &[0..5], 1);
        check(&[0..30], 0, &[], 0);
        check(&[0..5, 7..12], u64::MAX, &[0..5, 7..12], 2);
    }
}
