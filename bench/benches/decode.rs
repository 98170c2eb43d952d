//! How long it takes to open a partition whose small files are in memory: manifest, index, footer.
//!
//! `cargo bench -p peerage-bench --bench decode`

#[allow(dead_code, reason = "each benchmark uses its part")]
mod support;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use peerage_partition::{Index, Manifest, decode_parquet_metadata};

use support::Sample;

fn decode(criterion: &mut Criterion) {
    let sample = Sample::write().expect("the generator's rows make a partition");
    let (manifest, index) = (&sample.finished.manifest, &sample.finished.index);
    let mut group = criterion.benchmark_group("decode");

    group.throughput(Throughput::Bytes(sample.finished.manifest_ref.bytes));
    group.bench_function("manifest", |bencher| {
        bencher.iter(|| Manifest::decode(black_box(manifest)).expect("a whole manifest"));
    });
    group.throughput(Throughput::Bytes(sample.finished.index_ref.bytes));
    group.bench_function("index", |bencher| {
        bencher.iter(|| Index::open(black_box(index.as_slice())).expect("a whole index"));
    });
    let open = Index::open(index.as_slice()).expect("a whole index");
    group.bench_function("footer", |bencher| {
        bencher.iter(|| {
            let tail = black_box(&open).parquet_tail().expect("a footer");
            decode_parquet_metadata(&tail).expect("a whole footer")
        });
    });
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
