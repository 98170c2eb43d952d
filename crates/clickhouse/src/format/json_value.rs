//! Values as JSON, on one line or indented.
//!
//! nan and inf are null unless asked for as strings, keys of maps are strings, tuples with names are objects. Indented, an
//! array of scalars stays on one line and everything else that nests gets a line for each part.

use super::cells::{Cells, Kind, index};
use super::value::{Tuples, bare, enum_name, is_quoted};
use super::{FormatSettings, escape};

/// How values are laid out.
#[derive(Clone, Copy)]
pub(super) struct Layout<'s> {
    pub(super) settings: &'s FormatSettings,
    /// What one level of indentation is; none for one line.
    pub(super) indent: Option<&'static str>,
    /// Whether bytes that are not UTF-8 are replaced.
    pub(super) valid_utf8: bool,
}

impl Layout<'_> {
    fn string(self, text: &[u8], is_utf8: bool, out: &mut Vec<u8>) {
        let escape_slashes = self.settings.json_escape_forward_slashes;
        match self.valid_utf8 && !is_utf8 {
            false => escape::json(text, escape_slashes, out),
            true => {
                let mut valid = Vec::with_capacity(text.len());
                escape::valid_utf8(text, &mut valid);
                escape::json(&valid, escape_slashes, out);
            }
        }
    }

    fn new_line(self, level: usize, out: &mut Vec<u8>) {
        if let Some(indent) = self.indent {
            out.push(b'\n');
            (0..level).for_each(|_| out.extend_from_slice(indent.as_bytes()));
        }
    }

    fn colon(self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.indent.is_some() { b": " } else { b":" });
    }
}

/// Appends a value that stands `level` levels deep.
pub(super) fn json(
    cells: &Cells<'_>,
    row: usize,
    level: usize,
    layout: Layout<'_>,
    out: &mut Vec<u8>,
) {
    if cells.is_null(row) {
        return out.extend_from_slice(b"null");
    }
    match &cells.kind {
        Kind::Text(texts) => layout.string(texts.get(row), texts.is_utf8(), out),
        Kind::Enum(values, names) => layout.string(enum_name(values, names, row), true, out),
        Kind::Dictionary(keys, values) => json(values, index(keys, row), level, layout, out),
        Kind::Int(values) => {
            quote_if(
                layout.settings.json_quote_64bit_integers && values.is_wide(),
                cells,
                row,
                out,
            );
        }
        Kind::Decimal(..) => quote_if(layout.settings.json_quote_decimals, cells, row, out),
        Kind::Float16(values) => float(values[row].is_finite(), false, cells, row, layout, out),
        Kind::Float32(values) => float(values[row].is_finite(), false, cells, row, layout, out),
        Kind::Float64(values) => {
            let is_quoted = layout.settings.json_quote_64bit_floats;
            float(values[row].is_finite(), is_quoted, cells, row, layout, out);
        }
        Kind::List { offsets, values } => {
            let is_one_line = !is_compound(values);
            list(
                *b"[]",
                cells.range(offsets, row),
                is_one_line,
                level,
                layout,
                out,
                |at, level, out| {
                    json(values, at, level, layout, out);
                },
            );
        }
        Kind::Map { offsets, keys, values } => {
            list(*b"{}", cells.range(offsets, row), false, level, layout, out, |at, level, out| {
                key(keys, at, layout, out);
                layout.colon(out);
                json(values, at, level, layout, out);
            });
        }
        Kind::Tuple(elements) => tuple(elements, row, level, layout, out),
        Kind::Shown(_) => {
            let mut text = Vec::new();
            bare(cells, row, Tuples::Literal, &mut text);
            layout.string(&text, true, out);
        }
        kind => quote_if(is_quoted(kind), cells, row, out),
    }
}

/// Appends a named tuple as the Pretty formats show it: JSON over several lines, indented by two.
pub(super) fn table_tuple(cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) {
    let settings = FormatSettings::default();
    let layout = Layout { settings: &settings, indent: Some("  "), valid_utf8: false };
    json(cells, row, 0, layout, out);
}

/// Appends a value that has no character to escape.
fn quote_if(is_quoted: bool, cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) {
    if is_quoted {
        out.push(b'"');
    }
    bare(cells, row, Tuples::Literal, out);
    if is_quoted {
        out.push(b'"');
    }
}

fn float(
    is_finite: bool,
    is_quoted: bool,
    cells: &Cells<'_>,
    row: usize,
    layout: Layout<'_>,
    out: &mut Vec<u8>,
) {
    match (is_finite, layout.settings.json_quote_denormals) {
        (true, _) => quote_if(is_quoted, cells, row, out),
        (false, true) => quote_if(true, cells, row, out),
        (false, false) => out.extend_from_slice(b"null"),
    }
}

fn key(keys: &Cells<'_>, row: usize, layout: Layout<'_>, out: &mut Vec<u8>) {
    match &keys.kind {
        Kind::Text(texts) => layout.string(texts.get(row), texts.is_utf8(), out),
        Kind::Dictionary(positions, values) => key(values, index(positions, row), layout, out),
        _ => {
            let mut text = Vec::new();
            bare(keys, row, Tuples::Literal, &mut text);
            layout.string(&text, true, out);
        }
    }
}

fn tuple(
    elements: &[(&str, Cells<'_>)],
    row: usize,
    level: usize,
    layout: Layout<'_>,
    out: &mut Vec<u8>,
) {
    let has_names = elements.iter().any(|(name, _)| !name.is_empty());
    let is_object = has_names && layout.settings.json_named_tuples_as_objects;
    let brackets = if is_object { *b"{}" } else { *b"[]" };
    list(brackets, 0..elements.len(), false, level, layout, out, |at, level, out| {
        let (name, element) = &elements[at];
        if is_object {
            layout.string(name.as_bytes(), true, out);
            layout.colon(out);
        }
        json(element, row, level, layout, out);
    });
}

/// Returns whether the values of an array nest themselves.
fn is_compound(values: &Cells<'_>) -> bool {
    match &values.kind {
        Kind::List { .. } | Kind::Map { .. } | Kind::Tuple(_) => true,
        Kind::Dictionary(_, values) => is_compound(values),
        _ => false,
    }
}

/// Appends the items of a range in brackets, each on its own line unless `is_one_line`.
fn list(
    brackets: [u8; 2],
    range: std::ops::Range<usize>,
    is_one_line: bool,
    level: usize,
    layout: Layout<'_>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(usize, usize, &mut Vec<u8>),
) {
    let is_broken = !is_one_line && !range.is_empty();
    out.push(brackets[0]);
    for at in range.clone() {
        if at > range.start {
            out.push(b',');
        }
        if is_broken {
            layout.new_line(level + 1, out);
        }
        item(at, level + 1, out);
    }
    if is_broken {
        layout.new_line(level, out);
    }
    out.push(brackets[1]);
}
