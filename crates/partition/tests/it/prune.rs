//! Prune against brute force: no row that matches lies in what was pruned.
//!
//! Rows are drawn with a seed, in blocks whose values differ so that pruning has something to do;
//! predicates are drawn from the same values. Floats are evaluated both ways that engines compare
//! them: by the total order, and as IEEE 754 does.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array,
};
use arrow::datatypes::{DataType, Field, TimeUnit};
use peerage_partition::{
    BLOCK_ROWS, ColumnId, Comparison, PartitionColumn, PartitionSchema, PartitionVerdict,
    Predicate, PruneReason, Value, WriterOptions, prune_blocks, prune_partition,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::support::{Written, write};

/// The columns by id: 0 is the primary, the last is not in the partition.
const TYPES: [(&str, DataType); 9] = [
    ("ts", DataType::Timestamp(TimeUnit::Millisecond, None)),
    ("int", DataType::Int64),
    ("uint", DataType::UInt64),
    ("double", DataType::Float64),
    ("single", DataType::Float32),
    ("text", DataType::Utf8),
    ("blob", DataType::Binary),
    ("day", DataType::Date32),
    ("flag", DataType::Boolean),
];
const FIXED: u32 = 9;
const MISSING: u32 = 10;

type Column = Vec<Option<Value>>;

fn schema() -> PartitionSchema {
    let fixed = ("fixed", DataType::FixedSizeBinary(4));
    let column = |(id, (name, data_type))| PartitionColumn {
        id: ColumnId(id),
        field: Field::new(name, data_type, true),
    };
    let types = TYPES.into_iter().chain([fixed]);
    PartitionSchema::try_new((0..).zip(types).map(column).collect(), Some(ColumnId(0))).unwrap()
}

/// Draws a value of a column for a block.
fn draw(rng: &mut SmallRng, column: u32, block: i64) -> Option<Value> {
    if column != 0 && (rng.random_ratio(1, 9) || (block == 2 && column % 2 == 1)) {
        return None;
    }
    let near = block * 100 + rng.random_range(0..60);
    Some(match column {
        0 | 7 => Value::Int(near),
        1 => Value::Int(if near % 7 == 0 { -near } else { near }),
        2 => Value::UInt(if block == 3 { u64::MAX } else { u64::try_from(near).unwrap() }),
        3 | 4 => Value::Float(draw_float(rng, column, block)),
        5 => Value::Bytes(draw_text(rng, block).into_bytes()),
        6 => Value::Bytes(draw_blob(rng, block)),
        8 => Value::Bool(block % 2 == 0 || rng.random()),
        _ => Value::Bytes(u32::try_from(near).unwrap().to_be_bytes().to_vec()),
    })
}

fn draw_float(rng: &mut SmallRng, column: u32, block: i64) -> f64 {
    match (column, block) {
        (3, 1) => return 0.0,
        (3, 4) => return -0.0,
        (4, 1) => return f64::NAN,
        _ => {}
    }
    match rng.random_range(0..300) {
        0 => 0.0,
        1 => -0.0,
        2 if block % 2 == 0 => f64::NAN,
        3 if block % 2 == 0 => -f64::NAN,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        _ => {
            f64::from(rng.random_range(-40_i16..40)) / 8.0 + f64::from(u8::try_from(block).unwrap())
        }
    }
}

fn draw_text(rng: &mut SmallRng, block: i64) -> String {
    let number = rng.random_range(0..40);
    match (block, rng.random_range(0..3)) {
        (4, _) => "the only text of its block".to_owned(),
        (_, 0) => format!("{block}{number}"),
        (_, 1) => {
            format!("{block}/long/path/that/no/prefix/of/sixteen/bytes/tells/apart/{number:0>40}")
        }
        _ => format!("{block}é{number}"),
    }
}

fn draw_blob(rng: &mut SmallRng, block: i64) -> Vec<u8> {
    let length = rng.random_range(0..90);
    let byte = if block == 3 { 0xff } else { u8::try_from(block).unwrap() };
    vec![byte; length]
}

fn draw_columns(rng: &mut SmallRng, rows: usize) -> Vec<Column> {
    let block = |row: usize| i64::try_from(row).unwrap() / i64::from(BLOCK_ROWS);
    let mut columns: Vec<Column> = (0..=FIXED)
        .map(|column| (0..rows).map(|row| draw(rng, column, block(row))).collect())
        .collect();
    columns[0].sort_by_key(|value| match value {
        Some(Value::Int(ms)) => *ms,
        _ => unreachable!("the primary is an integer"),
    });
    columns.push(vec![None; rows]);
    columns
}

#[expect(clippy::cast_possible_truncation, reason = "the drawn floats fit 32 bits")]
fn array(column: &Column, data_type: &DataType) -> ArrayRef {
    let ints = || {
        column.iter().map(|value| match value {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        })
    };
    let floats = || {
        column.iter().map(|value| match value {
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        })
    };
    let bytes = || {
        column.iter().map(|value| match value {
            Some(Value::Bytes(value)) => Some(value.as_slice()),
            _ => None,
        })
    };
    match data_type {
        DataType::Int64 => Arc::new(ints().collect::<Int64Array>()),
        DataType::Date32 => Arc::new(
            ints().map(|day| day.map(|day| i32::try_from(day).unwrap())).collect::<Date32Array>(),
        ),
        DataType::UInt64 => {
            Arc::new(UInt64Array::from_iter(column.iter().map(|value| match value {
                Some(Value::UInt(value)) => Some(*value),
                _ => None,
            })))
        }
        DataType::Boolean => {
            Arc::new(BooleanArray::from_iter(column.iter().map(|value| match value {
                Some(Value::Bool(value)) => Some(*value),
                _ => None,
            })))
        }
        DataType::Float64 => Arc::new(floats().collect::<Float64Array>()),
        DataType::Float32 => Arc::new(
            floats().map(|value| value.map(|value| value as f32)).collect::<Float32Array>(),
        ),
        DataType::Utf8 => {
            let texts = bytes().map(|text| text.map(|text| std::str::from_utf8(text).unwrap()));
            Arc::new(texts.collect::<StringArray>())
        }
        DataType::Binary => Arc::new(bytes().collect::<BinaryArray>()),
        DataType::FixedSizeBinary(width) => {
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes(), *width).unwrap())
        }
        _ => Arc::new(ints().collect::<TimestampMillisecondArray>()),
    }
}

