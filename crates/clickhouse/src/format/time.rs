//! Dates and times as text, and the zones they are shown in.
//!
//! A calendar date is computed, not looked up; only a named zone asks the time-zone tables, once for each quarter of an
//! hour in a row of values, because no zone changes within one.

use super::number::integer;
use super::{DateTimeOutput, FormatError};
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;
use std::cell::Cell;

const DAY_SECONDS: i64 = 86_400;
/// Zones change their offset only at such moments.
const ZONE_STEP_SECONDS: i64 = 900;

/// Where a moment is shown.
pub(super) enum Zone {
    /// Seconds east of Greenwich.
    Fixed(i64),
    /// A named zone, and the last quarter of an hour that was looked up with its offset.
    Named(Tz, Cell<(i64, i64)>),
}

impl Zone {
    /// Returns the zone of a type; none is UTC.
    pub(super) fn of(name: Option<&str>) -> Result<Self, FormatError> {
        match name {
            None | Some("UTC" | "Z" | "") => Ok(Self::Fixed(0)),
            Some(name) => fixed(name)
                .map(Self::Fixed)
                .or_else(|| Some(Self::Named(name.parse().ok()?, Cell::new((i64::MIN, 0)))))
                .ok_or_else(|| FormatError::UnknownZone { zone: name.to_string() }),
        }
    }

    /// Returns the seconds that the zone is ahead of UTC at a moment.
    fn offset(&self, seconds: i64) -> i64 {
        match self {
            Self::Fixed(offset) => *offset,
            Self::Named(zone, last) => {
                let step = seconds.div_euclid(ZONE_STEP_SECONDS);
                let (known, offset) = last.get();
                if known == step {
                    return offset;
                }
                let offset = DateTime::from_timestamp(seconds, 0).map_or(0, |moment| {
                    let local = zone.offset_from_utc_datetime(&moment.naive_utc());
                    i64::from(local.fix().local_minus_utc())
                });
                last.set((step, offset));
                offset
            }
        }
    }
}

/// Reads `+02:00`, `-0330` or `+02`.
fn fixed(name: &str) -> Option<i64> {
    let (sign, rest) = match name.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match digits.len() {
        2 if is_number => (digits.as_str(), "0"),
        4 if is_number => digits.split_at(2),
        _ => return None,
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(sign * (hours * 3_600 + minutes * 60))
}

/// Appends a date, given as days since 1970-01-01.
pub(super) fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    match year {
        0..=9_999 => out.extend([pair(year / 100), pair(year % 100)].as_flattened()),
        year => digits(year, 4, out),
    }
    let ([m1, m2], [d1, d2]) = (pair(month), pair(day));
    out.extend_from_slice(&[b'-', m1, m2, b'-', d1, d2]);
}

/// Returns the two digits of a number below a hundred.
const fn pair(value: i64) -> [u8; 2] {
    const DIGITS: &[u8; 10] = b"0123456789";
    let [low, ..] = value.to_le_bytes();
    [DIGITS[(low / 10 % 10) as usize], DIGITS[(low % 10) as usize]]
}

/// Returns year, month and day of a day since 1970-01-01, in the Gregorian calendar before it too.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, so that a leap day ends a year of the count.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Appends a moment, given in seconds since 1970 and a fraction of `fraction_digits` digits.
pub(super) fn date_time(
    seconds: i64,
    fraction: i64,
    fraction_digits: u8,
    zone: &Zone,
    output: DateTimeOutput,
    out: &mut Vec<u8>,
) {
    match output {
        DateTimeOutput::UnixTimestamp => integer(seconds, out),
        DateTimeOutput::Simple => {
            let local = seconds.saturating_add(zone.offset(seconds));
            date(local.div_euclid(DAY_SECONDS), out);
            out.push(b' ');
            clock(local.rem_euclid(DAY_SECONDS), out);
        }
        DateTimeOutput::Iso => {
            date(seconds.div_euclid(DAY_SECONDS), out);
            out.push(b'T');
            clock(seconds.rem_euclid(DAY_SECONDS), out);
        }
    }
    write_fraction(fraction, fraction_digits, out);
    if output == DateTimeOutput::Iso {
        out.push(b'Z');
    }
}

/// Appends a time of day, given in seconds and a fraction.
pub(super) fn time_of_day(seconds: i64, fraction: i64, fraction_digits: u8, out: &mut Vec<u8>) {
    clock(seconds, out);
    write_fraction(fraction, fraction_digits, out);
}

fn write_fraction(fraction: i64, fraction_digits: u8, out: &mut Vec<u8>) {
    if fraction_digits > 0 {
        out.push(b'.');
        digits(fraction, usize::from(fraction_digits), out);
    }
}

fn clock(seconds: i64, out: &mut Vec<u8>) {
    match seconds / 3_600 {
        hours @ 0..=99 => out.extend_from_slice(&pair(hours)),
        hours => digits(hours, 2, out),
    }
    let ([m1, m2], [s1, s2]) = (pair(seconds / 60 % 60), pair(seconds % 60));
    out.extend_from_slice(&[b':', m1, m2, b':', s1, s2]);
}

/// Appends a number with at least `width` digits.
fn digits(value: i64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(value.unsigned_abs());
    if value < 0 {
        out.push(b'-');
    }
    out.resize(out.len().saturating_add(width.saturating_sub(text.len())), b'0');
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(seconds: i64, zone: &str) -> String {
        let mut out = Vec::new();
        let zone = Zone::of(Some(zone)).unwrap();
        date_time(seconds, 0, 0, &zone, DateTimeOutput::Simple, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn zones() {
        assert_eq!(shown(1_774_745_999, "Europe/Berlin"), "2026-03-29 01:59:59");
        assert_eq!(shown(1_774_746_000, "Europe/Berlin"), "2026-03-29 03:00:00");
        assert_eq!(shown(0, "+05:30"), "1970-01-01 05:30:00");
        assert_eq!(shown(-1, "UTC"), "1969-12-31 23:59:59");
        assert!(Zone::of(Some("Nowhere/Land")).is_err());
        assert!(Zone::of(Some("+é")).is_err());
    }

    proptest! {
        #[test]
        fn dates_are_those_of_the_calendar(days in -700_000_i64..2_932_896) {
            let mut out = Vec::new();
            date(days, &mut out);
            let expected = DateTime::from_timestamp(days * DAY_SECONDS, 0).unwrap().date_naive();
            prop_assert_eq!(String::from_utf8(out).unwrap(), expected.format("%Y-%m-%d").to_string());
        }
    }
}
