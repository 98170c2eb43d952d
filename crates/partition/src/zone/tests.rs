//! Tests of zone maps: what is built reads back, cut bounds stay sound, damage never panics.

use proptest::prelude::{any, proptest};

use super::*;

type Block = Option<(Vec<u8>, Vec<u8>)>;

fn build_bytes(blocks: &[Block]) -> Vec<u8> {
    let mut builder = ZoneBuilder::new(ZoneKind::Bytes, SumKind::None);
    for (nulls, block) in (0..).zip(blocks) {
        let bounds = block
            .as_ref()
            .map(|(min, max)| ZoneBounds { min: ValueRef::Bytes(min), max: ValueRef::Bytes(max) });
        builder.push(nulls, bounds, Sum::Int(0));
    }
    builder.encode()
}

fn check_bytes(blocks: &[Block]) {
    let section = build_bytes(blocks);
    let zones = ZoneMap::decode(&section).unwrap();
    for (at, block) in (0..).zip(blocks) {
        assert_eq!(zones.null_count(at), at);
        let Some((min, max)) = block else {
            assert_eq!((zones.min(at), zones.max(at)), (None, None));
            continue;
        };
        let lower = zones.min_ref(at).unwrap();
        assert!(lower.compare(ValueRef::Bytes(min)).unwrap().is_le());
        if let Some(upper) = zones.max_ref(at) {
            assert!(upper.compare(ValueRef::Bytes(max)).unwrap().is_ge());
        } else {
            assert!(max.len() > 16 && max[..16].iter().all(|byte| *byte == 0xff));
        }
        assert_eq!(zones.has_exact_bounds(at), min.len() <= 16 && max.len() <= 16);
    }
}

#[test]
fn bytes_are_cut_soundly() {
    let block = |min: &[u8], max: &[u8]| Some((min.to_vec(), max.to_vec()));
    check_bytes(&[
        block(b"", b"short"),
        None,
        block(b"sixteen bytes ok", b"sixteen bytes ok"),
        block(b"sixteen bytes ok, no", b"sixteen bytes ok, no"),
        block(b"a", &[0xff; 16]),
        block(b"a", &[0xff; 17]),
    ]);
}

#[test]
fn cut_bounds_are_rounded() {
    let long = b"abcdefghijklmnopqrstuvwxyz".to_vec();
    let section = build_bytes(&[Some((long.clone(), long))]);
    let zones = ZoneMap::decode(&section).unwrap();
    assert_eq!(zones.min(0), Some(Value::Bytes(b"abcdefghijklmnop".to_vec())));
    assert_eq!(zones.max(0), Some(Value::Bytes(b"abcdefghijklmnoq".to_vec())));
}

#[test]
fn blocks_that_do_not_exist_know_nothing() {
    let section = build_bytes(&[]);
    let zones = ZoneMap::decode(&section).unwrap();
    assert_eq!((zones.block_count(), zones.null_count(0), zones.min(0)), (0, 0, None));
    assert_eq!(zones.sum(0), None);
}

#[test]
fn kinds_without_bounds_count_nulls() {
    let mut builder = ZoneBuilder::new(ZoneKind::None, SumKind::None);
    builder.push(41, None, Sum::Int(0));
    let section = builder.encode();
    let zones = ZoneMap::decode(&section).unwrap();
    assert_eq!((zones.null_count(0), zones.min(0), zones.max(0)), (41, None, None));
}

proptest! {
    #[test]
    fn byte_bounds_are_sound(blocks: Vec<Option<(Vec<u8>, Vec<u8>)>>) {
        check_bytes(&blocks);
    }

    #[test]
    fn fixed_values_round_trip(blocks: Vec<(u32, Option<(i64, i64)>, i128)>) {
        let mut builder = ZoneBuilder::new(ZoneKind::Int, SumKind::Int);
        for (nulls, bounds, sum) in &blocks {
            let bounds = bounds
                .map(|(min, max)| ZoneBounds { min: ValueRef::Int(min), max: ValueRef::Int(max) });
            builder.push(*nulls, bounds, Sum::Int(*sum));
        }
        let section = builder.encode();
        let zones = ZoneMap::decode(&section).unwrap();
        for (at, (nulls, bounds, sum)) in (0..).zip(blocks) {
            assert_eq!(zones.null_count(at), nulls);
            assert_eq!(zones.min(at), bounds.map(|(min, _)| Value::Int(min)));
            assert_eq!(zones.max(at), bounds.map(|(_, max)| Value::Int(max)));
            assert_eq!(zones.sum(at), Some(Sum::Int(sum)));
            assert_eq!(zones.has_exact_bounds(at), bounds.is_some());
        }
    }

    #[test]
    fn any_bytes_decode_or_fail(
        kinds: [u8; 2],
        block_count in 0_u32..8,
        rest in any::<Vec<u8>>(),
        block: u32,
    ) {
        let header = [kinds[0] % 7, kinds[1] % 4, 0, 0];
        let section = [&header[..], &block_count.to_le_bytes(), &[0; 8], &rest].concat();
        if let Ok(zones) = ZoneMap::decode(&section) {
            for block in (0..block_count).chain([block]) {
                drop((zones.null_count(block), zones.min(block), zones.max(block)));
                let _ = (zones.sum(block), zones.has_exact_bounds(block));
            }
        }
        drop(ZoneMap::decode(&rest));
    }

    #[test]
    fn truncations_fail(blocks: Vec<Option<(Vec<u8>, Vec<u8>)>>, at: proptest::sample::Index) {
        let section = build_bytes(&blocks);
        assert!(ZoneMap::decode(&section[..at.index(section.len())]).is_err());
    }
}
