//! Values as text: plain, quoted, and as fields of TabSeparated, CSV and raw.
//!
//! Inside arrays, maps and tuples every value is quoted as a literal, whatever the format; only the outermost value differs
//! between formats. All writers append to the buffer and take nothing from it.

use super::cells::{Cells, Decimals, Ints, Kind, index};
use super::number::{decimal128, decimal256, float32, float64, integer};
use super::{FormatSettings, escape, json_value, time};
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// NULL where people read: in Pretty, Vertical and the JSON formats of strings.
pub(super) const PRETTY_NULL: &str = "ᴺᵁᴸᴸ";

/// Whether named tuples inside a value are shown as JSON, as the Pretty formats do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tuples {
    /// `(1,'a')`.
    Literal,
    /// `{"id": 1, "name": "a"}` over several lines.
    Json,
}

/// Appends a value without quotes, as people read it.
pub(super) fn plain(cells: &Cells<'_>, row: usize, tuples: Tuples, out: &mut Vec<u8>) {
    match cells.is_null(row) {
        true => out.extend_from_slice(PRETTY_NULL.as_bytes()),
        false => bare(cells, row, tuples, out),
    }
}

/// Appends a value as a literal: the values of VALUES and everything nested.
pub(super) fn quoted(cells: &Cells<'_>, row: usize, tuples: Tuples, out: &mut Vec<u8>) {
    if cells.is_null(row) {
        return out.extend_from_slice(b"NULL");
    }
    match &cells.kind {
        Kind::Text(texts) => escape::quoted(texts.get(row), out),
        Kind::Enum(values, names) => escape::quoted(enum_name(values, names, row), out),
        Kind::Dictionary(keys, values) => quoted(values, index(keys, row), tuples, out),
        kind if is_quoted(kind) => {
            out.push(b'\'');
            bare(cells, row, tuples, out);
            out.push(b'\'');
        }
        _ => bare(cells, row, tuples, out),
    }
}

/// Appends a field of TabSeparated.
pub(super) fn tsv(cells: &Cells<'_>, row: usize, settings: &FormatSettings, out: &mut Vec<u8>) {
    if cells.is_null(row) {
        return out.extend_from_slice(settings.tsv_null_representation.as_bytes());
    }
    match &cells.kind {
        Kind::Text(texts) => escape::backslash(texts.get(row), out),
        Kind::Enum(values, names) => escape::backslash(enum_name(values, names, row), out),
        Kind::Bool(values) => out.extend_from_slice(bool_text(values.get(row), settings)),
        Kind::Dictionary(keys, values) => tsv(values, index(keys, row), settings, out),
        Kind::Shown(_) => {
            let mut text = Vec::new();
            bare(cells, row, Tuples::Literal, &mut text);
            escape::backslash(&text, out);
        }
        _ => bare(cells, row, Tuples::Literal, out),
    }
}

/// Appends a field of TabSeparatedRaw: nothing is escaped.
pub(super) fn raw(cells: &Cells<'_>, row: usize, settings: &FormatSettings, out: &mut Vec<u8>) {
    if cells.is_null(row) {
        return out.extend_from_slice(settings.tsv_null_representation.as_bytes());
    }
    match &cells.kind {
        Kind::Bool(values) => out.extend_from_slice(bool_text(values.get(row), settings)),
        _ => bare(cells, row, Tuples::Literal, out),
    }
}

/// Appends a field of CSV, or several for a tuple; `scratch` is for what must be quoted after it is written.
pub(super) fn csv(
    cells: &Cells<'_>,
    row: usize,
    settings: &FormatSettings,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    if cells.is_null(row) {
        return out.extend_from_slice(settings.csv_null_representation.as_bytes());
    }
    match &cells.kind {
        Kind::Text(texts) => escape::csv(texts.get(row), out),
        Kind::Enum(values, names) => escape::csv(enum_name(values, names, row), out),
        Kind::Bool(values) => out.extend_from_slice(bool_text(values.get(row), settings)),
        Kind::Dictionary(keys, values) => csv(values, index(keys, row), settings, scratch, out),
        Kind::Tuple(elements) => {
            for (at, (_, element)) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(settings.csv_delimiter);
                }
                csv(element, row, settings, scratch, out);
            }
        }
        Kind::List { .. } | Kind::Map { .. } | Kind::Shown(_) => {
            scratch.clear();
            bare(cells, row, Tuples::Literal, scratch);
            escape::csv(scratch, out);
        }
        kind if is_quoted(kind) => {
            out.push(b'"');
            bare(cells, row, Tuples::Literal, out);
            out.push(b'"');
        }
        _ => bare(cells, row, Tuples::Literal, out),
    }
}

fn bool_text(value: bool, settings: &FormatSettings) -> &[u8] {
    match value {
        true => settings.bool_true_representation.as_bytes(),
        false => settings.bool_false_representation.as_bytes(),
    }
}

