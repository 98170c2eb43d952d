//! `peerage query`: a small client of the head's HTTP interface.
//!
//! Writes the answer to standard output as it comes, and on a terminal how long it took and what it
//! cost to standard error.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::time::{Duration, Instant};

use clap::Args;
use futures::StreamExt as _;
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use reqwest::Response;
use thiserror::Error;
use url::Url;

/// Time to reach the head; the query itself may take as long as the head allows.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Redraw of the clock that runs while the answer is awaited.
const TICK: Duration = Duration::from_millis(100);
/// The longest SQL text that is read from standard input.
const SQL_BYTES_MAX: u64 = 64 << 20;

/// Options of `peerage query`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    peerage query 'SELECT count(*) FROM demo.logs'\n  \
    peerage query --format JSONEachRow 'SELECT * FROM demo.logs LIMIT 3'\n  \
    echo 'SELECT 1' | peerage query -\n  \
    peerage query --url http://head.example:8123 --database demo 'SELECT count(*) FROM logs'")]
pub struct QueryArgs {
    /// The SQL text; `-` reads it from standard input
    #[arg(value_name = "SQL")]
    pub sql: String,
    /// The head
    #[arg(long, env = "PEERAGE_URL", value_name = "URL", default_value = "http://127.0.0.1:8123")]
    pub url: Url,
    /// Database of unqualified tables
    #[arg(long, env = "PEERAGE_DATABASE", value_name = "NAME")]
    pub database: Option<String>,
    /// Output format, as ClickHouse names it
    #[arg(long, env = "PEERAGE_FORMAT", value_name = "FORMAT", default_value = "PrettyCompact")]
    pub format: String,
    /// Show time and cost even when standard error is no terminal
    #[arg(long, env = "PEERAGE_TIMING")]
    pub timing: bool,
}

/// A query that was not answered.
#[derive(Debug, Error)]
pub enum QueryError {
    /// The SQL text cannot be read from standard input.
    #[error("read the SQL text from standard input")]
    Input(#[source] io::Error),
    /// The head cannot be reached.
    #[error("cannot reach the head at {url}")]
    Unreachable {
        /// The address.
        url: Url,
        /// What the client said.
        #[source]
        source: reqwest::Error,
    },
    /// The head answered with an exception.
    #[error("{message}")]
    Refused {
        /// The exception.
        message: String,
    },
    /// The answer broke off.
    #[error("the answer broke off: {message}")]
    BrokenOff {
        /// The exception of the head, or what the connection said.
        message: String,
    },
    /// The answer cannot be written.
    #[error("write the answer")]
    Output(#[source] io::Error),
}

impl QueryError {
    /// Returns what the user can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { .. } => {
                Some("peerage head, or another address with --url".to_owned())
            }
            _ => None,
        }
    }
}

/// An answer that came whole, with what the head said of its cost.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The bytes in the wanted format.
    pub body: Vec<u8>,
    /// `X-Peerage-Statistics`, if the head sent it.
    pub statistics: Option<serde_json::Value>,
    /// From sending to the last byte.
    pub elapsed: Duration,
}

/// Asks a head; `parameters` go into the URL.
pub async fn ask(url: &Url, sql: &str, parameters: &[(&str, &str)]) -> Result<Answer, QueryError> {
    let started = Instant::now();
    let response = send(url, sql, parameters).await?;
    let statistics = statistics(&response);
    let body = response
        .bytes()
        .await
        .map_err(|error| QueryError::BrokenOff { message: error.to_string() })?;
    Ok(Answer { body: body.to_vec(), statistics, elapsed: started.elapsed() })
}

async fn send(url: &Url, sql: &str, parameters: &[(&str, &str)]) -> Result<Response, QueryError> {
    let unreachable = |source| QueryError::Unreachable { url: url.clone(), source };
    let client =
        reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).build().map_err(unreachable)?;
    let mut target = url.clone();
    target.query_pairs_mut().extend_pairs(parameters);
    let response = client.post(target).body(sql.to_owned()).send().await.map_err(unreachable)?;
    if response.status().is_success() {
        return Ok(response);
    }
    let message = response.text().await.map_err(unreachable)?;
    Err(QueryError::Refused { message: message.trim_end().to_owned() })
}

fn statistics(response: &Response) -> Option<serde_json::Value> {
    let header = response.headers().get("x-peerage-statistics")?;
    serde_json::from_slice(header.as_bytes()).ok()
}

