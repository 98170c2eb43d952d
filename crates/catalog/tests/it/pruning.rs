//! Pruning by time equals looking at every partition.

use peerage_catalog::{Catalog, NewPartition, TableId};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::fixture::{Fixture, events, partition};

const SEEDS: u64 = 8;
const PARTITIONS: u128 = 300;
const RANGES: usize = 60;

/// Mostly partitions of similar length, as loads make them, and a few of any length.
fn random_partition(random: &mut StdRng, id: u128) -> NewPartition {
    let begin = random.random_range(-50_000..50_000_i64);
    let length = match random.random_range(0..10) {
        0 => random.random_range(0..100_000),
        1 => 0,
        2 => i64::MAX - 50_000,
        _ => random.random_range(900..1_100),
    };
    partition(begin, begin.saturating_add(length), id)
}

fn random_end(random: &mut StdRng) -> i64 {
    match random.random_range(0..12) {
        0 => i64::MIN,
        1 => i64::MAX,
        _ => random.random_range(-60_000..60_000),
    }
}

async fn found(catalog: &Catalog, table: TableId, from: i64, to: i64) -> Vec<u128> {
    let snapshot = catalog.snapshot().await.expect("snapshot");
    let found = snapshot.partitions(table, Some(from..=to)).await.expect("read");
    assert!(found.is_sorted_by_key(|record| record.name.min_ms()));
    let mut ids: Vec<u128> = found.iter().map(|record| record.name.id().0).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn pruning_equals_looking_at_every_partition() {
    for seed in 0..SEEDS {
        let mut random = StdRng::seed_from_u64(seed);
        let fixture = Fixture::new().await;
        let table = fixture.catalog.create_table(events("events")).await.expect("create").id;
        let all: Vec<NewPartition> =
            (0..PARTITIONS).map(|id| random_partition(&mut random, id)).collect();
        fixture.catalog.register(table, &all).await.expect("register");
        for _ in 0..RANGES {
            let (from, to) = (random_end(&mut random), random_end(&mut random));
            let overlaps = |partition: &&NewPartition| {
                from <= to && partition.name.min_ms() <= to && from <= partition.name.max_ms()
            };
            let expected: Vec<u128> =
                all.iter().filter(overlaps).map(|partition| partition.name.id().0).collect();
            let found = found(&fixture.catalog, table, from, to).await;
            assert_eq!(found, expected, "seed {seed}, range {from}..={to}");
        }
    }
}
