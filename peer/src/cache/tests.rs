//! Tests of the cache as a whole: on a real folder, with counted fetches.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

fn key(number: u32) -> CacheKey {
    let partition =
        format!("{number}-{number}-01ARZ3NDEKTSV4RRFFQ69G5FAV").parse().expect("a name");
    CacheKey { partition, kind: FileKind::Index }
}

fn bytes(number: u32) -> Bytes {
    Bytes::from(vec![u8::try_from(number).expect("small"); 1000])
}

/// A cache over a folder, and a store that counts what it is asked for.
struct Bench {
    cache: PartitionFileCache,
    fetches: AtomicU64,
}

impl Bench {
    async fn open(folder: &Path, bytes_max: u64) -> Self {
        let cache = PartitionFileCache::open(folder.to_owned(), bytes_max).await.expect("opens");
        Self { cache, fetches: AtomicU64::new(0) }
    }

    async fn get(&self, number: u32) -> CacheOutcome {
        let wanted = FileRef::of(&bytes(number));
        let fetch = || async {
            self.fetches.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(bytes(number))
        };
        let (file, outcome) = self.cache.get(&key(number), &wanted, fetch).await.expect("is had");
        assert_eq!(file.as_ref().as_ref(), &bytes(number)[..]);
        outcome
    }

    fn fetched(&self) -> u64 {
        self.fetches.load(Ordering::SeqCst)
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "quarantine")
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_is_fetched_once_and_kept_over_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    assert_eq!(bench.get(1).await, CacheOutcome::Miss);
    assert_eq!(bench.get(1).await, CacheOutcome::Hit);
    let again = Bench::open(folder.path(), 1 << 20).await;
    assert_eq!(again.get(1).await, CacheOutcome::Hit);
    assert_eq!((bench.fetched(), again.fetched()), (1, 0));
}

#[tokio::test]
async fn many_waiters_cause_one_fetch() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    let outcomes = futures::future::join_all((0..50).map(|_| bench.get(7))).await;
    assert_eq!(bench.fetched(), 1);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == CacheOutcome::Miss).count(), 1);
    assert!(bench.cache.state().flights.is_empty());
}

#[tokio::test]
async fn a_cancelled_fetch_is_taken_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    let wanted = FileRef::of(&bytes(1));
    let never = bench.cache.clone();
    let first = tokio::spawn(async move {
        let fetch = || std::future::pending::<Result<Bytes, StoreError>>();
        drop(never.get(&key(1), &wanted, fetch).await);
    });
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.expect_err("aborted").is_cancelled());
    assert_eq!(bench.get(1).await, CacheOutcome::Miss);
}

#[tokio::test]
async fn the_least_recently_used_goes_first_and_the_limit_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 3_000).await;
    for number in [1, 2, 3, 1, 4] {
        bench.get(number).await;
        let statistics = bench.cache.statistics();
        assert!(statistics.bytes <= statistics.bytes_max);
    }
    let left: Vec<_> = files(folder.path());
    assert_eq!(left.iter().map(|name| &name[..2]).collect::<Vec<_>>(), ["1-", "3-", "4-"]);
    assert_eq!(bench.cache.statistics().evictions, 1);
}

#[tokio::test]
async fn a_file_that_is_in_use_survives_its_eviction() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1_000).await;
    let wanted = FileRef::of(&bytes(1));
    let (held, _) =
        bench.cache.get(&key(1), &wanted, || async { Ok(bytes(1)) }).await.expect("had");
    bench.get(2).await;
    assert_eq!(held.as_ref().as_ref(), &bytes(1)[..]);
}

#[tokio::test]
async fn leftovers_of_a_kill_are_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    Bench::open(folder.path(), 1 << 20).await.get(1).await;
    std::fs::write(folder.path().join("tmp-77-0"), b"half").expect("written");
    std::fs::write(folder.path().join("lost+found"), b"not ours").expect("written");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    assert_eq!(bench.get(1).await, CacheOutcome::Hit);
    assert_eq!(files(folder.path()).len(), 2);
    assert!(!folder.path().join("tmp-77-0").exists());
}

#[tokio::test]
async fn flipped_bytes_are_noticed_and_fetched_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    bench.get(1).await;
    let path = folder.path().join(key(1).file_name());
    let mut damaged = bytes(1).to_vec();
    damaged[500] ^= 1;
    std::fs::write(&path, &damaged).expect("written");
    // A running peer sees that the file was touched, a restarted one that its checksum is wrong.
    assert_eq!(bench.get(1).await, CacheOutcome::Miss);
    std::fs::write(&path, &damaged[..100]).expect("written");
    let again = Bench::open(folder.path(), 1 << 20).await;
    assert_eq!(again.get(1).await, CacheOutcome::Miss);
    assert_eq!(again.cache.statistics().quarantined, 1);
    assert_eq!(std::fs::read(&path).expect("whole again"), bytes(1));
}

#[tokio::test]
async fn a_sick_disk_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    // A folder stands where the file should go: the rename fails.
    std::fs::create_dir(folder.path().join(key(1).file_name())).expect("made");
    assert_eq!(bench.get(1).await, CacheOutcome::Miss);
    assert_eq!(bench.get(1).await, CacheOutcome::Miss);
    assert_eq!(files(folder.path()).len(), 1);
}

#[tokio::test]
async fn wrong_bytes_from_the_store_are_never_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::open(folder.path(), 1 << 20).await;
    let wanted = FileRef::of(&bytes(1));
    let wrong = bench.cache.get(&key(1), &wanted, || async { Ok(bytes(2)) }).await;
    assert!(matches!(wrong, Err(StoreError::Checksum { .. })));
    assert!(files(folder.path()).is_empty());
    assert_eq!(bench.get(1).await, CacheOutcome::Miss);
}
