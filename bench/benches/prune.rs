//! How long it takes to decide what of a partition to read: by its manifest, and by its index.
//!
//! `cargo bench -p peerage-bench --bench prune`

#[allow(dead_code, reason = "each benchmark uses its part")]
mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use peerage_partition::{
    Comparison, Index, Manifest, Predicate, Value, prune_blocks, prune_partition,
};

use support::{Failure, ROWS, Sample, column};

/// Returns predicates as the questions of the log have them.
fn predicates(sample: &Sample) -> Result<Vec<(&'static str, Predicate)>, Failure> {
    let compare = |name, op, value| -> Result<Predicate, Failure> {
        Ok(Predicate::Compare { column: column(name)?, op, value })
    };
    let ts = |row| Value::Int(sample.generator.ts_us(row));
    let window = compare("ts", Comparison::GtEq, ts(ROWS / 2))?.and(compare(
        "ts",
        Comparison::Lt,
        ts(ROWS / 2 + 500),
    )?);
    let id = Value::Bytes(sample.generator.request_id(ROWS / 3).into_bytes());
    let absent = Value::Bytes(b"77777777-7777-4777-8777-777777777777".to_vec());
    let statuses = [500, 502, 503, 504].map(Value::Int).to_vec();
    Ok(vec![
        ("time window", window.clone()),
        ("id that is there", compare("request_id", Comparison::Eq, id)?),
        ("id that is not", compare("request_id", Comparison::Eq, absent)?),
        (
            "window and statuses",
            window.and(Predicate::In { column: column("status")?, values: statuses }),
        ),
    ])
}

fn prune(criterion: &mut Criterion) {
    let sample = Sample::write().expect("the generator's rows make a partition");
    let manifest = Manifest::decode(&sample.finished.manifest).expect("a whole manifest");
    let index = Index::open(sample.finished.index.as_slice()).expect("a whole index");
    let predicates = predicates(&sample).expect("columns of the log");

    let mut group = criterion.benchmark_group("prune_partition");
    for (name, predicate) in &predicates {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| prune_partition(black_box(&manifest), black_box(predicate)));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("prune_blocks");
    for (name, predicate) in &predicates {
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                prune_blocks(black_box(&manifest), black_box(&index), black_box(predicate))
                    .expect("a whole index")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, prune);
criterion_main!(benches);
