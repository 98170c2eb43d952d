//! Pretty, PrettyCompact and PrettySpace: tables for people.
//!
//! The whole result is one table, as ClickHouse's `…MonoBlock` formats write it (and the others when the rows come
//! within its squash time); it is written at the end, and of more rows than are shown only the first and the last
//! half are kept. There are no colours: the answer never goes to a terminal of ours.

use super::table::{Kept, Rows};
use super::vertical::Vertical;
use super::width::{bytes_within, short_name, width};
use super::{BlockWriter, FormatError, FormatSettings, ResultColumn, ResultSummary};
use arrow::array::RecordBatch;

/// From this many rows on, the names stand below the table too.
const FOOTER_ROWS_MIN: usize = 50;
/// A table of at most so many rows …
const VERTICAL_ROWS_MAX: usize = 10;
/// … at least so many columns …
const VERTICAL_COLUMNS_MIN: usize = 5;
/// … and this width, or with line breaks, is written as Vertical.
const VERTICAL_WIDTH_MIN: usize = 250;
/// Bytes of a character at most; longer values are measured only so far.
const CHARACTER_BYTES_MAX: usize = 4;

/// How the table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Lines round every cell.
    Full,
    /// Lines round the table and between columns.
    Compact,
    /// No lines.
    Space,
}

