//! The five questions of the demonstration.

use url::Url;

use super::{DemoError, show};

/// Title and SQL of each question of the demonstration.
pub const QUESTIONS: [(&str, &str); 5] = [
    ("How many rows are there? The catalog knows.", "SELECT count(*) AS requests FROM demo.logs"),
    (
        "Busiest hosts of one hour: the time range leaves a few partitions to read.",
        "SELECT host, count(*) AS requests, sum(bytes_sent) AS bytes\nFROM demo.logs\nWHERE ts >= \
         TIMESTAMP '2026-01-03T12:00:00Z' AND ts < TIMESTAMP '2026-01-03T13:00:00Z'\nGROUP BY host\n\
         ORDER BY bytes DESC, host\nLIMIT 5",
    ),
    (
        "Statuses over everything: partial aggregates on three peers, merged by the head.",
        "SELECT status, count(*) AS requests, round(avg(latency_ms), 1) AS latency_ms\nFROM demo.logs\n\
         GROUP BY status\nORDER BY requests DESC, status\nLIMIT 5",
    ),
    (
        "The newest server errors: top-k across peers.",
        "SELECT ts, host, status, path, latency_ms\nFROM demo.logs\nWHERE status >= 500\n\
         ORDER BY ts DESC, request_id\nLIMIT 5",
    ),
    (
        "Slow countries against the whole: a join of two aggregates.",
        "WITH by_country AS (\n  SELECT country, avg(latency_ms) AS latency, count(*) AS requests\n  \
         FROM demo.logs GROUP BY country\n), overall AS (\n  SELECT avg(latency_ms) AS latency FROM \
         demo.logs\n)\nSELECT c.country, c.requests, round(c.latency / o.latency, 2) AS factor\nFROM \
         by_country c CROSS JOIN overall o\nWHERE c.requests > 100\nORDER BY factor DESC, c.country\n\
         LIMIT 5",
    ),
];

/// Asks all questions.
pub(super) async fn ask_all(url: &Url) -> Result<(), DemoError> {
    for (title, sql) in QUESTIONS {
        show(url, title, sql).await?;
    }
    Ok(())
}
