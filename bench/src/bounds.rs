//! Bounds that figures must keep: `NAME<=VALUE`.
//!
//! | name | figure |
//! |---|---|
//! | `QUERY.PHASE.seconds` | median time |
//! | `QUERY.PHASE.cpu_seconds` | median processor time of head and peers |
//! | `QUERY.PHASE.rss_bytes` | the most memory that one process has held |
//! | `QUERY.PHASE.requests` | requests to the object store |
//! | `QUERY.PHASE.bytes` | bytes that these brought |
//! | `QUERY.PHASE.round_trips` | the longest chain of requests that followed one another |
//! | `QUERY.PHASE.partitions_read` | partitions whose data was read |
//! | `QUERY.PHASE.cache_misses` | manifests and indexes that were fetched |
//! | `data.index_percent` | index and manifests in percent of the data files |
//!
//! PHASE is `cold`, `warm` or `restarted`. Invariant: a bound on something that was not measured is
//! an error, never kept. Left out: bounds from below.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::figures::{PhaseFigures, QueryFigures, RunFigures};

/// What may stand behind the number of a bound, and what it stands for.
const UNITS: [(&str, f64); 7] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("ms", 0.001),
    ("s", 1.0),
    ("B", 1.0),
    ("%", 1.0),
];

/// The name of the bound on the size of the index.
const INDEX_PERCENT: &str = "data.index_percent";

/// A text that is no bound.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BoundError {
    /// Without `<=`.
    #[error("'{text}' is not NAME<=VALUE, such as q1.warm.requests<=2")]
    Form {
        /// The text.
        text: String,
    },
    /// Something else than a number.
    #[error("'{text}' is not a number, perhaps with one of the units KiB, MiB, GiB, ms, s")]
    Value {
        /// The text.
        text: String,
    },
    /// No such figure.
    #[error(
        "there is no figure {name}; names are QUERY.PHASE.FIGURE with one of the queries {queries}, one of the phases {phases}, one of the figures {figures}; and {INDEX_PERCENT}"
    )]
    Name {
        /// The name.
        name: String,
        /// The queries that are asked.
        queries: String,
        /// All phases.
        phases: String,
        /// All figures.
        figures: String,
    },
}

/// A bound as it was given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    name: String,
    limit: f64,
    text: String,
}

impl FromStr for Bound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let both = text.split_once("<=").map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = both.filter(|(name, _)| !name.is_empty()) else {
            return Err(BoundError::Form { text: text.to_owned() });
        };
        let unit = UNITS.iter().find(|(unit, _)| value.ends_with(unit));
        let (digits, factor) = match unit {
            Some((unit, factor)) => (value.strip_suffix(unit).unwrap_or(value), *factor),
            None => (value, 1.0),
        };
        let number = digits.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| BoundError::Value { text: value.to_owned() })?;
        Ok(Self { name: name.to_owned(), limit: number * factor, text: value.to_owned() })
    }
}

/// A bound that does not hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Broken {
    name: String,
    wanted: String,
    actual: Option<f64>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, wanted, actual } = self;
        match actual {
            Some(actual) => write!(f, "{name}: wanted at most {wanted}, got {actual}"),
            None => write!(f, "{name}: wanted at most {wanted}, but this system does not tell"),
        }
    }
}

impl Bound {
    /// Checks that the figure will be there when these queries are asked.
    pub(crate) fn check_name(&self, queries: &[&str]) -> Result<(), BoundError> {
        let is_known = self.name == INDEX_PERCENT
            || self.parts().is_some_and(|(query, _, _)| queries.contains(&query));
        if is_known {
            return Ok(());
        }
        let names = |list: Vec<&str>| list.join(", ");
        Err(BoundError::Name {
            name: self.name.clone(),
            queries: names(queries.to_vec()),
            phases: names(PHASES.iter().map(|(name, _)| *name).collect()),
            figures: names(FIGURES.iter().map(|(name, _)| *name).collect()),
        })
    }

    /// Returns how the bound is broken, or `None` when it holds.
    pub(crate) fn broken_by(&self, run: &RunFigures) -> Option<Broken> {
        let actual = self.figure(run);
        let holds = actual.is_some_and(|actual| actual <= self.limit);
        let broken = Broken { name: self.name.clone(), wanted: self.text.clone(), actual };
        (!holds).then_some(broken)
    }

    fn figure(&self, run: &RunFigures) -> Option<f64> {
        if self.name == INDEX_PERCENT {
            return Some(run.data.index_percent());
        }
        let (query, phase, figure) = self.parts()?;
        let query = run.queries.iter().find(|other| other.name == query)?;
        figure(phase(query))
    }

