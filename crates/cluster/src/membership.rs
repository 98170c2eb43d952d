//! Which query peers there are, as a snapshot that one query keeps to its end.
//!
//! Sources: a static list from the cluster file, or a `pods.txt` file that is polled. Both end in
//! the same place: a [`MemberSnapshot`] behind a watch channel.
//!
//! Invariants: taking a snapshot does no I/O and never waits; a snapshot never changes; `epoch`
//! grows with every change of the set; an unreadable source never removes a peer.
//!
//! Left out: whether a listed peer answers (the head learns that from real errors) and pools.

mod address;
mod pods_file;
mod snapshot;
mod static_list;

use std::sync::Arc;

use tokio::sync::{Mutex, watch};
use tracing::info;

pub use self::address::{PeerAddress, PeerAddressError};
pub use self::pods_file::{POD_FILE_BYTES_MAX, SUDDEN_LOSS_GRACE};
pub use self::snapshot::{CORES_MAX, Member, MemberSnapshot};
use crate::config::MembershipConfig;
use crate::polling::OwnedTask;

/// Most peers: placement scores every peer for every partition (some 70 ns in a development build),
/// so this bounds the placement of 1,000 partitions to a third of a second of one core.
pub const MEMBERS_MAX: usize = 4096;

/// The set of query peers, kept up to date by its source.
#[derive(Debug)]
pub struct Membership {
    snapshots: Arc<watch::Sender<Arc<MemberSnapshot>>>,
    source: Mutex<RunningSource>,
}

/// The source that is in use. A static list needs no task.
#[derive(Debug)]
struct RunningSource {
    config: MembershipConfig,
    task: Option<OwnedTask>,
}

impl Membership {
    /// Starts the source; when it returns, the source was looked at once.
    pub async fn start(config: &MembershipConfig) -> Self {
        let snapshots = Arc::new(watch::Sender::new(Arc::new(MemberSnapshot::empty())));
        let task = start_source(config, &snapshots).await;
        let source = Mutex::new(RunningSource { config: config.clone(), task });
        Self { snapshots, source }
    }

    /// Returns the peers as they are now; cheap, taken once for each query.
    pub fn snapshot(&self) -> Arc<MemberSnapshot> {
        Arc::clone(&self.snapshots.borrow())
    }

    /// Returns a receiver that wakes at each change of the set.
    pub fn subscribe(&self) -> watch::Receiver<Arc<MemberSnapshot>> {
        self.snapshots.subscribe()
    }

    /// Changes to another source after the cluster file changed.
    ///
    /// The peers stay until the new source says otherwise, and `epoch` goes on growing.
    pub async fn reconfigure(&self, config: &MembershipConfig) {
        let mut source = self.source.lock().await;
        if source.config == *config {
            return;
        }
        if let Some(task) = source.task.take() {
            task.stop().await;
        }
        source.task = start_source(config, &self.snapshots).await;
        source.config = config.clone();
    }

    /// Ends the source and waits until it has ended; the last snapshot stays.
    pub async fn stop(&self) {
        if let Some(task) = self.source.lock().await.task.take() {
            task.stop().await;
        }
    }
}

async fn start_source(
    config: &MembershipConfig,
    snapshots: &Arc<watch::Sender<Arc<MemberSnapshot>>>,
) -> Option<OwnedTask> {
    match config {
        MembershipConfig::Static { peers } => {
            info!(source = static_list::SOURCE, peers = peers.len(), "membership");
            install(snapshots, static_list::members(peers), static_list::SOURCE);
            None
        }
        MembershipConfig::PodsFile { path, poll_interval } => {
            let file = path.display();
            info!(source = pods_file::SOURCE, %file, "membership");
            Some(pods_file::start(path, *poll_interval, Arc::clone(snapshots)).await)
        }
    }
}

