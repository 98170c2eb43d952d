//! The JSON formats: documents with `meta` and `data`, and lines of one object or array a row.

use super::delimited::Header;
use super::json_value::{Layout, json};
use super::number::{float64, integer};
use super::value::{self, Tuples};
use super::{
    BlockWriter, Cells, FormatError, FormatSettings, ResultColumn, ResultSummary, bind, escape,
};
use arrow::array::RecordBatch;

/// How a row looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `{"a":1}`.
    Object,
    /// An object over several lines.
    PrettyObject,
    /// `[1]`.
    Array,
}

/// Levels at which the values of a row stand in a document.
const DOCUMENT_LEVEL: usize = 3;
const ROW_INDENT: &[u8] = b"\t\t";
const FIELD_INDENT: &[u8] = b"\t\t\t";
const PRETTY_INDENT: &str = "    ";

/// Returns the names as JSON strings.
fn json_names(columns: &[ResultColumn], settings: &FormatSettings) -> Vec<Vec<u8>> {
    columns
        .iter()
        .map(|column| {
            let mut name = Vec::new();
            escape::json(column.name.as_bytes(), settings.json_escape_forward_slashes, &mut name);
            name
        })
        .collect()
}

/// Writes values as JSON, or as strings of their text.
struct ValueWriter {
    is_strings: bool,
    valid_utf8: bool,
    scratch: Vec<u8>,
    valid: Vec<u8>,
}

impl ValueWriter {
    const fn new(is_strings: bool, valid_utf8: bool) -> Self {
        Self { is_strings, valid_utf8, scratch: Vec::new(), valid: Vec::new() }
    }

    fn write(
        &mut self,
        cells: &Cells<'_>,
        row: usize,
        (level, indent): (usize, Option<&'static str>),
        settings: &FormatSettings,
        out: &mut Vec<u8>,
    ) {
        if !self.is_strings {
            let layout = Layout { settings, indent, valid_utf8: self.valid_utf8 };
            return json(cells, row, level, layout, out);
        }
        self.scratch.clear();
        value::plain(cells, row, Tuples::Literal, &mut self.scratch);
        let text = match self.valid_utf8 {
            false => &self.scratch,
            true => {
                self.valid.clear();
                escape::valid_utf8(&self.scratch, &mut self.valid);
                &self.valid
            }
        };
        escape::json(text, settings.json_escape_forward_slashes, out);
    }
}

/// Writes one document: `meta`, `data`, `rows`, and what is known at the end.
pub(super) struct Document {
    shape: Shape,
    columns: Vec<ResultColumn>,
    settings: FormatSettings,
    names: Vec<Vec<u8>>,
    values: ValueWriter,
    rows: u64,
}

impl Document {
    pub(super) fn new(
        shape: Shape,
        is_strings: bool,
        columns: Vec<ResultColumn>,
        settings: FormatSettings,
    ) -> Self {
        let names = json_names(&columns, &settings);
        Self {
            shape,
            columns,
            settings,
            names,
            values: ValueWriter::new(is_strings, true),
            rows: 0,
        }
    }

    fn meta(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n\t\"meta\":\n\t[\n");
        for (at, (column, name)) in std::iter::zip(&self.columns, &self.names).enumerate() {
            if at > 0 {
                out.extend_from_slice(b",\n");
            }
            out.extend_from_slice(b"\t\t{\n\t\t\t\"name\": ");
            out.extend_from_slice(name);
            out.extend_from_slice(b",\n\t\t\t\"type\": ");
            let type_text = column.type_text.as_bytes();
            escape::json(type_text, self.settings.json_escape_forward_slashes, out);
            out.extend_from_slice(b"\n\t\t}");
        }
        out.extend_from_slice(b"\n\t],\n\n\t\"data\":\n\t[\n");
    }

    fn object(&mut self, cells: &[Cells<'_>], row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(ROW_INDENT);
        out.extend_from_slice(b"{\n");
        for (at, cells) in cells.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b",\n");
            }
            out.extend_from_slice(FIELD_INDENT);
            out.extend_from_slice(&self.names[at]);
            out.extend_from_slice(b": ");
            self.values.write(cells, row, (DOCUMENT_LEVEL, Some("\t")), &self.settings, out);
        }
        out.push(b'\n');
        out.extend_from_slice(ROW_INDENT);
        out.push(b'}');
    }

    fn array(&mut self, cells: &[Cells<'_>], row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(ROW_INDENT);
        out.push(b'[');
        for (at, cells) in cells.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            self.values.write(cells, row, (DOCUMENT_LEVEL, None), &self.settings, out);
        }
        out.push(b']');
    }
}

