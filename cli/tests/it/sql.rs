//! The SQL scripts against the whole system: one peer, three peers, and after one was killed.
//!
//! The expected answers are plain DataFusion's on the same Parquet files.

use std::sync::Arc;

use async_trait::async_trait;
use peerage_testdata::slt::{self, ColumnCheck, ColumnKind, kinds};
use peerage_testdata::text;
use sqllogictest::{AsyncDB, DBOutput};

use crate::cluster::{LoadedTables, TestCluster, script_tables};

/// Asks a head over HTTP for Arrow.
struct HeadConnection {
    cluster: Arc<TestCluster>,
}

/// What the head says of a failure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

#[async_trait]
impl AsyncDB for HeadConnection {
    type Error = Refused;
    type ColumnType = ColumnKind;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<ColumnKind>, Refused> {
        let answer = self.cluster.query(sql, "ArrowStream").await;
        if answer.status != 200 {
            return Err(Refused(answer.text()));
        }
        let batches = answer.batches();
        let types = batches.first().map(|batch| kinds(&batch.schema())).unwrap_or_default();
        let rows = text::rows(&batches).map_err(|error| Refused(error.to_string()))?;
        Ok(DBOutput::Rows { types, rows })
    }

    async fn shutdown(&mut self) {}
}

async fn run_all(cluster: TestCluster) {
    let cluster = Arc::new(cluster);
    let (mut statements, mut failures) = (0, Vec::new());
    for script in slt::scripts().expect("scripts") {
        let connect = || {
            let cluster = Arc::clone(&cluster);
            async move { Ok(HeadConnection { cluster }) }
        };
        match slt::run(&script, ColumnCheck::Ignored, connect).await {
            Ok(count) => statements += count,
            Err(error) => failures.push(error.to_string()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(statements >= 150, "only {statements} statements ran");
}

async fn tables() -> Arc<LoadedTables> {
    let generated = tempfile::tempdir().expect("a folder");
    Arc::new(LoadedTables::load(&script_tables(generated.path())).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_over_one_peer() {
    run_all(TestCluster::start(&tables().await, "one", 1).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_over_three_peers() {
    run_all(TestCluster::start(&tables().await, "three", 3).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_after_a_peer_was_killed() {
    let mut cluster = TestCluster::start(&tables().await, "killed", 3).await;
    // Nobody tells the head: its first query finds the peer lost.
    cluster.kill_peer(1);
    run_all(cluster).await;
}
