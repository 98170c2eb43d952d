//! Any text parses as a partition name or fails; what parses is its only text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peerage_partition::PartitionName;

fuzz_target!(|text: &str| {
    if let Ok(name) = text.parse::<PartitionName>() {
        assert_eq!(name.as_str(), text);
        assert!(name.directory().ends_with(text));
    }
});
