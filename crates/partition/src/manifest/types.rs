//! Arrow fields and types as protobuf.
//!
//! Types travel in messages of our own, not as Arrow IPC bytes: Arrow's decoder of those panics on
//! damaged input, and a manifest comes from outside. Invariant: every type that a
//! [`crate::PartitionSchema`] allows round-trips; anything else is an error. Left out: whether the
//! type is allowed, which the schema checks; the depth, which protobuf's own limit bounds.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};

use super::wire::{FieldWire, TypeKind, TypeWire};
use crate::error::DecodeError;

/// The name of the part in errors.
const SECTION: &str = "manifest schema";

/// Returns the message of a field.
pub(super) fn encode_field(field: &Field) -> FieldWire {
    let metadata = field.metadata().iter().map(|(key, value)| (key.clone(), value.clone()));
    FieldWire {
        name: field.name().clone(),
        nullable: field.is_nullable(),
        data_type: Some(encode_type(field.data_type())),
        metadata: metadata.collect(),
    }
}

fn encode_type(data_type: &DataType) -> TypeWire {
    let mut wire = TypeWire::default();
    let kind = match data_type {
        DataType::FixedSizeBinary(width) => {
            wire.width = *width;
            TypeKind::FixedSizeBinary
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            wire.unit = encode_unit(*unit);
            flat_kind(data_type)
        }
        DataType::Timestamp(unit, timezone) => {
            wire.unit = encode_unit(*unit);
            wire.timezone = timezone.as_deref().map(str::to_owned);
            TypeKind::Timestamp
        }
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => {
            wire.precision = u32::from(*precision);
            wire.scale = i32::from(*scale);
            flat_kind(data_type)
        }
        DataType::List(item) => {
            wire.children = vec![encode_field(item)];
            TypeKind::List
        }
        DataType::FixedSizeList(item, size) => {
            wire.children = vec![encode_field(item)];
            wire.width = *size;
            TypeKind::FixedSizeList
        }
        DataType::Struct(fields) => {
            wire.children = fields.iter().map(|field| encode_field(field)).collect();
            TypeKind::Struct
        }
        DataType::Map(entries, is_sorted) => {
            wire.children = vec![encode_field(entries)];
            wire.is_sorted = *is_sorted;
            TypeKind::Map
        }
        flat => flat_kind(flat),
    };
    wire.kind = i32::from(kind);
    wire
}

fn flat_kind(data_type: &DataType) -> TypeKind {
    match data_type {
        DataType::Null => TypeKind::Null,
        DataType::Boolean => TypeKind::Boolean,
        DataType::Int8 => TypeKind::Int8,
        DataType::Int16 => TypeKind::Int16,
        DataType::Int32 => TypeKind::Int32,
        DataType::Int64 => TypeKind::Int64,
        DataType::UInt8 => TypeKind::UInt8,
        DataType::UInt16 => TypeKind::UInt16,
        DataType::UInt32 => TypeKind::UInt32,
        DataType::UInt64 => TypeKind::UInt64,
        DataType::Float16 => TypeKind::Float16,
        DataType::Float32 => TypeKind::Float32,
        DataType::Float64 => TypeKind::Float64,
        DataType::Utf8 => TypeKind::Utf8,
        DataType::Binary => TypeKind::Binary,
        DataType::Date32 => TypeKind::Date32,
        DataType::Date64 => TypeKind::Date64,
        DataType::Time32(_) => TypeKind::Time32,
        DataType::Time64(_) => TypeKind::Time64,
        DataType::Decimal128(_, _) => TypeKind::Decimal128,
        DataType::Decimal256(_, _) => TypeKind::Decimal256,
        other => unreachable!("a partition schema has no column of {other}"),
    }
}

fn encode_unit(unit: TimeUnit) -> u32 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