    fn parts(&self) -> Option<(&str, PhaseOf, FigureOf)> {
        let (query, rest) = self.name.split_once('.')?;
        let (phase, figure) = rest.split_once('.')?;
        let phase = PHASES.iter().find(|(name, _)| *name == phase)?.1;
        let figure = FIGURES.iter().find(|(name, _)| *name == figure)?.1;
        Some((query, phase, figure))
    }
}

type PhaseOf = fn(&QueryFigures) -> &PhaseFigures;
type FigureOf = fn(&PhaseFigures) -> Option<f64>;

/// The phases by name.
const PHASES: [(&str, PhaseOf); 3] = [
    ("cold", |query| &query.cold),
    ("warm", |query| &query.warm),
    ("restarted", |query| &query.restarted),
];

/// The figures by name.
const FIGURES: [(&str, FigureOf); 8] = [
    ("seconds", |phase| Some(phase.seconds)),
    ("cpu_seconds", |phase| phase.cpu_seconds),
    ("rss_bytes", |phase| phase.rss_bytes.map(count)),
    ("requests", |phase| Some(count(phase.requests))),
    ("bytes", |phase| Some(count(phase.bytes))),
    ("round_trips", |phase| Some(count(phase.round_trips))),
    ("partitions_read", |phase| Some(count(phase.statistics.partitions_read))),
    ("cache_misses", |phase| Some(count(phase.statistics.cache_misses))),
];

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
const fn count(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::report::tests::example;

    fn check_text(text: &str, expected: Expect) {
        let found = match text.parse::<Bound>() {
            Ok(Bound { name, limit, .. }) => format!("{name} at most {limit}"),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn bounds_are_read() {
        check_text("q1.warm.requests<=2", expect!["q1.warm.requests at most 2"]);
        check_text("q1.warm.seconds <= 5ms", expect!["q1.warm.seconds at most 0.005"]);
        check_text("q1.cold.seconds<=1.5s", expect!["q1.cold.seconds at most 1.5"]);
        check_text("q4.cold.bytes<=3MiB", expect!["q4.cold.bytes at most 3145728"]);
        check_text("q4.cold.bytes<=10 B", expect!["q4.cold.bytes at most 10"]);
        check_text("data.index_percent<=8%", expect!["data.index_percent at most 8"]);
        check_text(
            "q1.warm.requests<2",
            expect!["'q1.warm.requests<2' is not NAME<=VALUE, such as q1.warm.requests<=2"],
        );
        check_text("<=2", expect!["'<=2' is not NAME<=VALUE, such as q1.warm.requests<=2"]);
        check_text(
            "x<=two",
            expect!["'two' is not a number, perhaps with one of the units KiB, MiB, GiB, ms, s"],
        );
        check_text(
            "x<=NaN",
            expect!["'NaN' is not a number, perhaps with one of the units KiB, MiB, GiB, ms, s"],
        );
    }

    fn check_name(text: &str, is_known: bool) {
        let bound: Bound = format!("{text}<=1").parse().expect("a bound");
        assert_eq!(bound.check_name(&["q1", "q4"]).is_ok(), is_known, "{text}");
    }

    #[test]
    fn a_figure_that_is_not_measured_cannot_be_bound() {
        check_name("q1.warm.requests", true);
        check_name("data.index_percent", true);
        check_name("q2.warm.requests", false);
        check_name("q1.hot.requests", false);
        check_name("q1.warm.pages", false);
        check_name("requests", false);
    }

    fn check(text: &str, expected: Expect) {
        let bound: Bound = text.parse().expect("a bound");
        let broken = bound.broken_by(&example());
        expected.assert_eq(&broken.map_or_else(|| "holds".to_owned(), |broken| broken.to_string()));
    }

    #[test]
    fn a_broken_bound_tells_name_wanted_and_actual() {
        check("q1.warm.requests<=1", expect!["holds"]);
        check("q1.warm.requests<=0", expect!["q1.warm.requests: wanted at most 0, got 1"]);
        check("q1.cold.seconds<=200ms", expect!["q1.cold.seconds: wanted at most 200ms, got 0.25"]);
        check("q1.cold.bytes<=1MiB", expect!["q1.cold.bytes: wanted at most 1MiB, got 1572864"]);
        check(
            "q1.restarted.rss_bytes<=1GiB",
            expect!["q1.restarted.rss_bytes: wanted at most 1GiB, but this system does not tell"],
        );
        check("data.index_percent<=8%", expect!["holds"]);
        check("data.index_percent<=2", expect!["data.index_percent: wanted at most 2, got 3"]);
    }
}
