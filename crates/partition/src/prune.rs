//! Which partitions, and which blocks of one, a predicate can exclude. Pure.
//!
//! Invariant: may widen, never narrow. What is excluded holds no matching row, under SQL's null
//! semantics and for floats under the total order as well as under IEEE comparison; everything in
//! doubt is kept: a literal of another kind than the column, a section that is missing, a bound that
//! is unknown. A column that the partition does not have (it joined the table later) reads as all
//! NULL. Left out: the rows themselves; the predicate is always applied to them again.

use crate::column::ColumnId;
use crate::error::DecodeError;
use crate::index::Index;
use crate::manifest::Manifest;
use crate::predicate::Predicate;
use crate::selection::BlockSelection;
use crate::value::{Value, ValueRef};
use crate::zone::ZoneMap;

mod facts;

use facts::{Facts, Question};

/// Why a partition was pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PruneReason {
    /// By the range of the primary.
    Primary,
    /// By the minimum, maximum or null count of a column.
    Stats,
    /// By the Bloom filter of a column.
    Bloom,
    /// The predicate matches nothing anywhere.
    AlwaysFalse,
}

/// What prune says about a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionVerdict {
    /// It may hold matching rows.
    Keep,
    /// It holds none.
    Pruned(PruneReason),
}

/// Returns whether the partition may hold rows that match, by its manifest alone.
#[must_use]
pub fn prune_partition(manifest: &Manifest, predicate: &Predicate) -> PartitionVerdict {
    excluded(manifest, predicate).map_or(PartitionVerdict::Keep, PartitionVerdict::Pruned)
}

/// Returns why no row of the partition matches, or `None` where one may.
fn excluded(manifest: &Manifest, predicate: &Predicate) -> Option<PruneReason> {
    let (column, question) = match predicate {
        Predicate::True => return None,
        Predicate::False => return Some(PruneReason::AlwaysFalse),
        Predicate::And(parts) => return parts.iter().find_map(|part| excluded(manifest, part)),
        Predicate::Or(parts) => return all_excluded(manifest, parts),
        Predicate::In { values, .. } if values.is_empty() => {
            return Some(PruneReason::AlwaysFalse);
        }
        Predicate::Compare { column, op, value } => (*column, Question::Compare(*op, value)),
        Predicate::In { column, values } => (*column, Question::In(values)),
        Predicate::IsNull(column) => (*column, Question::IsNull),
        Predicate::IsNotNull(column) => (*column, Question::IsNotNull),
        Predicate::StartsWith { column, prefix } => (*column, Question::StartsWith(prefix)),
    };
    let by_stats = if manifest.schema().primary() == Some(column) {
        PruneReason::Primary
    } else {
        PruneReason::Stats
    };
    let facts = partition_facts(manifest, column)?;
    if !facts.may_match(question) {
        return Some(by_stats);
    }
    excluded_by_bloom(manifest, column, &facts, question).then_some(PruneReason::Bloom)
}

/// Returns why no part matches: the reason of the first.
fn all_excluded(manifest: &Manifest, parts: &[Predicate]) -> Option<PruneReason> {
    let mut first = None;
    for part in parts {
        let reason = excluded(manifest, part)?;
        first.get_or_insert(reason);
    }
    Some(first.unwrap_or(PruneReason::AlwaysFalse))
}

/// Returns what the manifest knows about a column, or `None` where it knows nothing.
fn partition_facts(manifest: &Manifest, column: ColumnId) -> Option<Facts<'_>> {
    if manifest.schema().index_of(column).is_none() {
        return Some(Facts::all_null(manifest.rows()));
    }
    let stats = manifest.stats(column)?;
    Some(Facts {
        rows: manifest.rows(),
        nulls: stats.null_count,
        min: stats.min.as_ref().map(Value::borrow),
        max: stats.max.as_ref().map(Value::borrow),
        has_exact_bounds: stats.exact_bounds,
    })
}

