//! Sizes and durations as people write them: `512MiB`, `30s`.
//!
//! Invariant: formatting and parsing are inverse, so the effective configuration can be read back.
//! A number without a unit is refused: nobody should have to guess between bytes and megabytes.
//!
//! Left out: fractions and sums (`1.5GiB`, `1m30s`); a smaller unit says the same.

use std::time::Duration;

/// Units of size, largest first; the first of two names is the one that is printed.
const SIZE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Units of time in milliseconds, largest first.
const DURATION_UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A text that is not a size or not a duration: the person must write it otherwise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text is not a size.
    #[error(
        "`{value}` is not a size; write a whole number with a unit, such as 512MiB or 10GiB (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"
    )]
    Size {
        /// The text as it was written.
        value: String,
    },
    /// The text is not a duration.
    #[error(
        "`{value}` is not a duration; write a whole number with a unit, such as 500ms, 30s or 2m (ms, s, m, h, d)"
    )]
    Duration {
        /// The text as it was written.
        value: String,
    },
}

/// Returns the bytes that a size such as `10GiB` stands for.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    parse(text, &SIZE_UNITS).ok_or_else(|| UnitError::Size { value: text.to_owned() })
}

/// Returns the time that a duration such as `30s` stands for.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let milliseconds = parse(text, &DURATION_UNITS);
    milliseconds
        .map(Duration::from_millis)
        .ok_or_else(|| UnitError::Duration { value: text.to_owned() })
}

/// Returns the size in the largest unit that needs no fraction.
pub fn format_size(bytes: u64) -> String {
    format(bytes, &SIZE_UNITS, "B")
}

/// Returns the duration in the largest unit that needs no fraction, cut to whole milliseconds.
pub fn format_duration(duration: Duration) -> String {
    format(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX), &DURATION_UNITS, "ms")
}

fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn format(value: u64, units: &[(&str, u64)], smallest: &str) -> String {
    let whole = |factor: u64| value != 0 && value.is_multiple_of(factor);
    match units.iter().find(|(_, factor)| whole(*factor)) {
        Some((name, factor)) => format!("{}{name}", value / factor),
        None => format!("{value}{smallest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        let check = |text: &str, bytes: Option<u64>| assert_eq!(parse_size(text).ok(), bytes);
        check("10GiB", Some(10 << 30));
        check(" 512 MiB ", Some(512 << 20));
        check("1KB", Some(1000));
        check("0B", Some(0));
        check("10", None);
        check("GiB", None);
        check("", None);
        check("1.5GiB", None);
        check("-1B", None);
        check("10gib", None);
        check("99999999999TiB", None);
        check("1ß", None);
    }

    #[test]
    fn durations() {
        let check = |text: &str, millis: Option<u64>| {
            assert_eq!(parse_duration(text).ok(), millis.map(Duration::from_millis));
        };
        check("30s", Some(30_000));
        check("2m", Some(120_000));
        check("500ms", Some(500));
        check("1h", Some(3_600_000));
        check("1d", Some(86_400_000));
        check("30", None);
        check("1m30s", None);
        check("99999999999999999999s", None);
    }

    #[test]
    fn the_largest_whole_unit_is_printed() {
        assert_eq!(format_size(2 << 30), "2GiB");
        assert_eq!(format_size(1_500), "1500B");
        assert_eq!(format_size(3_000), "3KB");
        assert_eq!(format_size(0), "0B");
        assert_eq!(format_duration(Duration::from_secs(90)), "90s");
        assert_eq!(format_duration(Duration::ZERO), "0ms");
    }

    proptest! {
        #[test]
        fn formatting_and_parsing_are_inverse(value in any::<u64>()) {
            prop_assert_eq!(parse_size(&format_size(value)), Ok(value));
            let duration = Duration::from_millis(value);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            drop(parse_size(&text));
            drop(parse_duration(&text));
        }
    }
}
