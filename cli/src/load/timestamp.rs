//! Reading points in time from text and numbers.
//!
//! Invariants: text without a zone is UTC; a value that does not fit the unit is an error and never
//! wraps around. Digits finer than the unit are cut off (towards the past).

use std::fmt;
use std::str::FromStr;

use arrow::compute::kernels::cast_utils::string_to_datetime;
use arrow::datatypes::{DataType, TimeUnit};
use chrono::format::{Item, Parsed, StrftimeItems};
use chrono::{DateTime, NaiveTime, Utc};

/// How the primary timestamp is written in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TimestampFormat {
    /// RFC 3339 and its common relatives; see [`AUTO_PATTERNS`].
    #[default]
    Auto,
    /// A number since 1970-01-01 00:00 UTC; in text it may have a fraction.
    Epoch(TimeUnit),
    /// A pattern of `strftime`.
    Pattern(String),
}

/// What `Auto` reads beside RFC 3339 (`T` or space, with or without zone, fraction after `.` or
/// `,`) and plain dates: web server logs, log4j-like slashes, `ctime`, RFC 2822.
pub const AUTO_PATTERNS: [&str; 4] = [
    "%d/%b/%Y:%H:%M:%S%.f %z",
    "%Y/%m/%d %H:%M:%S%.f",
    "%a %b %e %H:%M:%S%.f %Y",
    "%a, %d %b %Y %H:%M:%S GMT",
];

impl FromStr for TimestampFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "auto" => Self::Auto,
            "epoch_s" => Self::Epoch(TimeUnit::Second),
            "epoch_ms" => Self::Epoch(TimeUnit::Millisecond),
            "epoch_us" => Self::Epoch(TimeUnit::Microsecond),
            "epoch_ns" => Self::Epoch(TimeUnit::Nanosecond),
            pattern if pattern.contains('%') => {
                parse_items(pattern)?;
                Self::Pattern(pattern.to_owned())
            }
            other => {
                return Err(format!(
                    "'{other}' is neither auto, epoch_s, epoch_ms, epoch_us, epoch_ns nor a strftime pattern with %"
                ));
            }
        })
    }
}

impl fmt::Display for TimestampFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Epoch(TimeUnit::Second) => f.write_str("epoch_s"),
            Self::Epoch(TimeUnit::Millisecond) => f.write_str("epoch_ms"),
            Self::Epoch(TimeUnit::Microsecond) => f.write_str("epoch_us"),
            Self::Epoch(TimeUnit::Nanosecond) => f.write_str("epoch_ns"),
            Self::Pattern(pattern) => f.write_str(pattern),
        }
    }
}

/// Returns the compiled form of a `strftime` pattern.
fn parse_items(pattern: &str) -> Result<Vec<Item<'static>>, String> {
    let items = StrftimeItems::new(pattern).parse_to_owned();
    items.map_err(|error| format!("'{pattern}' is not a strftime pattern: {error}"))
}

/// Reads text into values of one timestamp or date type.
#[derive(Clone, Debug)]
pub(crate) struct TimestampParser {
    format: TimestampFormat,
    patterns: Vec<Vec<Item<'static>>>,
    target: DataType,
}

impl TimestampParser {
    /// Returns a parser for values of `target`, a timestamp or date type.
    pub(crate) fn new(format: TimestampFormat, target: DataType) -> Result<Self, String> {
        let patterns = match &format {
            TimestampFormat::Auto => {
                AUTO_PATTERNS.into_iter().map(parse_items).collect::<Result<_, _>>()?
            }
            TimestampFormat::Pattern(pattern) => vec![parse_items(pattern)?],
            TimestampFormat::Epoch(_) => Vec::new(),
        };
        Ok(Self { format, patterns, target })
    }

    /// Returns the unit of numbers, if the input holds numbers.
    pub(crate) fn epoch_unit(&self) -> Option<TimeUnit> {
        match self.format {
            TimestampFormat::Epoch(unit) => Some(unit),
            _ => None,
        }
    }

