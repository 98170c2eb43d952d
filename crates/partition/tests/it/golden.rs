//! The golden partitions: written once by version 1, read by every later reader.
//!
//! They are made by `cargo run -p peerage-partition --example write_golden`, which refuses to write
//! over them. What is expected of them stands here as text, not as code that could change with the
//! writer.

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use expect_test::{Expect, expect};
use peerage_partition::{
    ColumnId, Comparison, DATA_FILE, FileRef, INDEX_FILE, Index, MANIFEST_FILE, Manifest,
    Predicate, Value, decode_parquet_metadata, prune_blocks, prune_partition,
};

use crate::support::read_parquet;

struct Golden {
    manifest: Manifest,
    index: Index<Vec<u8>>,
    rows: RecordBatch,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v1")
}

/// Opens a golden partition, and checks that its files fit each other.
fn open(name: &str) -> Golden {
    let read = |file: &str| fs::read(directory().join(name).join(file)).unwrap();
    let manifest = Manifest::decode(&read(MANIFEST_FILE)).unwrap();
    let (index, data) = (read(INDEX_FILE), read(DATA_FILE));
    assert_eq!(manifest.index_ref(), FileRef::of(&index));
    assert_eq!(manifest.data_ref(), FileRef::of(&data));
    let rows = read_parquet(manifest.schema(), &data);
    let index = Index::open(index).unwrap();
    let tail = index.parquet_tail().unwrap();
    assert!(data.ends_with(tail.bytes));
    let metadata = decode_parquet_metadata(&tail).unwrap();
    assert_eq!(u64::try_from(metadata.file_metadata().num_rows()).unwrap(), manifest.rows());
    Golden { manifest, index, rows }
}

fn check_rows(golden: &Golden, rows: &[usize], expected: Expect) {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = String::new();
    for (at, column) in golden.rows.columns().iter().enumerate() {
        let format = ArrayFormatter::try_new(column, &options).unwrap();
        let values: Vec<String> = rows.iter().map(|row| format.value(*row).to_string()).collect();
        lines += &format!("{} {}\n", golden.rows.schema().field(at).name(), values.join(" | "));
    }
    expected.assert_eq(&lines);
}

fn check_columns(golden: &Golden, expected: Expect) {
    let mut lines = String::new();
    for column in golden.manifest.schema().columns() {
        let stats = golden.manifest.stats(column.id).unwrap();
        let show = |bound: &Option<Value>| match bound {
            Some(Value::Bytes(bytes)) => bytes.escape_ascii().to_string(),
            Some(other) => format!("{other:?}"),
            None => "-".to_owned(),
        };
        let nullable = if column.field.is_nullable() { "" } else { " not null" };
        lines += &format!(
            "{} {} {}{nullable}: {} to {}, exact {}, nulls {}, distinct {:?}, bloom {}\n",
            column.id,
            column.field.name(),
            column.field.data_type(),
            show(&stats.min),
            show(&stats.max),
            stats.exact_bounds,
            stats.null_count,
            stats.distinct_estimate,
            golden.manifest.bloom(column.id).is_some(),
        );
    }
    expected.assert_eq(&lines);
}

fn check_zones(golden: &Golden, columns: &[u32], expected: Expect) {
    let mut lines = String::new();
    for column in columns {
        let zones = golden.index.zone_map(ColumnId(*column)).unwrap().unwrap();
        for block in 0..zones.block_count() {
            lines += &format!(
                "{column} block {block}: nulls {}, {:?} to {:?}, exact {}, sum {:?}\n",
                zones.null_count(block),
                zones.min(block),
                zones.max(block),
                zones.has_exact_bounds(block),
                zones.sum(block),
            );
        }
    }
    expected.assert_eq(&lines);
}

fn check_manifest(golden: &Golden, expected: Expect) {
    let (manifest, index) = (&golden.manifest, &golden.index);
    expected.assert_eq(&format!(
        "{} by {}, {} rows, primary {:?}, {} blocks of {}, {} sections",
        manifest.name(),
        manifest.writer_version(),
        manifest.rows(),
        manifest.schema().primary(),
        index.block_count(),
        index.block_rows(),
        index.sections().count(),
    ));
}

fn check_prune(golden: &Golden, column: u32, op: Comparison, value: Value, expected: Expect) {
    let predicate = Predicate::Compare { column: ColumnId(column), op, value };
    let blocks = prune_blocks(&golden.manifest, &golden.index, &predicate).unwrap();
    let verdict = prune_partition(&golden.manifest, &predicate);
    expected.assert_eq(&format!("{verdict:?} {:?}", blocks.row_ranges()));
}

