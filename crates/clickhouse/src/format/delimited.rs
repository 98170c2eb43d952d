//! Formats of one line a row: TabSeparated, CSV, TSKV, Markdown, and VALUES.

use super::value::{self, Tuples};
use super::{
    BlockWriter, Cells, FormatError, FormatSettings, ResultColumn, ResultSummary, bind, escape,
};
use crate::data_type::ClickHouseType;
use arrow::array::RecordBatch;

/// Which of the formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Tsv,
    Raw,
    Tskv,
    Csv,
    Values,
    Markdown,
}

/// What stands before the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    None,
    Names,
    NamesAndTypes,
}

/// Writes rows as lines of fields.
pub(super) struct Delimited {
    layout: Layout,
    header: Header,
    columns: Vec<ResultColumn>,
    settings: FormatSettings,
    /// `name=` of each column, for TSKV.
    prefixes: Vec<Vec<u8>>,
    scratch: Vec<u8>,
    is_first_row: bool,
}

impl Delimited {
    pub(super) fn new(
        layout: Layout,
        header: Header,
        columns: Vec<ResultColumn>,
        settings: FormatSettings,
    ) -> Self {
        let prefixes = columns.iter().map(|column| tskv_prefix(&column.name)).collect();
        Self {
            layout,
            header,
            columns,
            settings,
            prefixes,
            scratch: Vec::new(),
            is_first_row: true,
        }
    }

    fn line_end(&self, out: &mut Vec<u8>) {
        let is_crlf = match self.layout {
            Layout::Csv => self.settings.csv_crlf_end_of_line,
            Layout::Tsv | Layout::Raw => self.settings.tsv_crlf_end_of_line,
            Layout::Tskv | Layout::Values | Layout::Markdown => false,
        };
        out.extend_from_slice(if is_crlf { b"\r\n" } else { b"\n" });
    }

    fn separator(&self) -> &'static [u8] {
        match self.layout {
            Layout::Tsv | Layout::Raw | Layout::Tskv => b"\t",
            Layout::Csv | Layout::Values => b",",
            Layout::Markdown => b" | ",
        }
    }

    fn separate(&self, at: usize, out: &mut Vec<u8>) {
        if at > 0 {
            match self.layout {
                Layout::Csv => out.push(self.settings.csv_delimiter),
                _ => out.extend_from_slice(self.separator()),
            }
        }
    }

    fn header_line(&self, text: impl Fn(&ResultColumn) -> &str, out: &mut Vec<u8>) {
        for (at, column) in self.columns.iter().enumerate() {
            self.separate(at, out);
            match self.layout {
                Layout::Csv => escape::csv(text(column).as_bytes(), out),
                Layout::Raw => out.extend_from_slice(text(column).as_bytes()),
                _ => escape::backslash(text(column).as_bytes(), out),
            }
        }
        self.line_end(out);
    }

    /// CSV writes the elements of a tuple as columns of their own, so its header names them.
    fn csv_header(&self, is_types: bool, out: &mut Vec<u8>) {
        let mut fields = Vec::new();
        for column in &self.columns {
            csv_fields(&column.name, &column.type_text, &column.data_type, &mut fields);
        }
        for (at, (name, type_text)) in fields.iter().enumerate() {
            self.separate(at, out);
            escape::csv(if is_types { type_text } else { name }.as_bytes(), out);
        }
        self.line_end(out);
    }

    fn markdown_header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"| ");
        for (at, column) in self.columns.iter().enumerate() {
            self.separate(at, out);
            escape::backslash(column.name.as_bytes(), out);
        }
        out.extend_from_slice(b" |\n|");
        for column in &self.columns {
            let is_right = column.data_type.is_aligned_right();
            out.extend_from_slice(if is_right { b"-:|" } else { b":-|" });
        }
        out.push(b'\n');
    }

    fn row_start(&mut self, out: &mut Vec<u8>) {
        match self.layout {
            Layout::Values if self.is_first_row => out.push(b'('),
            Layout::Values => out.extend_from_slice(b",("),
            Layout::Markdown => out.extend_from_slice(b"| "),
            Layout::Tsv | Layout::Raw | Layout::Tskv | Layout::Csv => {}
        }
        self.is_first_row = false;
    }

    fn row_end(&self, out: &mut Vec<u8>) {
        match self.layout {
            Layout::Values => out.push(b')'),
            Layout::Markdown => out.extend_from_slice(b" |\n"),
            Layout::Tsv | Layout::Raw | Layout::Tskv | Layout::Csv => self.line_end(out),
        }
    }

    fn field(&mut self, at: usize, cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) {
        self.separate(at, out);
        match self.layout {
            Layout::Tsv | Layout::Markdown => value::tsv(cells, row, &self.settings, out),
            Layout::Raw => value::raw(cells, row, &self.settings, out),
            Layout::Tskv => {
                out.extend_from_slice(&self.prefixes[at]);
                value::tsv(cells, row, &self.settings, out);
            }
            Layout::Csv => value::csv(cells, row, &self.settings, &mut self.scratch, out),
            Layout::Values => value::quoted(cells, row, Tuples::Literal, out),
        }
    }
}

