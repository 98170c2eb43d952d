//! One column of a batch, bound to its ClickHouse type: every downcast is done here, once.
//!
//! A [`Cells`] answers only two questions for a row: is it null, and what stands there. The writers in `value.rs` and
//! `json_value.rs` match on [`Kind`] and never look at Arrow's types again. An Arrow type that ClickHouse has no
//! type for (calendar intervals, unions) is shown as Arrow shows it.

use super::time::Zone;
use super::{DateTimeOutput, FormatError, FormatSettings};
use crate::data_type::{ClickHouseType, unit_digits};
use arrow::array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalYearMonthType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow::array::{
    Array, AsArray, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray, StructArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit, i256};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::ops::Range;

/// A column of one batch.
pub(super) struct Cells<'a> {
    nulls: Option<&'a NullBuffer>,
    pub(super) kind: Kind<'a>,
}

/// What the values of a column are.
pub(super) enum Kind<'a> {
    /// Null in every row.
    Nothing,
    Int(Ints<'a>),
    Float16(&'a [half::f16]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Bool(Bools<'a>),
    Text(Texts<'a>),
    Uuid(&'a FixedSizeBinaryArray),
    IPv4(&'a [u32]),
    IPv6(Texts<'a>),
    /// Days since 1970 times the number of units in a day.
    Date(Ints<'a>, i64),
    DateTime(Moments<'a>),
    Time {
        values: Ints<'a>,
        unit: Unit,
    },
    Decimal(Decimals<'a>, i8),
    Enum(Ints<'a>, &'a [(String, i16)]),
    List {
        offsets: Offsets<'a>,
        values: Box<Cells<'a>>,
    },
    Map {
        offsets: Offsets<'a>,
        keys: Box<Cells<'a>>,
        values: Box<Cells<'a>>,
    },
    /// Elements with their names; the names are empty for a tuple without.
    Tuple(Vec<(&'a str, Cells<'a>)>),
    Dictionary(Ints<'a>, Box<Cells<'a>>),
    /// What only Arrow knows how to show.
    Shown(ArrayFormatter<'a>),
}

/// How Arrow counts time, and how many digits of it the type shows.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    per_second: i64,
    digits: u8,
}

impl Unit {
    /// Returns whole seconds and the fraction, in the digits of the type.
    pub(super) const fn split(self, value: i64) -> (i64, i64) {
        let seconds = value.div_euclid(self.per_second);
        let fraction = value.rem_euclid(self.per_second);
        let wanted = 10_i64.pow(self.digits as u32);
        match self.per_second < wanted {
            true => (seconds, fraction * (wanted / self.per_second)),
            false => (seconds, fraction / (self.per_second / wanted)),
        }
    }

    pub(super) const fn digits(self) -> u8 {
        self.digits
    }

    fn of(unit: TimeUnit, digits: u8) -> Self {
        let digits = digits.min(9);
        Self { per_second: 10_i64.pow(u32::from(unit_digits(unit))), digits }
    }
}

/// Moments with the zone they are shown in.
pub(super) struct Moments<'a> {
    pub(super) values: Ints<'a>,
    pub(super) unit: Unit,
    pub(super) zone: Zone,
    pub(super) output: DateTimeOutput,
}

/// Integers of any width.
#[derive(Clone, Copy)]
pub(super) enum Ints<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl Ints<'_> {
    /// Returns the value of a row; only ids and times are asked for so, which fit.
    pub(super) fn get(&self, row: usize) -> i64 {
        match self {
            Self::I8(values) => i64::from(values[row]),
            Self::I16(values) => i64::from(values[row]),
            Self::I32(values) => i64::from(values[row]),
            Self::I64(values) => values[row],
            Self::U8(values) => i64::from(values[row]),
            Self::U16(values) => i64::from(values[row]),
            Self::U32(values) => i64::from(values[row]),
            Self::U64(values) => i64::try_from(values[row]).unwrap_or(i64::MAX),
        }
    }

    /// Returns whether JSON may be asked to quote the numbers.
    pub(super) const fn is_wide(&self) -> bool {
        matches!(self, Self::I64(_) | Self::U64(_))
    }
}

/// Truth values, as bits or as the numbers 0 and 1.
#[derive(Clone, Copy)]
pub(super) enum Bools<'a> {
    Bits(&'a BooleanBuffer),
    Bytes(&'a [u8]),
}

impl Bools<'_> {
    pub(super) fn get(&self, row: usize) -> bool {
        match self {
            Self::Bits(bits) => bits.value(row),
            Self::Bytes(bytes) => bytes[row] != 0,
        }
    }
}

/// Texts and bytes in any of Arrow's layouts.
#[derive(Clone, Copy)]
pub(super) enum Texts<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> Texts<'a> {
    pub(super) fn get(&self, row: usize) -> &'a [u8] {
        match self {
            Self::Utf8(array) => array.value(row).as_bytes(),
            Self::LargeUtf8(array) => array.value(row).as_bytes(),
            Self::Utf8View(array) => array.value(row).as_bytes(),
            Self::Binary(array) => array.value(row),
            Self::LargeBinary(array) => array.value(row),
            Self::BinaryView(array) => array.value(row),
            Self::Fixed(array) => array.value(row),
        }
    }

    /// Returns whether the bytes are known to be UTF-8.
    pub(super) const fn is_utf8(&self) -> bool {
        matches!(self, Self::Utf8(_) | Self::LargeUtf8(_) | Self::Utf8View(_))
    }

    fn of(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => Some(Self::Utf8(array.as_string())),
            DataType::LargeUtf8 => Some(Self::LargeUtf8(array.as_string())),
            DataType::Utf8View => Some(Self::Utf8View(array.as_string_view())),
            DataType::Binary => Some(Self::Binary(array.as_binary())),
            DataType::LargeBinary => Some(Self::LargeBinary(array.as_binary())),
            DataType::BinaryView => Some(Self::BinaryView(array.as_binary_view())),
            DataType::FixedSizeBinary(_) => Some(Self::Fixed(array.as_fixed_size_binary())),
            _ => None,
        }
    }
}

/// Decimals of any width.
#[derive(Clone, Copy)]
pub(super) enum Decimals<'a> {
    D32(&'a [i32]),
    D64(&'a [i64]),
    D128(&'a [i128]),
    D256(&'a [i256]),
}

/// Where the elements of each row are.
pub(super) enum Offsets<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
    Fixed(usize),
}

impl Offsets<'_> {
    fn range(&self, row: usize) -> Range<usize> {
        let index = |offset: i64| usize::try_from(offset).unwrap_or_default();
        match self {
            Self::Small(offsets) => index(offsets[row].into())..index(offsets[row + 1].into()),
            Self::Large(offsets) => index(offsets[row])..index(offsets[row + 1]),
            Self::Fixed(length) => row * length..(row + 1) * length,
        }
    }
}

fn slice<T: ArrowPrimitiveType>(array: &dyn Array) -> &[T::Native] {
    array.as_primitive::<T>().values()
}

fn ints(array: &dyn Array) -> Option<Ints<'_>> {
    Some(match array.data_type() {
        DataType::Int8 => Ints::I8(slice::<Int8Type>(array)),
        DataType::Int16 => Ints::I16(slice::<Int16Type>(array)),
        DataType::Int32 => Ints::I32(slice::<Int32Type>(array)),
        DataType::Int64 => Ints::I64(slice::<Int64Type>(array)),
        DataType::UInt8 => Ints::U8(slice::<UInt8Type>(array)),
        DataType::UInt16 => Ints::U16(slice::<UInt16Type>(array)),
        DataType::UInt32 => Ints::U32(slice::<UInt32Type>(array)),
        DataType::UInt64 => Ints::U64(slice::<UInt64Type>(array)),
        DataType::Duration(TimeUnit::Second) => Ints::I64(slice::<DurationSecondType>(array)),
        DataType::Duration(TimeUnit::Millisecond) => {
            Ints::I64(slice::<DurationMillisecondType>(array))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            Ints::I64(slice::<DurationMicrosecondType>(array))
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            Ints::I64(slice::<DurationNanosecondType>(array))
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            Ints::I32(slice::<IntervalYearMonthType>(array))
        }
        DataType::Timestamp(TimeUnit::Second, _) => Ints::I64(slice::<TimestampSecondType>(array)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Ints::I64(slice::<TimestampMillisecondType>(array))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ints::I64(slice::<TimestampMicrosecondType>(array))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Ints::I64(slice::<TimestampNanosecondType>(array))
        }
        DataType::Date32 => Ints::I32(slice::<Date32Type>(array)),
        DataType::Date64 => Ints::I64(slice::<Date64Type>(array)),
        DataType::Time32(TimeUnit::Second) => Ints::I32(slice::<Time32SecondType>(array)),
        DataType::Time32(TimeUnit::Millisecond) => Ints::I32(slice::<Time32MillisecondType>(array)),
        DataType::Time64(TimeUnit::Microsecond) => Ints::I64(slice::<Time64MicrosecondType>(array)),
        DataType::Time64(TimeUnit::Nanosecond) => Ints::I64(slice::<Time64NanosecondType>(array)),
        _ => return None,
    })
}

impl<'a> Cells<'a> {
    /// Binds an array to a type.
    pub(super) fn bind(
        column: &str,
        data_type: &'a ClickHouseType,
        array: &'a dyn Array,
        settings: &FormatSettings,
    ) -> Result<Self, FormatError> {
        let binder = Binder { column, output: settings.date_time_output_format };
        binder.bind(data_type, array)
    }

    /// Returns whether a row is null. Arrays and maps never are: ClickHouse has no type for that.
    pub(super) fn is_null(&self, row: usize) -> bool {
        match &self.kind {
            Kind::Nothing => true,
            Kind::List { .. } | Kind::Map { .. } => false,
            _ if self.is_unset(row) => true,
            Kind::Dictionary(keys, values) => values.is_null(index(keys, row)),
            _ => false,
        }
    }

    fn is_unset(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    /// Returns where the elements of an array or map are; a null one is empty.
    pub(super) fn range(&self, offsets: &Offsets<'_>, row: usize) -> Range<usize> {
        match self.is_unset(row) {
            true => 0..0,
            false => offsets.range(row),
        }
    }
}

/// Returns the place of a dictionary key.
pub(super) fn index(keys: &Ints<'_>, row: usize) -> usize {
    usize::try_from(keys.get(row)).unwrap_or_default()
}

struct Binder<'b> {
    column: &'b str,
    output: DateTimeOutput,
}

impl Binder<'_> {
    fn bind<'a>(
        &self,
        data_type: &'a ClickHouseType,
        array: &'a dyn Array,
    ) -> Result<Cells<'a>, FormatError> {
        let data_type = data_type.inner();
        let kind = match array.data_type() {
            DataType::Null => Kind::Nothing,
            DataType::Dictionary(..) => self.dictionary(data_type, array)?,
            _ => self.kind(data_type, array)?,
        };
        Ok(Cells { nulls: array.nulls(), kind })
    }

    fn mismatch(&self, data_type: &ClickHouseType, array: &dyn Array) -> FormatError {
        FormatError::TypeMismatch {
            column: self.column.to_string(),
            clickhouse: data_type.to_string(),
            arrow: array.data_type().to_string(),
        }
    }

    fn dictionary<'a>(
        &self,
        data_type: &'a ClickHouseType,
        array: &'a dyn Array,
    ) -> Result<Kind<'a>, FormatError> {
        let dictionary =
            array.as_any_dictionary_opt().ok_or_else(|| self.mismatch(data_type, array))?;
        let keys = ints(dictionary.keys()).ok_or_else(|| self.mismatch(data_type, array))?;
        let values = self.bind(data_type, dictionary.values().as_ref())?;
        Ok(Kind::Dictionary(keys, Box::new(values)))
    }

    fn kind<'a>(
        &self,
        data_type: &'a ClickHouseType,
        array: &'a dyn Array,
    ) -> Result<Kind<'a>, FormatError> {
        use ClickHouseType as T;
        let kind = match data_type {
            T::Nothing => Some(Kind::Nothing),
            T::Bool => bools(array).map(Kind::Bool),
            T::Int8
            | T::Int16
            | T::Int32
            | T::Int64
            | T::UInt8
            | T::UInt16
            | T::UInt32
            | T::UInt64
            | T::Interval(_) => ints(array).map(Kind::Int),
            T::Int128 | T::Int256 | T::UInt128 | T::UInt256 | T::Decimal { .. } => decimals(array),
            T::Float32 | T::Float64 => floats(array),
            T::String | T::FixedString(_) => Some(match Texts::of(array) {
                Some(texts) => Kind::Text(texts),
                None => shown(array)?,
            }),
            T::Date | T::Date32 => dates(array),
            T::DateTime(zone) => self.moments(array, 0, zone.as_deref())?,
            T::DateTime64(digits, zone) => self.moments(array, *digits, zone.as_deref())?,
            T::Time => times(array, 0),
            T::Time64(digits) => times(array, *digits),
            T::Uuid => uuids(array),
            T::IPv4 => match array.data_type() {
                DataType::UInt32 => Some(Kind::IPv4(slice::<UInt32Type>(array))),
                _ => None,
            },
            T::IPv6 => Texts::of(array).map(Kind::IPv6),
            T::Enum8(names) | T::Enum16(names) => match Texts::of(array) {
                Some(texts) => Some(Kind::Text(texts)),
                None => ints(array).map(|values| Kind::Enum(values, names)),
            },
            T::Array(inner) => self.list(inner, array)?,
            T::Map(key, value) => self.map(key, value, array)?,
            T::Tuple(elements) => self.tuple(elements, array)?,
            T::Nullable(_) | T::LowCardinality(_) => None,
        };
        kind.ok_or_else(|| self.mismatch(data_type, array))
    }

    fn moments<'a>(
        &self,
        array: &'a dyn Array,
        digits: u8,
        zone: Option<&str>,
    ) -> Result<Option<Kind<'a>>, FormatError> {
        let unit = match array.data_type() {
            DataType::Timestamp(unit, _) => *unit,
            DataType::UInt32 | DataType::Int32 => TimeUnit::Second,
            _ => return Ok(None),
        };
        let (unit, zone, output) = (Unit::of(unit, digits), Zone::of(zone)?, self.output);
        Ok(ints(array).map(|values| Kind::DateTime(Moments { values, unit, zone, output })))
    }

    fn list<'a>(
        &self,
        inner: &'a ClickHouseType,
        array: &'a dyn Array,
    ) -> Result<Option<Kind<'a>>, FormatError> {
        let (offsets, values) = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (Offsets::Small(list.value_offsets()), list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (Offsets::Large(list.value_offsets()), list.values())
            }
            DataType::FixedSizeList(_, length) => {
                let list = array.as_fixed_size_list();
                (Offsets::Fixed(usize::try_from(*length).unwrap_or_default()), list.values())
            }
            _ => return shown(array).map(Some),
        };
        Ok(Some(Kind::List { offsets, values: Box::new(self.bind(inner, values.as_ref())?) }))
    }

    fn map<'a>(
        &self,
        key: &'a ClickHouseType,
        value: &'a ClickHouseType,
        array: &'a dyn Array,
    ) -> Result<Option<Kind<'a>>, FormatError> {
        let Some(map) = array.as_map_opt() else { return Ok(None) };
        Ok(Some(Kind::Map {
            offsets: Offsets::Small(map.value_offsets()),
            keys: Box::new(self.bind(key, map.keys().as_ref())?),
            values: Box::new(self.bind(value, map.values().as_ref())?),
        }))
    }

    fn tuple<'a>(
        &self,
        elements: &'a [(String, ClickHouseType)],
        array: &'a dyn Array,
    ) -> Result<Option<Kind<'a>>, FormatError> {
        let Some(array) = array.as_any().downcast_ref::<StructArray>() else { return Ok(None) };
        if array.num_columns() != elements.len() {
            return Ok(None);
        }
        std::iter::zip(elements, array.columns())
            .map(|((name, inner), column)| Ok((name.as_str(), self.bind(inner, column.as_ref())?)))
            .collect::<Result<_, FormatError>>()
            .map(|elements| Some(Kind::Tuple(elements)))
    }
}

