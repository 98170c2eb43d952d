//! The head's metrics, one function each: `head_<part>_<noun>_<unit>[_total]`.

use std::time::Duration;

use metrics::{counter, gauge, histogram};

/// How a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryEnd {
    /// All rows were sent.
    Finished,
    /// An exception was sent.
    Failed,
    /// The client went away.
    Abandoned,
}

impl QueryEnd {
    const fn label(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Counts a query and how long it took.
pub(crate) fn observe_query(end: QueryEnd, elapsed: Duration) {
    counter!("head_query_requests_total", "end" => end.label()).increment(1);
    histogram!("head_query_elapsed_seconds").record(elapsed.as_secs_f64());
}

/// Counts an attempt that was repeated because a peer was lost.
pub(crate) fn count_retry() {
    counter!("head_query_retries_total").increment(1);
}

/// Sets how many peers the membership has.
pub(crate) fn set_members(count: usize) {
    gauge!("head_membership_peers").set(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
}
