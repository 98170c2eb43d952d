//! How long it takes to read one partition from a local store, with its small files in the cache.
//!
//! `cargo bench -p peerage-bench --bench scan`

#[allow(dead_code, reason = "each benchmark uses its part")]
mod support;

use std::path::Path;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Literal, col};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt as _;
use peerage_cluster::StorageConfig;
use peerage_engine::{Assignment, GroupScan, PartitionScanner as _, ScanMetrics, ScanTable};
use peerage_peer::cache::PartitionFileCache;
use peerage_peer::scan::{PartitionOpener, PeerScanner};
use peerage_peer::store::{PartitionStore, open_storage};
use peerage_testdata::cdn;
use tokio::runtime::Runtime;

use support::{Failure, ROWS, STORAGE, Sample, column_ids};

/// Rows of a batch: the engine's own batch size.
const BATCH_ROWS: usize = 8_192;
/// The cache holds the one partition many times over.
const CACHE_BYTES_MAX: u64 = 64 << 20;
/// Requests to the local store at once.
const FETCHES_IN_FLIGHT_MAX: usize = 16;

/// What is read: a name, the columns, and the condition.
type Read = (&'static str, Vec<String>, Option<Arc<dyn PhysicalExpr>>);

/// Returns what is read.
fn reads() -> Result<Vec<Read>, Failure> {
    let schema = cdn::schema();
    let compare = |name, op, value| -> Result<Arc<dyn PhysicalExpr>, Failure> {
        let literal = Arc::new(Literal::new(value));
        Ok(Arc::new(BinaryExpr::new(col(name, &schema)?, op, literal)))
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let all: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let errors = compare("status", Operator::GtEq, ScalarValue::Int16(Some(500)))?;
    let busiest = ScalarValue::Utf8(Some("HIT".to_owned()));
    Ok(vec![
        ("all columns", all.clone(), None),
        ("one column", names(&["bytes_sent"]), None),
        (
            "two columns of most rows",
            names(&["host", "bytes_sent"]),
            Some(compare("cache_status", Operator::Eq, busiest)?),
        ),
        ("all columns of few rows", all, Some(errors)),
    ])
}

/// Returns a scanner of the store below `root`.
async fn scanner(root: &Path, cache: &Path) -> Result<PeerScanner, Failure> {
    let storage = open_storage(STORAGE, &StorageConfig::File { root: root.to_owned() })?;
    let store = PartitionStore::new(vec![storage], FETCHES_IN_FLIGHT_MAX);
    let cache = PartitionFileCache::open(cache.to_owned(), CACHE_BYTES_MAX).await?;
    Ok(PeerScanner::new(PartitionOpener::new(cache, store.clone()), store))
}

/// Returns one scan.
fn group_scan(assignment: &Assignment, read: &Read) -> Result<GroupScan, Failure> {
    let (_, columns, filter) = read;
    let schema = cdn::schema();
    let projection = columns.iter().map(|name| schema.index_of(name)).collect::<Result<_, _>>()?;
    Ok(GroupScan {
        table: Arc::new(ScanTable::try_new("bench.logs".to_owned(), schema, column_ids())?),
        projection,
        assignments: vec![assignment.clone()],
        filters: filter.iter().map(Arc::clone).collect(),
        dynamic_filters: Vec::new(),
        limit: None,
        batch_rows: BATCH_ROWS,
        metrics: ScanMetrics::new(&ExecutionPlanMetricsSet::new(), 0),
    })
}

/// Reads all rows and returns their number.
async fn read_all(scanner: &PeerScanner, scan: GroupScan) -> Result<usize, Failure> {
    let batches = scanner.scan(scan)?;
    let rows = batches.try_fold(0, |rows, batch| std::future::ready(Ok(rows + batch.num_rows())));
    Ok(rows.await?)
}

fn scan(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let (root, cache) = (tempfile::tempdir(), tempfile::tempdir());
    let (root, cache) = (root.expect("a folder"), cache.expect("a folder"));
    let sample = Sample::write().expect("the generator's rows make a partition");
    let assignment = sample.store(root.path()).expect("a folder that takes files");
    let scanner = runtime.block_on(scanner(root.path(), cache.path())).expect("a scanner");
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Elements(ROWS));
    for read in reads().expect("columns of the log") {
        group.bench_function(read.0, |bencher| {
            bencher.iter_batched(
                || group_scan(&assignment, &read).expect("columns of the log"),
                |scan| runtime.block_on(read_all(&scanner, scan)).expect("a whole partition"),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
