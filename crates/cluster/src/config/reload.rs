//! Watches the cluster file and hands out each good version of it.
//!
//! Invariants: what is handed out was wholly checked; a bad file changes nothing and is said once
//! for each distinct content; nothing is handed out twice in a row.
//!
//! Left out: what each role does with a new version, and which keys it follows without a new start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tracing::{error, info, warn};
use xxhash_rust::xxh3::xxh3_128;

use super::{CLUSTER_FILE_BYTES_MAX, ClusterConfig, ConfigError};
use crate::polling::{OwnedTask, StopSignal, read_bounded};

/// Time between two looks at the cluster file: a person who saved it waits about this long, and
/// reading a few kilobytes each second costs nothing.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// The cluster file's last good version, kept up to date.
///
/// It looks at the content, not at the time of change, since a ConfigMap's files are replaced by
/// changing a symbolic link and clocks of file systems are coarse.
#[derive(Debug)]
pub struct ConfigReloader {
    configs: watch::Receiver<Arc<ClusterConfig>>,
    task: OwnedTask,
}

impl ConfigReloader {
    /// Loads the cluster file, which must be good now, and starts to watch it.
    pub async fn start(path: &Path) -> Result<Self, ConfigError> {
        Self::start_every(path, RELOAD_INTERVAL).await
    }

    async fn start_every(path: &Path, interval: Duration) -> Result<Self, ConfigError> {
        let path = path.to_owned();
        let loaded = tokio::task::spawn_blocking(move || WatchedFile::load(path));
        let watched = loaded.await.expect("loading a cluster file does not panic")?;
        let (sender, configs) = watch::channel(Arc::clone(&watched.current));
        let task = OwnedTask::spawn(|stop| poll(watched, interval, sender, stop));
        Ok(Self { configs, task })
    }

    /// Returns the version that is in effect.
    pub fn current(&self) -> Arc<ClusterConfig> {
        Arc::clone(&self.configs.borrow())
    }

    /// Returns a receiver that wakes at each new version.
    pub fn subscribe(&self) -> watch::Receiver<Arc<ClusterConfig>> {
        self.configs.clone()
    }

    /// Ends the watching and waits until it has ended.
    pub async fn stop(self) {
        self.task.stop().await;
    }
}

async fn poll(
    mut watched: WatchedFile,
    interval: Duration,
    sender: watch::Sender<Arc<ClusterConfig>>,
    mut stop: StopSignal,
) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = &mut stop => return,
            _ = ticks.tick() => {}
        }
        let look = tokio::task::spawn_blocking(move || {
            let reload = watched.look();
            (watched, reload)
        });
        let looked = tokio::select! {
            _ = &mut stop => return,
            looked = look => looked,
        };
        let reload = match looked {
            Ok((returned, reload)) => {
                watched = returned;
                reload
            }
            Err(error) => {
                error!(%error, "no longer watching the cluster file");
                return;
            }
        };
        match reload {
            Reload::Same => {}
            Reload::Equal => info!("cluster file was written and says what is in effect already"),
            Reload::Changed(config) => {
                info!(effective = config.effective(), "cluster file changed and is in effect");
                sender.send_replace(config);
            }
            Reload::Refused(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                warn!(%error, cause, "cluster file is bad, the last good one stays in effect");
            }
        }
    }
}

/// What one look at the file found.
#[derive(Debug)]
enum Reload {
    /// The content, good or bad, is what it was at the last look.
    Same,
    /// The bytes are others and say what is in effect: a bad file was corrected, or a remark added.
    Equal,
    /// The content is good and says something new.
    Changed(Arc<ClusterConfig>),
    /// The content is bad and was not seen at the last look.
    Refused(ConfigError),
}

/// The file, what is in effect, and what the last look saw.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    current: Arc<ClusterConfig>,
    seen: Sight,
}

/// What a look saw, small enough to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Content(u128),
    Unreadable(u128),
}

