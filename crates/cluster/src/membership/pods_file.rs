//! The `pods.txt` source: a JSON array of live processes, always the complete set.
//!
//! ```json
//! [{"ip":"10.0.0.7","port":8124,"cpus":8,"type":"peer"},{"ip":"10.0.0.9","port":8123,"cpus":2,"type":"head"}]
//! ```
//!
//! Invariants: a missing, half-written or invalid file keeps the last good set and is said once for
//! each distinct problem; a sudden loss of all peers is held back for [`SUDDEN_LOSS_GRACE`]; one
//! bad entry makes the whole file bad, since a set with a hole is not complete.
//!
//! Left out: the key `pool` and every key that this program does not know; other programs may write
//! more than heads read.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tracing::{error, info, warn};
use xxhash_rust::xxh3::xxh3_128;

use super::{CORES_MAX, MEMBERS_MAX, Member, MemberSnapshot, install};
use crate::polling::{BoundedReadError, OwnedTask, StopSignal, read_bounded};

/// The source's name in snapshots, logs and errors.
pub(super) const SOURCE: &str = "pods_file";

/// Longest file, in bytes: [`MEMBERS_MAX`] peers and as many heads with 512 bytes each.
pub const POD_FILE_BYTES_MAX: u64 = 4 << 20;

/// How long an empty list is not believed after a list with peers. A writer that starts again, or
/// that has lost its view of the cluster for a moment, writes an empty list; ten seconds outlast
/// that, and a query that fails ten seconds later on dead peers has lost nothing.
pub const SUDDEN_LOSS_GRACE: Duration = Duration::from_secs(10);

/// Why a `pods.txt` cannot be used: its writer must be looked at.
#[derive(Debug, thiserror::Error)]
enum PodsFileError {
    /// The file is missing, may not be read or is too large.
    #[error("read: {problem}")]
    Unreadable {
        /// What stands in the way.
        problem: String,
    },
    /// The text is not the JSON that was expected; it may be half written.
    #[error("decode: {0}")]
    Malformed(#[source] serde_json::Error),
    /// An entry has a value that no process can have.
    #[error("entry {entry}: {key} {value} is not possible")]
    BadEntry {
        /// The entry, from 0.
        entry: usize,
        /// Its key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// There are more peers than a head can place partitions over.
    #[error("{count} peers, the limit is {MEMBERS_MAX}")]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

/// One entry as it is written.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an entry with ip, port, cpus and type")]
struct RawPod {
    ip: IpAddr,
    port: u16,
    cpus: f64,
    #[serde(rename = "type")]
    kind: PodKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PodKind {
    Peer,
    Head,
}

/// Returns the peers of the file's bytes, in file order.
fn decode(bytes: &[u8]) -> Result<Vec<Member>, PodsFileError> {
    let pods: Vec<RawPod> = serde_json::from_slice(bytes).map_err(PodsFileError::Malformed)?;
    let peers = pods.iter().enumerate().filter(|(_, pod)| pod.kind == PodKind::Peer);
    let peers: Vec<Member> =
        peers.map(|(entry, pod)| member(entry, pod)).collect::<Result<_, _>>()?;
    match peers.len() {
        0..=MEMBERS_MAX => Ok(peers),
        count => Err(PodsFileError::TooMany { count }),
    }
}

fn member(entry: usize, pod: &RawPod) -> Result<Member, PodsFileError> {
    let bad = |key, value: String| PodsFileError::BadEntry { entry, key, value };
    if pod.ip.is_unspecified() || pod.ip.is_multicast() {
        return Err(bad("ip", pod.ip.to_string()));
    }
    let cores = whole_cores(pod.cpus).ok_or_else(|| bad("cpus", pod.cpus.to_string()))?;
    // Any address of an IP can be parsed, unless its port is 0.
    let address = SocketAddr::new(pod.ip, pod.port).to_string().parse().ok();
    let address = address.ok_or_else(|| bad("port", pod.port.to_string()))?;
    Ok(Member::new(address, cores))
}

/// Returns the cores rounded up (a Kubernetes limit may be `0.5`), at least one.
fn whole_cores(cpus: f64) -> Option<u32> {
    if !(0.0..=f64::from(CORES_MAX)).contains(&cpus) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked above and CORES_MAX fits"
    )]
    let cores = cpus.ceil() as u32;
    Some(cores.max(1))
}

/// What one look at the file leads to.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// Nothing new, or a problem that was already said.
    Same,
    /// These are the peers now.
    Install(Vec<Member>),
    /// The list is empty since just now; the last peers stay for the grace time.
    HeldBack,
    /// A problem that was not said yet; the last peers stay.
    Problem(String),
    /// The problem is over.
    Recovered,
}

/// Decides, without I/O and with the time given, what each look at the file leads to.
#[derive(Debug, Default)]
struct PodsFileState {
    /// The peers that are in effect.
    peers: Vec<Member>,
    /// Digest of the last good content, so that the same bytes are not decoded each second.
    good: Option<u128>,
    /// The problem that was said last, while it lasts.
    problem: Option<String>,
    /// Since when the list has been empty although there are peers.
    empty_since: Option<Instant>,
}

impl PodsFileState {
    fn observe(&mut self, read: Result<Vec<u8>, BoundedReadError>, now: Instant) -> Look {
        let (digest, decoded) = match read {
            Ok(bytes) => {
                let digest = Some(xxh3_128(&bytes));
                // An empty list is looked at each time: its grace time may be over.
                if self.good == digest && self.empty_since.is_none() {
                    return self.recovered();
                }
                (digest, decode(&bytes))
            }
            Err(error) => (None, Err(PodsFileError::Unreadable { problem: error.to_string() })),
        };
        match decoded {
            Ok(peers) => {
                self.good = digest;
                self.accept(peers, now)
            }
            Err(error) => self.refuse(chain(&error)),
        }
    }

