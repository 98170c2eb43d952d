//! From a running query to the bytes of an HTTP answer.
//!
//! The first part of an answer is held back: a query that fails within it gets the right status, and
//! one that ends within it gets its statistics into the headers. After that rows are streamed, and
//! an error becomes the tagged frame that clients look for, after which the connection is broken off.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures::TryStreamExt as _;
use peerage_clickhouse::{
    Exception, FormatWriter, OutputFormat, ResultColumn, ResultSummary, StatementKind,
    exception_frame,
};
use rand::distr::{Alphabetic, SampleString as _};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{info, warn};

use super::request::HttpQuery;
use crate::metrics::{QueryEnd, observe_query};
use crate::query::{self, QueryEngine, QueryRequest, QueryStatistics, RunningQuery};

/// Bytes of an answer that are held back before the headers are sent.
const HOLD_BYTES: usize = 1 << 20;
/// The same when the client wants to wait for the end of the query; an answer longer than this is
/// streamed all the same, since a head's memory is bounded.
const HOLD_BYTES_TO_END: usize = 64 << 20;
/// Bytes that are sent at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Between the frame of an exception and the break of the connection: the server flushes what it has
/// when the body makes it wait, and throws it away when the body fails at once.
const FLUSH_PAUSE: Duration = Duration::from_millis(50);
/// Letters of the tag that marks an exception in mid-stream.
const TAG_LETTERS: usize = 16;
/// Chunks that wait for the client.
const CHUNKS_WAITING: usize = 2;
/// After the deadline of a query, its exception gets this long to be taken.
const SEND_GRACE: Duration = Duration::from_secs(5);
/// How long the counts of peers are waited for after the last row.
const STATISTICS_TIMEOUT: Duration = Duration::from_millis(250);
/// The same for a client that wants to wait for the end of the query.
const STATISTICS_TIMEOUT_TO_END: Duration = Duration::from_secs(5);
/// The name of this server in the header that clients show.
const DISPLAY_NAME: &str = "peerage";

/// Runs a query and returns its answer, the later part of which is still to come.
pub(super) async fn run(engine: &QueryEngine, query: HttpQuery) -> Result<Response, Exception> {
    let started = Instant::now();
    let running = match start(engine, &query).await {
        Ok(running) => running,
        Err(exception) => {
            observe_query(QueryEnd::Failed, started.elapsed());
            info!(code = exception.code.number(), error = exception.message, "query failed");
            return Err(exception);
        }
    };
    let hold = if query.settings.waits_for_end { HOLD_BYTES_TO_END } else { HOLD_BYTES };
    let mut answer = Answer::new(&query, running, started)?;
    while answer.out.len() < hold && !answer.is_ended {
        answer.advance().await?;
    }
    let statistics = answer.is_ended.then(|| answer.statistics());
    let tag = new_tag();
    let deadline = answer.source.deadline(engine.query_timeout);
    let mut response = Response::new(answer.into_body(tag.clone(), deadline));
    put_headers(response.headers_mut(), &query, &tag, statistics.as_ref());
    Ok(response)
}

async fn start(engine: &QueryEngine, query: &HttpQuery) -> Result<Source, Exception> {
    if let StatementKind::Query(statement) = &query.statement {
        let request = QueryRequest {
            query_id: query.query_id.clone(),
            statement: statement.as_ref().clone(),
            database: query.database.clone(),
            time_zone: query.settings.time_zone.clone(),
            timeout: query.settings.max_execution_time,
            statistics_timeout: if query.settings.waits_for_end {
                STATISTICS_TIMEOUT_TO_END
            } else {
                STATISTICS_TIMEOUT
            },
            decision: query.decision.clone(),
        };
        return Ok(Source::Running(engine.start(request).await?));
    }
    let batch = query::answer_by_catalog(engine, &query.statement, &query.database).await?;
    Ok(Source::Known(Some(batch)))
}

/// Where rows come from.
enum Source {
    Running(RunningQuery),
    Known(Option<arrow::array::RecordBatch>),
}

impl Source {
    fn columns(&self) -> Vec<ResultColumn> {
        match self {
            Self::Running(running) => ResultColumn::from_schema(&running.head.schema),
            Self::Known(batch) => batch
                .as_ref()
                .map(|batch| ResultColumn::from_schema(&batch.schema()))
                .unwrap_or_default(),
        }
    }

    fn deadline(&self, timeout: Duration) -> Instant {
        match self {
            Self::Running(running) => running.deadline,
            Self::Known(_) => Instant::now() + timeout,
        }
    }

    async fn next(&mut self) -> Result<Option<arrow::array::RecordBatch>, Exception> {
        match self {
            Self::Running(running) => running.batches.try_next().await,
            Self::Known(batch) => Ok(batch.take()),
        }
    }
}

/// An answer that is being written.
struct Answer {
    query_id: String,
    source: Source,
    writer: FormatWriter,
    out: Vec<u8>,
    rows: u64,
    started: Instant,
    is_ended: bool,
    /// How the query is counted when this is dropped.
    end: QueryEnd,
}

impl Answer {
    fn new(query: &HttpQuery, source: Source, started: Instant) -> Result<Self, Exception> {
        let mut writer =
            FormatWriter::new(query.format, source.columns(), query.settings.format.clone());
        let mut out = Vec::new();
        writer.start(&mut out)?;
        Ok(Self {
            query_id: query.query_id.clone(),
            source,
            writer,
            out,
            rows: 0,
            started,
            is_ended: false,
            end: QueryEnd::Abandoned,
        })
    }

    /// Writes the next batch, or the end.
    async fn advance(&mut self) -> Result<(), Exception> {
        let advanced = self.try_advance().await;
        if let Err(exception) = &advanced {
            self.end = QueryEnd::Failed;
            info!(
                query_id = self.query_id,
                code = exception.code.number(),
                error = exception.message,
                "query failed"
            );
        }
        advanced
    }

