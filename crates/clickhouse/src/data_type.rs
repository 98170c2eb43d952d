//! ClickHouse types: which one an Arrow field has, and how its name is written.
//!
//! The name is what clients see in headers (`DateTime64(6, 'UTC')`), and it steers how a value is printed, so
//! both come from one value. `Nullable` stands only round scalars, as ClickHouse demands; a dictionary has the
//! type of its values, because whether strings travel dictionary-encoded is our business, not the client's. The
//! other way, from a name to a type, is in `parse.rs`.

mod parse;

pub use parse::TypeTextError;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use std::fmt::{self, Display, Formatter};

/// Digits of the widest decimal that ClickHouse has.
const DECIMAL_PRECISION_MAX: u8 = 76;
/// Bytes of a UUID.
const UUID_BYTES: i32 = 16;

/// A ClickHouse data type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are ClickHouse's own type names")]
pub enum ClickHouseType {
    Nothing,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UInt128,
    UInt256,
    Float32,
    Float64,
    Decimal {
        precision: u8,
        scale: u8,
    },
    String,
    FixedString(u32),
    Date,
    Date32,
    DateTime(Option<String>),
    DateTime64(u8, Option<String>),
    Time,
    Time64(u8),
    Interval(IntervalKind),
    Uuid,
    IPv4,
    IPv6,
    Enum8(Vec<(String, i16)>),
    Enum16(Vec<(String, i16)>),
    Array(Box<Self>),
    /// Elements with their names; no name is the empty string.
    Tuple(Vec<(String, Self)>),
    Map(Box<Self>, Box<Self>),
    Nullable(Box<Self>),
    LowCardinality(Box<Self>),
}

/// The unit in the name of an `Interval…` type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the units themselves")]
pub enum IntervalKind {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

impl IntervalKind {
    const ALL: [(Self, &'static str); 11] = [
        (Self::Nanosecond, "Nanosecond"),
        (Self::Microsecond, "Microsecond"),
        (Self::Millisecond, "Millisecond"),
        (Self::Second, "Second"),
        (Self::Minute, "Minute"),
        (Self::Hour, "Hour"),
        (Self::Day, "Day"),
        (Self::Week, "Week"),
        (Self::Month, "Month"),
        (Self::Quarter, "Quarter"),
        (Self::Year, "Year"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("Second", |(_, name)| name)
    }
}

/// Returns the text of the ClickHouse type that a column of this field has.
pub fn type_name(field: &Field) -> String {
    ClickHouseType::from_field(field).to_string()
}

impl ClickHouseType {
    /// Returns the type of a column of this field.
    pub fn from_field(field: &Field) -> Self {
        let bare = match field.data_type() {
            DataType::FixedSizeBinary(UUID_BYTES)
                if field.extension_type_name() == Some("arrow.uuid") =>
            {
                Self::Uuid
            }
            data_type => Self::from_arrow(data_type),
        };
        match field.is_nullable() && bare.may_be_nullable() {
            true => Self::Nullable(Box::new(bare)),
            false => bare,
        }
    }

    /// Returns the type of values of this Arrow type that are never null.
    fn from_arrow(data_type: &DataType) -> Self {
        match data_type {
            DataType::Null => Self::Nullable(Box::new(Self::Nothing)),
            DataType::Boolean => Self::Bool,
            DataType::Int8 => Self::Int8,
            DataType::Int16 => Self::Int16,
            DataType::Int32 => Self::Int32,
            DataType::Int64 => Self::Int64,
            DataType::UInt8 => Self::UInt8,
            DataType::UInt16 => Self::UInt16,
            DataType::UInt32 => Self::UInt32,
            DataType::UInt64 => Self::UInt64,
            DataType::Float16 | DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => Self::decimal(*precision, *scale),
            DataType::Timestamp(TimeUnit::Second, zone) => {
                Self::DateTime(zone_name(zone.as_deref()))
            }
            DataType::Timestamp(unit, zone) => {
                Self::DateTime64(unit_digits(*unit), zone_name(zone.as_deref()))
            }
            DataType::Date32 | DataType::Date64 => Self::Date32,
            DataType::Time32(TimeUnit::Second) => Self::Time,
            DataType::Time32(unit) | DataType::Time64(unit) => Self::Time64(unit_digits(*unit)),
            DataType::Duration(unit) => Self::Interval(match unit {
                TimeUnit::Second => IntervalKind::Second,
                TimeUnit::Millisecond => IntervalKind::Millisecond,
                TimeUnit::Microsecond => IntervalKind::Microsecond,
                TimeUnit::Nanosecond => IntervalKind::Nanosecond,
            }),
            DataType::Interval(IntervalUnit::YearMonth) => Self::Interval(IntervalKind::Month),
            DataType::FixedSizeBinary(width) => {
                u32::try_from(*width).map_or(Self::String, Self::FixedString)
            }
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _) => Self::Array(Box::new(Self::from_field(field))),
            DataType::Struct(fields) => Self::tuple(fields.iter().map(AsRef::as_ref)),
            DataType::Map(entries, _) => Self::map(entries),
            DataType::Dictionary(_, values) => Self::from_arrow(values),
            DataType::RunEndEncoded(_, values) => Self::from_arrow(values.data_type()),
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::Interval(IntervalUnit::DayTime | IntervalUnit::MonthDayNano)
            | DataType::Union(..) => Self::String,
        }
    }

    /// ClickHouse has no negative scale: zeros before the point are digits there.
    fn decimal(precision: u8, scale: i8) -> Self {
        match u8::try_from(scale) {
            Ok(scale) => Self::Decimal { precision, scale },
            Err(_) => Self::Decimal {
                precision: precision
                    .saturating_add(scale.unsigned_abs())
                    .min(DECIMAL_PRECISION_MAX),
                scale: 0,
            },
        }
    }

    /// A struct that the engine made of a tuple literal has the names c0, c1, …; those are no names.
    fn tuple<'a>(fields: impl ExactSizeIterator<Item = &'a Field> + Clone) -> Self {
        let is_numbered =
            fields.clone().enumerate().all(|(index, field)| *field.name() == format!("c{index}"));
        Self::Tuple(
            fields
                .map(|field| {
                    let name = if is_numbered { String::new() } else { field.name().clone() };
                    (name, Self::from_field(field))
                })
                .collect(),
        )
    }

