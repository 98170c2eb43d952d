//! What a query costs, counted: requests to the object store, cold, warm, and after damage.

use std::sync::Arc;

use peerage_testdata::tables::TableFile;

use crate::cluster::{LoadedTables, TestCluster};

fn flights() -> Vec<TableFile> {
    let mut tables = peerage_testdata::tables::checked_in();
    tables.retain(|table| table.table == "flights" && table.schema == "nyc");
    assert_eq!(tables.len(), 1);
    tables
}

async fn flights_of_three_peers(name: &str) -> (Arc<LoadedTables>, TestCluster) {
    let tables = Arc::new(LoadedTables::load(&flights()).await);
    let cluster = TestCluster::start(&tables, name, 3).await;
    (tables, cluster)
}

const SCAN: &str =
    "SELECT origin, count(*), sum(distance) FROM nyc.flights GROUP BY origin ORDER BY 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cold_is_two_requests_a_partition_more_than_warm() {
    let (tables, cluster) = flights_of_three_peers("cold").await;
    let catalog = tables.catalog().await;
    let table = catalog.table("nyc", "flights").await.expect("loaded");
    let snapshot = catalog.snapshot().await.expect("reads");
    let partitions = snapshot.partition_count(table.id).await.expect("counted");
    assert!(partitions >= 10, "{partitions} partitions");

    let cold = cluster.query(SCAN, "TSV").await;
    assert_eq!(cold.count("partitions_read"), partitions);
    assert_eq!(cold.count("cache_misses"), 2 * partitions);
    assert_eq!(cold.count("cache_hits"), 0);

    let warm = cluster.query(SCAN, "TSV").await;
    assert_eq!(warm.body, cold.body);
    assert_eq!(warm.count("cache_misses"), 0);
    assert_eq!(warm.count("cache_hits"), 2 * partitions);
    assert_eq!(cold.count("store_requests"), warm.count("store_requests") + 2 * partitions);
    // What is left are ranges of data files, at least one for each partition.
    assert!(warm.count("store_requests") >= partitions);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_match_is_not_fetched() {
    let (_tables, cluster) = flights_of_three_peers("pruned").await;
    let july = "SELECT count(distance) FROM nyc.flights WHERE time_hour >= TIMESTAMP \
                '2013-07-01T00:00:00Z' AND time_hour < TIMESTAMP '2013-07-02T00:00:00Z'";
    let answer = cluster.query(july, "TSV").await;
    let total = answer.count("partitions_total");
    assert!(answer.count("partitions_pruned_by_time") >= total - 2, "{answer:?}");
    assert!(answer.count("partitions_read") <= 2);
    // A carrier that does not exist: the Bloom filters in the manifests know.
    let absent = "SELECT count(distance) FROM nyc.flights WHERE carrier = 'ZZ'";
    let answer = cluster.query(absent, "TSV").await;
    assert_eq!(answer.text(), "0\n");
    assert_eq!(answer.count("partitions_read"), 0);
    assert_eq!(answer.count("partitions_pruned_by_index"), total);
    let again = cluster.query(absent, "TSV").await;
    assert_eq!(again.count("store_requests"), 0, "an answer from manifests alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_all_rows_asks_nobody() {
    let (_tables, cluster) = flights_of_three_peers("count").await;
    let answer = cluster.query("SELECT count(*) FROM nyc.flights", "TSV").await;
    assert_eq!(answer.text(), "336776\n");
    assert_eq!(answer.count("store_requests"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_cache_costs_requests_and_nothing_else() {
    let (tables, cluster) = flights_of_three_peers("damaged").await;
    let cold = cluster.query(SCAN, "TSV").await;
    drop(cluster);
    let mut damaged = 0;
    for number in 0..3 {
        let folder = tables.folder.path().join(format!("cache-damaged-{number}"));
        for entry in std::fs::read_dir(folder).expect("a cache") {
            let path = entry.expect("readable").path();
            if path.extension().is_some_and(|extension| extension == "index") {
                let mut bytes = std::fs::read(&path).expect("readable");
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x55;
                std::fs::write(&path, bytes).expect("written");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0);
    let restarted = TestCluster::start(&tables, "damaged", 3).await;
    let answer = restarted.query(SCAN, "TSV").await;
    assert_eq!(answer.body, cold.body);
    assert_eq!(answer.count("cache_misses"), damaged);
    let again = restarted.query(SCAN, "TSV").await;
    assert_eq!(again.count("cache_misses"), 0);
}
