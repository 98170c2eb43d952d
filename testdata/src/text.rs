//! The one text form in which answers are compared, whoever gave them.
//!
//! | type | text |
//! |---|---|
//! | null of any type | `NULL` |
//! | text of any layout (plain, large, view, dictionary) | itself; `(empty)` if empty; tab, newline, carriage return, zero and backslash as `\t \n \r \0 \\` |
//! | integers | decimal digits |
//! | floats | 12 significant digits for double, 6 for single precision, then the shortest form that keeps them: `0.5`, `3.0`, `1e30`, `NaN`, `inf`, `-inf`; minus zero is `0.0` |
//! | decimals | all digits of their scale: `12.3400` |
//! | booleans | `true`, `false` |
//! | dates, times | `2013-01-31`, `05:00:00` |
//! | timestamps | `2013-01-31T05:00:00.25`: in UTC, without a zone, the fraction without trailing zeros, so neither the unit nor the way a zone is written shows |
//! | bytes | lower-case hexadecimal digits; `(empty)` if none |
//! | lists, structs, maps | `[a, b]`, `{name: a, other: b}`, `{key: value}`, each member as above |
//! | intervals, durations, the rest | as Arrow displays them |
//!
//! Invariant: equal values of the same logical type have equal texts. Rounding floats absorbs the
//! order in which parts of a sum were added. Left out: column names and types.

use std::fmt::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow::error::ArrowError;
use arrow::temporal_conversions::as_datetime;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// What a null is written as.
pub const NULL: &str = "NULL";

/// What an empty text is written as, since an empty line ends a script's answer.
pub const EMPTY: &str = "(empty)";

/// Digits that sums in any order agree in, for double and for single precision.
const DOUBLE_DIGITS: usize = 12;
const SINGLE_DIGITS: usize = 6;

/// Values of at least this size are written with an exponent.
const PLAIN_MAX: f64 = 1e16;

/// Values below this size are written with an exponent.
const PLAIN_MIN: f64 = 1e-6;

/// A value that has no text: a bug of the engine or a type that it does not know.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// Arrow cannot read or convert a value of this type.
    #[error("write a value of type {data_type} as text")]
    Value {
        /// The type of the value.
        data_type: DataType,
        /// What Arrow said.
        #[source]
        source: ArrowError,
    },
    /// A timestamp lies outside the calendar.
    #[error("write timestamp {value} of type {data_type} as text")]
    OutsideCalendar {
        /// The type of the value.
        data_type: DataType,
        /// The value in the type's unit.
        value: i64,
    },
}

/// Returns the texts of all rows, in order.
///
/// # Errors
///
/// A value has no text.
pub fn rows(batches: &[RecordBatch]) -> Result<Vec<Vec<String>>, TextError> {
    let mut rows = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for batch in batches {
        let columns: Vec<ArrayRef> = batch.columns().iter().map(plain).collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let texts = columns.iter().map(|column| value(column, row));
            rows.push(texts.collect::<Result<Vec<String>, TextError>>()?);
        }
    }
    Ok(rows)
}

/// Returns the column with its values in place of indirections to them.
fn plain(column: &ArrayRef) -> Result<ArrayRef, TextError> {
    let target = match column.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        _ => return Ok(ArrayRef::clone(column)),
    };
    cast(column, target).map_err(|source| refused(column, source))
}

