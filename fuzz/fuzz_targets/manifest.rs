//! Any bytes decode as a manifest or fail; what decodes encodes to a manifest that decodes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peerage_partition::{Manifest, Predicate, prune_partition};

fuzz_target!(|bytes: &[u8]| {
    let Ok(manifest) = Manifest::decode(bytes) else {
        return;
    };
    for column in manifest.schema().columns() {
        let _ = manifest.stats(column.id);
        let _ = manifest.bloom(column.id).map(|bloom| bloom.may_contain(bytes));
        let _ = prune_partition(&manifest, &Predicate::IsNull(column.id));
    }
    Manifest::decode(&manifest.encode()).expect("a manifest that was encoded decodes");
});