fn write_columns(columns: &[Column]) -> Written {
    let schema = schema();
    let arrow = schema.arrow_schema();
    let arrays = columns.iter().zip(arrow.fields());
    let arrays = arrays.map(|(column, field)| array(column, field.data_type())).collect();
    let batch = RecordBatch::try_new(schema.arrow_schema(), arrays).unwrap();
    write(&schema, WriterOptions::default(), [batch])
}

/// Draws a predicate whose literals are values of the rows, or near them.
fn draw_predicate(rng: &mut SmallRng, columns: &[Column], depth: u32) -> Predicate {
    let leaf = depth == 0 || rng.random_ratio(2, 3);
    if !leaf {
        let parts = (0..rng.random_range(1..4)).map(|_| draw_predicate(rng, columns, depth - 1));
        let parts = parts.collect();
        return if rng.random() { Predicate::And(parts) } else { Predicate::Or(parts) };
    }
    let column = ColumnId(rng.random_range(0..=MISSING));
    match rng.random_range(0..12) {
        0 => Predicate::IsNull(column),
        1 => Predicate::IsNotNull(column),
        2 => Predicate::In {
            column,
            values: (0..3).map(|_| literal(rng, columns, column)).collect(),
        },
        3 | 4 => match literal(rng, columns, column) {
            Value::Bytes(mut prefix) => {
                prefix.truncate(rng.random_range(0..20));
                Predicate::StartsWith { column, prefix }
            }
            value => Predicate::Compare { column, op: Comparison::NotEq, value },
        },
        _ => {
            let op = [
                Comparison::Eq,
                Comparison::NotEq,
                Comparison::Lt,
                Comparison::LtEq,
                Comparison::Gt,
                Comparison::GtEq,
            ][rng.random_range(0..6)];
            Predicate::Compare { column, op, value: literal(rng, columns, column) }
        }
    }
}