/// Returns the text of one value.
fn value(column: &dyn Array, row: usize) -> Result<String, TextError> {
    if column.is_null(row) {
        return Ok(NULL.to_owned());
    }
    match column.data_type() {
        DataType::Null => Ok(NULL.to_owned()),
        DataType::Utf8 => Ok(escaped(column.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => Ok(escaped(column.as_string::<i64>().value(row))),
        DataType::Utf8View => Ok(escaped(column.as_string_view().value(row))),
        DataType::Binary => Ok(hex(column.as_binary::<i32>().value(row))),
        DataType::LargeBinary => Ok(hex(column.as_binary::<i64>().value(row))),
        DataType::BinaryView => Ok(hex(column.as_binary_view().value(row))),
        DataType::FixedSizeBinary(_) => Ok(hex(column.as_fixed_size_binary().value(row))),
        DataType::Float64 => {
            Ok(float(column.as_primitive::<Float64Type>().value(row), DOUBLE_DIGITS))
        }
        DataType::Float32 => {
            Ok(float(column.as_primitive::<Float32Type>().value(row).into(), SINGLE_DIGITS))
        }
        DataType::Float16 => {
            Ok(float(column.as_primitive::<Float16Type>().value(row).into(), SINGLE_DIGITS))
        }
        DataType::Timestamp(unit, _) => timestamp(column, row, *unit),
        DataType::List(_) => list(&column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(_, _) => list(&column.as_fixed_size_list().value(row)),
        DataType::Struct(_) => record(column, row),
        DataType::Map(_, _) => map(column, row),
        DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _) => {
            value(&plain(&column.slice(row, 1))?, 0)
        }
        _ => displayed(column, row),
    }
}

/// Returns the text that Arrow displays.
fn displayed(column: &dyn Array, row: usize) -> Result<String, TextError> {
    let options = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(column, &options);
    let text = formatter.and_then(|formatter| formatter.value(row).try_to_string());
    text.map_err(|source| refused(column, source))
}

fn refused(column: &dyn Array, source: ArrowError) -> TextError {
    TextError::Value { data_type: column.data_type().clone(), source }
}

/// Returns a text with the characters escaped that would tear a line or a column apart.
fn escaped(text: &str) -> String {
    if text.is_empty() {
        return EMPTY.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => safe.push_str("\\t"),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\0' => safe.push_str("\\0"),
            '\\' => safe.push_str("\\\\"),
            other => safe.push(other),
        }
    }
    safe
}

/// Returns bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return EMPTY.to_owned();
    }
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
        text
    })
}

/// Returns a float of this many significant digits in the shortest form.
fn float(number: f64, digits: usize) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    let rounded = format!("{number:.*e}", digits - 1);
    let rounded: f64 = rounded.parse().expect("a number was formatted a line above");
    let size = rounded.abs();
    if size == 0.0 {
        "0.0".to_owned()
    } else if (PLAIN_MIN..PLAIN_MAX).contains(&size) {
        let text = rounded.to_string();
        if text.contains('.') { text } else { text + ".0" }
    } else {
        format!("{rounded:e}")
    }
}

/// Returns a timestamp of any unit as a calendar time in UTC.
fn timestamp(column: &dyn Array, row: usize, unit: TimeUnit) -> Result<String, TextError> {
    let (value, time) = match unit {
        TimeUnit::Second => {
            let value = column.as_primitive::<TimestampSecondType>().value(row);
            (value, as_datetime::<TimestampSecondType>(value))
        }
        TimeUnit::Millisecond => {
            let value = column.as_primitive::<TimestampMillisecondType>().value(row);
            (value, as_datetime::<TimestampMillisecondType>(value))
        }
        TimeUnit::Microsecond => {
            let value = column.as_primitive::<TimestampMicrosecondType>().value(row);
            (value, as_datetime::<TimestampMicrosecondType>(value))
        }
        TimeUnit::Nanosecond => {
            let value = column.as_primitive::<TimestampNanosecondType>().value(row);
            (value, as_datetime::<TimestampNanosecondType>(value))
        }
    };
    let data_type = || column.data_type().clone();
    let time = time.ok_or_else(|| TextError::OutsideCalendar { data_type: data_type(), value })?;
    let text = time.format("%Y-%m-%dT%H:%M:%S%.9f").to_string();
    Ok(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

fn list(members: &ArrayRef) -> Result<String, TextError> {
    let texts = (0..members.len()).map(|member| value(members, member));
    Ok(format!("[{}]", texts.collect::<Result<Vec<String>, TextError>>()?.join(", ")))
}

fn record(column: &dyn Array, row: usize) -> Result<String, TextError> {
    let record = column.as_struct();
    let members = record.column_names().into_iter().zip(record.columns());
    let texts = members.map(|(name, column)| Ok(format!("{name}: {}", value(column, row)?)));
    Ok(format!("{{{}}}", texts.collect::<Result<Vec<String>, TextError>>()?.join(", ")))
}

fn map(column: &dyn Array, row: usize) -> Result<String, TextError> {
    let entries = column.as_map().value(row);
    let (keys, values) = (entries.column(0), entries.column(1));
    let texts = (0..entries.len())
        .map(|entry| Ok(format!("{}: {}", value(keys, entry)?, value(values, entry)?)));
    Ok(format!("{{{}}}", texts.collect::<Result<Vec<String>, TextError>>()?.join(", ")))
}

#[cfg(test)]
mod tests;