fn bools(array: &dyn Array) -> Option<Bools<'_>> {
    match array.data_type() {
        DataType::Boolean => Some(Bools::Bits(array.as_boolean().values())),
        DataType::UInt8 => Some(Bools::Bytes(slice::<UInt8Type>(array))),
        _ => None,
    }
}

fn floats(array: &dyn Array) -> Option<Kind<'_>> {
    Some(match array.data_type() {
        DataType::Float16 => Kind::Float16(slice::<Float16Type>(array)),
        DataType::Float32 => Kind::Float32(slice::<Float32Type>(array)),
        DataType::Float64 => Kind::Float64(slice::<Float64Type>(array)),
        _ => return None,
    })
}

fn decimals(array: &dyn Array) -> Option<Kind<'_>> {
    Some(match *array.data_type() {
        DataType::Decimal32(_, scale) => {
            Kind::Decimal(Decimals::D32(slice::<Decimal32Type>(array)), scale)
        }
        DataType::Decimal64(_, scale) => {
            Kind::Decimal(Decimals::D64(slice::<Decimal64Type>(array)), scale)
        }
        DataType::Decimal128(_, scale) => {
            Kind::Decimal(Decimals::D128(slice::<Decimal128Type>(array)), scale)
        }
        DataType::Decimal256(_, scale) => {
            Kind::Decimal(Decimals::D256(slice::<Decimal256Type>(array)), scale)
        }
        _ => return None,
    })
}

fn dates(array: &dyn Array) -> Option<Kind<'_>> {
    const MILLISECONDS_PER_DAY: i64 = 86_400_000;
    let units_per_day = match array.data_type() {
        DataType::Date32 | DataType::UInt16 | DataType::Int32 => 1,
        DataType::Date64 => MILLISECONDS_PER_DAY,
        _ => return None,
    };
    ints(array).map(|values| Kind::Date(values, units_per_day))
}

fn times(array: &dyn Array, digits: u8) -> Option<Kind<'_>> {
    match array.data_type() {
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let unit = Unit::of(*unit, digits);
            ints(array).map(|values| Kind::Time { values, unit })
        }
        _ => None,
    }
}

fn uuids(array: &dyn Array) -> Option<Kind<'_>> {
    match array.data_type() {
        DataType::FixedSizeBinary(16) => Some(Kind::Uuid(array.as_fixed_size_binary())),
        _ => Texts::of(array).map(Kind::Text),
    }
}

fn shown(array: &dyn Array) -> Result<Kind<'_>, FormatError> {
    const OPTIONS: &FormatOptions<'static> = &FormatOptions::new();
    ArrayFormatter::try_new(array, OPTIONS).map(Kind::Shown).map_err(FormatError::Arrow)
}
