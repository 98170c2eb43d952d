//! The processes of a demonstration: this program again, in each role.
//!
//! A child stops when its standard input ends, so that none outlives this process, however it ends.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::Instant;

use super::DemoError;
use super::setup::DemoFolder;

/// A child that does not answer within this time did not start.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between two looks at a child that starts.
const START_POLL: Duration = Duration::from_millis(50);
/// A child that is asked to stop gets this long.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The running children.
#[derive(Debug)]
pub(super) struct Children(Vec<RunningChild>);

#[derive(Debug)]
struct RunningChild {
    role: String,
    log: PathBuf,
    child: Child,
    /// Apart from the child, which would close it when somebody waits for the child to end.
    stdin: Option<ChildStdin>,
}

impl Children {
    /// Starts peers and head and waits until all answer.
    pub(super) async fn start(folder: &DemoFolder) -> Result<Self, DemoError> {
        let mut children = Self(Vec::new());
        for (ports, number) in folder.peers.iter().zip(1..) {
            let (grpc, http) = (ports.grpc.to_string(), ports.http.to_string());
            let cache = folder.cache(number).display().to_string();
            let arguments = ["peer", "--grpc", &grpc, "--http", &http, "--cache", &cache];
            children.spawn(folder, format!("peer {number}"), &arguments)?;
        }
        for (ports, number) in folder.peers.iter().zip(1..) {
            children.wait_for(folder, &format!("peer {number}"), ports.http).await?;
        }
        children.spawn(folder, "head".to_owned(), &["head"])?;
        children.wait_for(folder, "head", folder.head).await?;
        Ok(children)
    }

    fn spawn(
        &mut self,
        folder: &DemoFolder,
        role: String,
        arguments: &[&str],
    ) -> Result<(), DemoError> {
        let log = folder.log(&role);
        let failed = |source| DemoError::Child {
            role: role.clone(),
            log: log.clone(),
            source: Some(source),
        };
        let program = std::env::current_exe().map_err(failed)?;
        let file = std::fs::File::create(&log).map_err(failed)?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg("--cluster")
            .arg(&folder.cluster_file)
            .arg("--stop-with-parent")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let stdin = child.stdin.take();
        self.0.push(RunningChild { role, log, child, stdin });
        Ok(())
    }

    async fn wait_for(
        &mut self,
        folder: &DemoFolder,
        role: &str,
        address: std::net::SocketAddr,
    ) -> Result<(), DemoError> {
        let deadline = Instant::now() + START_TIMEOUT;
        while tokio::net::TcpStream::connect(address).await.is_err() {
            let has_ended = self.0.iter_mut().any(|running| {
                running.role == role && matches!(running.child.try_wait(), Ok(Some(_)))
            });
            if has_ended || Instant::now() > deadline {
                let log = folder.log(role);
                return Err(DemoError::Child { role: role.to_owned(), log, source: None });
            }
            tokio::time::sleep(START_POLL).await;
        }
        Ok(())
    }

    /// Returns when a child ends by itself.
    pub(super) async fn first_to_end(&mut self) -> DemoError {
        let mut ends: FuturesUnordered<_> = self
            .0
            .iter_mut()
            .map(|running| async move {
                let source = running.child.wait().await.err();
                let (role, log) = (running.role.clone(), running.log.clone());
                DemoError::Child { role, log, source }
            })
            .collect();
        match ends.next().await {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// Asks all to stop and waits a while; what is left is killed.
    pub(super) async fn stop(mut self) {
        for running in &mut self.0 {
            drop(running.stdin.take());
        }
        let all = self.0.iter_mut().map(|running| running.child.wait());
        let ended = tokio::time::timeout(STOP_TIMEOUT, futures::future::join_all(all)).await;
        drop(ended);
    }
}