    /// Reads one value. The error says why it is no point in time.
    pub(crate) fn parse(&self, text: &str) -> Result<i64, String> {
        let text = text.trim();
        let time = match &self.format {
            TimestampFormat::Epoch(unit) => parse_epoch(text, *unit),
            TimestampFormat::Pattern(_) => self.parse_patterns(text),
            TimestampFormat::Auto => self.parse_auto(text),
        };
        let time = time.ok_or_else(|| match &self.format {
            TimestampFormat::Auto => "not a timestamp in a known form".to_owned(),
            format => format!("not a timestamp of the form {format}"),
        })?;
        to_target(time, &self.target).ok_or_else(|| format!("out of the range of {}", self.target))
    }

    /// Reads RFC 3339 and its relatives first: they are the most common and the fastest.
    fn parse_auto(&self, text: &str) -> Option<DateTime<Utc>> {
        let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(time) = string_to_datetime(&Utc, text) {
            return Some(time);
        }
        if let Some((seconds, fraction)) = text.split_once(',')
            && fraction.starts_with(|first: char| first.is_ascii_digit())
        {
            return string_to_datetime(&Utc, &format!("{seconds}.{fraction}")).ok();
        }
        self.parse_patterns(text).or_else(|| {
            DateTime::parse_from_rfc2822(text).ok().map(|time| time.with_timezone(&Utc))
        })
    }

    /// Reads text by the first pattern that fits.
    fn parse_patterns(&self, text: &str) -> Option<DateTime<Utc>> {
        self.patterns.iter().find_map(|items| {
            let mut parsed = Parsed::new();
            chrono::format::parse(&mut parsed, text, items.iter()).ok()?;
            resolve(&parsed)
        })
    }
}

/// Returns the point in time of parsed fields: with an offset, without (UTC), or a date alone.
fn resolve(parsed: &Parsed) -> Option<DateTime<Utc>> {
    if let Ok(time) = parsed.to_datetime() {
        return Some(time.with_timezone(&Utc));
    }
    if let Ok(time) = parsed.to_naive_datetime_with_offset(0) {
        return Some(time.and_utc());
    }
    Some(parsed.to_naive_date().ok()?.and_time(NaiveTime::MIN).and_utc())
}

/// Units per second.
pub(crate) fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Reads `[-]digits[.digits]` of `unit`, exactly.
fn parse_epoch(text: &str, unit: TimeUnit) -> Option<DateTime<Utc>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds_per_unit = 1_000_000_000 / i128::from(units_per_second(unit));
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let mut nanoseconds = i128::from(digits.parse::<i64>().ok()?) * nanoseconds_per_unit;
    nanoseconds /= 1_000_000_000;
    if whole.starts_with('-') {
        nanoseconds = -nanoseconds;
    }
    let whole: i64 = whole.parse().ok()?;
    let total = i128::from(whole).checked_mul(nanoseconds_per_unit)?.checked_add(nanoseconds)?;
    let seconds = i64::try_from(total.div_euclid(1_000_000_000)).ok()?;
    let rest = u32::try_from(total.rem_euclid(1_000_000_000)).ok()?;
    DateTime::from_timestamp(seconds, rest)
}