    fn map(entries: &Field) -> Self {
        match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => Self::Map(
                Box::new(Self::from_arrow(fields[0].data_type())),
                Box::new(Self::from_field(&fields[1])),
            ),
            _ => Self::Map(Box::new(Self::String), Box::new(Self::String)),
        }
    }

    /// Returns whether `Nullable` may stand round the type.
    pub const fn may_be_nullable(&self) -> bool {
        !matches!(
            self,
            Self::Array(_)
                | Self::Tuple(_)
                | Self::Map(..)
                | Self::Nullable(_)
                | Self::LowCardinality(_)
        )
    }

    /// Returns the type inside `Nullable` and `LowCardinality`.
    pub fn inner(&self) -> &Self {
        match self {
            Self::Nullable(inner) | Self::LowCardinality(inner) => inner.inner(),
            other => other,
        }
    }

    /// Returns whether the type is an integer, float or decimal.
    pub fn is_number(&self) -> bool {
        match self.inner() {
            Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Int128
            | Self::Int256
            | Self::UInt8
            | Self::UInt16
            | Self::UInt32
            | Self::UInt64
            | Self::UInt128
            | Self::UInt256
            | Self::Float32
            | Self::Float64
            | Self::Decimal { .. } => true,
            Self::Nothing
            | Self::Bool
            | Self::String
            | Self::FixedString(_)
            | Self::Date
            | Self::Date32
            | Self::DateTime(_)
            | Self::DateTime64(..)
            | Self::Time
            | Self::Time64(_)
            | Self::Interval(_)
            | Self::Uuid
            | Self::IPv4
            | Self::IPv6
            | Self::Enum8(_)
            | Self::Enum16(_)
            | Self::Array(_)
            | Self::Tuple(_)
            | Self::Map(..)
            | Self::Nullable(_)
            | Self::LowCardinality(_) => false,
        }
    }

    /// Returns whether tables print the type at the right edge of its column.
    pub fn is_aligned_right(&self) -> bool {
        self.is_number()
            || matches!(
                self.inner(),
                Self::Date
                    | Self::Date32
                    | Self::DateTime(_)
                    | Self::DateTime64(..)
                    | Self::Time
                    | Self::Time64(_)
                    | Self::Interval(_)
            )
    }
}

/// Returns the digits after the second that a unit of time has.
pub(crate) const fn unit_digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Arrow writes UTC in several ways, ClickHouse in one.
fn zone_name(zone: Option<&str>) -> Option<String> {
    zone.map(|zone| match zone {
        "+00:00" | "-00:00" | "Z" | "utc" => "UTC".to_string(),
        zone => zone.to_string(),
    })
}

impl Display for ClickHouseType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Bool => f.write_str("Bool"),
            Self::Int8 => f.write_str("Int8"),
            Self::Int16 => f.write_str("Int16"),
            Self::Int32 => f.write_str("Int32"),
            Self::Int64 => f.write_str("Int64"),
            Self::Int128 => f.write_str("Int128"),
            Self::Int256 => f.write_str("Int256"),
            Self::UInt8 => f.write_str("UInt8"),
            Self::UInt16 => f.write_str("UInt16"),
            Self::UInt32 => f.write_str("UInt32"),
            Self::UInt64 => f.write_str("UInt64"),
            Self::UInt128 => f.write_str("UInt128"),
            Self::UInt256 => f.write_str("UInt256"),
            Self::Float32 => f.write_str("Float32"),
            Self::Float64 => f.write_str("Float64"),
            Self::Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            Self::String => f.write_str("String"),
            Self::FixedString(length) => write!(f, "FixedString({length})"),
            Self::Date => f.write_str("Date"),
            Self::Date32 => f.write_str("Date32"),
            Self::DateTime(None) => f.write_str("DateTime"),
            Self::DateTime(Some(zone)) => write!(f, "DateTime({})", Quoted(zone)),
            Self::DateTime64(digits, None) => write!(f, "DateTime64({digits})"),
            Self::DateTime64(digits, Some(zone)) => {
                write!(f, "DateTime64({digits}, {})", Quoted(zone))
            }
            Self::Time => f.write_str("Time"),
            Self::Time64(digits) => write!(f, "Time64({digits})"),
            Self::Interval(kind) => write!(f, "Interval{}", kind.name()),
            Self::Uuid => f.write_str("UUID"),
            Self::IPv4 => f.write_str("IPv4"),
            Self::IPv6 => f.write_str("IPv6"),
            Self::Enum8(values) => write_enum(f, "Enum8", values),
            Self::Enum16(values) => write_enum(f, "Enum16", values),
            Self::Array(inner) => write!(f, "Array({inner})"),
            Self::Tuple(elements) => write_tuple(f, elements),
            Self::Map(key, value) => write!(f, "Map({key}, {value})"),
            Self::Nullable(inner) => write!(f, "Nullable({inner})"),
            Self::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
        }
    }
}

