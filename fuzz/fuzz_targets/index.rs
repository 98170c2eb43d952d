//! Any bytes open as an index or fail; so does every section that the index lists.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peerage_partition::{Index, decode_parquet_metadata};

fuzz_target!(|bytes: &[u8]| {
    let Ok(index) = Index::open(bytes) else {
        return;
    };
    if let Ok(tail) = index.parquet_tail() {
        let _ = decode_parquet_metadata(&tail);
    }
    for section in index.sections() {
        let Ok(Some(zones)) = index.zone_map(section.column) else {
            continue;
        };
        for block in 0..zones.block_count().min(64) {
            let _ = (zones.null_count(block), zones.min(block), zones.max(block), zones.sum(block));
        }
    }
});