    async fn try_advance(&mut self) -> Result<(), Exception> {
        if let Some(batch) = self.source.next().await? {
            self.rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
            return Ok(self.writer.write(&batch, &mut self.out)?);
        }
        let statistics = self.statistics();
        let summary = ResultSummary {
            rows: self.rows,
            rows_before_limit: None,
            elapsed: self.started.elapsed(),
            rows_read: statistics.rows_read,
            bytes_read: statistics.store_bytes,
        };
        self.writer.finish(&summary, &mut self.out)?;
        self.is_ended = true;
        self.end = QueryEnd::Finished;
        let elapsed = self.started.elapsed();
        info!(
            query_id = self.query_id,
            rows = self.rows,
            ?elapsed,
            partitions_read = statistics.partitions_read,
            store_requests = statistics.store_requests,
            store_bytes = statistics.store_bytes,
            attempts = statistics.attempts,
            "query finished"
        );
        Ok(())
    }

    fn statistics(&self) -> QueryStatistics {
        match &self.source {
            Source::Running(running) => {
                running.head.statistics.lock().expect("no holder of this lock panics").clone()
            }
            Source::Known(_) => QueryStatistics::default(),
        }
    }

    /// Returns the rest of the answer as a body. A task of its own writes it, so that the deadline
    /// holds for a client that stops reading too; it ends when the body is dropped.
    fn into_body(self, tag: String, deadline: Instant) -> Body {
        let (sender, receiver) = mpsc::channel(CHUNKS_WAITING);
        tokio::spawn(async move {
            let query_id = self.query_id.clone();
            let pumped = tokio::time::timeout_at(deadline + SEND_GRACE, self.pump(&tag, &sender));
            tokio::select! {
                pumped = pumped => {
                    if pumped.is_err() {
                        warn!(query_id, "client does not take the answer; query dropped");
                    }
                }
                () = sender.closed() => {}
            }
        });
        let chunks = futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|chunk| (chunk, receiver))
        });
        Body::from_stream(chunks)
    }

    /// Sends chunk after chunk.
    async fn pump(mut self, tag: &str, sender: &mpsc::Sender<io::Result<Bytes>>) {
        loop {
            while self.out.len() < CHUNK_BYTES && !self.is_ended {
                if let Err(exception) = self.advance().await {
                    let mut last = std::mem::take(&mut self.out);
                    last.extend(exception_frame(tag, exception.to_string().as_str()));
                    sender.send(Ok(last.into())).await.ok();
                    tokio::time::sleep(FLUSH_PAUSE).await;
                    let broken = io::Error::other("the answer ended with an exception");
                    sender.send(Err(broken)).await.ok();
                    return;
                }
            }
            let chunk = std::mem::take(&mut self.out);
            if sender.send(Ok(chunk.into())).await.is_err() || self.is_ended {
                return;
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        observe_query(self.end, self.started.elapsed());
        if self.end == QueryEnd::Abandoned {
            warn!(query_id = self.query_id, rows = self.rows, "client went away; query dropped");
        }
    }
}

fn new_tag() -> String {
    Alphabetic.sample_string(&mut rand::rng(), TAG_LETTERS).to_ascii_lowercase()
}

fn put_headers(
    headers: &mut axum::http::HeaderMap,
    query: &HttpQuery,
    tag: &str,
    statistics: Option<&QueryStatistics>,
) {
    common_headers(headers, &query.query_id, query.format);
    put(headers, "x-clickhouse-timezone", query.settings.time_zone.as_deref().unwrap_or("UTC"));
    put(headers, "x-clickhouse-exception-tag", tag);
    let Some(statistics) = statistics else { return };
    let summary = json!({
        "read_rows": statistics.rows_read.to_string(),
        "read_bytes": statistics.store_bytes.to_string(),
        "written_rows": "0",
        "written_bytes": "0",
        "total_rows_to_read": "0",
        "result_rows": statistics.result_rows.to_string(),
        "result_bytes": "0",
        "elapsed_ns": statistics.elapsed.as_nanos().to_string(),
        "memory_usage": "0",
    });
    put(headers, "x-clickhouse-summary", &summary.to_string());
    if let Ok(statistics) = serde_json::to_string(statistics) {
        put(headers, "x-peerage-statistics", &statistics);
    }
}

fn common_headers(headers: &mut axum::http::HeaderMap, query_id: &str, format: OutputFormat) {
    put(headers, "content-type", format.content_type());
    put(headers, "x-clickhouse-format", format.name());
    put(headers, "x-clickhouse-query-id", query_id);
    put(headers, "x-clickhouse-server-display-name", DISPLAY_NAME);
}

fn put(headers: &mut axum::http::HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Answers HEAD: what GET would answer, without running anything.
pub(super) fn head_response(query: &HttpQuery) -> Response {
    let mut response = Response::new(Body::empty());
    common_headers(response.headers_mut(), &query.query_id, query.format);
    put(response.headers_mut(), "x-clickhouse-exception-tag", &new_tag());
    response
}

/// Returns the answer for an exception before the first byte.
pub(super) fn exception_response(exception: &Exception, query_id: &str) -> Response {
    let mut response = Response::new(Body::from(exception.body()));
    *response.status_mut() =
        StatusCode::from_u16(exception.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    put(headers, "content-type", "text/plain; charset=UTF-8");
    put(headers, "x-clickhouse-query-id", query_id);
    put(headers, "x-clickhouse-server-display-name", DISPLAY_NAME);
    put(headers, "x-clickhouse-exception-code", &exception.code.number().to_string());
    put(headers, "x-clickhouse-exception-tag", &new_tag());
    response
}
