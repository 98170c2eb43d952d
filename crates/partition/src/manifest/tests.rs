//! Tests of the manifest: round trips, damage, later writers.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};
use expect_test::{Expect, expect};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use ulid::Ulid;

use super::*;

fn flat_type() -> impl Strategy<Value = DataType> {
    let unit = prop_oneof![
        Just(TimeUnit::Second),
        Just(TimeUnit::Millisecond),
        Just(TimeUnit::Microsecond),
        Just(TimeUnit::Nanosecond),
    ];
    let zone = prop::option::of(Just(Arc::<str>::from("Europe/Berlin")));
    prop_oneof![
        Just(DataType::Null),
        Just(DataType::Boolean),
        Just(DataType::Int8),
        Just(DataType::Int64),
        Just(DataType::UInt16),
        Just(DataType::UInt32),
        Just(DataType::Float16),
        Just(DataType::Float32),
        Just(DataType::Utf8),
        Just(DataType::Binary),
        Just(DataType::Date32),
        Just(DataType::Date64),
        Just(DataType::Time32(TimeUnit::Second)),
        Just(DataType::Time64(TimeUnit::Nanosecond)),
        (unit, zone).prop_map(|(unit, zone)| DataType::Timestamp(unit, zone)),
        (1..i32::MAX).prop_map(DataType::FixedSizeBinary),
        (1_u8..=38).prop_map(|precision| DataType::Decimal128(precision, 0)),
        (0_i8..=76).prop_map(|scale| DataType::Decimal256(76, scale)),
    ]
}

