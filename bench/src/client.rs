//! Asking a head over HTTP and taking the time.
//!
//! Invariant: the time ends with the last byte; decoding the answer comes after. Left out: retries,
//! which would hide what they cost.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use reqwest::Client;
use serde::{Deserialize, Serialize};

/// The header with what a query cost.
const STATISTICS_HEADER: &str = "x-peerage-statistics";
/// A query that takes longer is given up.
const QUERY_TIMEOUT: Duration = Duration::from_secs(600);

/// What the head says of a query. A head that says less leaves zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Statistics {
    /// Partitions of the table.
    pub(crate) partitions_total: u64,
    /// Of them, left out by the catalog.
    pub(crate) partitions_pruned_by_time: u64,
    /// Of them, left out by manifest or index.
    pub(crate) partitions_pruned_by_index: u64,
    /// Of them, read.
    pub(crate) partitions_read: u64,
    /// Blocks left out.
    pub(crate) blocks_pruned: u64,
    /// Blocks read.
    pub(crate) blocks_read: u64,
    /// Manifests and indexes that the peers had.
    pub(crate) cache_hits: u64,
    /// Manifests and indexes that they fetched.
    pub(crate) cache_misses: u64,
    /// Rows that left the scans.
    pub(crate) rows_read: u64,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// An Arrow IPC stream.
    pub(crate) body: Bytes,
    /// What the head says.
    pub(crate) statistics: Statistics,
    /// From sending to the last byte.
    pub(crate) elapsed: Duration,
}

/// Asks heads.
#[derive(Debug, Clone)]
pub(crate) struct HeadClient {
    client: Client,
}

impl HeadClient {
    /// Returns a client without connections.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let client = Client::builder().timeout(QUERY_TIMEOUT).no_proxy().build();
        Ok(Self { client: client.context("set up the HTTP client")? })
    }

    /// Asks the head at `address`.
    pub(crate) async fn ask(&self, address: SocketAddr, sql: &str) -> anyhow::Result<Reply> {
        let url = format!("http://{address}/?default_format=ArrowStream");
        let started = Instant::now();
        let response =
            self.client.post(url).body(sql.to_owned()).send().await.context("ask the head")?;
        let status = response.status();
        let header = response.headers().get(STATISTICS_HEADER);
        let statistics = header.and_then(|value| serde_json::from_slice(value.as_bytes()).ok());
        let body = response.bytes().await.context("read the answer of the head")?;
        let elapsed = started.elapsed();
        if !status.is_success() {
            bail!("the head refused: {}", String::from_utf8_lossy(&body).trim_end());
        }
        Ok(Reply { body, statistics: statistics.unwrap_or_default(), elapsed })
    }
}