    fn accept(&mut self, peers: Vec<Member>, now: Instant) -> Look {
        if peers.is_empty() && !self.peers.is_empty() {
            let is_new = self.empty_since.is_none();
            let since = *self.empty_since.get_or_insert(now);
            if now.saturating_duration_since(since) < SUDDEN_LOSS_GRACE {
                return if is_new { Look::HeldBack } else { self.recovered() };
            }
        }
        self.empty_since = None;
        self.problem = None;
        self.peers.clone_from(&peers);
        Look::Install(peers)
    }

    fn refuse(&mut self, problem: String) -> Look {
        if self.problem.as_ref() == Some(&problem) {
            return Look::Same;
        }
        self.problem = Some(problem.clone());
        Look::Problem(problem)
    }

    fn recovered(&mut self) -> Look {
        if self.problem.take().is_some() { Look::Recovered } else { Look::Same }
    }
}

fn chain(error: &PodsFileError) -> String {
    match error {
        PodsFileError::Malformed(source) => format!("decode: {source}"),
        other => other.to_string(),
    }
}

/// Looks at the file once, then starts the task that looks at it at each interval.
pub(super) async fn start(
    path: &Path,
    poll_interval: Duration,
    snapshots: Arc<watch::Sender<Arc<MemberSnapshot>>>,
) -> OwnedTask {
    let peers = snapshots.borrow().peers.clone();
    let mut poller = Poller {
        path: path.to_owned(),
        state: PodsFileState { peers, ..PodsFileState::default() },
        snapshots,
    };
    poller.look().await;
    OwnedTask::spawn(|stop| poller.run(poll_interval, stop))
}

struct Poller {
    path: PathBuf,
    state: PodsFileState,
    snapshots: Arc<watch::Sender<Arc<MemberSnapshot>>>,
}

impl Poller {
    async fn run(mut self, poll_interval: Duration, mut stop: StopSignal) {
        let mut ticks = tokio::time::interval(poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = &mut stop => return,
                _ = ticks.tick() => {}
            }
            tokio::select! {
                _ = &mut stop => return,
                () = self.look() => {}
            }
        }
    }