fn any_type() -> impl Strategy<Value = DataType> {
    flat_type().prop_recursive(4, 12, 3, |inner| {
        let field = (inner.clone(), any::<bool>())
            .prop_map(|(data_type, nullable)| Arc::new(Field::new("item", data_type, nullable)));
        let fields = prop::collection::vec((inner.clone(), any::<bool>()), 1..4);
        let children = fields.prop_map(|fields| {
            let field =
                |(at, (data_type, nullable))| Field::new(format!("f{at}"), data_type, nullable);
            DataType::Struct(fields.into_iter().enumerate().map(field).collect())
        });
        prop_oneof![
            field.clone().prop_map(DataType::List),
            (field, 1..9_i32).prop_map(|(item, size)| DataType::FixedSizeList(item, size)),
            children,
            (inner, any::<bool>()).prop_map(|(value, is_sorted)| {
                let key = Field::new("keys", DataType::Utf8, false);
                let value = Field::new("values", value, true);
                let entries = Field::new_struct("entries", vec![key, value], false);
                DataType::Map(Arc::new(entries), is_sorted)
            }),
        ]
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        any::<f64>()
            .prop_filter("NaN is not equal to itself", |f| !f.is_nan())
            .prop_map(Value::Float),
        any::<Vec<u8>>().prop_map(Value::Bytes),
    ]
}

fn any_facts() -> impl Strategy<Value = ColumnFacts> {
    let stats =
        (
            prop::option::of(any_value()),
            prop::option::of(any_value()),
            any::<bool>(),
            0_u64..100,
            any::<Option<u64>>(),
        )
            .prop_map(|(min, max, exact_bounds, null_count, distinct_estimate)| {
                ColumnStats { min, max, exact_bounds, null_count, distinct_estimate }
            });
    let bloom = prop::option::of(prop::collection::vec(any::<[u8; 32]>(), 1..4));
    (prop::option::of(stats), bloom)
        .prop_map(|(stats, bloom)| ColumnFacts { stats, bloom: bloom.map(|b| b.concat()) })
}

fn any_manifest() -> impl Strategy<Value = Manifest> {
    let columns = prop::collection::vec((any_type(), any_facts()), 1..5);
    let range = (any::<i64>(), any::<i64>(), any::<u128>());
    let refs = (any::<[u8; 16]>(), any::<u64>());
    let shard = any::<Option<String>>();
    (columns, range, refs, shard).prop_map(|(columns, (a, b, id), (checksum, bytes), shard)| {
        let (types, facts): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let file = FileRef { bytes, checksum: Checksum::from_bytes(checksum) };
        let column = |(id, data_type)| PartitionColumn {
            id: ColumnId(id),
            field: Field::new(format!("c{id}"), data_type, id % 2 == 0)
                .with_metadata([("unit".to_owned(), id.to_string())].into()),
        };
        let columns = (7..).zip(types).map(column).collect();
        Manifest {
            name: PartitionName::new(a.min(b), a.max(b), Ulid(id)),
            rows: 100,
            block_rows: 4096,
            schema: PartitionSchema::try_new(columns, None).unwrap(),
            facts,
            index: file,
            data: file,
            mapped: shard.iter().map(|shard| (ColumnId(7), shard.clone())).collect(),
            shard,
            writer_version: "peerage 0.1.0".to_owned(),
        }
    })
}

/// Returns a manifest of one text column and a primary.
fn sample() -> Manifest {
    let ts = Field::new("ts", DataType::Timestamp(TimeUnit::Microsecond, None), false);
    let columns = vec![
        PartitionColumn { id: ColumnId(9), field: Field::new("host", DataType::Utf8, true) },
        PartitionColumn { id: ColumnId(4), field: ts },
    ];
    let stats = ColumnStats {
        min: Some(Value::Bytes(b"a".to_vec())),
        max: None,
        exact_bounds: false,
        null_count: 3,
        distinct_estimate: Some(17),
    };
    Manifest {
        name: PartitionName::new(-5, 7, Ulid(1)),
        rows: 10,
        block_rows: 4096,
        schema: PartitionSchema::try_new(columns, Some(ColumnId(4))).unwrap(),
        facts: vec![
            ColumnFacts { stats: Some(stats), bloom: Some(vec![0xff; 32]) },
            ColumnFacts { stats: None, bloom: None },
        ],
        index: FileRef::of(b"index"),
        data: FileRef::of(b"data"),
        shard: None,
        mapped: BTreeMap::new(),
        writer_version: "peerage 0.1.0".to_owned(),
    }
}

/// Returns `body` as a manifest whose checksum fits.
fn seal(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = xxh3_64(&body);
    body.push(CHECKSUM_KEY);
    body.extend(checksum.to_le_bytes());
    body
}

fn check_error(bytes: &[u8], expected: Expect) {
    let error = Manifest::decode(bytes).expect_err("the bytes are wrong");
    expected.assert_eq(&error.to_string());
}

#[test]
fn accessors_answer_by_column() {
    let manifest = Manifest::decode(&sample().encode()).unwrap();
    assert_eq!((manifest.min_ms(), manifest.max_ms()), (-5, 7));
    assert_eq!(manifest.schema().primary_index(), Some(1));
    assert_eq!(manifest.stats(ColumnId(9)).unwrap().null_count, 3);
    assert_eq!(manifest.stats(ColumnId(4)), None);
    assert_eq!(manifest.stats(ColumnId(5)), None);
    assert!(manifest.bloom(ColumnId(9)).unwrap().may_contain(b"anything"));
    assert!(manifest.bloom(ColumnId(4)).is_none());
    assert_eq!(manifest.writer_version(), "peerage 0.1.0");
}

#[test]
fn fields_of_later_writers_are_skipped() {
    let mut body = sample().to_wire().encode_to_vec();
    body.extend([0xa2, 0x06, 3, 1, 2, 3]); // tag 100, three bytes
    assert_eq!(Manifest::decode(&seal(body)).unwrap(), sample());
}

#[test]
fn errors_say_what_is_wrong() {
    check_error(b"", expect!["manifest is truncated: needs 9 bytes, has 0"]);
    let mut flipped = sample().encode();
    flipped[5] ^= 1;
    check_error(&flipped, expect!["checksum of manifest does not match"]);
    let version = ManifestWire { format_version: 2, ..sample().to_wire() };
    check_error(
        &seal(version.encode_to_vec()),
        expect!["manifest has format version 2, this reader supports 1"],
    );
    let unnamed = ManifestWire { name: "x".to_owned(), ..sample().to_wire() };
    check_error(&seal(unnamed.encode_to_vec()), expect!["corrupt manifest: partition name"]);
    let unsized_blocks = ManifestWire { block_rows: 0, ..sample().to_wire() };
    check_error(
        &seal(unsized_blocks.encode_to_vec()),
        expect!["corrupt manifest: blocks of no rows"],
    );
    let few = ManifestWire { rows: 2, ..sample().to_wire() };
    check_error(
        &seal(few.encode_to_vec()),
        expect!["corrupt manifest: column 9 has more nulls than rows"],
    );
    let mut bloom = sample().to_wire();
    bloom.columns[0].bloom = Some(vec![0; 31]);
    check_error(
        &seal(bloom.encode_to_vec()),
        expect!["corrupt bloom filter: a filter cannot have 31 bytes"],
    );
    let mut deep = sample().to_wire();
    let leaf = deep.columns[0].field.clone().unwrap();
    deep.columns[0].field = Some((0..90).fold(leaf, |inner, _| wire::FieldWire {
        data_type: Some(wire::TypeWire {
            kind: wire::TypeKind::List.into(),
            children: vec![inner],
            ..Default::default()
        }),
        ..Default::default()
    }));
    check_error(&seal(deep.encode_to_vec()), expect!["corrupt manifest: not a protobuf message"]);
}

#[test]
fn nan_survives() {
    let mut manifest = sample();
    manifest.facts[0].stats.as_mut().unwrap().max = Some(Value::Float(f64::NAN));
    let bytes = manifest.encode();
    assert_eq!(Manifest::decode(&bytes).unwrap().encode(), bytes);
}

proptest! {
    #[test]
    fn round_trip(manifest in any_manifest()) {
        assert_eq!(Manifest::decode(&manifest.encode()).unwrap(), manifest);
    }

    #[test]
    fn any_bytes_decode_or_fail(bytes in any::<Vec<u8>>()) {
        assert!(Manifest::decode(&bytes).is_err());
        drop(Manifest::decode(&seal(bytes)));
    }

    #[test]
    fn a_flipped_bit_is_noticed(at: prop::sample::Index, bit in 0_u8..8) {
        let mut bytes = sample().encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        assert!(Manifest::decode(&bytes).is_err());
    }

    #[test]
    fn a_truncation_is_noticed(at: prop::sample::Index) {
        let bytes = sample().encode();
        assert!(Manifest::decode(&bytes[..at.index(bytes.len())]).is_err());
    }

    /// A wrong body under a right checksum: what only a faulty writer, or malice, makes.
    #[test]
    fn a_sealed_mutation_never_panics(
        manifest in any_manifest(),
        changes: Vec<(prop::sample::Index, u8)>,
    ) {
        let mut body = manifest.to_wire().encode_to_vec();
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Ok(manifest) = Manifest::decode(&seal(body)) {
            for column in manifest.schema().columns() {
                let _ = (manifest.stats(column.id), manifest.bloom(column.id).is_some());
            }
        }
    }
}
