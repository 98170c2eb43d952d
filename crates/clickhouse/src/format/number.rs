//! Numbers as ClickHouse prints them: integers, the shortest floats, decimals without closing zeros.
//!
//! A float is written with the fewest digits that read back to it, as JavaScript writes it: plain between 1e-6 and
//! 1e21, with an exponent outside, `nan` and `inf` in words. Nothing here allocates.

use arrow::datatypes::i256;
use std::io::Write;

/// Whole numbers below this are exact in a double, so that integer printing is float printing.
const EXACT_WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// Decimal exponents between which a float is written without one.
const PLAIN_EXPONENTS: std::ops::RangeInclusive<i32> = -5..=21;
/// Digits of the widest 256-bit integer and its sign.
const WIDE_DIGITS_MAX: usize = 80;

/// Appends an integer.
pub(super) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a 64-bit float.
pub(super) fn float64(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() && value.abs() < EXACT_WHOLE_MAX && value.trunc() == value {
        return whole(value, out);
    }
    match special(value) {
        Some(word) => out.extend_from_slice(word),
        None => shortest(ryu::Buffer::new().format_finite(value), out),
    }
}

/// Appends a 32-bit float, with the digits that a 32-bit float needs.
pub(super) fn float32(value: f32, out: &mut Vec<u8>) {
    match special(f64::from(value)) {
        Some(word) => out.extend_from_slice(word),
        None => shortest(ryu::Buffer::new().format_finite(value), out),
    }
}

fn whole(value: f64, out: &mut Vec<u8>) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative and below 2^53, as checked by the caller"
    )]
    integer(value.abs() as u64, out);
}

const fn special(value: f64) -> Option<&'static [u8]> {
    match value {
        _ if value.is_nan() => Some(b"nan"),
        f64::INFINITY => Some(b"inf"),
        f64::NEG_INFINITY => Some(b"-inf"),
        _ => None,
    }
}

/// Appends the digits of `text`, which has Rust's layout (`1.5e-7`, `100.0`), in ClickHouse's.
fn shortest(text: &str, out: &mut Vec<u8>) {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = [b'0'; 40];
    let mut count = 0;
    for byte in before.bytes().chain(after.bytes()) {
        if let Some(slot) = digits.get_mut(count) {
            *slot = byte;
            count += 1;
        }
    }
    let all = digits.get(..count).unwrap_or_default();
    let leading = all.iter().take_while(|&&digit| digit == b'0').count();
    let closing = all.iter().rev().take_while(|&&digit| digit == b'0').count();
    out.extend_from_slice(sign.as_bytes());
    let Some(digits) =
        all.get(leading..count.saturating_sub(closing)).filter(|all| !all.is_empty())
    else {
        return out.push(b'0');
    };
    let point = i32::try_from(before.len()).unwrap_or_default()
        - i32::try_from(leading).unwrap_or_default();
    place(digits, point + exponent, out);
}

/// Appends digits whose value is `0.digits` times ten to the power of `point`.
fn place(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    if !PLAIN_EXPONENTS.contains(&point) {
        let (first, rest) = digits.split_at(1);
        out.extend_from_slice(first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        out.push(b'e');
        return integer(point - 1, out);
    }
    match usize::try_from(point) {
        Ok(point) if point >= digits.len() => {
            out.extend_from_slice(digits);
            zeros(point - digits.len(), out);
        }
        Ok(point) if point > 0 => {
            let (whole, fraction) = digits.split_at(point);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        _ => {
            out.extend_from_slice(b"0.");
            zeros(usize::try_from(point.unsigned_abs()).unwrap_or_default(), out);
            out.extend_from_slice(digits);
        }
    }
}

fn zeros(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len().saturating_add(count), b'0');
}

/// Appends a decimal of up to 128 bits.
pub(super) fn decimal128(value: i128, scale: i8, out: &mut Vec<u8>) {
    if value.is_negative() {
        out.push(b'-');
    }
    decimal_digits(itoa::Buffer::new().format(value.unsigned_abs()).as_bytes(), scale, out);
}

/// Appends a decimal of 256 bits.
pub(super) fn decimal256(value: i256, scale: i8, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; WIDE_DIGITS_MAX];
    let mut rest = buffer.as_mut_slice();
    write!(rest, "{value}").expect("the buffer holds the widest value");
    let left = rest.len();
    let text = &buffer[..WIDE_DIGITS_MAX - left];
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.len() < text.len() {
        out.push(b'-');
    }
    decimal_digits(digits, scale, out);
}

/// Appends digits with the point before the last `scale` of them and without closing zeros.
fn decimal_digits(digits: &[u8], scale: i8, out: &mut Vec<u8>) {
    let Ok(scale) = usize::try_from(scale) else {
        out.extend_from_slice(digits);
        if digits != b"0" {
            zeros(usize::from(scale.unsigned_abs()), out);
        }
        return;
    };
    let point = digits.len().saturating_sub(scale);
    let (whole, fraction) = digits.split_at(point);
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    let missing = scale.saturating_sub(digits.len());
    let closing = fraction.iter().rev().take_while(|&&digit| digit == b'0').count();
    let fraction = fraction.get(..fraction.len().saturating_sub(closing)).unwrap_or_default();
    if !fraction.is_empty() {
        out.push(b'.');
        zeros(missing, out);
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_as_clickhouse_prints_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e20, "100000000000000000000"),
            (1.234e20, "123400000000000000000"),
            (1e21, "1e21"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (123_456_789.123, "123456789.123"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(text(|out| float64(value, out)), expected);
        }
        assert_eq!(text(|out| float32(1.0 / 3.0, out)), "0.33333334");
        assert_eq!(text(|out| float32(123_456_789.0, out)), "123456790");
    }

    #[test]
    fn decimals_lose_their_closing_zeros() {
        for (value, scale, expected) in [
            (-150, 2, "-1.5"),
            (0, 2, "0"),
            (5, 3, "0.005"),
            (-1, 10, "-0.0000000001"),
            (100, 0, "100"),
            (100, 2, "1"),
            (12, -2, "1200"),
        ] {
            assert_eq!(text(|out| decimal128(value, scale, out)), expected);
            assert_eq!(text(|out| decimal256(i256::from_i128(value), scale, out)), expected);
        }
        assert_eq!(text(|out| decimal256(i256::MIN, 0, out)), i256::MIN.to_string());
    }

    proptest! {
        #[test]
        fn any_float_reads_back(bits in any::<u64>(), small in any::<u32>()) {
            let value = f64::from_bits(bits);
            let read: f64 = text(|out| float64(value, out)).parse().unwrap();
            prop_assert!(read == value || value.is_nan() && read.is_nan());
            let value = f32::from_bits(small);
            let read: f32 = text(|out| float32(value, out)).parse().unwrap();
            prop_assert!(read == value || value.is_nan() && read.is_nan());
        }
    }
}