impl Sight {
    fn of(path: &Path) -> Self {
        match read_bounded(path, CLUSTER_FILE_BYTES_MAX) {
            Ok(bytes) => Self::Content(xxh3_128(&bytes)),
            Err(error) => Self::Unreadable(xxh3_128(error.to_string().as_bytes())),
        }
    }
}

impl WatchedFile {
    fn load(path: PathBuf) -> Result<Self, ConfigError> {
        // The sight is taken first: a change between the two reads is found by the next look.
        let seen = Sight::of(&path);
        let current = Arc::new(ClusterConfig::load(&path)?);
        Ok(Self { path, current, seen })
    }

    fn look(&mut self) -> Reload {
        let sight = Sight::of(&self.path);
        if sight == self.seen {
            return Reload::Same;
        }
        self.seen = sight;
        match ClusterConfig::load(&self.path) {
            Ok(config) if config == *self.current => Reload::Equal,
            Ok(config) => {
                self.current = Arc::new(config);
                Reload::Changed(Arc::clone(&self.current))
            }
            Err(error) => Reload::Refused(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const GOOD: &str = "version: 1\ncatalog: { url: 'sqlite://./c.db' }\n\
        storages: { main: { url: 'file://./data' } }\nmembership: { static: ['a:1'] }\n";

    fn folder_with(text: &str) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("cluster.yaml");
        std::fs::write(&path, text).expect("write");
        (folder, path)
    }

    fn kind(reload: &Reload) -> &'static str {
        match reload {
            Reload::Same => "same",
            Reload::Equal => "equal",
            Reload::Changed(_) => "changed",
            Reload::Refused(_) => "refused",
        }
    }

    #[test]
    fn bad_content_is_refused_once_and_the_last_good_one_stays() {
        let (_folder, path) = folder_with(GOOD);
        let mut watched = WatchedFile::load(path.clone()).expect("good");
        let first = Arc::clone(&watched.current);
        let mut check = |text: Option<&str>, expected: [&str; 2]| {
            match text {
                Some(text) => std::fs::write(&path, text).expect("write"),
                None => std::fs::remove_file(&path).expect("remove"),
            }
            let looks = [kind(&watched.look()), kind(&watched.look())];
            assert_eq!(looks, expected, "{text:?}");
            Arc::clone(&watched.current)
        };
        assert_eq!(check(Some(GOOD), ["same", "same"]), first);
        assert_eq!(check(Some("version: 1\nbad: 1"), ["refused", "same"]), first);
        assert_eq!(check(Some("version: ["), ["refused", "same"]), first);
        assert_eq!(check(None, ["refused", "same"]), first);
        assert_eq!(check(Some(GOOD), ["equal", "same"]), first);
        let changed = check(Some(&GOOD.replace("a:1", "b:2")), ["changed", "same"]);
        assert_ne!(changed, first);
        let remark = GOOD.replace("a:1", "b:2") + "# a remark\n";
        assert_eq!(check(Some(&remark), ["equal", "same"]), changed);
    }

    #[tokio::test]
    async fn subscribers_see_a_change_and_the_task_ends() {
        let (_folder, path) = folder_with(GOOD);
        let interval = Duration::from_millis(1);
        let reloader = ConfigReloader::start_every(&path, interval).await.expect("good");
        let mut configs = reloader.subscribe();
        let replacement = path.with_extension("new");
        std::fs::write(&replacement, GOOD.replace("main", "other")).expect("write");
        std::fs::rename(&replacement, &path).expect("rename");
        configs.changed().await.expect("the reloader is alive");
        assert_eq!(configs.borrow_and_update().default_storage, "other");
        assert_eq!(reloader.current().default_storage, "other");
        reloader.stop().await;
        assert!(configs.changed().await.is_err(), "the sender ended with the task");
    }

    #[tokio::test]
    async fn a_bad_file_at_start_is_an_error() {
        let (_folder, path) = folder_with("version: 2");
        assert!(ConfigReloader::start(&path).await.is_err());
    }
}