fn literal(rng: &mut SmallRng, columns: &[Column], column: ColumnId) -> Value {
    if rng.random_ratio(1, 20) {
        return Value::Int(rng.random_range(-5..700)); // often of a kind that does not fit
    }
    let values = &columns[usize::try_from(column.0).unwrap()];
    let found = (0..20).find_map(|_| values[rng.random_range(0..values.len())].clone());
    match found.unwrap_or(Value::Int(7)) {
        Value::Int(value) => Value::Int(value + rng.random_range(-1..2)),
        Value::UInt(value) if rng.random_ratio(1, 4) => {
            Value::Int(i64::try_from(value).unwrap_or(-1))
        }
        Value::Float(value) => Value::Float(value + if rng.random() { 0.0 } else { 0.125 }),
        Value::Bytes(mut value) if rng.random_ratio(1, 3) => {
            value.push(b'!');
            Value::Bytes(value)
        }
        other => other,
    }
}

#[derive(Clone, Copy)]
enum Floats {
    Total,
    Ieee,
}

/// Evaluates a predicate on a row; a NULL matches no comparison.
fn matches(predicate: &Predicate, columns: &[Column], row: usize, floats: Floats) -> bool {
    let value = |column: &ColumnId| columns[usize::try_from(column.0).unwrap()][row].as_ref();
    match predicate {
        Predicate::True => true,
        Predicate::False => false,
        Predicate::And(parts) => parts.iter().all(|part| matches(part, columns, row, floats)),
        Predicate::Or(parts) => parts.iter().any(|part| matches(part, columns, row, floats)),
        Predicate::IsNull(column) => value(column).is_none(),
        Predicate::IsNotNull(column) => value(column).is_some(),
        Predicate::Compare { column, op, value: literal } => {
            value(column).is_some_and(|value| compare(value, *op, literal, floats))
        }
        Predicate::In { column, values } => value(column).is_some_and(|value| {
            values.iter().any(|literal| compare(value, Comparison::Eq, literal, floats))
        }),
        Predicate::StartsWith { column, prefix } => {
            matches!(value(column), Some(Value::Bytes(bytes)) if bytes.starts_with(prefix))
        }
    }
}

fn compare(value: &Value, op: Comparison, literal: &Value, floats: Floats) -> bool {
    let ordering = match (value, literal, floats) {
        (Value::Float(a), Value::Float(b), Floats::Ieee) => a.partial_cmp(b),
        _ => match value.borrow().compare(literal.borrow()) {
            Some(ordering) => Some(ordering),
            None => return false,
        },
    };
    match op {
        Comparison::Eq => ordering == Some(Ordering::Equal),
        Comparison::NotEq => ordering != Some(Ordering::Equal),
        Comparison::Lt => ordering == Some(Ordering::Less),
        Comparison::LtEq => ordering.is_some_and(Ordering::is_le),
        Comparison::Gt => ordering == Some(Ordering::Greater),
        Comparison::GtEq => ordering.is_some_and(Ordering::is_ge),
    }
}

/// How often prune had an effect, so that a test that prunes nothing fails.
#[derive(Debug, Default)]
struct Effect {
    blocks_pruned: u32,
    blocks_without_match: u32,
    reasons: HashSet<PruneReason>,
}

