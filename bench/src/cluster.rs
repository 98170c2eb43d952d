//! Peers and a head as child processes, as a user would start them.
//!
//! Invariant: no process outlives this one, however it ends: each stops when its standard input does.
//! The peers read the store through the proxy, with the account that may only read. Left out: more
//! than one machine.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::store::{BUCKET, S3Access, STORAGE};
use crate::usage::{CpuClock, peak_rss_bytes};

/// A process that does not answer within this time did not start.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two looks at a process that starts.
const START_POLL: Duration = Duration::from_millis(10);
/// A process that is asked to stop gets this long.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Lines of a log that are shown when its process failed.
const LOG_LINES_SHOWN: usize = 5;

/// The variable that the key's id is handed over in.
const KEY_ID_VARIABLE: &str = "PEERAGE_BENCH_ACCESS_KEY_ID";
/// The variable that the secret is handed over in.
const SECRET_VARIABLE: &str = "PEERAGE_BENCH_SECRET_ACCESS_KEY";

/// What the peers' caches hold when they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheState {
    /// Nothing.
    Empty,
    /// What earlier processes left.
    Kept,
}

/// What processes are started with.
#[derive(Debug)]
pub(crate) struct ClusterPlan<'a> {
    /// The program with the roles as subcommands.
    pub(crate) program: PathBuf,
    /// Folder for cluster file, caches and logs.
    pub(crate) folder: PathBuf,
    /// The catalog.
    pub(crate) catalog_url: String,
    /// Where the peers think that the object store is.
    pub(crate) store: SocketAddr,
    /// Accounts of the object store.
    pub(crate) access: &'a S3Access,
    /// Number of peers.
    pub(crate) peers: u16,
}

/// A cluster that can be started any number of times, on the same addresses and caches.
#[derive(Debug)]
pub(crate) struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    cluster_file: PathBuf,
    keys: [(&'static str, String); 2],
    peers: Vec<PeerPorts>,
    head: SocketAddr,
}

/// Addresses of one peer.
#[derive(Debug, Clone, Copy)]
struct PeerPorts {
    grpc: SocketAddr,
    http: SocketAddr,
}

impl Cluster {
    /// Chooses free ports and writes the cluster file.
    pub(crate) fn prepare(plan: ClusterPlan<'_>) -> anyhow::Result<Self> {
        let unusable = || format!("use folder {}", plan.folder.display());
        std::fs::create_dir_all(&plan.folder).with_context(unusable)?;
        let (head, peers) = free_ports(plan.peers).context("find free ports")?;
        let cluster_file = plan.folder.join("cluster.yaml");
        std::fs::write(&cluster_file, cluster_text(&plan, head, &peers)).with_context(unusable)?;
        let keys = [
            (KEY_ID_VARIABLE, plan.access.reader_access_key_id.clone()),
            (SECRET_VARIABLE, plan.access.reader_secret_access_key.clone()),
        ];
        Ok(Self { program: plan.program, folder: plan.folder, cluster_file, keys, peers, head })
    }

    /// Starts all processes and waits until the head answers.
    pub(crate) async fn start(&self, caches: CacheState) -> anyhow::Result<RunningCluster> {
        let mut running = RunningCluster { head: self.head, processes: Vec::new() };
        for (ports, number) in self.peers.iter().zip(1..) {
            let cache = self.folder.join(format!("cache-{number}"));
            if caches == CacheState::Empty {
                empty(&cache).with_context(|| format!("empty {}", cache.display()))?;
            }
            let (grpc, http) = (ports.grpc.to_string(), ports.http.to_string());
            let cache = cache.display().to_string();
            let arguments = ["peer", "--grpc", &grpc, "--http", &http, "--cache", &cache];
            running.processes.push(self.spawn(format!("peer-{number}"), &arguments)?);
        }
        for (ports, process) in self.peers.iter().zip(&mut running.processes) {
            process.wait_until_ready(ports.http, "/healthz").await?;
        }
        let mut head = self.spawn("head".to_owned(), &["head"])?;
        head.wait_until_ready(self.head, "/ping").await?;
        running.processes.push(head);
        Ok(running)
    }

    fn spawn(&self, role: String, arguments: &[&str]) -> anyhow::Result<Process> {
        let log = self.folder.join(format!("{role}.log"));
        let file = std::fs::File::create(&log)
            .with_context(|| format!("write the log {}", log.display()))?;
        let child = Command::new(&self.program)
            .args(arguments)
            .arg("--cluster")
            .arg(&self.cluster_file)
            .arg("--stop-with-parent")
            .envs(self.keys.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {}", self.program.display()))?;
        Ok(Process { role, log, child })
    }
}

/// Running processes.
#[derive(Debug)]
pub(crate) struct RunningCluster {
    head: SocketAddr,
    processes: Vec<Process>,
}

impl RunningCluster {
    /// Returns the address of the head.
    pub(crate) const fn head(&self) -> SocketAddr {
        self.head
    }

    /// Returns the processor time that all processes have used.
    pub(crate) fn cpu(&self) -> Option<CpuClock> {
        CpuClock::read(&self.pids())
    }

    /// Returns the most memory that one of the processes has held.
    pub(crate) fn peak_rss_bytes(&self) -> Option<u64> {
        peak_rss_bytes(&self.pids())
    }

    fn pids(&self) -> Vec<u32> {
        self.processes.iter().filter_map(|process| process.child.id()).collect()
    }

    /// Asks all processes to stop and waits until they have; what is left then is killed.
    pub(crate) async fn stop(mut self) {
        for process in &mut self.processes {
            drop(process.child.stdin.take());
        }
        let all = self.processes.iter_mut().map(|process| process.child.wait());
        let ended = tokio::time::timeout(STOP_TIMEOUT, futures::future::join_all(all)).await;
        if ended.is_err() {
            eprintln!("warning: a process did not stop within {} s", STOP_TIMEOUT.as_secs());
            for process in &mut self.processes {
                drop(process.child.kill().await);
            }
        }
    }
}

/// One process.
#[derive(Debug)]
struct Process {
    role: String,
    log: PathBuf,
    child: Child,
}

impl Process {
    async fn wait_until_ready(&mut self, address: SocketAddr, path: &str) -> anyhow::Result<()> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("http://{address}{path}");
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let answer = client.get(&url).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if matches!(self.child.try_wait(), Ok(Some(_))) || Instant::now() > deadline {
                bail!("{} did not start:\n{}", self.role, last_lines(&self.log));
            }
            tokio::time::sleep(START_POLL).await;
        }
    }
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let shown = lines.len().saturating_sub(LOG_LINES_SHOWN);
    lines.into_iter().skip(shown).collect::<Vec<_>>().join("\n")
}

