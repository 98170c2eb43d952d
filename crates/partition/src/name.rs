//! The name of a partition, and where its files lie under a table's prefix.
//!
//! Invariant: a name has exactly one text, `{min}-{max}-{ulid}`, where `min` and `max` are epoch
//! milliseconds UTC of the primary (negative before 1970) and the ULID makes the name unique for
//! ever. Left out: table prefixes and storages, which the catalog knows.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, Datelike, Utc};
use ulid::Ulid;

use crate::error::NameError;

/// The file name of the manifest in a partition's directory.
pub const MANIFEST_FILE: &str = "manifest.pb";
/// The file name of the index in a partition's directory.
pub const INDEX_FILE: &str = "index.bin";
/// The file name of the data file in a partition's directory.
pub const DATA_FILE: &str = "data.parquet";

/// The name of a partition: readable as a range of time, unique, never reused. Names are ordered by
/// their range, then by their ULID.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionName {
    min_ms: i64,
    max_ms: i64,
    id: Ulid,
    text: Arc<str>,
}

impl PartitionName {
    /// Returns the name of a partition whose primary lies in `min_ms..=max_ms`.
    ///
    /// # Panics
    /// If `min_ms` is greater than `max_ms`: a range that its owner has already got wrong.
    #[must_use]
    pub fn new(min_ms: i64, max_ms: i64, id: Ulid) -> Self {
        assert!(min_ms <= max_ms, "the range of a partition starts at its smallest time");
        let text = format!("{min_ms}-{max_ms}-{id}").into();
        Self { min_ms, max_ms, id, text }
    }

    /// Returns the text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the smallest primary, rounded down to a millisecond.
    #[must_use]
    pub fn min_ms(&self) -> i64 {
        self.min_ms
    }

    /// Returns the greatest primary, rounded up to a millisecond.
    #[must_use]
    pub fn max_ms(&self) -> i64 {
        self.max_ms
    }

    /// Returns the ULID that makes the name unique.
    #[must_use]
    pub fn id(&self) -> Ulid {
        self.id
    }

    /// Returns the directory of the partition's files below the table's prefix:
    /// `yyyy/mm/dd/{name}`, by the day (UTC) of the smallest primary.
    ///
    /// Times outside the calendar's years (about ±262,000) lie in its first or last day.
    #[must_use]
    pub fn directory(&self) -> String {
        let bound =
            if self.min_ms < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
        let day = DateTime::from_timestamp_millis(self.min_ms).unwrap_or(bound).date_naive();
        format!("{:04}/{:02}/{:02}/{}", day.year(), day.month(), day.day(), self.text)
    }
}

impl FromStr for PartitionName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| NameError { text: text.to_owned(), reason };
        let (range, id) =
            text.rsplit_once('-').ok_or_else(|| error("it is not {min}-{max}-{ulid}"))?;
        let (min, max) =
            split_range(range).ok_or_else(|| error("it has no range of milliseconds"))?;
        let (Ok(min_ms), Ok(max_ms)) = (min.parse(), max.parse()) else {
            return Err(error("its range is not of 64-bit milliseconds"));
        };
        let Ok(id) = Ulid::from_string(id) else {
            return Err(error("it does not end in a ULID"));
        };
        if min_ms > max_ms {
            return Err(error("its range ends before it starts"));
        }
        let name = Self::new(min_ms, max_ms, id);
        if name.as_str() != text {
            return Err(error("it is not in its canonical form"));
        }
        Ok(name)
    }
}

/// Splits `{min}-{max}` at the first hyphen that is no sign.
fn split_range(range: &str) -> Option<(&str, &str)> {
    let unsigned = range.strip_prefix('-').unwrap_or(range);
    let (digits, max) = unsigned.split_once('-')?;
    let sign = range.len() - unsigned.len();
    Some((range.get(..sign + digits.len())?, max))
}

impl fmt::Display for PartitionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for PartitionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartitionName({})", self.text)
    }
}

impl AsRef<str> for PartitionName {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, prop_oneof, proptest};
    use proptest::strategy::{Just, Strategy};

    const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn check(text: &str, expected: Expect) {
        let found = match text.parse::<PartitionName>() {
            Ok(name) => format!("{}..={} in {}", name.min_ms(), name.max_ms(), name.directory()),
            Err(error) => error.reason.to_owned(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn signs_are_told_from_hyphens() {
        check(
            &format!("0-86400000-{ID}"),
            expect!["0..=86400000 in 1970/01/01/0-86400000-01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        );
        check(
            &format!("-5--3-{ID}"),
            expect!["-5..=-3 in 1969/12/31/-5--3-01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        );
        check(
            &format!("-5-3-{ID}"),
            expect!["-5..=3 in 1969/12/31/-5-3-01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        );
    }

    #[test]
    fn only_the_canonical_form_parses() {
        check(&format!("00-3-{ID}"), expect!["it is not in its canonical form"]);
        check(&format!("+0-3-{ID}"), expect!["it is not in its canonical form"]);
        check(&format!("-0-3-{ID}"), expect!["it is not in its canonical form"]);
        check(&format!("0-3-{}", ID.to_lowercase()), expect!["it is not in its canonical form"]);
        check(&format!("0-3-{}", "Z".repeat(26)), expect!["it is not in its canonical form"]);
        check(&format!("4-3-{ID}"), expect!["its range ends before it starts"]);
        check(&format!("3-{ID}"), expect!["it has no range of milliseconds"]);
        check(
            &format!("1-9223372036854775808-{ID}"),
            expect!["its range is not of 64-bit milliseconds"],
        );
        check("0-3-", expect!["it does not end in a ULID"]);
        check("0-3-é", expect!["it does not end in a ULID"]);
        check("", expect!["it is not {min}-{max}-{ulid}"]);
    }

    #[test]
    fn directory_of_any_time_exists() {
        let of = |ms| PartitionName::new(ms, ms, Ulid::nil()).directory();
        assert!(of(1_700_000_000_000).starts_with("2023/11/14/1700000000000-"));
        assert!(of(i64::MIN).starts_with('-'));
        assert!(!of(i64::MAX).is_empty());
    }

    fn text() -> impl Strategy<Value = String> {
        let number = any::<i64>().prop_map(|n| n.to_string());
        let part = prop_oneof![number, Just(ID.to_owned()), "\\PC{0,3}", Just("-".to_owned())];
        proptest::collection::vec(part, 0..6).prop_map(|parts| parts.join("-"))
    }

    proptest! {
        #[test]
        fn round_trip(a: i64, b: i64, id: u128) {
            let name = PartitionName::new(a.min(b), a.max(b), Ulid(id));
            assert_eq!(name.as_str().parse(), Ok(name.clone()));
            assert!(name.directory().ends_with(name.as_str()));
        }

        #[test]
        fn any_text_parses_or_fails(text in text()) {
            if let Ok(name) = text.parse::<PartitionName>() {
                assert_eq!(name.as_str(), text);
            }
        }
    }
}