/// Left end, line, crossing and right end of a horizontal line.
type Border = [&'static str; 4];
const TOP: Border = ["┏", "━", "┳", "┓"];
const BELOW_NAMES: Border = ["┡", "━", "╇", "┩"];
const BETWEEN: Border = ["├", "─", "┼", "┤"];
const BOTTOM: Border = ["└", "─", "┴", "┘"];
const ABOVE_FOOTER: Border = ["┢", "━", "╈", "┪"];
const BELOW_FOOTER: Border = ["┗", "━", "┻", "┛"];
const COMPACT_TOP: Border = ["┌", "─", "┬", "┐"];

/// Keeps the rows and draws the table at the end.
pub(super) struct Pretty {
    style: Style,
    columns: Vec<ResultColumn>,
    settings: FormatSettings,
    kept: Kept,
}

impl Pretty {
    pub(super) fn new(style: Style, columns: Vec<ResultColumn>, settings: FormatSettings) -> Self {
        Self { style, columns, settings, kept: Kept::default() }
    }
}

impl BlockWriter for Pretty {
    fn start(&mut self, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.kept.push(batch, self.settings.pretty_max_rows);
        Ok(())
    }

    fn finish(&mut self, summary: &ResultSummary, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.kept.rows == 0 {
            return Ok(());
        }
        let rows = self.kept.render(&self.columns, &self.settings)?;
        let table = Table::new(self, &rows);
        if table.is_too_wide() {
            let mut vertical =
                Vertical::instead_of_table(self.columns.clone(), self.settings.clone());
            for batch in self.kept.batches() {
                vertical.write(batch, out)?;
            }
            return vertical.finish(summary, out);
        }
        table.draw(out);
        if self.kept.rows >= self.settings.pretty_max_rows {
            let blank = if self.style == Style::Space { "\n" } else { "" };
            let text = format!("{blank}Showed {} out of {} rows.\n", rows.len(), self.kept.rows);
            out.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}

/// A table whose widths are known.
struct Table<'a> {
    style: Style,
    settings: &'a FormatSettings,
    rows: &'a Rows,
    total_rows: usize,
    names: Vec<(String, usize)>,
    widths: Vec<usize>,
    is_right: Vec<bool>,
    /// Width of the row numbers, `12. `.
    margin: usize,
    has_line_breaks: bool,
    /// Width at which values are cut; a single value is shown whole.
    value_width_max: usize,
}

impl<'a> Table<'a> {
    fn new(pretty: &'a Pretty, rows: &'a Rows) -> Self {
        let total_rows = pretty.kept.rows;
        let is_single = total_rows == 1 && pretty.columns.len() == 1;
        let settings = &pretty.settings;
        let mut table = Self {
            style: pretty.style,
            settings,
            rows,
            total_rows,
            names: Vec::new(),
            widths: Vec::new(),
            is_right: pretty
                .columns
                .iter()
                .map(|column| column.data_type.is_aligned_right())
                .collect(),
            margin: total_rows.to_string().len() + ". ".len(),
            has_line_breaks: false,
            value_width_max: if is_single { usize::MAX } else { settings.pretty_max_value_width },
        };
        let mut prefix = table.prefix();
        for (at, column) in pretty.columns.iter().enumerate() {
            let values = table.values_width(at, prefix);
            let (name, name_width) = short_name(&column.name, values);
            let name_width = name_width.min(settings.pretty_max_column_pad_width);
            table.names.push((name, name_width));
            table.widths.push(values.max(name_width));
            prefix += values.max(name_width) + 3;
        }
        table
    }

    /// Columns before the first value.
    fn prefix(&self) -> usize {
        self.margin + if self.style == Style::Space { 1 } else { 2 }
    }

    /// Returns the width of the widest value of a column, as far as columns are padded.
    fn values_width(&mut self, column: usize, prefix: usize) -> usize {
        let bytes_max = self.settings.pretty_max_value_width.saturating_mul(CHARACTER_BYTES_MAX);
        let width_max =
            self.settings.pretty_max_column_pad_width.min(self.settings.pretty_max_value_width);
        let mut widest = 0;
        for row in 0..self.rows.len() {
            let value = self.rows.cell(row, column);
            let value = value.get(..bytes_max).unwrap_or(value);
            self.has_line_breaks |= value.contains(&b'\n');
            for line in value.split(|&byte| byte == b'\n') {
                widest = widest.max(width(line, prefix));
            }
        }
        widest.min(width_max)
    }

    fn is_too_wide(&self) -> bool {
        self.settings.pretty_fallback_to_vertical
            && self.total_rows <= VERTICAL_ROWS_MAX
            && self.widths.len() >= VERTICAL_COLUMNS_MIN
            && (self.has_line_breaks || self.widths.iter().sum::<usize>() >= VERTICAL_WIDTH_MIN)
    }

    fn draw(&self, out: &mut Vec<u8>) {
        match self.style {
            Style::Full => {
                self.border(TOP, out);
                self.names_line(["┃ ", " ┃ ", " ┃"], " ", out);
                self.border(BELOW_NAMES, out);
            }
            Style::Compact => self.compact_names(COMPACT_TOP, out),
            Style::Space => {
                self.names_line([" ", "   ", ""], " ", out);
                out.push(b'\n');
            }
        }
        self.draw_rows(out);
        let has_footer = self.total_rows >= FOOTER_ROWS_MIN;
        match (self.style, has_footer) {
            (Style::Full, true) => {
                self.border(ABOVE_FOOTER, out);
                self.names_line(["┃ ", " ┃ ", " ┃"], " ", out);
                self.border(BELOW_FOOTER, out);
            }
            (Style::Compact, true) => self.compact_names(BOTTOM, out),
            (Style::Space, true) => {
                out.push(b'\n');
                self.names_line([" ", "   ", ""], " ", out);
                out.push(b'\n');
            }
            (Style::Full | Style::Compact, false) => self.border(BOTTOM, out),
            (Style::Space, false) => {}
        }
    }

    fn blank_margin(&self, out: &mut Vec<u8>) {
        if self.settings.pretty_row_numbers {
            spaces(self.margin, out);
        }
    }

    fn border(&self, [left, line, crossing, right]: Border, out: &mut Vec<u8>) {
        self.blank_margin(out);
        for (at, width) in self.widths.iter().enumerate() {
            out.extend_from_slice(if at == 0 { left } else { crossing }.as_bytes());
            repeat(line, width + 2, out);
        }
        out.extend_from_slice(right.as_bytes());
        out.push(b'\n');
    }

    fn compact_names(&self, [left, line, crossing, right]: Border, out: &mut Vec<u8>) {
        let (left, crossing, right) =
            (format!("{left}{line}"), format!("{line}{crossing}{line}"), format!("{line}{right}"));
        self.names_line([&left, &crossing, &right], line, out);
    }

    fn names_line(&self, [left, between, right]: [&str; 3], filler: &str, out: &mut Vec<u8>) {
        self.blank_margin(out);
        for (at, (name, name_width)) in self.names.iter().enumerate() {
            out.extend_from_slice(if at == 0 { left } else { between }.as_bytes());
            let padding = self.widths[at] - name_width;
            if self.is_right[at] {
                repeat(filler, padding, out);
            }
            out.extend_from_slice(name.as_bytes());
            if !self.is_right[at] {
                repeat(filler, padding, out);
            }
        }
        out.extend_from_slice(right.as_bytes());
        out.push(b'\n');
    }

    fn draw_rows(&self, out: &mut Vec<u8>) {
        let mut last = None;
        for (row, &number) in self.rows.numbers.iter().enumerate() {
            if last.is_some_and(|last| number > last + 1) {
                self.separator(out);
                self.gap(out);
            }
            if last.is_some() {
                self.separator(out);
            }
            last = Some(number);
            self.row(row, number, out);
        }
    }

    fn separator(&self, out: &mut Vec<u8>) {
        if self.style == Style::Full {
            self.border(BETWEEN, out);
        }
    }

    /// A line `─ ─ ─` where rows are left out.
    fn gap(&self, out: &mut Vec<u8>) {
        self.blank_margin(out);
        let width: usize = self.widths.iter().map(|width| width + 3).sum();
        let width = if self.style == Style::Space { width - 2 } else { width + 1 };
        for at in 0..width {
            out.extend_from_slice(if at % 2 == 0 { "─" } else { " " }.as_bytes());
        }
        out.push(b'\n');
    }

    /// Draws a row, over as many lines as its longest value has.
    fn row(&self, row: usize, number: usize, out: &mut Vec<u8>) {
        let mut rests: Vec<_> =
            (0..self.widths.len()).map(|column| self.rows.cell(row, column)).collect();
        let mut is_first = true;
        loop {
            match is_first {
                true => self.row_number(number, out),
                false => self.blank_margin(out),
            }
            for (column, rest) in rests.iter_mut().enumerate() {
                match (self.style, column) {
                    (Style::Space, 0) => {}
                    (Style::Space, _) => out.push(b' '),
                    (Style::Full | Style::Compact, _) => out.extend_from_slice("│".as_bytes()),
                }
                let is_continuation = !is_first && !rest.is_empty();
                let (line, has_more) = next_line(rest);
                self.value(column, line, is_continuation, has_more, out);
            }
            if self.style != Style::Space {
                out.extend_from_slice("│".as_bytes());
            }
            out.extend_from_slice(self.rows.tip(row));
            out.push(b'\n');
            is_first = false;
            if rests.iter().all(|rest| rest.is_empty()) {
                return;
            }
        }
    }

    fn row_number(&self, number: usize, out: &mut Vec<u8>) {
        if self.settings.pretty_row_numbers {
            let text = format!("{}. ", number + 1);
            spaces(self.margin - text.len(), out);
            out.extend_from_slice(text.as_bytes());
        }
    }

    /// Writes one line of a value, padded; marks say that it continues a line or is continued.
    fn value(
        &self,
        column: usize,
        line: &[u8],
        is_continuation: bool,
        has_more: bool,
        out: &mut Vec<u8>,
    ) {
        let full = width(line, self.prefix());
        let is_wide = full > self.value_width_max;
        let (shown, shown_width) = match is_wide {
            true => {
                let bytes = bytes_within(line, self.prefix(), self.value_width_max);
                (line.get(..bytes).unwrap_or(line), self.value_width_max)
            }
            false => (line, full),
        };
        let padding = self.widths[column].saturating_sub(shown_width);
        out.extend_from_slice(if is_continuation { "↳" } else { " " }.as_bytes());
        if self.is_right[column] {
            spaces(padding, out);
        }
        out.extend_from_slice(shown);
        if is_wide {
            out.extend_from_slice("⋯".as_bytes());
        }
        if !self.is_right[column] {
            spaces(padding, out);
        }
        match (has_more, is_wide) {
            (true, _) => out.extend_from_slice("↴".as_bytes()),
            (false, true) => {}
            (false, false) => out.push(b' '),
        }
    }
}

/// Takes the first line off a text; returns it and whether a line break followed.
fn next_line<'t>(rest: &mut &'t [u8]) -> (&'t [u8], bool) {
    let mut parts = rest.splitn(2, |&byte| byte == b'\n');
    let line = parts.next().unwrap_or_default();
    let next = parts.next();
    *rest = next.unwrap_or_default();
    (line, next.is_some())
}

fn spaces(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + count, b' ');
}

