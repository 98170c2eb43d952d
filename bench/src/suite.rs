//! The questions of a suite, with the needles that the generator is known to have made.
//!
//! Invariant: a question depends on the size of the data set alone, so that figures of different days
//! and programs can be compared. Left out: asking, and what the right answer is.

use peerage_testdata::cdn::{self, Generator};

use crate::answer::Tolerance;
use crate::dataset::DatasetKey;

/// The table of the log.
pub(crate) const DATABASE: &str = "bench";
/// The table of the log.
pub(crate) const TABLE: &str = "logs";

/// One day in microseconds.
const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Rows per rank of the client that is looked for: by the generator's skew such a client has some
/// hundred rows, scattered over all partitions, whatever the size of the log.
const ROWS_PER_CLIENT_RANK: u64 = 1_000;

/// A percentile of a sketch depends on the order in which partial results are merged.
const PERCENTILE_TOLERANCE: Tolerance = Tolerance { relative: 0.05, absolute: 0.0 };

/// An approximate distinct count has a standard error of 0.8 %; of few values one or two may fall
/// together.
const DISTINCT_TOLERANCE: Tolerance = Tolerance { relative: 0.05, absolute: 2.0 };

/// Which questions are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Suite {
    /// Eleven questions about the log of a content delivery network
    Logs,
}

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// `q1`, …
    pub(crate) name: &'static str,
    /// What it is about, for people.
    pub(crate) title: &'static str,
    /// The SQL text.
    pub(crate) sql: String,
    /// The SQL text whose answer by plain DataFusion is the right one.
    pub(crate) right_sql: String,
    /// How far the last column may be from the right one.
    pub(crate) tolerance: Tolerance,
}

impl Suite {
    /// Returns the name as it is written on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Logs => "logs",
        }
    }

    /// Returns all questions about a log of this size.
    pub(crate) fn questions(self, key: &DatasetKey) -> Vec<Question> {
        match self {
            Self::Logs => logs(key),
        }
    }
}

fn logs(key: &DatasetKey) -> Vec<Question> {
    let generator = Generator::new(key.options());
    let needle = |percent: u64| key.rows.saturating_sub(1) * percent / 100;
    let request_id = generator.request_id(needle(62));
    let message_key = generator.key(needle(37));
    let rank = u32::try_from(key.rows / ROWS_PER_CLIENT_RANK).unwrap_or(u32::MAX);
    let client_ip = cdn::client_ip(rank.clamp(1, cdn::CLIENTS - 1));
    let day = i64::from(key.days / 2);
    let noon = cdn::START_US + day * DAY_US + DAY_US / 2;
    let minutes = |count: i64| between(noon, noon + count * 60 * 1_000_000);
    let whole_day = between(cdn::START_US + day * DAY_US, cdn::START_US + (day + 1) * DAY_US);
    let from = format!("FROM {DATABASE}.{TABLE}");
    let near = |name, title, sql: String, right_sql, tolerance| Question {
        name,
        title,
        sql,
        right_sql,
        tolerance,
    };
    let exact =
        |name, title, sql: String| near(name, title, sql.clone(), sql, Tolerance::default());
    let percentiles = format!(
        "SELECT date_trunc('minute', ts) AS minute, country, approx_percentile_cont(latency_ms, 0.95) \
         AS p95 {from} WHERE {} GROUP BY date_trunc('minute', ts), country",
        minutes(60)
    );
    let distinct = |count: &str| format!("SELECT host, {count} AS clients {from} GROUP BY host");
    vec![
        exact(
            "q1",
            "count in 5 minutes",
            format!("SELECT count(*) AS n {from} WHERE {}", minutes(5)),
        ),
        exact(
            "q2",
            "count by status over all",
            format!("SELECT status, count(*) AS n {from} GROUP BY status"),
        ),
        exact(
            "q3",
            "top 10 hosts by bytes in 1 hour",
            format!(
                "SELECT host, sum(bytes_sent) AS bytes {from} WHERE {} GROUP BY host ORDER BY bytes \
                 DESC, host LIMIT 10",
                minutes(60)
            ),
        ),
        exact(
            "q4",
            "all columns of one request",
            format!("SELECT * {from} WHERE request_id = '{request_id}'"),
        ),
        exact(
            "q5",
            "5 columns of one client",
            format!(
                "SELECT ts, host, path, status, latency_ms {from} WHERE client_ip = '{client_ip}'"
            ),
        ),
        exact(
            "q6",
            "all columns of the newest 100 errors",
            format!("SELECT * {from} WHERE status >= 500 ORDER BY ts DESC LIMIT 100"),
        ),
        exact(
            "q7",
            "a phrase in 1 day",
            format!(
                "SELECT count(*) AS n {from} WHERE {whole_day} AND message LIKE '%Connection reset \
                 by peer%'"
            ),
        ),
        near(
            "q8",
            "95th percentile by minute and country in 1 hour",
            percentiles.clone(),
            percentiles,
            PERCENTILE_TOLERANCE,
        ),
        near(
            "q9",
            "distinct clients by host over all",
            distinct("approx_distinct(client_ip)"),
            distinct("count(DISTINCT client_ip)"),
            DISTINCT_TOLERANCE,
        ),
        exact("q10", "sum over all", format!("SELECT sum(bytes_sent) AS bytes {from}")),
        exact(
            "q11",
            "a rare phrase over all",
            format!("SELECT ts, host, message {from} WHERE message LIKE '%{message_key}%'"),
        ),
    ]
}

/// Returns the condition for `ts` in `[start_us, end_us)`.
fn between(start_us: i64, end_us: i64) -> String {
    let literal = |us: i64| {
        let at = chrono::DateTime::from_timestamp_micros(us).unwrap_or_default();
        format!("TIMESTAMP '{}'", at.format("%Y-%m-%dT%H:%M:%SZ"))
    };
    format!("ts >= {} AND ts < {}", literal(start_us), literal(end_us))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, expected: Expect) {
        let key = DatasetKey { rows: 200_000, partition_rows: 100_000, seed: 42, days: 10 };
        let questions = Suite::Logs.questions(&key);
        let question = questions.iter().find(|question| question.name == name).expect(name);
        expected.assert_eq(&question.sql);
    }

    #[test]
    fn times_and_needles_are_those_of_the_log() {
        check(
            "q1",
            expect![
                "SELECT count(*) AS n FROM bench.logs WHERE ts >= TIMESTAMP '2026-01-06T12:00:00Z' AND ts < TIMESTAMP '2026-01-06T12:05:00Z'"
            ],
        );
        check(
            "q4",
            expect![
                "SELECT * FROM bench.logs WHERE request_id = '229262f9-b585-418d-8103-7c0c32cfc0b1'"
            ],
        );
        check(
            "q5",
            expect![
                "SELECT ts, host, path, status, latency_ms FROM bench.logs WHERE client_ip = '77.57.142.1'"
            ],
        );
        check(
            "q7",
            expect![
                "SELECT count(*) AS n FROM bench.logs WHERE ts >= TIMESTAMP '2026-01-06T00:00:00Z' AND ts < TIMESTAMP '2026-01-07T00:00:00Z' AND message LIKE '%Connection reset by peer%'"
            ],
        );
    }

    #[test]
    fn names_are_unique_and_in_order() {
        let key = DatasetKey { rows: 1, partition_rows: 1, seed: 1, days: 1 };
        let names: Vec<_> = Suite::Logs.questions(&key).iter().map(|q| q.name).collect();
        let expected: Vec<_> = (1..=11).map(|number| format!("q{number}")).collect();
        assert_eq!(names, expected);
    }
}