/// Returns whether literals of the kind stand in quotes.
pub(super) const fn is_quoted(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Text(_)
        | Kind::Uuid(_)
        | Kind::IPv4(_)
        | Kind::IPv6(_)
        | Kind::Date(..)
        | Kind::DateTime(_)
        | Kind::Time { .. }
        | Kind::Enum(..)
        | Kind::Shown(_) => true,
        Kind::Nothing
        | Kind::Int(_)
        | Kind::Float16(_)
        | Kind::Float32(_)
        | Kind::Float64(_)
        | Kind::Bool(_)
        | Kind::Decimal(..)
        | Kind::List { .. }
        | Kind::Map { .. }
        | Kind::Tuple(_)
        | Kind::Dictionary(..) => false,
    }
}

/// Returns the name of an enum's value.
pub(super) fn enum_name<'a>(values: &Ints<'_>, names: &'a [(String, i16)], row: usize) -> &'a [u8] {
    let value = values.get(row);
    let name = names.iter().find(|(_, number)| i64::from(*number) == value);
    name.map_or(b"", |(name, _)| name.as_bytes())
}

/// Appends a value that is not null, without quotes round it.
pub(super) fn bare(cells: &Cells<'_>, row: usize, tuples: Tuples, out: &mut Vec<u8>) {
    match &cells.kind {
        Kind::Nothing => {}
        Kind::Int(values) => int(values, row, out),
        Kind::Float16(values) => float32(values[row].to_f32(), out),
        Kind::Float32(values) => float32(values[row], out),
        Kind::Float64(values) => float64(values[row], out),
        Kind::Bool(values) => {
            out.extend_from_slice(if values.get(row) { b"true" } else { b"false" });
        }
        Kind::Text(texts) => out.extend_from_slice(texts.get(row)),
        Kind::Uuid(array) => uuid(array.value(row), out),
        Kind::IPv4(values) => display(Ipv4Addr::from(values[row]), out),
        Kind::IPv6(texts) => match <[u8; 16]>::try_from(texts.get(row)) {
            Ok(bytes) => display(Ipv6Addr::from(bytes), out),
            Err(_) => out.extend_from_slice(texts.get(row)),
        },
        Kind::Date(values, units_per_day) => {
            time::date(values.get(row).div_euclid(*units_per_day), out);
        }
        Kind::DateTime(moments) => {
            let (seconds, fraction) = moments.unit.split(moments.values.get(row));
            time::date_time(
                seconds,
                fraction,
                moments.unit.digits(),
                &moments.zone,
                moments.output,
                out,
            );
        }
        Kind::Time { values, unit } => {
            let (seconds, fraction) = unit.split(values.get(row));
            time::time_of_day(seconds, fraction, unit.digits(), out);
        }
        Kind::Decimal(values, scale) => decimal(values, *scale, row, out),
        Kind::Enum(values, names) => out.extend_from_slice(enum_name(values, names, row)),
        Kind::Dictionary(keys, values) => bare(values, index(keys, row), tuples, out),
        Kind::List { offsets, values } => {
            list(*b"[]", cells.range(offsets, row), out, |at, out| quoted(values, at, tuples, out));
        }
        Kind::Map { offsets, keys, values } => {
            list(*b"{}", cells.range(offsets, row), out, |at, out| {
                quoted(keys, at, tuples, out);
                out.push(b':');
                quoted(values, at, tuples, out);
            });
        }
        Kind::Tuple(elements) => tuple(cells, elements, row, tuples, out),
        Kind::Shown(formatter) => display(formatter.value(row), out),
    }
}

fn tuple(
    cells: &Cells<'_>,
    elements: &[(&str, Cells<'_>)],
    row: usize,
    tuples: Tuples,
    out: &mut Vec<u8>,
) {
    let has_names = elements.iter().any(|(name, _)| !name.is_empty());
    if tuples == Tuples::Json && has_names {
        return json_value::table_tuple(cells, row, out);
    }
    list(*b"()", 0..elements.len(), out, |at, out| quoted(&elements[at].1, row, tuples, out));
}

/// Appends `[a,b]` with these brackets.
fn list(
    brackets: [u8; 2],
    range: std::ops::Range<usize>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(usize, &mut Vec<u8>),
) {
    out.push(brackets[0]);
    for at in range.clone() {
        if at > range.start {
            out.push(b',');
        }
        item(at, out);
    }
    out.push(brackets[1]);
}

fn int(values: &Ints<'_>, row: usize, out: &mut Vec<u8>) {
    match values {
        Ints::I8(values) => integer(values[row], out),
        Ints::I16(values) => integer(values[row], out),
        Ints::I32(values) => integer(values[row], out),
        Ints::I64(values) => integer(values[row], out),
        Ints::U8(values) => integer(values[row], out),
        Ints::U16(values) => integer(values[row], out),
        Ints::U32(values) => integer(values[row], out),
        Ints::U64(values) => integer(values[row], out),
    }
}

fn decimal(values: &Decimals<'_>, scale: i8, row: usize, out: &mut Vec<u8>) {
    match values {
        Decimals::D32(values) => decimal128(values[row].into(), scale, out),
        Decimals::D64(values) => decimal128(values[row].into(), scale, out),
        Decimals::D128(values) => decimal128(values[row], scale, out),
        Decimals::D256(values) => decimal256(values[row], scale, out),
    }
}

fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend([byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]));
    }
}

/// Appends what Rust prints; a value that cannot be printed says so in its place.
fn display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    if write!(out, "{value}").is_err() {
        out.extend_from_slice(b"?");
    }
}
