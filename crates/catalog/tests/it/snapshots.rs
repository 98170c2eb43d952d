//! One query sees one snapshot, whatever others do meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::DataType;
use peerage_catalog::{CatalogError, CatalogSnapshot, NewColumn, TableId, TableTotals};

use crate::fixture::{Fixture, events, partition};

async fn names(snapshot: &CatalogSnapshot, table: TableId) -> Vec<u128> {
    let found = snapshot.partitions(table, None).await.expect("read");
    found.iter().map(|record| record.name.id().0).collect()
}

#[tokio::test]
async fn later_changes_are_not_seen() {
    let fixture = Fixture::new().await;
    let catalog = &fixture.catalog;
    let table = catalog.create_table(events("events")).await.expect("create");
    let id = table.id;
    catalog.register(id, &[partition(0, 9, 1), partition(10, 19, 2)]).await.expect("register");

    let snapshot = catalog.snapshot().await.expect("snapshot");
    let range = Some(0..=100);
    catalog.register(id, &[partition(5, 6, 3)]).await.expect("register");
    let old = snapshot.partitions(id, None).await.expect("read")[0].name.to_string();
    catalog.retire(id, &[old]).await.expect("retire");
    catalog.add_columns(id, vec![NewColumn::new("path", DataType::Utf8, true)]).await.expect("add");

    assert_eq!(names(&snapshot, id).await, [1, 2]);
    assert_eq!(snapshot.partitions(id, range.clone()).await.expect("read").len(), 2);
    assert_eq!(snapshot.table("db", "events").await.expect("table"), table);
    let newer = catalog.snapshot().await.expect("snapshot");
    assert_eq!(names(&newer, id).await, [3, 2]);
    assert_eq!(newer.table("db", "events").await.expect("table").columns.len(), 4);

    catalog.drop_table("db", "events").await.expect("drop");
    assert_eq!(names(&snapshot, id).await, [1, 2]);
    assert_eq!(snapshot.tables().await.expect("tables"), std::slice::from_ref(&table));
    assert_eq!(names(&newer, id).await, [3, 2]);
    let last = catalog.snapshot().await.expect("snapshot");
    assert!(last.tables().await.expect("tables").is_empty());
    assert!(last.partitions(id, range).await.expect("read").is_empty());
}

#[tokio::test]
async fn totals_are_sums_of_the_snapshot() {
    let fixture = Fixture::new().await;
    let table = fixture.catalog.create_table(events("events")).await.expect("create");
    let empty = fixture.catalog.snapshot().await.expect("snapshot");
    fixture
        .catalog
        .register(table.id, &[partition(-5, 9, 1), partition(10, 19, 2)])
        .await
        .expect("register");
    assert_eq!(empty.totals(table.id).await.expect("totals"), TableTotals::default());
    let snapshot = fixture.catalog.snapshot().await.expect("snapshot");
    let expected = TableTotals {
        partitions: 2,
        rows: 2,
        manifest_bytes: 2,
        index_bytes: 4,
        data_bytes: 6,
        range_ms: Some((-5, 19)),
    };
    assert_eq!(snapshot.totals(table.id).await.expect("totals"), expected);
    let record = &snapshot.partitions(table.id, None).await.expect("read")[0];
    let new = partition(-5, 9, 1);
    assert_eq!(
        (&record.path, record.rows, record.manifest, record.index, record.data),
        (&new.path, new.rows, new.manifest, new.index, new.data)
    );
    assert_eq!(record.registered_sequence, snapshot.sequence());
}

#[tokio::test]
async fn registering_is_all_or_nothing() {
    let fixture = Fixture::new().await;
    let table = fixture.catalog.create_table(events("events")).await.expect("create");
    fixture.catalog.register(table.id, &[partition(0, 1, 1)]).await.expect("register");
    let before = fixture.catalog.snapshot().await.expect("snapshot").sequence();
    let refused =
        fixture.catalog.register(table.id, &[partition(2, 3, 2), partition(0, 1, 1)]).await;
    assert!(matches!(refused, Err(CatalogError::AlreadyExists { what: "partition", .. })));
    let missing = [partition(0, 1, 1).name.to_string(), partition(2, 3, 2).name.to_string()];
    let refused = fixture.catalog.retire(table.id, &missing).await;
    assert!(matches!(refused, Err(CatalogError::NotFound { what: "partition", .. })));
    let snapshot = fixture.catalog.snapshot().await.expect("snapshot");
    assert_eq!((snapshot.sequence(), names(&snapshot, table.id).await), (before, vec![1]));
}

#[tokio::test]
async fn the_table_sequence_moves_only_with_its_table() {
    let fixture = Fixture::new().await;
    let one = fixture.catalog.create_table(events("one")).await.expect("create").id;
    let two = fixture.catalog.create_table(events("two")).await.expect("create").id;
    let first = fixture.catalog.snapshot().await.expect("snapshot");
    fixture.catalog.register(two, &[partition(0, 1, 1)]).await.expect("register");
    let second = fixture.catalog.snapshot().await.expect("snapshot");
    let at = |snapshot: CatalogSnapshot, table| async move {
        snapshot.table_sequence(table).await.expect("sequence")
    };
    assert_eq!(at(first.clone(), one).await, at(second.clone(), one).await);
    assert!(at(first, two).await < at(second, two).await);
}

/// Each transaction registers two partitions: a reader that ever counts an odd number has seen half
/// of one. The writers go through two handles, as two processes would.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_whole_transactions_while_two_write() {
    const TRANSACTIONS: u128 = 40;
    let fixture = Fixture::new().await;
    let table = fixture.catalog.create_table(events("events")).await.expect("create").id;
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..6)
        .map(|_| {
            let (catalog, done) = (fixture.catalog.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let snapshot = catalog.snapshot().await.expect("snapshot");
                    let count = snapshot.partition_count(table).await.expect("count");
                    let found = snapshot.partitions(table, Some(0..=i64::MAX)).await.expect("read");
                    assert_eq!(u64::try_from(found.len()).expect("small"), count);
                    assert!(count % 2 == 0 && count >= last, "{count} after {last}");
                    last = count;
                }
            })
        })
        .collect();
    let other = fixture.reopen().await;
    let writers = [(fixture.catalog.clone(), 0), (other, 1)].map(|(catalog, half)| {
        tokio::spawn(async move {
            for number in 0..TRANSACTIONS / 2 {
                let id = 4 * number + 2 * half;
                let pair = [partition(0, 9, id), partition(5, 700, id + 1)];
                catalog.register(table, &pair).await.expect("register");
            }
        })
    });
    for writer in writers {
        writer.await.expect("writer");
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.expect("reader");
    }
    let snapshot = fixture.catalog.snapshot().await.expect("snapshot");
    let count = snapshot.partition_count(table).await.expect("count");
    assert_eq!(u128::from(count), 2 * TRANSACTIONS);
}
