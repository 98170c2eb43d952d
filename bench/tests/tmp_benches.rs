#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, unused)]
extern crate self as criterion;
pub struct Criterion;
pub struct Group;
pub struct Bencher;
#[derive(Clone, Copy)]
pub enum BatchSize { SmallInput }
pub enum Throughput { Bytes(u64), Elements(u64) }
impl Criterion { pub fn benchmark_group<S: Into<String>>(&mut self, n: S) -> Group { eprintln!("group {}", n.into()); Group } }
impl Group {
    pub fn throughput(&mut self, _: Throughput) -> &mut Self { self }
    pub fn bench_function<S: Into<String>, F: FnMut(&mut Bencher)>(&mut self, n: S, mut f: F) -> &mut Self { let t = std::time::Instant::now(); f(&mut Bencher); eprintln!("  {} {:?}", n.into(), t.elapsed()/10); self }
    pub fn finish(self) {}
}
impl Bencher {
    pub fn iter<O, R: FnMut() -> O>(&mut self, mut r: R) { for _ in 0..10 { std::hint::black_box(r()); } }
    pub fn iter_batched<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(&mut self, mut s: S, mut r: R, _: BatchSize) { for _ in 0..10 { let i = s(); std::hint::black_box(r(i)); } }
}
#[macro_export]
macro_rules! criterion_group { ($n:ident, $f:path) => { pub fn $n() { let mut c = criterion::Criterion; $f(&mut c); } } }
#[macro_export]
macro_rules! criterion_main { ($n:ident) => { pub fn main() { $n(); } } }
#[path = "../benches/decode.rs"] mod decode;
#[path = "../benches/prune.rs"] mod prune;
#[path = "../benches/scan.rs"] mod scan;
#[test] fn run() { decode::main(); prune::main(); scan::main(); }