fn empty(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)
}

/// Returns free ports for the head and the peers. All are held until the last is found, so that they
/// differ.
fn free_ports(peers: u16) -> std::io::Result<(SocketAddr, Vec<PeerPorts>)> {
    let count = 1 + 2 * usize::from(peers);
    let held = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<std::io::Result<Vec<_>>>()?;
    let mut ports = held.iter().map(TcpListener::local_addr);
    let mut next = || ports.next().expect("as many as are needed");
    let head = next()?;
    let peers = (0..peers).map(|_| Ok(PeerPorts { grpc: next()?, http: next()? }));
    Ok((head, peers.collect::<std::io::Result<Vec<_>>>()?))
}

fn cluster_text(plan: &ClusterPlan<'_>, head: SocketAddr, peers: &[PeerPorts]) -> String {
    let members: Vec<_> = peers.iter().map(|peer| format!("\"{}\"", peer.grpc)).collect();
    let mut text = String::from("# Written by `peerage-bench run` at each start.\nversion: 1\n");
    let written = write!(
        text,
        "catalog:\n  url: \"{catalog}\"\nstorages:\n  {STORAGE}:\n    url: \"s3://{BUCKET}\"\n    \
         endpoint: \"http://{store}\"\n    region: \"{region}\"\n    allow_http: true\n    \
         credentials:\n      access_key_id_env: {KEY_ID_VARIABLE}\n      secret_access_key_env: \
         {SECRET_VARIABLE}\ndefault_storage: {STORAGE}\nhead:\n  http: \"{head}\"\n  \
         query_timeout: 10m\nmembership:\n  static: [{members}]\n",
        catalog = plan.catalog_url,
        store = plan.store,
        region = plan.access.region,
        members = members.join(", "),
    );
    written.expect("a string takes all text");
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use peerage_cluster::ClusterConfig;

    use super::*;

    #[test]
    fn the_cluster_file_is_a_valid_one() {
        let (head, peers) = free_ports(2).expect("free ports");
        let access = serde_json::json!({"endpoint": "http://127.0.0.1:1", "region": "us-east-1",
            "access_key_id": "a", "secret_access_key": "b", "reader_access_key_id": "c",
            "reader_secret_access_key": "d"});
        let access: S3Access = serde_json::from_value(access).expect("as the script says it");
        let plan = ClusterPlan {
            program: "peerage".into(),
            folder: "run".into(),
            catalog_url: "sqlite:///data/catalog.db".to_owned(),
            store: SocketAddr::from((Ipv4Addr::LOCALHOST, 4711)),
            access: &access,
            peers: 2,
        };
        let text = cluster_text(&plan, head, &peers);
        let config = ClusterConfig::parse(&text, "cluster.yaml", Path::new("/")).expect("valid");
        assert_eq!(config.head.http, head);
        assert_eq!(config.storages[STORAGE].url(), format!("s3://{BUCKET}"));
    }

    #[test]
    fn ports_differ() {
        let (head, peers) = free_ports(3).expect("free ports");
        let peers = peers.iter().flat_map(|ports| [ports.grpc, ports.http]);
        assert_eq!(peers.chain([head]).collect::<BTreeSet<_>>().len(), 7);
    }
}