/// Returns the field in a message.
pub(super) fn decode_field(wire: FieldWire) -> Result<Field, DecodeError> {
    let data_type =
        wire.data_type.ok_or_else(|| DecodeError::corrupt(SECTION, "a field without a type"))?;
    let metadata: HashMap<String, String> = wire.metadata.into_iter().collect();
    let field = Field::new(wire.name, decode_type(data_type)?, wire.nullable);
    Ok(field.with_metadata(metadata))
}

fn decode_type(wire: TypeWire) -> Result<DataType, DecodeError> {
    let kind = TypeKind::try_from(wire.kind)
        .map_err(|error| DecodeError::corrupt_by(SECTION, "kind of type", error))?;
    Ok(match kind {
        TypeKind::Unspecified => {
            return Err(DecodeError::corrupt(SECTION, "a type without a kind"));
        }
        TypeKind::Null => DataType::Null,
        TypeKind::Boolean => DataType::Boolean,
        TypeKind::Int8 => DataType::Int8,
        TypeKind::Int16 => DataType::Int16,
        TypeKind::Int32 => DataType::Int32,
        TypeKind::Int64 => DataType::Int64,
        TypeKind::UInt8 => DataType::UInt8,
        TypeKind::UInt16 => DataType::UInt16,
        TypeKind::UInt32 => DataType::UInt32,
        TypeKind::UInt64 => DataType::UInt64,
        TypeKind::Float16 => DataType::Float16,
        TypeKind::Float32 => DataType::Float32,
        TypeKind::Float64 => DataType::Float64,
        TypeKind::Utf8 => DataType::Utf8,
        TypeKind::Binary => DataType::Binary,
        TypeKind::FixedSizeBinary => DataType::FixedSizeBinary(wire.width),
        TypeKind::Date32 => DataType::Date32,
        TypeKind::Date64 => DataType::Date64,
        TypeKind::Time32 => DataType::Time32(decode_unit(wire.unit)?),
        TypeKind::Time64 => DataType::Time64(decode_unit(wire.unit)?),
        TypeKind::Timestamp => {
            DataType::Timestamp(decode_unit(wire.unit)?, wire.timezone.map(Into::into))
        }
        TypeKind::Decimal128 => {
            let (precision, scale) = decode_decimal(&wire)?;
            DataType::Decimal128(precision, scale)
        }
        TypeKind::Decimal256 => {
            let (precision, scale) = decode_decimal(&wire)?;
            DataType::Decimal256(precision, scale)
        }
        TypeKind::List => DataType::List(decode_child(wire.children)?),
        TypeKind::FixedSizeList => {
            DataType::FixedSizeList(decode_child(wire.children)?, wire.width)
        }
        TypeKind::Struct => {
            let fields = wire.children.into_iter().map(decode_field);
            DataType::Struct(fields.collect::<Result<Fields, DecodeError>>()?)
        }
        TypeKind::Map => DataType::Map(decode_child(wire.children)?, wire.is_sorted),
    })
}

fn decode_unit(unit: u32) -> Result<TimeUnit, DecodeError> {
    match unit {
        0 => Ok(TimeUnit::Second),
        1 => Ok(TimeUnit::Millisecond),
        2 => Ok(TimeUnit::Microsecond),
        3 => Ok(TimeUnit::Nanosecond),
        other => Err(DecodeError::corrupt(SECTION, format!("unit of time {other}"))),
    }
}

fn decode_decimal(wire: &TypeWire) -> Result<(u8, i8), DecodeError> {
    let corrupt = |error| DecodeError::corrupt_by(SECTION, "decimal", error);
    let precision = u8::try_from(wire.precision).map_err(corrupt)?;
    let scale = i8::try_from(wire.scale).map_err(corrupt)?;
    Ok((precision, scale))
}

fn decode_child(children: Vec<FieldWire>) -> Result<FieldRef, DecodeError> {
    let count = children.len();
    let Ok([child]) = <[FieldWire; 1]>::try_from(children) else {
        return Err(DecodeError::corrupt(SECTION, format!("{count} children instead of one")));
    };
    decode_field(child).map(Arc::new)
}