#[test]
fn every_type() {
    let golden = open("every-type");
    check_manifest(
        &golden,
        expect![
            "1704067200000-1704067214999-01HK153X000000000000000001 by peerage 0.1.0, 10000 rows, primary Some(ColumnId(1)), 3 blocks of 4096, 34 sections"
        ],
    );
    check_rows(
        &golden,
        &[0, 3, 4, 4096, 9999],
        expect![[r#"
        ts 2024-01-01T00:00:00Z | 2024-01-01T00:00:00.004500Z | 2024-01-01T00:00:00.006Z | 2024-01-01T00:00:06.144Z | 2024-01-01T00:00:14.998500Z
        flag false | NULL | false | false | NULL
        i8 0 | NULL | 4 | 96 | NULL
        i16 0 | NULL | 4 | 196 | NULL
        i32 -2000 | -1997 | -1996 | -904 | 1999
        i64 0 | NULL | 4398046511104 | 1099511627776 | NULL
        u8 0 | NULL | 4 | 96 | NULL
        u16 0 | NULL | 4 | 4 | NULL
        u32 0 | NULL | 4 | 96 | NULL
        u64 18446744073709551615 | NULL | 18446744073709551611 | 18446744073709551614 | NULL
        f16 -12 | NULL | NaN | 2 | -12
        f32 -12.0 | NULL | NaN | 2.0 | -12.0
        f64 -12.0 | NULL | NaN | 2.0 | -12.0
        dec128 0.0000 | NULL | 0.0100 | 1.4900 | NULL
        dec256 0.0000000000 | NULL | 0.0000000004 | 0.0000000001 | NULL
        date32 1969-12-29 | 1969-12-29 | 1969-12-29 | 1970-01-06 | 1970-01-17
        date64 1970-01-01T00:00:00 | NULL | 1970-01-05T00:00:00 | 1970-01-17T00:00:00 | NULL
        t32s 00:00:00 | NULL | 00:00:04 | 00:00:54 | NULL
        t32ms 00:00:00 | NULL | 00:00:00.004 | 00:00:00.656 | NULL
        t64us 00:00:00 | NULL | 00:00:00.000004 | 00:00:00.000046 | NULL
        t64ns 00:00:00 | NULL | 00:00:00.000000004 | 00:00:00.000000016 | NULL
        ts_s 1970-01-01T00:00:00 | NULL | 1970-01-01T00:00:04 | 1970-01-01T00:00:36 | NULL
        ts_ms 1970-01-01T00:59:59.990+01:00 | 1970-01-01T00:59:59.993+01:00 | 1970-01-01T00:59:59.994+01:00 | 1970-01-01T01:00:00.006+01:00 | 1970-01-01T01:00:00.069+01:00
        ts_ns 1970-01-01T00:00:00 | NULL | 1970-01-01T00:00:00.000000004 | 1970-01-01T00:00:00.000000046 | NULL
        text host-000 | NULL |  | host-196 | NULL
        blob  | NULL | ffffffff | ffffffffffffffffffffffffffffffff | ffffffffffffffffffffffffffffffffffffff
        id 00000000000000000000000000000000 | NULL | 78dde6e5fd29f057ce73018173b720d4 | 54cda58fbbee883b5ac82422d92b13e0 | NULL
        list [] | [tag-0, tag-1, NULL] | NULL | [] | NULL
        vector [0.5, 1.5, 2.5] | [0.0, 1.0, 2.0] | [0.5, 1.5, 2.5] | [0.5, 1.5, 2.5] | [0.0, 1.0, 2.0]
        point {x: 0, label: 0} | {x: NULL, label: NULL} | {x: 4, label: 0} | {x: 16, label: 0} | NULL
        map {} | {} | {key-0: 4} | {key-0: 6} | NULL
        points [] | [] | [{x: 0, label: NULL}] | [{x: 0, label: NULL}] | []
        nothing NULL | NULL | NULL | NULL | NULL
    "#]],
    );
    check_columns(
        &golden,
        expect![[r#"
        1 ts Timestamp(µs, "UTC") not null: Int(1704067200000000) to Int(1704067214998500), exact true, nulls 0, distinct Some(9859), bloom false
        2 flag Boolean: Bool(false) to Bool(true), exact true, nulls 1429, distinct None, bloom false
        3 i8 Int8: Int(0) to Int(99), exact true, nulls 1429, distinct Some(101), bloom false
        4 i16 Int16: Int(0) to Int(299), exact true, nulls 1429, distinct Some(301), bloom false
        5 i32 Int32: Int(-2999) to Int(2998), exact true, nulls 714, distinct Some(5883), bloom false
        6 i64 Int64: Int(0) to Int(8796093022208), exact true, nulls 1429, distinct Some(9), bloom false
        7 u8 UInt8: UInt(0) to UInt(249), exact true, nulls 1429, distinct Some(254), bloom false
        8 u16 UInt16: UInt(0) to UInt(10), exact true, nulls 1429, distinct Some(11), bloom false
        9 u32 UInt32: UInt(0) to UInt(999), exact true, nulls 1429, distinct Some(997), bloom false
        10 u64 UInt64: UInt(18446744073709551611) to UInt(18446744073709551615), exact true, nulls 1429, distinct Some(5), bloom false
        11 f16 Float16: - to -, exact false, nulls 99, distinct None, bloom false
        12 f32 Float32: Float(-inf) to Float(NaN), exact true, nulls 99, distinct Some(100), bloom false
        13 f64 Float64: Float(-inf) to Float(NaN), exact true, nulls 99, distinct Some(100), bloom false
        14 dec128 Decimal128(20, 4): - to -, exact false, nulls 1429, distinct None, bloom false
        15 dec256 Decimal256(50, 10): - to -, exact false, nulls 1429, distinct None, bloom false
        16 date32 Date32: Int(-3) to Int(16), exact true, nulls 1000, distinct Some(18), bloom false
        17 date64 Date64: Int(0) to Int(3369600000), exact true, nulls 1429, distinct Some(40), bloom false
        18 t32s Time32(s): Int(0) to Int(85), exact true, nulls 1429, distinct Some(87), bloom false
        19 t32ms Time32(ms): Int(0) to Int(859), exact true, nulls 1429, distinct Some(863), bloom false
        20 t64us Time64(µs): Int(0) to Int(49), exact true, nulls 1429, distinct Some(50), bloom false
        21 t64ns Time64(ns): Int(0) to Int(59), exact true, nulls 1429, distinct Some(60), bloom false
        22 ts_s Timestamp(s): Int(0) to Int(69), exact true, nulls 1429, distinct Some(60), bloom false
        23 ts_ms Timestamp(ms, "Europe/Berlin"): Int(-79) to Int(79), exact true, nulls 1416, distinct Some(161), bloom false
        24 ts_ns Timestamp(ns): Int(0) to Int(89), exact true, nulls 1429, distinct Some(91), bloom false
        25 text Utf8:  to path/that/is/longer/than/the/bounds/of/the/statistics/and/zones0, exact false, nulls 1429, distinct Some(351), bloom true
        26 blob Binary:  to \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff, exact true, nulls 1111, distinct Some(20), bloom true
        27 id FixedSizeBinary(16): \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00 to \xff\xb2B,t\xb0\xbcS\xc1\xd7M\xe8\xda+\xd6\r, exact true, nulls 1429, distinct Some(400), bloom true
        28 list List(Utf8): - to -, exact false, nulls 2000, distinct None, bloom false
        29 vector FixedSizeList(3 x Float32): - to -, exact false, nulls 1666, distinct None, bloom false
        30 point Struct("x": Int32, "label": Utf8): - to -, exact false, nulls 1000, distinct None, bloom false
        31 map Map("entries": non-null Struct("keys": non-null Utf8, "values": Int64), unsorted): - to -, exact false, nulls 1250, distinct None, bloom false
        32 points List(Struct("x": Int32, "label": Utf8)): - to -, exact false, nulls 0, distinct None, bloom false
        33 nothing Null: - to -, exact false, nulls 10000, distinct None, bloom false
    "#]],
    );
    check_zones(
        &golden,
        &[1, 2, 5, 9, 13, 25, 26, 28],
        expect![[r#"
        1 block 0: nulls 0, Some(Int(1704067200000000)) to Some(Int(1704067206142500)), exact true, sum None
        1 block 1: nulls 0, Some(Int(1704067206144000)) to Some(Int(1704067212286500)), exact true, sum None
        1 block 2: nulls 0, Some(Int(1704067212288000)) to Some(Int(1704067214998500)), exact true, sum None
        2 block 0: nulls 585, Some(Bool(false)) to Some(Bool(true)), exact true, sum None
        2 block 1: nulls 585, Some(Bool(false)) to Some(Bool(true)), exact true, sum None
        2 block 2: nulls 259, Some(Bool(false)) to Some(Bool(true)), exact true, sum None
        5 block 0: nulls 0, Some(Int(-2999)) to Some(Int(0)), exact true, sum Some(Int(-6090440))
        5 block 1: nulls 456, Some(Int(-904)) to Some(Int(2998)), exact true, sum Some(Int(3461228))
        5 block 2: nulls 258, Some(Int(192)) to Some(Int(1999)), exact true, sum Some(Int(1698283))
        9 block 0: nulls 585, Some(UInt(0)) to Some(UInt(999)), exact true, sum Some(Int(1716065))
        9 block 1: nulls 585, Some(UInt(0)) to Some(UInt(999)), exact true, sum Some(Int(1724706))
        9 block 2: nulls 259, Some(UInt(0)) to Some(UInt(999)), exact true, sum Some(Int(839800))
        13 block 0: nulls 41, Some(Float(-inf)) to Some(Float(NaN)), exact true, sum Some(Float(NaN))
        13 block 1: nulls 41, Some(Float(-inf)) to Some(Float(NaN)), exact true, sum Some(Float(NaN))
        13 block 2: nulls 17, Some(Float(-inf)) to Some(Float(NaN)), exact true, sum Some(Float(NaN))
        25 block 0: nulls 585, Some(Bytes([])) to Some(Bytes([112, 97, 116, 104, 47, 116, 104, 97, 116, 47, 105, 115, 47, 108, 111, 111])), exact false, sum None
        25 block 1: nulls 585, Some(Bytes([])) to Some(Bytes([112, 97, 116, 104, 47, 116, 104, 97, 116, 47, 105, 115, 47, 108, 111, 111])), exact false, sum None
        25 block 2: nulls 259, Some(Bytes([])) to Some(Bytes([112, 97, 116, 104, 47, 116, 104, 97, 116, 47, 105, 115, 47, 108, 111, 111])), exact false, sum None
        26 block 0: nulls 455, Some(Bytes([])) to None, exact false, sum None
        26 block 1: nulls 455, Some(Bytes([])) to None, exact false, sum None
        26 block 2: nulls 201, Some(Bytes([])) to None, exact false, sum None
        28 block 0: nulls 819, None to None, exact false, sum None
        28 block 1: nulls 819, None to None, exact false, sum None
        28 block 2: nulls 362, None to None, exact false, sum None
    "#]],
    );
    let ts = |ms: i64| Value::Int((1_704_067_200_000 + ms) * 1_000);
    check_prune(&golden, 1, Comparison::Lt, ts(6_000), expect!["Keep [0..4096]"]);
    check_prune(&golden, 1, Comparison::GtEq, ts(14_999), expect!["Pruned(Primary) []"]);
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    check_prune(&golden, 25, Comparison::Eq, text("host-299"), expect!["Keep [0..10000]"]);
    check_prune(
        &golden,
        25,
        Comparison::Eq,
        text("host-150x"),
        expect!["Pruned(Bloom) [0..10000]"],
    );
    check_prune(&golden, 25, Comparison::Gt, text("path/uuu"), expect!["Pruned(Stats) []"]);
}

#[test]
fn no_primary() {
    let golden = open("no-primary");
    check_manifest(
        &golden,
        expect![
            "0-0-01HK153X000000000000000002 by peerage 0.1.0, 5000 rows, primary None, 2 blocks of 4096, 34 sections"
        ],
    );
    check_rows(
        &golden,
        &[0, 4999],
        expect![[r#"
        ts 2024-01-01T00:00:00.010500Z | 2024-01-01T00:00:07.509Z
        flag true | false
        i8 7 | 6
        i16 7 | 206
        i32 -1993 | 6
        i64 7696581394432 | 2199023255552
        u8 7 | 6
        u16 7 | 1
        u32 7 | 6
        u64 18446744073709551613 | 18446744073709551614
        f16 -inf | 2.25
        f32 -inf | 2.25
        f64 -inf | 2.25
        dec128 0.0175 | 0.2650
        dec256 0.0000000007 | 0.0000000001
        date32 1969-12-29 | 1970-01-08
        date64 1970-01-08T00:00:00 | 1970-01-07T00:00:00
        t32s 00:00:07 | 00:00:18
        t32ms 00:00:00.007 | 00:00:00.706
        t64us 00:00:00.000007 | 00:00:00.000006
        t64ns 00:00:00.000000007 | 00:00:00.000000026
        ts_s 1970-01-01T00:00:07 | 1970-01-01T00:00:36
        ts_ms 1970-01-01T00:59:59.997+01:00 | 1970-01-01T01:00:00.036+01:00
        ts_ns 1970-01-01T00:00:00.000000007 | 1970-01-01T00:00:00.000000056
        text host-007 | host-206
        blob ffffffffffffff | ffffffffffff
        id 538454127b096499a94942a28a807973 | 50a3f3446defd9aa0822cd8ac7571aa6
        list [tag-0, tag-1, NULL] | [tag-0, tag-1]
        vector [0.0, 1.0, 2.0] | [0.5, 1.5, 2.5]
        point {x: 7, label: 3} | {x: 8, label: 2}
        map NULL | {key-0: 6, key-1: 6}
        points [{x: 0, label: p}] | [{x: 0, label: NULL}, NULL]
        nothing NULL | NULL
    "#]],
    );
}

#[test]
fn one_row() {
    let golden = open("one-row");
    check_manifest(
        &golden,
        expect![
            "1704067200012-1704067200012-01HK153X000000000000000003 by peerage 0.1.0, 1 rows, primary Some(ColumnId(1)), 1 blocks of 4096, 34 sections"
        ],
    );
    check_columns(
        &golden,
        expect![[r#"
        1 ts Timestamp(µs, "UTC") not null: Int(1704067200012000) to Int(1704067200012000), exact true, nulls 0, distinct Some(1), bloom false
        2 flag Boolean: Bool(false) to Bool(false), exact true, nulls 0, distinct None, bloom false
        3 i8 Int8: Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        4 i16 Int16: Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        5 i32 Int32: Int(-1992) to Int(-1992), exact true, nulls 0, distinct Some(1), bloom false
        6 i64 Int64: Int(8796093022208) to Int(8796093022208), exact true, nulls 0, distinct Some(1), bloom false
        7 u8 UInt8: UInt(8) to UInt(8), exact true, nulls 0, distinct Some(1), bloom false
        8 u16 UInt16: UInt(8) to UInt(8), exact true, nulls 0, distinct Some(1), bloom false
        9 u32 UInt32: UInt(8) to UInt(8), exact true, nulls 0, distinct Some(1), bloom false
        10 u64 UInt64: UInt(18446744073709551612) to UInt(18446744073709551612), exact true, nulls 0, distinct Some(1), bloom false
        11 f16 Float16: - to -, exact false, nulls 0, distinct None, bloom false
        12 f32 Float32: Float(-10.0) to Float(-10.0), exact true, nulls 0, distinct Some(1), bloom false
        13 f64 Float64: Float(-10.0) to Float(-10.0), exact true, nulls 0, distinct Some(1), bloom false
        14 dec128 Decimal128(20, 4): - to -, exact false, nulls 0, distinct None, bloom false
        15 dec256 Decimal256(50, 10): - to -, exact false, nulls 0, distinct None, bloom false
        16 date32 Date32: Int(-3) to Int(-3), exact true, nulls 0, distinct Some(1), bloom false
        17 date64 Date64: Int(691200000) to Int(691200000), exact true, nulls 0, distinct Some(1), bloom false
        18 t32s Time32(s): Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        19 t32ms Time32(ms): Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        20 t64us Time64(µs): Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        21 t64ns Time64(ns): Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        22 ts_s Timestamp(s): Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        23 ts_ms Timestamp(ms, "Europe/Berlin"): Int(-2) to Int(-2), exact true, nulls 0, distinct Some(1), bloom false
        24 ts_ns Timestamp(ns): Int(8) to Int(8), exact true, nulls 0, distinct Some(1), bloom false
        25 text Utf8: host-008 to host-008, exact true, nulls 0, distinct Some(1), bloom true
        26 blob Binary: \xff\xff\xff\xff\xff\xff\xff\xff to \xff\xff\xff\xff\xff\xff\xff\xff, exact true, nulls 0, distinct Some(1), bloom true
        27 id FixedSizeBinary(16): \xf1\xbb\xcd\xcb\xfaS\xe0\xaf\x9c\xe6\x03\x02\xe7nA\xa8 to \xf1\xbb\xcd\xcb\xfaS\xe0\xaf\x9c\xe6\x03\x02\xe7nA\xa8, exact true, nulls 0, distinct Some(1), bloom true
        28 list List(Utf8): - to -, exact false, nulls 0, distinct None, bloom false
        29 vector FixedSizeList(3 x Float32): - to -, exact false, nulls 0, distinct None, bloom false
        30 point Struct("x": Int32, "label": Utf8): - to -, exact false, nulls 0, distinct None, bloom false
        31 map Map("entries": non-null Struct("keys": non-null Utf8, "values": Int64), unsorted): - to -, exact false, nulls 0, distinct None, bloom false
        32 points List(Struct("x": Int32, "label": Utf8)): - to -, exact false, nulls 0, distinct None, bloom false
        33 nothing Null: - to -, exact false, nulls 1, distinct None, bloom false
    "#]],
    );
}