fn write_enum(f: &mut Formatter<'_>, name: &str, values: &[(String, i16)]) -> fmt::Result {
    write!(f, "{name}(")?;
    for (index, (text, value)) in values.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{} = {value}", Quoted(text))?;
    }
    f.write_str(")")
}

fn write_tuple(f: &mut Formatter<'_>, elements: &[(String, ClickHouseType)]) -> fmt::Result {
    f.write_str("Tuple(")?;
    for (index, (name, element)) in elements.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        match name.as_str() {
            "" => write!(f, "{comma}{element}")?,
            name if is_plain_identifier(name) => write!(f, "{comma}{name} {element}")?,
            name => {
                write!(f, "{comma}`{}` {element}", name.replace('\\', "\\\\").replace('`', "\\`"))?;
            }
        }
    }
    f.write_str(")")
}

/// Returns whether ClickHouse writes the name without quotes.
pub(crate) fn is_plain_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text as ClickHouse writes a string literal.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\\', "\\\\").replace('\'', "\\'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn check(data_type: DataType, nullable: bool, expected: &str) {
        assert_eq!(type_name(&Field::new("x", data_type, nullable)), expected);
    }

    fn list(element: DataType, nullable: bool) -> DataType {
        DataType::List(Field::new("item", element, nullable).into())
    }

    #[test]
    fn scalars() {
        check(DataType::Int64, false, "Int64");
        check(DataType::Utf8View, true, "Nullable(String)");
        check(DataType::LargeBinary, false, "String");
        check(DataType::Boolean, true, "Nullable(Bool)");
        check(DataType::Null, true, "Nullable(Nothing)");
        check(DataType::Null, false, "Nullable(Nothing)");
        check(DataType::Float16, false, "Float32");
        check(DataType::Decimal128(18, 6), false, "Decimal(18, 6)");
        check(DataType::Decimal128(5, -2), false, "Decimal(7, 0)");
        check(DataType::FixedSizeBinary(16), false, "FixedString(16)");
        check(
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            true,
            "Nullable(String)",
        );
        check(DataType::Duration(TimeUnit::Second), false, "IntervalSecond");
        check(DataType::Interval(IntervalUnit::MonthDayNano), false, "String");
    }

    #[test]
    fn times() {
        check(DataType::Timestamp(TimeUnit::Second, None), false, "DateTime");
        check(
            DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())),
            false,
            "DateTime('Europe/Berlin')",
        );
        check(
            DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
            true,
            "Nullable(DateTime64(6, 'UTC'))",
        );
        check(DataType::Timestamp(TimeUnit::Nanosecond, None), false, "DateTime64(9)");
        check(DataType::Date32, false, "Date32");
        check(DataType::Time64(TimeUnit::Microsecond), false, "Time64(6)");
    }

    #[test]
    fn nested_types_are_never_nullable() {
        check(list(DataType::Int32, true), true, "Array(Nullable(Int32))");
        check(list(list(DataType::Int8, false), true), false, "Array(Array(Int8))");
        let fields = vec![
            Field::new("id", DataType::UInt32, false),
            Field::new("a b", DataType::Utf8, true),
        ];
        check(DataType::Struct(fields.into()), true, "Tuple(id UInt32, `a b` Nullable(String))");
        let fields =
            vec![Field::new("c0", DataType::Int64, false), Field::new("c1", DataType::Utf8, false)];
        check(DataType::Struct(fields.into()), true, "Tuple(Int64, String)");
        let entries = vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", DataType::Int8, true),
        ];
        let entries = Field::new("entries", DataType::Struct(entries.into()), false);
        check(DataType::Map(entries.into(), false), true, "Map(String, Nullable(Int8))");
    }

    #[test]
    fn uuid_is_an_extension_of_sixteen_bytes() {
        let metadata =
            HashMap::from([("ARROW:extension:name".to_string(), "arrow.uuid".to_string())]);
        let field = Field::new("u", DataType::FixedSizeBinary(16), false).with_metadata(metadata);
        assert_eq!(type_name(&field), "UUID");
    }
}