/// Returns whether the Bloom filter excludes every value that the statistics let pass.
fn excluded_by_bloom(
    manifest: &Manifest,
    column: ColumnId,
    facts: &Facts<'_>,
    question: Question<'_>,
) -> bool {
    let Some(sought) = question.equals_one_of() else {
        return false;
    };
    let Some(bloom) = manifest.bloom(column) else {
        return false;
    };
    sought.iter().all(|value| match value {
        Value::Bytes(bytes) => {
            !facts.may_equal(ValueRef::Bytes(bytes)) || !bloom.may_contain(bytes)
        }
        _ => false,
    })
}

/// Returns the blocks that may hold rows that match, by the zone maps of the index.
///
/// # Errors
/// If the index is damaged, or belongs to another partition than the manifest.
pub fn prune_blocks<B: AsRef<[u8]>>(
    manifest: &Manifest,
    index: &Index<B>,
    predicate: &Predicate,
) -> Result<BlockSelection, DecodeError> {
    if index.row_count() != manifest.rows() || index.block_rows() != manifest.block_rows() {
        return Err(DecodeError::corrupt("index trailer", "it belongs to another manifest"));
    }
    let keep = Pruner { manifest, index }.marks(predicate)?;
    Ok(BlockSelection::from_marks(&keep, index.block_rows(), index.row_count()))
}

/// Evaluates a predicate on all blocks at once.
struct Pruner<'a, B> {
    manifest: &'a Manifest,
    index: &'a Index<B>,
}

impl<B: AsRef<[u8]>> Pruner<'_, B> {
    /// Returns one mark per block: whether it may hold a match.
    fn marks(&self, predicate: &Predicate) -> Result<Vec<bool>, DecodeError> {
        match predicate {
            Predicate::True => Ok(self.uniform(true)),
            Predicate::False => Ok(self.uniform(false)),
            Predicate::And(parts) => self.all_of(parts),
            Predicate::Or(parts) => self.any_of(parts),
            Predicate::Compare { column, op, value } => {
                self.ask(*column, Question::Compare(*op, value))
            }
            Predicate::In { column, values } => self.ask(*column, Question::In(values)),
            Predicate::IsNull(column) => self.ask(*column, Question::IsNull),
            Predicate::IsNotNull(column) => self.ask(*column, Question::IsNotNull),
            Predicate::StartsWith { column, prefix } => {
                self.ask(*column, Question::StartsWith(prefix))
            }
        }
    }

    fn all_of(&self, parts: &[Predicate]) -> Result<Vec<bool>, DecodeError> {
        let mut all = self.uniform(true);
        for part in parts {
            for (kept, mark) in all.iter_mut().zip(self.marks(part)?) {
                *kept &= mark;
            }
        }
        Ok(all)
    }

    fn any_of(&self, parts: &[Predicate]) -> Result<Vec<bool>, DecodeError> {
        let mut any = self.uniform(false);
        for part in parts {
            for (kept, mark) in any.iter_mut().zip(self.marks(part)?) {
                *kept |= mark;
            }
        }
        Ok(any)
    }

    fn ask(&self, column: ColumnId, question: Question<'_>) -> Result<Vec<bool>, DecodeError> {
        let blocks = 0..self.index.block_count();
        if self.manifest.schema().index_of(column).is_none() {
            let all_null = Facts::all_null(self.manifest.rows());
            return Ok(self.uniform(all_null.may_match(question)));
        }
        let Some(zones) = self.index.zone_map(column)? else {
            return Ok(self.uniform(true));
        };
        Ok(blocks.map(|block| self.block_facts(&zones, block).may_match(question)).collect())
    }

    fn block_facts<'z>(&self, zones: &ZoneMap<'z>, block: u32) -> Facts<'z> {
        Facts {
            rows: u64::from(self.index.rows_in_block(block)),
            nulls: u64::from(zones.null_count(block)),
            min: zones.min_ref(block),
            max: zones.max_ref(block),
            has_exact_bounds: zones.has_exact_bounds(block),
        }
    }

    fn uniform(&self, mark: bool) -> Vec<bool> {
        (0..self.index.block_count()).map(|_| mark).collect()
    }
}
