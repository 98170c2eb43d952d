//! Watching a small file: a bounded read and a task that has an owner.
//!
//! Invariant: no file, however large or strange, is read beyond the given bound, and a task never
//! outlives its [`OwnedTask`] by more than the blocking call that it is in.
//!
//! Left out: file system notifications. They are lost on network file systems and behind the
//! symbolic links of a Kubernetes ConfigMap; reading a few kilobytes each second never is.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::error;

/// Why a watched file could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoundedReadError {
    /// The file is missing or may not be read.
    #[error("{0}")]
    Io(io::Error),
    /// The path names a directory, a pipe or a device.
    #[error("not a regular file")]
    NotAFile,
    /// The file is larger than its bound.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
}

/// Returns the bytes of the file at `path`, which may have at most `bytes_max` bytes.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, BoundedReadError> {
    // Opening a pipe would wait for its writer, so the kind is looked at first.
    if !std::fs::metadata(path).map_err(BoundedReadError::Io)?.is_file() {
        return Err(BoundedReadError::NotAFile);
    }
    let file = File::open(path).map_err(BoundedReadError::Io)?;
    let mut bytes = Vec::new();
    let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
    let length = read.map_err(BoundedReadError::Io)?;
    match u64::try_from(length) {
        Ok(length) if length <= bytes_max => Ok(bytes),
        Ok(_) | Err(_) => Err(BoundedReadError::TooLarge { limit: bytes_max }),
    }
}

/// Resolves when the owner of a task wants it to end, or is gone.
pub(crate) type StopSignal = oneshot::Receiver<()>;

/// A background task and its one owner: dropping it asks the task to end, `stop` also waits.
#[derive(Debug)]
pub(crate) struct OwnedTask {
    stop: oneshot::Sender<()>,
    joined: JoinHandle<()>,
}

impl OwnedTask {
    /// Starts the task that `body` makes from its stop signal.
    pub(crate) fn spawn<F>(body: impl FnOnce(StopSignal) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self { stop, joined: tokio::spawn(body(stopped)) }
    }

    /// Asks the task to end and waits until it has.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        if let Err(error) = self.joined.await {
            error!(%error, "watching task ended badly");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_up_to_the_bound_and_no_further() {
        let folder = tempfile::tempdir().expect("temp folder");
        let path = folder.path().join("file");
        std::fs::write(&path, b"12345").expect("write");
        assert_eq!(read_bounded(&path, 5).expect("fits"), b"12345");
        assert!(matches!(read_bounded(&path, 4), Err(BoundedReadError::TooLarge { limit: 4 })));
    }

    #[test]
    fn refuses_what_is_not_a_file() {
        let folder = tempfile::tempdir().expect("temp folder");
        assert!(matches!(read_bounded(folder.path(), 9), Err(BoundedReadError::NotAFile)));
        let missing = folder.path().join("missing");
        assert!(matches!(read_bounded(&missing, 9), Err(BoundedReadError::Io(_))));
    }

    #[tokio::test]
    async fn a_stopped_task_has_ended() {
        let (sender, mut receiver) = oneshot::channel();
        let task = OwnedTask::spawn(|stop| async move {
            drop(stop.await);
            sender.send(()).expect("the test waits");
        });
        task.stop().await;
        assert_eq!(receiver.try_recv(), Ok(()));
    }
}
