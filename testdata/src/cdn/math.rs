//! Elementary functions made of IEEE additions, multiplications and divisions only, so that a
//! seed gives the same rows on every platform; the system's `exp` and `ln` differ in the last bit.
//!
//! Invariant: relative error below 1e-8, which the distributions do not notice. Left out: speed
//! and infinities; these run only while tables are built, on small finite arguments.

use std::f64::consts::{LN_2, PI, TAU};

/// Terms of the power series; the argument is at most 0.35 in size, so 16 reach full precision.
const EXP_TERMS: u32 = 16;

/// Terms of the series for the logarithm; its ratio is at most 0.04 for each term.
const LN_TERMS: u32 = 14;

/// Terms of the series for the cosine of an angle of at most π.
const COS_TERMS: u32 = 14;

/// Returns e to the power of `x`.
pub(super) fn exp(x: f64) -> f64 {
    let halvings = (x / LN_2).round();
    let rest = x - halvings * LN_2;
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..=EXP_TERMS {
        term *= rest / f64::from(n);
        sum += term;
    }
    let (mut left, factor) = (halvings.abs(), if halvings < 0.0 { 0.5 } else { 2.0 });
    while left > 0.5 {
        sum *= factor;
        left -= 1.0;
    }
    sum
}

/// Returns the natural logarithm of a positive `x`.
pub(super) fn ln(x: f64) -> f64 {
    let (mut mantissa, mut exponent) = (x, 0.0);
    while mantissa > 1.5 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    while mantissa < 0.75 {
        mantissa *= 2.0;
        exponent -= 1.0;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut sum, mut power) = (0.0, ratio);
    for n in 0..LN_TERMS {
        sum += power / f64::from(2 * n + 1);
        power *= ratio * ratio;
    }
    2.0 * sum + exponent * LN_2
}

/// Returns the cosine of a whole turn times `turns`, for `turns` between 0 and 1.
pub(super) fn cos_of_turns(turns: f64) -> f64 {
    let angle = turns * TAU - PI;
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..=COS_TERMS {
        term *= -angle * angle / f64::from((2 * n - 1) * (2 * n));
        sum += term;
    }
    -sum
}

/// Returns the standard normal value below which the share `p` lies (P. J. Acklam's
/// approximation), for `p` strictly between 0 and 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const TAIL: f64 = 0.024_25;
    if p < TAIL {
        let q = (-2.0 * ln(p)).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    } else if p > 1.0 - TAIL {
        -normal_quantile(1.0 - p)
    } else {
        let q = p - 0.5;
        polynomial(&A, q * q) * q / polynomial(&B, q * q)
    }
}

/// Returns the polynomial with these coefficients, highest power first, at `x`.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(actual: f64, expected: f64) {
        let error = (actual - expected).abs() / expected.abs().max(1e-3);
        assert!(error < 1e-8, "{actual} is not {expected}");
    }

    #[test]
    fn agrees_with_the_system() {
        for step in -80_i32..=80 {
            let x = f64::from(step) / 4.0;
            check(exp(x), x.exp());
            check(ln(x.exp()), x);
            let turns = f64::from(step + 80) / 160.0;
            check(cos_of_turns(turns) + 2.0, (turns * TAU).cos() + 2.0);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        check(normal_quantile(0.5) + 1.0, 1.0);
        check(normal_quantile(0.975), 1.959_963_985);
        check(normal_quantile(0.001), -3.090_232_306);
    }
}