impl BlockWriter for Document {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.meta(out);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        // The columns are lent to the cells while the rows are written.
        let columns = std::mem::take(&mut self.columns);
        let outcome = bind(&columns, batch, &self.settings).map(|cells| {
            for row in 0..batch.num_rows() {
                if self.rows > 0 {
                    out.extend_from_slice(b",\n");
                }
                match self.shape {
                    Shape::Array => self.array(&cells, row, out),
                    Shape::Object | Shape::PrettyObject => self.object(&cells, row, out),
                }
                self.rows += 1;
            }
        });
        self.columns = columns;
        outcome
    }

    fn finish(&mut self, summary: &ResultSummary, out: &mut Vec<u8>) -> Result<(), FormatError> {
        out.extend_from_slice(b"\n\t],\n\n\t\"rows\": ");
        integer(self.rows, out);
        if let Some(rows) = summary.rows_before_limit {
            out.extend_from_slice(b",\n\n\t\"rows_before_limit_at_least\": ");
            integer(rows, out);
        }
        if self.settings.write_statistics {
            out.extend_from_slice(b",\n\n\t\"statistics\":\n\t{\n\t\t\"elapsed\": ");
            float64(summary.elapsed.as_secs_f64(), out);
            out.extend_from_slice(b",\n\t\t\"rows_read\": ");
            integer(summary.rows_read, out);
            out.extend_from_slice(b",\n\t\t\"bytes_read\": ");
            integer(summary.bytes_read, out);
            out.extend_from_slice(b"\n\t}");
        }
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }
}

/// Writes each row as a line (or some lines) of its own.
pub(super) struct EachRow {
    shape: Shape,
    header: Header,
    columns: Vec<ResultColumn>,
    settings: FormatSettings,
    names: Vec<Vec<u8>>,
    values: ValueWriter,
}

impl EachRow {
    pub(super) fn new(
        shape: Shape,
        header: Header,
        is_strings: bool,
        columns: Vec<ResultColumn>,
        settings: FormatSettings,
    ) -> Self {
        let names = json_names(&columns, &settings);
        let values = ValueWriter::new(is_strings, false);
        Self { shape, header, columns, settings, names, values }
    }

    fn header_line(&self, texts: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
        out.push(b'[');
        for (at, text) in texts.enumerate() {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(&text);
        }
        out.extend_from_slice(b"]\n");
    }

    fn row(&mut self, cells: &[Cells<'_>], row: usize, out: &mut Vec<u8>) {
        let (open, separator, close): (&[u8], &[u8], &[u8]) = match self.shape {
            Shape::Object => (b"{", b",", b"}\n"),
            Shape::PrettyObject => (b"{\n", b",\n", b"\n}\n"),
            Shape::Array => (b"[", b", ", b"]\n"),
        };
        out.extend_from_slice(open);
        for (at, cells) in cells.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(separator);
            }
            let mut place = (0, None);
            match self.shape {
                Shape::Array => {}
                Shape::Object => {
                    out.extend_from_slice(&self.names[at]);
                    out.push(b':');
                }
                Shape::PrettyObject => {
                    out.extend_from_slice(PRETTY_INDENT.as_bytes());
                    out.extend_from_slice(&self.names[at]);
                    out.extend_from_slice(b": ");
                    place = (1, Some(PRETTY_INDENT));
                }
            }
            self.values.write(cells, row, place, &self.settings, out);
        }
        out.extend_from_slice(close);
    }
}

impl BlockWriter for EachRow {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.header != Header::None {
            self.header_line(self.names.iter().cloned(), out);
        }
        if self.header == Header::NamesAndTypes {
            let types = self.columns.iter().map(|column| {
                let mut text = Vec::new();
                let escape_slashes = self.settings.json_escape_forward_slashes;
                escape::json(column.type_text.as_bytes(), escape_slashes, &mut text);
                text
            });
            self.header_line(types, out);
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        // The columns are lent to the cells while the rows are written.
        let columns = std::mem::take(&mut self.columns);
        let outcome = bind(&columns, batch, &self.settings).map(|cells| {
            (0..batch.num_rows()).for_each(|row| self.row(&cells, row, out));
        });
        self.columns = columns;
        outcome
    }

    fn finish(&mut self, _summary: &ResultSummary, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}