impl BlockWriter for Delimited {
    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        match (self.header, self.layout) {
            (Header::None, _) => {}
            (_, Layout::Markdown) => self.markdown_header(out),
            (Header::Names, Layout::Csv) => self.csv_header(false, out),
            (Header::NamesAndTypes, Layout::Csv) => {
                self.csv_header(false, out);
                self.csv_header(true, out);
            }
            (Header::Names, _) => self.header_line(|column| &column.name, out),
            (Header::NamesAndTypes, _) => {
                self.header_line(|column| &column.name, out);
                self.header_line(|column| &column.type_text, out);
            }
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        // The columns are lent to the cells while the rows are written.
        let columns = std::mem::take(&mut self.columns);
        let outcome = bind(&columns, batch, &self.settings).map(|cells| {
            for row in 0..batch.num_rows() {
                self.row_start(out);
                for (at, cells) in cells.iter().enumerate() {
                    self.field(at, cells, row, out);
                }
                self.row_end(out);
            }
        });
        self.columns = columns;
        outcome
    }

    fn finish(&mut self, _summary: &ResultSummary, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}

fn tskv_prefix(name: &str) -> Vec<u8> {
    let mut prefix = Vec::new();
    escape::tskv_name(name.as_bytes(), &mut prefix);
    prefix.push(b'=');
    prefix
}

/// Collects name and type of a column, or of the elements of a tuple.
fn csv_fields(
    name: &str,
    type_text: &str,
    data_type: &ClickHouseType,
    fields: &mut Vec<(String, String)>,
) {
    let ClickHouseType::Tuple(elements) = data_type.inner() else {
        return fields.push((name.to_string(), type_text.to_string()));
    };
    for (at, (element, inner)) in elements.iter().enumerate() {
        let name = match element.as_str() {
            "" => format!("{name}.{}", at + 1),
            element => format!("{name}.{element}"),
        };
        csv_fields(&name, &inner.to_string(), inner, fields);
    }
}

#[cfg(test)]
mod tests {
    use crate::format::{FormatSettings, FormatWriter, OutputFormat};
    use arrow::array::{
        Array, ArrayRef, DictionaryArray, IntervalMonthDayNanoArray, ListArray, RecordBatch,
        StringArray, StringViewArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, Int8Type, Int32Type, IntervalMonthDayNano};
    use expect_test::{Expect, expect};
    use std::sync::Arc;

    fn check(format: OutputFormat, arrays: &[ArrayRef], expected: Expect) {
        let columns = arrays.iter().enumerate();
        let columns = columns.map(|(at, array)| (format!("c{at}"), Arc::clone(array)));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer =
            FormatWriter::for_schema(format, &batch.schema(), FormatSettings::default());
        let mut out = Vec::new();
        writer.start(&mut out).unwrap();
        writer.write(&batch, &mut out).unwrap();
        expected.assert_eq(&String::from_utf8(out).unwrap());
    }

    #[test]
    fn layouts_of_arrow_make_no_difference() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a\tb"), None, Some("")]));
        let arrays = [
            Arc::new(StringViewArray::from(vec![Some("a\tb"), None, Some("")])) as ArrayRef,
            cast(&texts, &DataType::LargeUtf8).unwrap(),
            Arc::new(
                vec![Some("a\tb"), None, Some("")]
                    .into_iter()
                    .collect::<DictionaryArray<Int8Type>>(),
            ),
            texts.slice(0, 3),
        ];
        check(
            OutputFormat::TabSeparated,
            &arrays,
            expect![[r#"
            a\tb	a\tb	a\tb	a\tb
            \N	\N	\N	\N
            			
        "#]],
        );
    }

    #[test]
    fn an_array_that_is_null_is_empty() {
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), None]),
            None,
        ]));
        check(
            OutputFormat::TabSeparated,
            &[Arc::clone(&lists)],
            expect![[r#"
            [1,NULL]
            []
        "#]],
        );
        check(
            OutputFormat::JSONEachRow,
            &[lists],
            expect![[r#"
            {"c0":[1,null]}
            {"c0":[]}
        "#]],
        );
    }

    #[test]
    fn what_clickhouse_has_no_type_for_is_shown_as_text() {
        let interval = IntervalMonthDayNano::new(1, 2, 3_000_000_000);
        let arrays = [
            Arc::new(IntervalMonthDayNanoArray::from(vec![interval])) as ArrayRef,
            Arc::new(TimestampNanosecondArray::from(vec![-1]).with_timezone("+02:00")),
            Arc::new(UInt64Array::from(vec![u64::MAX])),
        ];
        check(
            OutputFormat::CSV,
            &arrays,
            expect![[r#"
            "1 mons 2 days 3.000000000 secs","1970-01-01 01:59:59.999999999",18446744073709551615
        "#]],
        );
    }
}
