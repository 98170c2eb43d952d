//! The answer of a query on its way out: rows held back first, then streamed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use peerage_clickhouse::Exception;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::AnswerHead;
use super::attempt::Attempt;
use super::statistics::{QueryStatistics, collect};
use crate::exception;

/// Bytes of an answer that are held back: within them a lost peer costs a repetition, not an error.
/// Aggregates and top-k fit; the first row of a longer answer waits for this much of it.
const HOLD_BYTES: usize = 8 << 20;

/// An attempt whose first rows are there.
pub(super) struct HeldAnswer {
    attempt: Attempt,
    held: VecDeque<RecordBatch>,
    rest: SendableRecordBatchStream,
}

impl HeldAnswer {
    /// Runs an attempt until it ended or the budget is full.
    pub(super) async fn start(attempt: Attempt) -> Result<Self> {
        let mut rest = attempt.execute()?;
        let mut held = VecDeque::new();
        let mut bytes = 0;
        while bytes < HOLD_BYTES {
            let Some(batch) = rest.try_next().await? else { break };
            bytes += batch.get_array_memory_size();
            held.push_back(batch);
        }
        Ok(Self { attempt, held, rest })
    }
}

/// A query whose rows can be taken.
pub(crate) struct RunningQuery {
    /// Schema and, once all rows were taken, statistics.
    pub(crate) head: AnswerHead,
    /// When the query must have ended, its last byte taken.
    pub(crate) deadline: Instant,
    /// The rows; dropping them ends the query everywhere.
    pub(crate) batches: BoxStream<'static, Result<RecordBatch, Exception>>,
}

struct Streaming {
    answer: HeldAnswer,
    statistics: Arc<Mutex<QueryStatistics>>,
    started: Instant,
    timeout: Duration,
    statistics_timeout: Duration,
    rows: u64,
    _permit: OwnedSemaphorePermit,
}

impl RunningQuery {
    pub(super) fn new(
        answer: HeldAnswer,
        permit: OwnedSemaphorePermit,
        started: Instant,
        timeout: Duration,
        statistics_timeout: Duration,
    ) -> Self {
        let schema = answer.rest.schema();
        let statistics = Arc::new(Mutex::new(QueryStatistics::default()));
        let head = AnswerHead { schema, statistics: Arc::clone(&statistics) };
        let state = Streaming {
            answer,
            statistics,
            started,
            timeout,
            statistics_timeout,
            rows: 0,
            _permit: permit,
        };
        let batches = futures::stream::try_unfold(state, |mut state| async move {
            let batch = state.next().await?;
            Ok(batch.map(|batch| (batch, state)))
        });
        Self { head, deadline: started + timeout, batches: batches.boxed() }
    }
}

impl Streaming {
    async fn next(&mut self) -> Result<Option<RecordBatch>, Exception> {
        let batch = match self.answer.held.pop_front() {
            Some(batch) => Some(batch),
            None => self.next_of_rest().await?,
        };
        match &batch {
            Some(batch) => self.rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX),
            None => self.finish().await,
        }
        Ok(batch)
    }

    async fn next_of_rest(&mut self) -> Result<Option<RecordBatch>, Exception> {
        let next = self.answer.rest.try_next();
        match tokio::time::timeout_at(self.started + self.timeout, next).await {
            Ok(Ok(batch)) => Ok(batch),
            Ok(Err(error)) => Err(exception::from_engine(&error)),
            Err(_elapsed) => Err(exception::timeout(self.timeout)),
        }
    }

    async fn finish(&mut self) {
        let mut statistics = collect(&self.answer.attempt, self.statistics_timeout).await;
        statistics.result_rows = self.rows;
        statistics.elapsed = self.started.elapsed();
        *self.statistics.lock().expect("no holder of this lock panics") = statistics;
    }
}