fn repeat(text: &str, count: usize, out: &mut Vec<u8>) {
    (0..count).for_each(|_| out.extend_from_slice(text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{FormatWriter, OutputFormat};
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use expect_test::{Expect, expect};
    use std::sync::Arc;

    fn check(
        format: OutputFormat,
        settings: FormatSettings,
        columns: Vec<(&str, ArrayRef)>,
        expected: Expect,
    ) {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = FormatWriter::for_schema(format, &batch.schema(), settings);
        let mut out = Vec::new();
        writer.start(&mut out).unwrap();
        for row in 0..batch.num_rows() {
            writer.write(&batch.slice(row, 1), &mut out).unwrap();
        }
        writer.finish(&ResultSummary::default(), &mut out).unwrap();
        expected.assert_eq(&String::from_utf8(out).unwrap());
    }

    fn numbers(count: i64) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(0..count))
    }

    fn text(value: &str) -> ArrayRef {
        Arc::new(StringArray::from(vec![value]))
    }

    #[test]
    fn rows_in_the_middle_are_left_out() {
        for (format, expected) in [
            (
                OutputFormat::PrettyCompact,
                expect![[r#"
                    ┌──n─┐
                 1. │  0 │
                 2. │  1 │
                 3. │  2 │
                    ─ ─ ─ 
                11. │ 10 │
                12. │ 11 │
                    └────┘
                Showed 5 out of 12 rows.
            "#]],
            ),
            (
                OutputFormat::Pretty,
                expect![[r#"
                    ┏━━━━┓
                    ┃  n ┃
                    ┡━━━━┩
                 1. │  0 │
                    ├────┤
                 2. │  1 │
                    ├────┤
                 3. │  2 │
                    ├────┤
                    ─ ─ ─ 
                    ├────┤
                11. │ 10 │
                    ├────┤
                12. │ 11 │
                    └────┘
                Showed 5 out of 12 rows.
            "#]],
            ),
        ] {
            let settings = FormatSettings { pretty_max_rows: 5, ..FormatSettings::default() };
            check(format, settings, vec![("n", numbers(12))], expected);
        }
    }

    #[test]
    fn long_tables_repeat_their_names() {
        let settings = FormatSettings { pretty_row_numbers: false, ..FormatSettings::default() };
        let batch = RecordBatch::try_from_iter([("n", numbers(50))]).unwrap();
        let ends = [
            (OutputFormat::Pretty, "│ 49 │\n┢━━━━┪\n┃  n ┃\n┗━━━━┛\n"),
            (OutputFormat::PrettyCompact, "│ 49 │\n└──n─┘\n"),
            (OutputFormat::PrettySpace, " 49 \n\n  n\n\n"),
        ];
        for (format, end) in ends {
            let mut writer = FormatWriter::for_schema(format, &batch.schema(), settings.clone());
            let mut out = Vec::new();
            writer.write(&batch, &mut out).unwrap();
            writer.finish(&ResultSummary::default(), &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            assert!(out.ends_with(end), "{out}");
        }
    }

    #[test]
    fn wide_tables_become_vertical() {
        let columns = vec![
            ("a", text("x\ny")),
            ("b", text("2")),
            ("c", text("3")),
            ("d", text("4")),
            ("n", Arc::new(Int64Array::from(vec![2_500_000])) as ArrayRef),
        ];
        check(
            OutputFormat::Pretty,
            FormatSettings::default(),
            columns,
            expect![[r#"
            Row 1:
            ──────
            a: x
            y
            b: 2
            c: 3
            d: 4
            n: 2500000 -- 2.50 million
        "#]],
        );
    }

    #[test]
    fn long_values_are_cut() {
        let settings = FormatSettings { pretty_max_value_width: 4, ..FormatSettings::default() };
        let columns = vec![("a", text("abcdefgh")), ("b", text("line\n"))];
        check(
            OutputFormat::PrettyCompact,
            settings,
            columns,
            expect![[r#"
               ┌─a────┬─b────┐
            1. │ abcd⋯│ line↴│
               └──────┴──────┘
        "#]],
        );
    }
}
