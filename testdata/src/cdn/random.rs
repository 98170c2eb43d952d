//! Randomness that can be asked for by position: a draw is a function of seed, stream and row.
//!
//! Invariant: no state, so a row has the same values whatever batch it is made in, whoever makes
//! it, and whichever rows were made before. The function is SplitMix64 read at an offset. Left
//! out: any cryptographic claim.

use super::math;

/// SplitMix64's step: the odd number nearest to 2^64 divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Two to the power of -53: turns the upper 53 bits of a draw into a number below 1.
const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;

/// An endless sequence of draws, one for each row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream(u64);

impl Stream {
    /// Returns the stream numbered `id` of this seed.
    pub(super) fn new(seed: u64, id: u64) -> Self {
        Self(mix(seed.wrapping_add(STEP)).wrapping_add(mix(id.wrapping_mul(STEP))))
    }

    /// Returns the draw of this row.
    pub(super) fn at(self, row: u64) -> u64 {
        mix(self.0.wrapping_add(row.wrapping_mul(STEP)))
    }
}

/// Returns a number that looks unrelated to `z` and is unique to it.
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Returns a number in `0.0..1.0` from the upper 53 bits of a draw.
pub(super) fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 * UNIT
}

/// Returns a number in `0..bound` from the upper half of a draw; `bound` is not zero.
pub(super) fn below(draw: u64, bound: u32) -> u32 {
    let product = u128::from(draw) * u128::from(bound);
    u32::try_from(product >> 64).expect("a 64-bit fraction of a 32-bit bound is below it")
}

/// Returns whether an event of this probability happens in this draw.
pub(super) fn happens(draw: u64, probability: f64) -> bool {
    unit(draw) < probability
}

/// Returns the whole part of `x`, which every caller bounds far below 2^63.
#[expect(clippy::cast_possible_truncation, reason = "dropping the fraction is the purpose")]
pub(super) fn whole(x: f64) -> i64 {
    x as i64
}

/// Returns `x` rounded to three decimals.
pub(super) fn to_thousandths(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

/// Weighted choice in constant time: Walker's alias table as built by Vose.
#[derive(Debug, Clone)]
pub(super) struct Alias(Vec<AliasCell>);

/// One cell of an alias table: below the threshold the cell itself is chosen, else the other.
#[derive(Debug, Clone, Copy)]
struct AliasCell {
    threshold: u32,
    other: u32,
}

impl Alias {
    /// Returns the table for these weights, of which there is at least one.
    pub(super) fn new(weights: &[f64]) -> Self {
        let count = u32::try_from(weights.len()).expect("pools have fewer than 2^32 members");
        let scale = f64::from(count) / weights.iter().sum::<f64>();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&cell| left[cell as usize] < 1.0);
        let mut cells: Vec<AliasCell> =
            (0..count).map(|other| AliasCell { threshold: u32::MAX, other }).collect();
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            let share = left[poor as usize];
            cells[poor as usize] = AliasCell { threshold: fraction(share), other: rich };
            left[rich as usize] -= 1.0 - share;
            if left[rich as usize] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self(cells)
    }

    /// Returns the table in which the n-th of `count` members has weight n to the power of `-s`.
    pub(super) fn zipf(count: u32, s: f64) -> Self {
        Self::new(&zipf_weights(count, s))
    }

    /// Returns the member that this draw chooses.
    pub(super) fn sample(&self, draw: u64) -> u32 {
        let count = u64::try_from(self.0.len()).expect("a length fits 64 bits");
        let cell = ((draw >> 32) * count) >> 32;
        let cell = u32::try_from(cell).expect("a 32-bit fraction of a 32-bit count is below it");
        let AliasCell { threshold, other } = self.0[cell as usize];
        if draw & 0xFFFF_FFFF < u64::from(threshold) { cell } else { other }
    }
}

/// Returns the weights 1, 2^-s, 3^-s, … of `count` members.
pub(super) fn zipf_weights(count: u32, s: f64) -> Vec<f64> {
    (1..=count).map(|rank| math::exp(-s * math::ln(f64::from(rank)))).collect()
}

/// Returns a share of at most 1 as a 32-bit fraction.
fn fraction(share: f64) -> u32 {
    u32::try_from(whole(share * f64::from(u32::MAX))).unwrap_or(u32::MAX)
}

/// Cells of the quantile table: fine enough that straight lines between them go unnoticed.
const QUANTILES: u32 = 4096;

/// Values whose logarithm is normal, drawn from a table of quantiles.
#[derive(Debug, Clone)]
pub(super) struct LogNormal(Vec<f64>);

impl LogNormal {
    /// Returns the distribution whose logarithm has mean `mu` and standard deviation `sigma`.
    pub(super) fn new(mu: f64, sigma: f64) -> Self {
        // The ends stand for the quantiles of 1 in 131,072: 4.3 standard deviations.
        let end = 1.0 / 131_072.0;
        let node = |cell: u32| {
            let p = (f64::from(cell) / f64::from(QUANTILES)).clamp(end, 1.0 - end);
            math::exp(mu + sigma * math::normal_quantile(p))
        };
        Self((0..=QUANTILES).map(node).collect())
    }

    /// Returns the value of this draw.
    pub(super) fn sample(&self, draw: u64) -> f64 {
        let cell = below(draw, QUANTILES) as usize;
        let along = unit(draw << 12);
        self.0[cell] + along * (self.0[cell + 1] - self.0[cell])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    fn draws() -> impl Iterator<Item = u64> {
        let stream = Stream::new(7, 3);
        (0..u64::from(DRAWS)).map(move |row| stream.at(row))
    }

    #[test]
    fn an_alias_table_keeps_its_weights() {
        let table = Alias::new(&[5.0, 1.0, 0.0, 4.0]);
        let mut counts = [0_u32; 4];
        for draw in draws() {
            counts[table.sample(draw) as usize] += 1;
        }
        let share = |cell: usize| f64::from(counts[cell]) / f64::from(DRAWS);
        assert!((share(0) - 0.5).abs() < 0.01, "{counts:?}");
        assert!((share(1) - 0.1).abs() < 0.01, "{counts:?}");
        assert_eq!(counts[2], 0);
    }

    #[test]
    fn a_log_normal_has_its_median_and_mean() {
        let distribution = LogNormal::new(2.2, 0.8);
        let mut values: Vec<f64> = draws().map(|draw| distribution.sample(draw)).collect();
        values.sort_by(f64::total_cmp);
        let median = values[values.len() / 2];
        assert!((median / 2.2_f64.exp() - 1.0).abs() < 0.01, "median {median}");
        let mean = values.iter().sum::<f64>() / f64::from(DRAWS);
        assert!((mean / 2.52_f64.exp() - 1.0).abs() < 0.02, "mean {mean}");
    }

    #[test]
    fn below_covers_its_range() {
        let mut seen = [false; 7];
        draws().for_each(|draw| seen[below(draw, 7) as usize] = true);
        assert_eq!(seen, [true; 7]);
    }
}
