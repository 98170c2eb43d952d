//! The figures of a run, as they are written to JSON.
//!
//! Invariant: times are medians over the rounds, counts are the largest of all rounds, so that a
//! bound on a count holds for every round. Left out: how they are shown.

use serde::{Deserialize, Serialize};

use crate::client::Statistics;
use crate::proxy::Traffic;

/// Everything that a run found.
#[derive(Debug, Serialize)]
pub(crate) struct RunFigures {
    /// The suite.
    pub(crate) suite: &'static str,
    /// Version of the measuring program.
    pub(crate) version: &'static str,
    /// `release` or `debug`: of the measuring program, which stands beside the measured one.
    pub(crate) profile: &'static str,
    /// Threads that the machine runs at once.
    pub(crate) cores: usize,
    /// Peers.
    pub(crate) peers: u16,
    /// Delay that the proxy added to every request.
    pub(crate) delay_ms: u64,
    /// Rounds.
    pub(crate) rounds: u32,
    /// Repeats in the same processes, in each round.
    pub(crate) repeats: u32,
    /// The data.
    pub(crate) data: DataFigures,
    /// The questions, in the order asked.
    pub(crate) queries: Vec<QueryFigures>,
}

/// The data of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DataFigures {
    /// Rows.
    pub(crate) rows: u64,
    /// Partitions.
    pub(crate) partitions: u64,
    /// Bytes of the data files.
    pub(crate) data_bytes: u64,
    /// Bytes of the index files.
    pub(crate) index_bytes: u64,
    /// Bytes of the manifests.
    pub(crate) manifest_bytes: u64,
    /// How the data was loaded, now or earlier.
    pub(crate) load: LoadFigures,
}

impl DataFigures {
    /// Returns index and manifests in percent of the data files.
    pub(crate) fn index_percent(&self) -> f64 {
        percent(self.index_bytes.saturating_add(self.manifest_bytes), self.data_bytes)
    }
}

/// How a load went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoadFigures {
    /// Time from the first row to the commit.
    pub(crate) seconds: f64,
    /// Rows per second.
    pub(crate) rows_per_second: u64,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct QueryFigures {
    /// `q1`, …
    pub(crate) name: &'static str,
    /// What it is about.
    pub(crate) title: &'static str,
    /// The SQL text.
    pub(crate) sql: String,
    /// Rows of the answer.
    pub(crate) rows: usize,
    /// Fresh processes with empty caches.
    pub(crate) cold: PhaseFigures,
    /// The same processes again.
    pub(crate) warm: PhaseFigures,
    /// Fresh processes that find the caches of earlier ones on disk.
    pub(crate) restarted: PhaseFigures,
}

/// One question in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PhaseFigures {
    /// From sending the question to the last byte of the answer.
    pub(crate) seconds: f64,
    /// The shortest of all times.
    pub(crate) seconds_min: f64,
    /// The longest of all times.
    pub(crate) seconds_max: f64,
    /// Processor time of head and peers; none where the system does not tell.
    pub(crate) cpu_seconds: Option<f64>,
    /// The most memory that one process has held so far; none where the system does not tell.
    pub(crate) rss_bytes: Option<u64>,
    /// Requests to the object store, counted by the proxy.
    pub(crate) requests: u64,
    /// Bytes that these brought, counted by the proxy.
    pub(crate) bytes: u64,
    /// The longest chain of requests that followed one another.
    pub(crate) round_trips: u64,
    /// What passed the proxy in the round with the most requests.
    pub(crate) traffic: Traffic,
    /// What the head said of the query in that round.
    pub(crate) statistics: Statistics,
}

/// One answer to one question.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) traffic: Traffic,
    pub(crate) statistics: Statistics,
}

impl PhaseFigures {
    /// Returns the figures of all samples of a phase.
    pub(crate) fn of(samples: &[Sample]) -> Self {
        let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
        let cpu: Option<Vec<f64>> = samples.iter().map(|sample| sample.cpu_seconds).collect();
        let most = |count: fn(&Traffic) -> u64| {
            samples.iter().map(|sample| count(&sample.traffic)).max().unwrap_or_default()
        };
        let busiest = samples.iter().max_by_key(|sample| sample.traffic.requests());
        Self {
            seconds: median(seconds.clone()),
            seconds_min: seconds.iter().copied().reduce(f64::min).unwrap_or_default(),
            seconds_max: seconds.iter().copied().reduce(f64::max).unwrap_or_default(),
            cpu_seconds: cpu.map(median),
            rss_bytes: samples.iter().filter_map(|sample| sample.rss_bytes).max(),
            requests: most(Traffic::requests),
            bytes: most(|traffic| traffic.bytes),
            round_trips: most(|traffic| traffic.round_trips),
            traffic: busiest.map(|sample| sample.traffic.clone()).unwrap_or_default(),
            statistics: busiest.map(|sample| sample.statistics.clone()).unwrap_or_default(),
        }
    }
}

/// Returns the middle value, or the mean of the two in the middle; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let at = |place: usize| values.get(place).copied().unwrap_or_default();
    if values.is_empty() || values.len() % 2 == 1 {
        at(half)
    } else {
        f64::midpoint(at(half - 1), at(half))
    }
}

/// Returns `part` in percent of `whole`; 0 of nothing.
fn percent(part: u64, whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a share that people read")]
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn times_are_medians_and_counts_the_largest() {
        let sample = |seconds: f64, requests: u64, bytes: u64| Sample {
            seconds,
            cpu_seconds: Some(seconds * 2.0),
            rss_bytes: Some(requests),
            traffic: Traffic {
                methods: [("GET", requests)].into(),
                bytes,
                round_trips: requests / 2,
                ..Traffic::default()
            },
            statistics: Statistics { partitions_read: requests, ..Statistics::default() },
        };
        let figures = PhaseFigures::of(&[sample(3.0, 2, 9), sample(1.0, 4, 5), sample(2.0, 3, 7)]);
        assert_eq!((figures.seconds, figures.seconds_min, figures.seconds_max), (2.0, 1.0, 3.0));
        assert_eq!((figures.cpu_seconds, figures.rss_bytes), (Some(4.0), Some(4)));
        assert_eq!((figures.requests, figures.bytes, figures.round_trips), (4, 9, 2));
        assert_eq!((figures.traffic.bytes, figures.statistics.partitions_read), (5, 4));
    }

    #[test]
    fn a_figure_that_one_round_lacks_is_lacking() {
        let sample = |cpu_seconds| Sample {
            seconds: 1.0,
            cpu_seconds,
            rss_bytes: None,
            traffic: Traffic::default(),
            statistics: Statistics::default(),
        };
        assert_eq!(PhaseFigures::of(&[sample(Some(1.0)), sample(None)]).cpu_seconds, None);
    }
}
