//! What the writer learns about the distinct values of a column while rows pass by.
//!
//! Invariant: memory is bounded: 4 KiB of registers (HyperLogLog, standard error 1.6 %) and, for
//! columns that may get a Bloom filter, the hashes of at most [`BLOOM_VALUES_MAX`] values. Left
//! out: the values themselves.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::bloom::{BLOOM_VALUES_MAX, bloom_hash, build_bloom};
use crate::checksum::widen;

/// Bits of a hash that choose a register.
const REGISTER_BITS: u32 = 12;
/// The count of registers, 2^12.
const REGISTERS: usize = 4096;

/// A HyperLogLog sketch of distinct 64-bit hashes.
#[derive(Debug, Clone)]
pub(crate) struct DistinctSketch {
    registers: Vec<u8>,
}

impl DistinctSketch {
    pub(crate) fn new() -> Self {
        Self { registers: vec![0; REGISTERS] }
    }

    pub(crate) fn insert(&mut self, hash: u64) {
        let register = usize::try_from(hash >> (64 - REGISTER_BITS)).unwrap_or(0);
        let rest = (hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1));
        let rank = u8::try_from(rest.leading_zeros() + 1).unwrap_or(u8::MAX);
        if let Some(slot) = self.registers.get_mut(register) {
            *slot = (*slot).max(rank);
        }
    }

    /// Returns the estimated count of distinct hashes.
    pub(crate) fn estimate(&self) -> u64 {
        let count = 4096.0;
        let sum: f64 = self.registers.iter().map(|&rank| (-f64::from(rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / sum;
        let empty = self.registers.iter().filter(|&&rank| rank == 0).map(|_| 1.0).sum::<f64>();
        let small = raw <= 2.5 * count && empty > 0.0;
        round(if small { count * (count / empty).ln() } else { raw })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate is positive and far below 2^63; the cast saturates otherwise"
)]
fn round(estimate: f64) -> u64 {
    estimate.round() as u64
}

/// Returns the hash of a number for a sketch.
pub(crate) fn number_hash(bits: u64) -> u64 {
    xxh3_64(&bits.to_le_bytes())
}

/// Passes a hash on as it is: xxh3 has mixed it already.
#[derive(Debug, Clone, Default)]
pub(crate) struct MixedHasher(u64);

impl Hasher for MixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A set of hashes that are well mixed already.
pub(crate) type HashesSeen = HashSet<u64, BuildHasherDefault<MixedHasher>>;

/// The distinct byte strings of a column: counted exactly while a Bloom filter is still possible,
/// estimated beyond.
#[derive(Debug, Clone)]
pub(crate) struct KeySketch {
    seen: Option<HashesSeen>,
    sketch: DistinctSketch,
}

impl KeySketch {
    pub(crate) fn new() -> Self {
        Self { seen: Some(HashesSeen::default()), sketch: DistinctSketch::new() }
    }

    pub(crate) fn insert(&mut self, value: &[u8]) {
        let hash = bloom_hash(value);
        self.sketch.insert(hash);
        if let Some(seen) = &mut self.seen {
            seen.insert(hash);
            if widen(seen.len()) > BLOOM_VALUES_MAX {
                self.seen = None;
            }
        }
    }

    pub(crate) fn distinct(&self) -> u64 {
        self.seen.as_ref().map_or_else(|| self.sketch.estimate(), |seen| widen(seen.len()))
    }

    /// Returns the Bloom filter of the values; `None` where there are no values, or too many.
    pub(crate) fn bloom(&self) -> Option<Vec<u8>> {
        let seen = self.seen.as_ref().filter(|seen| !seen.is_empty())?;
        build_bloom(seen.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(distinct: u64) {
        let mut sketch = DistinctSketch::new();
        for round in 0..2 {
            for value in 0..distinct {
                sketch.insert(number_hash(value));
            }
            let error = sketch.estimate().abs_diff(distinct);
            assert!(error <= distinct / 20, "{distinct} off by {error} in round {round}");
        }
    }

    #[test]
    fn estimates_are_within_five_percent() {
        for distinct in [0, 1, 10, 1_000, 10_000, 50_000, 300_000] {
            check(distinct);
        }
    }

    #[test]
    fn keys_are_counted_then_estimated() {
        let mut keys = KeySketch::new();
        assert_eq!((keys.distinct(), keys.bloom()), (0, None));
        for n in 0..1000_u32 {
            keys.insert(&(n % 300).to_le_bytes());
        }
        assert_eq!(keys.distinct(), 300);
        assert!(keys.bloom().is_some());
        for n in 0..250_000_u32 {
            keys.insert(&n.to_le_bytes());
        }
        assert_eq!(keys.bloom(), None);
        assert!(keys.distinct().abs_diff(250_000) < 12_500);
    }
}
