//! Which blocks of a partition may hold matching rows.
//!
//! Invariant: runs are sorted, not empty, and never touch, so that every run is one range of rows.
//! Left out: rows within a block.

use std::ops::Range;

/// The blocks that prune could not exclude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockSelection {
    runs: Vec<Range<u32>>,
    block_count: u32,
    block_rows: u32,
    row_count: u64,
}

impl BlockSelection {
    /// Returns the selection of the blocks that are marked in `keep`, one mark per block.
    pub(crate) fn from_marks(keep: &[bool], block_rows: u32, row_count: u64) -> Self {
        let mut runs: Vec<Range<u32>> = Vec::new();
        let mut block_count = 0;
        for &is_kept in keep {
            if is_kept {
                match runs.last_mut() {
                    Some(run) if run.end == block_count => run.end += 1,
                    _ => runs.push(block_count..block_count + 1),
                }
            }
            block_count += 1;
        }
        Self { runs, block_count, block_rows, row_count }
    }

    /// Returns whether every block is selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.selected_blocks() == self.block_count
    }

    /// Returns whether no block is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns whether a block is selected.
    #[must_use]
    pub fn contains(&self, block: u32) -> bool {
        let after = self.runs.partition_point(|run| run.end <= block);
        self.runs.get(after).is_some_and(|run| run.contains(&block))
    }

    /// Returns the selected blocks as sorted runs that do not touch.
    #[must_use]
    pub fn runs(&self) -> &[Range<u32>] {
        &self.runs
    }

    /// Returns the selected rows as sorted ranges that do not touch.
    #[must_use]
    pub fn row_ranges(&self) -> Vec<Range<u64>> {
        let row = |block: u32| (u64::from(block) * u64::from(self.block_rows)).min(self.row_count);
        self.runs.iter().map(|run| row(run.start)..row(run.end)).collect()
    }

    /// Returns the count of selected rows.
    #[must_use]
    pub fn selected_rows(&self) -> u64 {
        self.row_ranges().iter().map(|rows| rows.end - rows.start).sum()
    }

    /// Returns the count of selected blocks.
    #[must_use]
    pub fn selected_blocks(&self) -> u32 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }

    /// Returns the count of all blocks.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.block_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(marks: &[u8], expected: Expect) {
        let keep: Vec<bool> = marks.iter().map(|mark| *mark == 1).collect();
        let rows = u64::try_from(keep.len()).unwrap() * 10 - 3;
        let selection = BlockSelection::from_marks(&keep, 10, rows);
        for (block, is_kept) in (0..).zip(&keep) {
            assert_eq!(selection.contains(block), *is_kept);
        }
        expected.assert_eq(&format!(
            "{:?} rows {} blocks {} all {} none {}",
            selection.row_ranges(),
            selection.selected_rows(),
            selection.selected_blocks(),
            selection.is_all(),
            selection.is_empty(),
        ));
    }

    #[test]
    fn runs_are_coalesced_and_end_with_the_rows() {
        check(&[1, 1, 1], expect!["[0..27] rows 27 blocks 3 all true none false"]);
        check(&[0, 0], expect!["[] rows 0 blocks 0 all false none true"]);
        check(
            &[1, 0, 1, 1, 0, 1],
            expect!["[0..10, 20..40, 50..57] rows 37 blocks 4 all false none false"],
        );
    }
}
