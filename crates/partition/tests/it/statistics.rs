//! Statistics, Bloom filters and zone maps say what is in the rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field};
use expect_test::{Expect, expect};
use peerage_partition::{ColumnId, PartitionColumn, PartitionSchema, Sum, Value, WriterOptions};

use crate::all_types;
use crate::support::{Written, write};

fn all_types() -> Written {
    let batches = [all_types::batch(0, 10_000)];
    write(&all_types::schema(true), WriterOptions::default(), batches)
}

fn id(name: &str) -> ColumnId {
    let schema = all_types::schema(true);
    schema.columns().iter().find(|column| column.field.name() == name).unwrap().id
}

fn check_stats(written: &Written, name: &str, expected: Expect) {
    let manifest = written.manifest();
    let stats = manifest.stats(id(name)).unwrap();
    let show = |bound: &Option<Value>| match bound {
        Some(Value::Bytes(bytes)) => bytes.escape_ascii().to_string(),
        Some(other) => format!("{other:?}"),
        None => "-".to_owned(),
    };
    expected.assert_eq(&format!(
        "{} to {}, exact {}, nulls {}, distinct {:?}, bloom {:?}",
        show(&stats.min),
        show(&stats.max),
        stats.exact_bounds,
        stats.null_count,
        stats.distinct_estimate,
        manifest.bloom(id(name)).is_some(),
    ));
}

#[test]
fn the_manifest_describes_its_columns() {
    let written = all_types();
    check_stats(
        &written,
        "ts",
        expect![
            "Int(1704067200000000) to Int(1704067214998500), exact true, nulls 0, distinct Some(9859), bloom false"
        ],
    );
    check_stats(
        &written,
        "flag",
        expect!["Bool(false) to Bool(true), exact true, nulls 1429, distinct None, bloom false"],
    );
    check_stats(
        &written,
        "i32",
        expect!["Int(-2999) to Int(2998), exact true, nulls 714, distinct Some(5883), bloom false"],
    );
    check_stats(
        &written,
        "u64",
        expect![
            "UInt(18446744073709551611) to UInt(18446744073709551615), exact true, nulls 1429, distinct Some(5), bloom false"
        ],
    );
    check_stats(
        &written,
        "f64",
        expect!["Float(-inf) to Float(NaN), exact true, nulls 99, distinct Some(100), bloom false"],
    );
    check_stats(
        &written,
        "text",
        expect![
            " to path/that/is/longer/than/the/bounds/of/the/statistics/and/zones0, exact false, nulls 1429, distinct Some(351), bloom true"
        ],
    );
    check_stats(
        &written,
        "blob",
        expect![[
            r#" to \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff, exact true, nulls 1111, distinct Some(20), bloom true"#
        ]],
    );
    check_stats(
        &written,
        "dec128",
        expect!["- to -, exact false, nulls 1429, distinct None, bloom false"],
    );
    check_stats(
        &written,
        "list",
        expect!["- to -, exact false, nulls 2000, distinct None, bloom false"],
    );
    check_stats(
        &written,
        "nothing",
        expect!["- to -, exact false, nulls 10000, distinct None, bloom false"],
    );
}

#[test]
fn inserted_texts_pass_the_bloom_filter() {
    let manifest = all_types().manifest();
    let bloom = manifest.bloom(id("text")).unwrap();
    assert!((0..300).all(|n| bloom.may_contain(format!("host-{n:03}").as_bytes())));
    let strangers = (0..1_000).filter(|n| bloom.may_contain(format!("other-{n}").as_bytes()));
    assert!(strangers.count() < 60);
}

#[test]
fn zones_hold_bounds_nulls_and_sums() {
    let written = all_types();
    let index = written.index();
    assert_eq!(index.block_count(), 3);
    let zones = index.zone_map(id("i16")).unwrap().unwrap();
    let values = |block: i64| {
        let rows = block * 4096..((block + 1) * 4096).min(10_000);
        rows.filter(|row| row % 7 != 3).map(|row| row % 300)
    };
    for block in 0..3_u32 {
        let (at, rows) = (i64::from(block), index.rows_in_block(block));
        let present = u32::try_from(values(at).count()).unwrap();
        assert_eq!(zones.null_count(block), rows - present);
        assert_eq!(zones.min(block), values(at).min().map(Value::Int));
        assert_eq!(zones.max(block), values(at).max().map(Value::Int));
        assert_eq!(zones.sum(block), Some(Sum::Int(values(at).map(i128::from).sum())));
    }
    let floats = index.zone_map(id("f64")).unwrap().unwrap();
    assert!(matches!(floats.sum(0), Some(Sum::Float(sum)) if sum.is_nan()));
    for (name, has_bounds) in [("date32", true), ("point", false), ("dec256", false)] {
        let zones = index.zone_map(id(name)).unwrap().unwrap();
        assert_eq!((zones.min(0).is_some(), zones.sum(0)), (has_bounds, None), "{name}");
        assert!(zones.null_count(0) > 0);
    }
}

#[test]
fn sums_do_not_overflow() {
    let written = all_types();
    let index = written.index();
    let zones = index.zone_map(id("u64")).unwrap().unwrap();
    let Some(Sum::Int(sum)) = zones.sum(0) else { unreachable!("integers have sums") };
    assert!(sum > i128::from(u64::MAX) * 3_000);
}

#[test]
fn a_column_of_too_many_texts_has_no_bloom_filter() {
    let field = Field::new("id", DataType::Utf8, false);
    let columns = vec![PartitionColumn { id: ColumnId(1), field }];
    let schema = PartitionSchema::try_new(columns, None).unwrap();
    let batch = |start: u64, count: u64| {
        let ids = (start..start + count).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9)));
        let array: ArrayRef = Arc::new(StringArray::from_iter_values(ids));
        RecordBatch::try_new(schema.arrow_schema(), vec![array]).unwrap()
    };
    let few = write(&schema, WriterOptions::default(), [batch(0, 150_000)]).manifest();
    let many = write(&schema, WriterOptions::default(), [batch(0, 250_000)]).manifest();
    assert!(few.bloom(ColumnId(1)).is_some());
    assert_eq!(few.stats(ColumnId(1)).unwrap().distinct_estimate, Some(150_000));
    assert!(many.bloom(ColumnId(1)).is_none());
    let estimate = many.stats(ColumnId(1)).unwrap().distinct_estimate.unwrap();
    assert!(estimate.abs_diff(250_000) < 12_500, "{estimate}");
}
