//! Split-block Bloom filters for equality on texts and binary ids.
//!
//! The construction is Apache Parquet's (`BloomFilter.md`): blocks of 32 bytes = 8 words of 32 bits; the
//! upper half of the hash chooses the block, the lower half sets one bit per word. The hash is
//! xxh3-64 of the value. Invariant: a value that was inserted is always found. Left out: numbers,
//! whose minimum and maximum do the work.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use xxhash_rust::xxh3::xxh3_64;

use crate::error::DecodeError;

/// The bytes of one block of a filter.
const BLOCK_BYTES: usize = 32;

/// The odd constants that spread the lower half of a hash over the words, from the Parquet format.
const SALT: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Bits per two distinct values: 10.5 bits each give about 1 % false positives.
const BITS_PER_TWO_VALUES: u64 = 21;

/// The greatest size of one column's filter. A column that needs more gets none: a manifest is read
/// whole for every query, and beyond 200,000 values a filter of the whole partition seldom prunes
/// what the filters or dictionaries of its blocks do not.
pub const BLOOM_BYTES_MAX: u32 = 256 * 1024;

/// The greatest count of distinct values for which there is a filter.
pub(crate) const BLOOM_VALUES_MAX: u64 = BLOOM_BYTES_MAX as u64 * 8 * 2 / BITS_PER_TWO_VALUES;

/// Returns the hash under which a value is inserted and sought.
pub(crate) fn bloom_hash(value: &[u8]) -> u64 {
    xxh3_64(value)
}

/// Returns the bytes of a filter of these hashes, or `None` where it would be too large.
pub(crate) fn build_bloom<I>(hashes: I) -> Option<Vec<u8>>
where
    I: ExactSizeIterator<Item = u64>,
{
    let values = u64::try_from(hashes.len()).ok()?;
    if values > BLOOM_VALUES_MAX {
        return None;
    }
    let bits = values.saturating_mul(BITS_PER_TWO_VALUES).div_ceil(2);
    let block_count = usize::try_from(bits.div_ceil(256).max(1)).ok()?;
    let mut blocks = vec![[0_u32; 8]; block_count];
    for hash in hashes {
        let block = block_index(hash, block_count).and_then(|index| blocks.get_mut(index))?;
        for (word, bit) in block.iter_mut().zip(mask(hash)) {
            *word |= bit;
        }
    }
    Some(blocks.into_iter().flatten().flat_map(u32::to_le_bytes).collect())
}

/// A filter over borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub struct BloomFilter<'a> {
    blocks: &'a [[u8; BLOCK_BYTES]],
}

impl<'a> BloomFilter<'a> {
    /// Returns a view of the filter in `bytes`.
    ///
    /// # Errors
    /// If the length is not a positive multiple of a block, or above [`BLOOM_BYTES_MAX`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        let fits = u32::try_from(bytes.len()).is_ok_and(|length| length <= BLOOM_BYTES_MAX);
        if blocks.is_empty() || !rest.is_empty() || !fits {
            let detail = format!("a filter cannot have {} bytes", bytes.len());
            return Err(DecodeError::corrupt("bloom filter", detail));
        }
        Ok(Self { blocks })
    }

    /// Returns whether `value` may have been inserted. `false` is certain.
    #[must_use]
    pub fn may_contain(&self, value: &[u8]) -> bool {
        self.may_contain_hash(bloom_hash(value))
    }

    fn may_contain_hash(&self, hash: u64) -> bool {
        let index = block_index(hash, self.blocks.len());
        let Some(block) = index.and_then(|index| self.blocks.get(index)) else {
            return true;
        };
        let (words, _) = block.as_chunks::<4>();
        words.iter().zip(mask(hash)).all(|(word, bit)| u32::from_le_bytes(*word) & bit != 0)
    }
}

/// Returns the block of a hash: its upper half scaled to the count of blocks.
fn block_index(hash: u64, block_count: usize) -> Option<usize> {
    let scaled = (hash >> 32).checked_mul(u64::try_from(block_count).ok()?)?;
    usize::try_from(scaled >> 32).ok()
}

/// Returns the bit of each word that a hash sets.
fn mask(hash: u64) -> [u32; 8] {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    SALT.map(|salt| 1_u32.wrapping_shl(low.wrapping_mul(salt) >> 27))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};
    use std::collections::HashSet;

    fn build(values: &[Vec<u8>]) -> Vec<u8> {
        let hashes: HashSet<u64> = values.iter().map(|value| bloom_hash(value)).collect();
        build_bloom(hashes.into_iter()).expect("few values fit")
    }

    #[test]
    fn one_percent_of_strangers_pass() {
        let values: Vec<Vec<u8>> = (0..20_000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
        let bytes = build(&values);
        assert_eq!(bytes.len(), 26_272);
        let filter = BloomFilter::decode(&bytes).unwrap();
        let passed = (20_000..120_000_u32).filter(|n| filter.may_contain(&n.to_le_bytes())).count();
        assert!((400..1_600).contains(&passed), "{passed} of 100,000 passed");
    }

    #[test]
    fn too_many_values_get_no_filter() {
        let count = usize::try_from(BLOOM_VALUES_MAX).unwrap();
        let hash = |n: usize| bloom_hash(&n.to_le_bytes());
        let filter = build_bloom((0..count).map(hash)).unwrap();
        assert!(filter.len() <= usize::try_from(BLOOM_BYTES_MAX).unwrap());
        assert_eq!(build_bloom((0..count + 1).map(hash)), None);
    }

    #[test]
    fn layout_is_fixed() {
        let bytes = build(&[b"peerage".to_vec()]);
        let words: Vec<u32> =
            bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        assert!(words.iter().all(|word| word.count_ones() == 1));
        assert_eq!(words.len(), 8);
    }

    proptest! {
        #[test]
        fn inserted_values_are_found(values: Vec<Vec<u8>>) {
            let bytes = build(&values);
            let filter = BloomFilter::decode(&bytes).unwrap();
            assert!(values.iter().all(|value| filter.may_contain(value)));
        }

        #[test]
        fn any_bytes_decode_or_fail(bytes in any::<Vec<u8>>(), value in any::<Vec<u8>>()) {
            if let Ok(filter) = BloomFilter::decode(&bytes) {
                std::hint::black_box(filter.may_contain(&value));
            }
        }
    }
}
