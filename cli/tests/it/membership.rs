//! Peers come and go; answers stay.

use std::sync::Arc;

use peerage_testdata::tables;

use crate::cluster::{LoadedTables, TestCluster};

/// A join of two time series with a dimension: broadcast, aggregates and a sort across peers.
const JOIN: &str = "SELECT f.origin, count(*) AS flights, round(avg(w.temp), 3) AS temp, max(a.name) AS \
                    name FROM nyc.flights f JOIN nyc.weather w ON f.origin = w.origin AND f.time_hour = \
                    w.time_hour JOIN nyc.airports a ON a.faa = f.origin GROUP BY f.origin ORDER BY f.origin";

async fn nyc() -> Arc<LoadedTables> {
    let mut files = tables::checked_in();
    files.retain(|table| table.schema == "nyc");
    Arc::new(LoadedTables::load(&files).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killing_and_adding_peers_changes_no_answer() {
    let tables = nyc().await;
    let mut cluster = TestCluster::start(&tables, "change", 3).await;
    let wanted = cluster.query(JOIN, "TSV").await;
    assert_eq!((wanted.status, wanted.text().lines().count()), (200, 3), "{}", wanted.text());

    // Killed and still in the list: the query that finds out repeats itself without it.
    cluster.kill_peer(0);
    let after_kill = cluster.query(JOIN, "TSV").await;
    assert_eq!(after_kill.text(), wanted.text());
    assert_eq!(after_kill.count("attempts"), 2);
    let after_that = cluster.query(JOIN, "TSV").await;
    assert_eq!((after_that.text(), after_that.count("attempts")), (wanted.text(), 1));

    cluster.publish().await;
    cluster.add_peer().await;
    cluster.add_peer().await;
    let after_adding = cluster.query(JOIN, "TSV").await;
    assert_eq!(after_adding.text(), wanted.text());
    assert_eq!(after_adding.count("peers"), 4);
    assert!(after_adding.count("cache_misses") > 0, "new peers took over partitions");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_peer_joins_as_three_do() {
    let tables = nyc().await;
    let three = TestCluster::start(&tables, "three", 3).await.query(JOIN, "TSV").await;
    let one = TestCluster::start(&tables, "one", 1).await.query(JOIN, "TSV").await;
    assert_eq!(one.text(), three.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_peer_is_a_clear_error() {
    let tables = nyc().await;
    let mut cluster = TestCluster::start(&tables, "none", 1).await;
    cluster.kill_peer(0);
    let answer = cluster.query(JOIN, "TSV").await;
    assert_eq!(answer.status, 500);
    assert!(answer.text().contains("peer"), "{}", answer.text());
}
