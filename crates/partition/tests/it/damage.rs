//! Damaged bytes give errors: whatever is answered is what was written.
//!
//! Parquet's own decoder reserves memory by counts that it reads, so that damaged bytes could abort
//! it. The checksum of the section keeps them away from it, which is what these tests show.

use std::sync::LazyLock;

use peerage_partition::{
    ColumnId, DecodeError, Index, Manifest, ParquetTail, Predicate, WriterOptions,
    decode_parquet_metadata, prune_blocks,
};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

use crate::all_types;
use crate::support::{Written, write};

static WRITTEN: LazyLock<Written> = LazyLock::new(|| {
    write(&all_types::schema(true), WriterOptions::default(), [all_types::batch(0, 9_000)])
});

/// Everything that an index answers, as text.
fn exhaust(bytes: &[u8]) -> Result<String, DecodeError> {
    let index = Index::open(bytes)?;
    let mut answers = vec![format!("{:?}", decode_parquet_metadata(&index.parquet_tail()?)?)];
    for column in 0..40 {
        let Some(zones) = index.zone_map(ColumnId(column))? else {
            continue;
        };
        for block in 0..index.block_count() {
            answers.push(format!(
                "{column} {block} {} {:?} {:?} {:?}",
                zones.null_count(block),
                zones.min(block),
                zones.max(block),
                zones.sum(block),
            ));
        }
    }
    let manifest = WRITTEN.manifest();
    let selection = prune_blocks(&manifest, &index, &Predicate::IsNull(ColumnId(2)))?;
    answers.push(format!("{:?}", selection.row_ranges()));
    Ok(answers.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_index_never_answers_wrongly(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..5),
    ) {
        let mut bytes = WRITTEN.finished.index.clone();
        for (at, change) in changes {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        if let Ok(answers) = exhaust(&bytes) {
            assert_eq!(answers, exhaust(&WRITTEN.finished.index).unwrap());
        }
    }

    #[test]
    fn a_truncated_index_is_refused(at in any::<prop::sample::Index>()) {
        let bytes = &WRITTEN.finished.index;
        assert!(exhaust(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn a_damaged_manifest_is_refused(at in any::<prop::sample::Index>(), change in 1_u8..) {
        let mut bytes = WRITTEN.finished.manifest.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        assert!(Manifest::decode(&bytes).is_err());
    }
}

fn check_tail(tail: ParquetTail<'_>, expected: &str) {
    let error = decode_parquet_metadata(&tail).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

/// What the checksum cannot know is checked before and after Parquet decodes.
#[test]
fn tails_that_contradict_themselves_are_refused() {
    let index = WRITTEN.index();
    let tail = index.parquet_tail().unwrap();
    let short = ParquetTail { file_bytes: tail.file_bytes - 1, ..tail };
    check_tail(short, "corrupt parquet tail:");
    check_tail(ParquetTail { offset: u64::MAX, ..tail }, "corrupt parquet tail:");
    check_tail(
        ParquetTail { file_bytes: 4, offset: 0, bytes: b"PAR1" },
        "parquet tail is truncated: needs 8 bytes, has 4",
    );
    check_tail(
        ParquetTail { file_bytes: 8, offset: 0, bytes: b"\xff\xff\xff\xffPAR1" },
        "parquet tail is truncated: needs 4294967303 bytes, has 8",
    );
    check_tail(
        ParquetTail { file_bytes: 8, offset: 0, bytes: b"\0\0\0\0PAR1" },
        "corrupt parquet tail: parquet metadata, decode",
    );
    check_tail(
        ParquetTail { file_bytes: 9, offset: 0, bytes: b"x\0\0\0\0QAR1" },
        "corrupt parquet tail: parquet metadata, decode",
    );
    let moved = ParquetTail { file_bytes: tail.file_bytes - 8, offset: tail.offset - 8, ..tail };
    check_tail(moved, "corrupt parquet tail: a range");
}

#[test]
fn an_index_of_another_partition_is_refused() {
    let batches = [all_types::batch(0, 8_999)];
    let other = write(&all_types::schema(true), WriterOptions::default(), batches).manifest();
    let error = prune_blocks(&other, &WRITTEN.index(), &Predicate::True).unwrap_err();
    assert_eq!(error.to_string(), "corrupt index trailer: it belongs to another manifest");
}
