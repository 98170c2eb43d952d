//! What processes use of the machine, from `/proc`.
//!
//! Invariant: a system that does not tell gives `None`, never a wrong number. Processor time is kept by
//! thread: what a thread used before it ended between two looks is not counted.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// Processor time of all threads of some processes, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CpuClock {
    nanos: BTreeMap<PathBuf, u64>,
}

impl CpuClock {
    /// Returns the clock of these processes, or `None` where the system has none.
    pub(crate) fn read(pids: &[u32]) -> Option<Self> {
        let mut nanos = BTreeMap::new();
        for pid in pids {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
            for thread in threads.flatten() {
                let path = thread.path();
                // A thread that has just ended has no file any more.
                let Ok(text) = std::fs::read_to_string(path.join("schedstat")) else { continue };
                nanos.insert(path, schedstat_nanos(&text)?);
            }
        }
        (!nanos.is_empty()).then_some(Self { nanos })
    }

    /// Returns the seconds since an earlier moment.
    pub(crate) fn seconds_since(&self, earlier: &Self) -> f64 {
        let used = self.nanos.iter().map(|(thread, now)| {
            now.saturating_sub(earlier.nanos.get(thread).copied().unwrap_or_default())
        });
        #[expect(clippy::cast_precision_loss, reason = "seconds that people read")]
        let total = used.sum::<u64>() as f64;
        total / NANOS
    }
}

fn schedstat_nanos(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the most memory that one of these processes has held since its start.
pub(crate) fn peak_rss_bytes(pids: &[u32]) -> Option<u64> {
    let peaks = pids.iter().map(|pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        status_peak_bytes(&text)
    });
    peaks.collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn status_peak_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_the_system_are_read() {
        assert_eq!(schedstat_nanos("123456789 42 7\n"), Some(123_456_789));
        assert_eq!(schedstat_nanos(""), None);
        let status = "Name:\tpeerage\nVmPeak:\t  900 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 10 kB\n";
        assert_eq!(status_peak_bytes(status), Some(2 << 20));
        assert_eq!(status_peak_bytes("Name:\tpeerage\n"), None);
    }

    #[test]
    fn time_is_the_sum_over_threads() {
        let clock = |threads: &[(&str, u64)]| CpuClock {
            nanos: threads.iter().map(|&(thread, nanos)| (thread.into(), nanos)).collect(),
        };
        let before = clock(&[("1", 5_000_000_000), ("2", 1)]);
        let after = clock(&[("1", 6_500_000_000), ("3", 500_000_000)]);
        assert_eq!(after.seconds_since(&before), 2.0);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_figures() {
        assert_eq!(CpuClock::read(&[u32::MAX]), None);
        assert_eq!(peak_rss_bytes(&[u32::MAX]), None);
    }
}