fn check(written: &Written, columns: &[Column], predicate: &Predicate, effect: &mut Effect) {
    let (manifest, index) = (written.manifest(), written.index());
    let verdict = prune_partition(&manifest, predicate);
    let selection = prune_blocks(&manifest, &index, predicate).unwrap();
    let block_rows = usize::try_from(BLOCK_ROWS).unwrap();
    for (block, start) in (0..).zip((0..columns[0].len()).step_by(block_rows)) {
        let rows = start..(start + block_rows).min(columns[0].len());
        let matched = [Floats::Total, Floats::Ieee]
            .into_iter()
            .find_map(|floats| rows.clone().find(|row| matches(predicate, columns, *row, floats)));
        effect.blocks_pruned += u32::from(!selection.contains(block));
        effect.blocks_without_match += u32::from(matched.is_none());
        if let Some(row) = matched {
            assert!(selection.contains(block), "row {row} of block {block} lost: {predicate:?}");
            assert_eq!(verdict, PartitionVerdict::Keep, "row {row} lost: {predicate:?}");
        }
    }
    if let PartitionVerdict::Pruned(reason) = verdict {
        effect.reasons.insert(reason);
    }
}

#[test]
fn what_matches_is_never_pruned() {
    let mut effect = Effect::default();
    for seed in 0..4 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let rows = rng.random_range(20_000..24_000);
        let columns = draw_columns(&mut rng, rows);
        let written = write_columns(&columns[..=usize::try_from(FIXED).unwrap()]);
        for _ in 0..300 {
            let predicate = draw_predicate(&mut rng, &columns, 2);
            check(&written, &columns, &predicate, &mut effect);
        }
    }
    let useful = f64::from(effect.blocks_pruned) / f64::from(effect.blocks_without_match);
    assert!(useful > 0.6, "{effect:?}");
    assert_eq!(effect.reasons.len(), 3, "{effect:?}");
}

fn verdict(predicate: &Predicate) -> PartitionVerdict {
    let mut rng = SmallRng::seed_from_u64(7);
    let columns = draw_columns(&mut rng, 5_000);
    let written = write_columns(&columns[..=usize::try_from(FIXED).unwrap()]);
    prune_partition(&written.manifest(), predicate)
}

fn equal(column: u32, value: Value) -> Predicate {
    Predicate::Compare { column: ColumnId(column), op: Comparison::Eq, value }
}

#[test]
fn the_reason_is_told() {
    let pruned = PartitionVerdict::Pruned;
    let stranger = || Value::Bytes(b"0/no such text".to_vec());
    for (predicate, expected) in [
        (equal(0, Value::Int(-1)), pruned(PruneReason::Primary)),
        (equal(1, Value::Int(5_000)), pruned(PruneReason::Stats)),
        (equal(5, stranger()), pruned(PruneReason::Bloom)),
        (equal(MISSING, Value::Int(1)), pruned(PruneReason::Stats)),
        (Predicate::IsNull(ColumnId(MISSING)), PartitionVerdict::Keep),
        (Predicate::IsNotNull(ColumnId(MISSING)), pruned(PruneReason::Stats)),
        (Predicate::IsNull(ColumnId(0)), pruned(PruneReason::Primary)),
        (Predicate::False, pruned(PruneReason::AlwaysFalse)),
        (Predicate::Or(vec![]), pruned(PruneReason::AlwaysFalse)),
        (Predicate::In { column: ColumnId(5), values: vec![] }, pruned(PruneReason::AlwaysFalse)),
        (Predicate::And(vec![]), PartitionVerdict::Keep),
        (equal(1, Value::Float(5_000.0)), PartitionVerdict::Keep),
        (equal(5, stranger()).or(equal(0, Value::Int(3))), PartitionVerdict::Keep),
        (equal(5, stranger()).and(equal(0, Value::Int(3))), pruned(PruneReason::Bloom)),
    ] {
        assert_eq!(verdict(&predicate), expected, "{predicate:?}");
    }
}