    async fn look(&mut self) {
        let path = self.path.clone();
        let reading = tokio::task::spawn_blocking(move || read_bounded(&path, POD_FILE_BYTES_MAX));
        let read = match reading.await {
            Ok(read) => read,
            Err(error) => return error!(%error, "reading pods file ended badly"),
        };
        let file = self.path.display();
        let kept = self.state.peers.len();
        match self.state.observe(read, Instant::now()) {
            Look::Same => {}
            Look::Install(peers) => {
                if peers.is_empty() && kept > 0 {
                    warn!(%file, "pods file lists no peer, queries will fail");
                }
                install(&self.snapshots, peers, SOURCE);
            }
            Look::HeldBack => {
                let grace = SUDDEN_LOSS_GRACE;
                warn!(%file, peers = kept, ?grace, "pods file is suddenly empty, keeping the last peers");
            }
            Look::Problem(problem) => {
                warn!(%file, peers = kept, problem, "pods file is bad, keeping the last peers");
            }
            Look::Recovered => info!(%file, peers = kept, "pods file is good again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const TWO: &str = r#"[{"ip":"10.0.0.1","port":1,"cpus":4,"type":"peer"},
        {"ip":"10.0.0.2","port":2,"cpus":8,"type":"peer"}]"#;

    fn check(text: &str, expected: Expect) {
        let shown = match decode(text.as_bytes()) {
            Ok(peers) => {
                let show = |it: &Member| format!("{} x{}", it.address(), it.cores());
                peers.iter().map(show).collect::<Vec<_>>().join(", ")
            }
            Err(error) => format!("error: {}", chain(&error)),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn lists() {
        check(TWO, expect!["10.0.0.1:1 x4, 10.0.0.2:2 x8"]);
        check("[]", expect![""]);
        check(r#"[{"ip":"10.0.0.1","port":1,"cpus":4,"type":"head"}]"#, expect![""]);
        check(
            r#"[{"ip":"::1","port":9,"cpus":0.5,"type":"peer","pool":"x","later":{"a":[1]}}]"#,
            expect!["[::1]:9 x1"],
        );
        check(
            r#"[{"ip":"10.0.0.1","port":1,"cpus":0,"type":"peer"},{"ip":"10.0.0.2","port":1,"cpus":2.1,"type":"peer"}]"#,
            expect!["10.0.0.1:1 x1, 10.0.0.2:1 x3"],
        );
    }

    #[test]
    fn bad_files() {
        check("", expect!["error: decode: EOF while parsing a value at line 1 column 0"]);
        check(&TWO[..40], expect!["error: decode: EOF while parsing a string at line 1 column 40"]);
        check(
            "{}",
            expect!["error: decode: invalid type: map, expected a sequence at line 1 column 0"],
        );
        check(
            "[1]",
            expect![
                "error: decode: invalid type: integer `1`, expected an entry with ip, port, cpus and type at line 1 column 2"
            ],
        );
        let pod = |from: &str, to: &str| {
            r#"[{"ip":"10.0.0.1","port":1,"cpus":4,"type":"peer"}]"#.replace(from, to)
        };
        check(
            &pod("10.0.0.1", "peer-1"),
            expect!["error: decode: invalid IP address syntax at line 1 column 15"],
        );
        check(&pod("10.0.0.1", "0.0.0.0"), expect!["error: entry 0: ip 0.0.0.0 is not possible"]);
        check(&pod(":1,", ":0,"), expect!["error: entry 0: port 0 is not possible"]);
        check(
            &pod(":1,", ":70000,"),
            expect![
                "error: decode: invalid value: integer `70000`, expected u16 at line 1 column 30"
            ],
        );
        check(&pod(":4,", ":-1,"), expect!["error: entry 0: cpus -1 is not possible"]);
        check(&pod(":4,", ":1e9,"), expect!["error: entry 0: cpus 1000000000 is not possible"]);
        check(
            &pod(r#","type":"peer""#, ""),
            expect!["error: decode: missing field `type` at line 1 column 36"],
        );
        check(
            &pod(r#""peer""#, r#""pear""#),
            expect![
                "error: decode: unknown variant `pear`, expected `peer` or `head` at line 1 column 49"
            ],
        );
        let pods: Vec<String> = (0..=MEMBERS_MAX)
            .map(|i| {
                format!(
                    r#"{{"ip":"10.0.{}.{}","port":1,"cpus":4,"type":"peer"}}"#,
                    i / 256,
                    i % 256
                )
            })
            .collect();
        check(&format!("[{}]", pods.join(",")), expect!["error: 4097 peers, the limit is 4096"]);
    }

    /// Feeds the state one look a second and returns what each led to, in short.
    fn looks(looks: &[Option<&str>]) -> Vec<String> {
        let mut state = PodsFileState::default();
        let mut now = Instant::now();
        let mut shown = Vec::new();
        for text in looks {
            let missing = || BoundedReadError::Io(std::io::ErrorKind::NotFound.into());
            let read = text.map(|text| text.as_bytes().to_vec()).ok_or_else(missing);
            shown.push(match state.observe(read, now) {
                Look::Same => "same".to_owned(),
                Look::Install(peers) => format!("install {}", peers.len()),
                Look::HeldBack => "held back".to_owned(),
                Look::Problem(_) => "problem".to_owned(),
                Look::Recovered => "recovered".to_owned(),
            });
            now = now.checked_add(Duration::from_secs(1)).expect("a few seconds ahead");
        }
        shown
    }

    #[test]
    fn a_problem_is_said_once_and_its_end_too() {
        let half = Some(&TWO[..40]);
        assert_eq!(
            looks(&[
                None,
                None,
                Some(TWO),
                Some(TWO),
                half,
                half,
                None,
                Some(TWO),
                Some(TWO),
                None
            ]),
            [
                "problem",
                "same",
                "install 2",
                "same",
                "problem",
                "same",
                "problem",
                "recovered",
                "same",
                "problem"
            ]
        );
    }

    #[test]
    fn a_sudden_loss_of_all_is_held_back_for_the_grace_time() {
        let one = r#"[{"ip":"10.0.0.1","port":1,"cpus":4,"type":"peer"}]"#;
        let mut given = vec![Some(TWO), Some(one)];
        given.extend([Some("[]"); 12]);
        let mut expected = vec!["install 2", "install 1", "held back"];
        expected.extend(["same"; 9]);
        expected.extend(["install 0", "same"]);
        assert_eq!(looks(&given), expected);
    }

    #[test]
    fn peers_that_come_back_within_the_grace_time_end_it() {
        assert_eq!(
            looks(&[Some(TWO), Some("[]"), None, Some("[]"), Some(TWO), Some("[]")]),
            ["install 2", "held back", "problem", "recovered", "install 2", "held back"]
        );
    }

    #[test]
    fn an_empty_list_at_start_is_believed() {
        assert_eq!(looks(&[Some("[]"), Some(TWO)]), ["install 0", "install 2"]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..TWO.len()) {
            drop(decode(&bytes));
            let mut mutated = TWO.as_bytes().to_vec();
            mutated.splice(at..at, bytes);
            drop(decode(&mutated));
        }
    }
}