/// Makes `peers` the current set, unless it is already.
fn install(
    snapshots: &watch::Sender<Arc<MemberSnapshot>>,
    peers: Vec<Member>,
    source: &'static str,
) {
    snapshots.send_if_modified(|current| match current.next(peers, source) {
        Some(next) => {
            info!(source, epoch = next.epoch, peers = next.peers.len(), "membership changed");
            *current = Arc::new(next);
            true
        }
        None => false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    fn pods(path: &Path) -> MembershipConfig {
        let poll_interval = Duration::from_millis(1);
        MembershipConfig::PodsFile { path: path.to_owned(), poll_interval }
    }

    fn fixed(peers: &[&str]) -> MembershipConfig {
        let peers = peers.iter().map(|peer| peer.parse().expect("an address")).collect();
        MembershipConfig::Static { peers }
    }

    fn write(path: &Path, ports: &[u16]) {
        let pod = |port| format!(r#"{{"ip":"10.0.0.1","port":{port},"cpus":4,"type":"peer"}}"#);
        let pods: Vec<String> = ports.iter().map(pod).collect();
        let temporary = path.with_extension("new");
        std::fs::write(&temporary, format!("[{}]", pods.join(","))).expect("write");
        std::fs::rename(&temporary, path).expect("rename");
    }

    fn addresses(snapshot: &MemberSnapshot) -> Vec<&str> {
        snapshot.peers.iter().map(|peer| peer.address().as_str()).collect()
    }

    #[tokio::test]
    async fn a_static_list_is_there_at_once() {
        let membership = Membership::start(&fixed(&["b:2", "a:1"])).await;
        let snapshot = membership.snapshot();
        assert_eq!(addresses(&snapshot), ["a:1", "b:2"]);
        assert_eq!((snapshot.epoch, snapshot.source), (1, "static"));
        membership.stop().await;
        assert_eq!(membership.snapshot(), snapshot);
    }

    #[tokio::test]
    async fn a_pods_file_is_read_at_start_and_followed() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("pods.txt");
        write(&path, &[1, 2]);
        let membership = Membership::start(&pods(&path)).await;
        let before = membership.snapshot();
        assert_eq!(addresses(&before), ["10.0.0.1:1", "10.0.0.1:2"]);

        let mut changes = membership.subscribe();
        write(&path, &[2, 3]);
        changes.changed().await.expect("the membership is alive");
        assert_eq!(addresses(&membership.snapshot()), ["10.0.0.1:2", "10.0.0.1:3"]);
        assert_eq!(membership.snapshot().epoch, 2);
        assert_eq!(addresses(&before), ["10.0.0.1:1", "10.0.0.1:2"], "a snapshot never changes");
        membership.stop().await;
    }

    #[tokio::test]
    async fn a_file_that_comes_late_is_found() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("pods.txt");
        let membership = Membership::start(&pods(&path)).await;
        assert_eq!(addresses(&membership.snapshot()), [""; 0]);
        let mut changes = membership.subscribe();
        write(&path, &[1]);
        changes.changed().await.expect("the membership is alive");
        assert_eq!(addresses(&membership.snapshot()), ["10.0.0.1:1"]);
        membership.stop().await;
    }

    #[tokio::test]
    async fn another_source_takes_over_without_a_gap() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("pods.txt");
        let membership = Membership::start(&fixed(&["a:1"])).await;
        membership.reconfigure(&pods(&path)).await;
        assert_eq!(addresses(&membership.snapshot()), ["a:1"], "the new source says nothing yet");

        let mut changes = membership.subscribe();
        write(&path, &[1]);
        changes.changed().await.expect("the membership is alive");
        assert_eq!(addresses(&membership.snapshot()), ["10.0.0.1:1"]);

        membership.reconfigure(&fixed(&["b:1"])).await;
        let snapshot = membership.snapshot();
        assert_eq!((addresses(&snapshot), snapshot.epoch), (vec!["b:1"], 3));
        membership.reconfigure(&fixed(&["b:1"])).await;
        assert_eq!(membership.snapshot(), snapshot);
        membership.stop().await;
    }
}