impl QueryArgs {
    /// Asks the head and writes what it answers.
    ///
    /// # Errors
    /// [`QueryError`]; what of the answer had come is written.
    pub async fn run(self) -> Result<(), QueryError> {
        let sql = if self.sql == "-" { read_sql()? } else { self.sql.clone() };
        let mut parameters = vec![("default_format", self.format.as_str())];
        parameters.extend(self.database.as_deref().map(|database| ("database", database)));
        let started = Instant::now();
        let clock = ProgressBar::new_spinner();
        clock.enable_steady_tick(TICK);
        let response = send(&self.url, &sql, &parameters).await;
        clock.finish_and_clear();
        let response = response?;
        let statistics = statistics(&response);
        let bytes = write_body(response).await?;
        if self.timing || io::stderr().is_terminal() {
            let line = cost_line(started.elapsed(), bytes, statistics.as_ref());
            writeln!(io::stderr().lock(), "{line}").map_err(QueryError::Output)?;
        }
        Ok(())
    }
}

fn read_sql() -> Result<String, QueryError> {
    let mut text = String::new();
    io::stdin().lock().take(SQL_BYTES_MAX).read_to_string(&mut text).map_err(QueryError::Input)?;
    Ok(text)
}

/// Writes the answer as it comes, and notices the mark of an exception in mid-stream.
async fn write_body(response: Response) -> Result<u64, QueryError> {
    let tag = response.headers().get("x-clickhouse-exception-tag").cloned();
    let tag = tag.as_ref().and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
    let mark = format!("\r\n__exception__\r\n{tag}\r\n");
    let mut chunks = response.bytes_stream();
    let mut bytes = 0_u64;
    let mut last = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let Ok(chunk) = chunk else { return Err(broken_off(&last, &mark)) };
        bytes = bytes.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        io::stdout().lock().write_all(&chunk).map_err(QueryError::Output)?;
        last = chunk.to_vec();
    }
    io::stdout().lock().flush().map_err(QueryError::Output)?;
    Ok(bytes)
}

fn broken_off(last: &[u8], mark: &str) -> QueryError {
    let text = String::from_utf8_lossy(last);
    let message = match text.split_once(mark) {
        Some((_, rest)) => rest.lines().next().unwrap_or_default().to_owned(),
        None => "the connection was lost".to_owned(),
    };
    QueryError::BrokenOff { message }
}

/// Returns one line for people on what an answer cost.
#[must_use]
pub fn cost_line(elapsed: Duration, bytes: u64, statistics: Option<&serde_json::Value>) -> String {
    let head = format!("{:.3} s, {} received", elapsed.as_secs_f64(), HumanBytes(bytes));
    let Some(statistics) = statistics else { return head };
    let count = |name: &str| statistics.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let total = count("partitions_total");
    if total == 0 {
        return head;
    }
    let known = count("partitions_read")
        + count("partitions_pruned_by_time")
        + count("partitions_pruned_by_index");
    if known == 0 {
        return format!("{head}; {total} partitions, answered from the catalog");
    }
    format!(
        "{head}; partitions: {} read, {} pruned by time, {} by index, of {total}; cache: {} hits, {} \
         misses; object store: {} requests, {}; {} rows scanned",
        count("partitions_read"),
        count("partitions_pruned_by_time"),
        count("partitions_pruned_by_index"),
        count("cache_hits"),
        count("cache_misses"),
        HumanCount(count("store_requests")),
        HumanBytes(count("store_bytes")),
        HumanCount(count("rows_read")),
    )
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(statistics: Option<serde_json::Value>, expected: Expect) {
        expected.assert_eq(&cost_line(Duration::from_millis(1500), 2048, statistics.as_ref()));
    }

    #[test]
    fn cost_is_one_line() {
        check(None, expect!["1.500 s, 2.00 KiB received"]);
        check(
            Some(json!({"partitions_total": 9})),
            expect!["1.500 s, 2.00 KiB received; 9 partitions, answered from the catalog"],
        );
        check(
            Some(
                json!({"partitions_total": 9, "partitions_read": 2, "partitions_pruned_by_time": 7,
                "store_requests": 1234, "store_bytes": 1048576, "rows_read": 55}),
            ),
            expect![
                "1.500 s, 2.00 KiB received; partitions: 2 read, 7 pruned by time, 0 by index, of 9; cache: 0 hits, 0 misses; object store: 1,234 requests, 1.00 MiB; 55 rows scanned"
            ],
        );
    }

    #[test]
    fn an_exception_in_mid_stream_is_found() {
        let mark = "\r\n__exception__\r\nabc\r\n";
        let last =
            format!("1\n2\n{mark}Code: 159. DB::Exception: slow\n31 abc\r\n__exception__\r\n");
        assert_eq!(
            broken_off(last.as_bytes(), mark).to_string(),
            "the answer broke off: Code: 159. DB::Exception: slow"
        );
        assert!(broken_off(b"1\n", mark).to_string().ends_with("the connection was lost"));
    }
}