/// Returns the value that stands for `time` in a column of type `target`.
fn to_target(time: DateTime<Utc>, target: &DataType) -> Option<i64> {
    match target {
        DataType::Timestamp(unit, _) => {
            let whole = time.timestamp().checked_mul(units_per_second(*unit))?;
            let part = i64::from(time.timestamp_subsec_nanos())
                / (1_000_000_000 / units_per_second(*unit));
            whole.checked_add(part)
        }
        DataType::Date32 => Some(time.timestamp().div_euclid(86_400)),
        DataType::Date64 => time.timestamp().div_euclid(86_400).checked_mul(86_400_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(format: &str, text: &str, expected: Expect) {
        let format = format.parse().expect("format");
        let target = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let parser = TimestampParser::new(format, target).expect("parser");
        let shown = match parser.parse(text) {
            Ok(value) => DateTime::from_timestamp_micros(value)
                .map_or_else(|| value.to_string(), |time| time.to_rfc3339()),
            Err(reason) => reason,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn common_forms_are_known() {
        check("auto", "2015-05-17T10:05:03Z", expect!["2015-05-17T10:05:03+00:00"]);
        check("auto", "2015-05-17 10:05:03", expect!["2015-05-17T10:05:03+00:00"]);
        check("auto", " 2015-05-17T10:05:03.25+02:00 ", expect!["2015-05-17T08:05:03.250+00:00"]);
        check("auto", "2015-05-17 10:05:03,547", expect!["2015-05-17T10:05:03.547+00:00"]);
        check("auto", "2015-05-17", expect!["2015-05-17T00:00:00+00:00"]);
        check("auto", "17/May/2015:10:05:03 +0200", expect!["2015-05-17T08:05:03+00:00"]);
        check("auto", "[17/May/2015:10:05:03 +0000]", expect!["2015-05-17T10:05:03+00:00"]);
        check("auto", "[Sun Dec 04 04:47:44 2005]", expect!["2005-12-04T04:47:44+00:00"]);
        check("auto", "Sun, 17 May 2015 10:05:03 GMT", expect!["2015-05-17T10:05:03+00:00"]);
        check("auto", "Sun, 17 May 2015 10:05:03 +0100", expect!["2015-05-17T09:05:03+00:00"]);
        check("auto", "2015/05/17 10:05:03.5", expect!["2015-05-17T10:05:03.500+00:00"]);
        check("auto", "1960-01-01T00:00:00.5Z", expect!["1960-01-01T00:00:00.500+00:00"]);
    }

    #[test]
    fn what_is_no_time_is_said() {
        check("auto", "yesterday", expect!["not a timestamp in a known form"]);
        check("auto", "", expect!["not a timestamp in a known form"]);
        check("auto", "1431857103", expect!["not a timestamp in a known form"]);
        check("auto", "2015-02-30T00:00:00Z", expect!["not a timestamp in a known form"]);
        check("epoch_s", "1e9", expect!["not a timestamp of the form epoch_s"]);
        check("epoch_s", "1.5.5", expect!["not a timestamp of the form epoch_s"]);
        check("epoch_s", "99999999999999999999", expect!["not a timestamp of the form epoch_s"]);
        check("%d.%m.%Y", "2015-05-17", expect!["not a timestamp of the form %d.%m.%Y"]);
    }

    #[test]
    fn numbers_count_from_the_epoch() {
        check("epoch_s", "1431857103", expect!["2015-05-17T10:05:03+00:00"]);
        check("epoch_s", "1431857103.250001", expect!["2015-05-17T10:05:03.250001+00:00"]);
        check("epoch_ms", "1431857103250", expect!["2015-05-17T10:05:03.250+00:00"]);
        check("epoch_us", "1431857103250001", expect!["2015-05-17T10:05:03.250001+00:00"]);
        check("epoch_ns", "1431857103250001999", expect!["2015-05-17T10:05:03.250001+00:00"]);
        check("epoch_s", "-1", expect!["1969-12-31T23:59:59+00:00"]);
        check("epoch_s", "-0.5", expect!["1969-12-31T23:59:59.500+00:00"]);
    }

    #[test]
    fn patterns_may_be_dates_or_have_zones() {
        check("%d.%m.%Y", "17.05.2015", expect!["2015-05-17T00:00:00+00:00"]);
        check("%d.%m.%Y %H:%M", "17.05.2015 10:05", expect!["2015-05-17T10:05:00+00:00"]);
        check("%Y%m%d%H%M%S%z", "20150517100503+0200", expect!["2015-05-17T08:05:03+00:00"]);
        check("%s", "1431857103", expect!["2015-05-17T10:05:03+00:00"]);
    }

    #[test]
    fn values_that_do_not_fit_the_unit_are_refused() {
        let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let parser = TimestampParser::new(TimestampFormat::Auto, nanoseconds).expect("parser");
        assert!(parser.parse("2500-01-01T00:00:00Z").expect_err("too late").contains("range"));
        let days = TimestampParser::new(TimestampFormat::Auto, DataType::Date32).expect("parser");
        assert_eq!(days.parse("1969-12-31T23:00:00Z"), Ok(-1));
    }

    #[test]
    fn wrong_formats_are_refused() {
        assert!("seconds".parse::<TimestampFormat>().is_err());
        assert!("%Q".parse::<TimestampFormat>().is_err());
    }
}
