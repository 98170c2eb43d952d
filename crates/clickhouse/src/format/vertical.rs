//! Vertical: each value on its own line after the name of its column.

use super::table::number_tip;
use super::value::{Tuples, plain};
use super::width::short_name;
use super::{BlockWriter, Cells, FormatError, FormatSettings, ResultColumn, ResultSummary, bind};
use arrow::array::RecordBatch;

/// Writes rows as blocks of lines.
pub(super) struct Vertical {
    columns: Vec<ResultColumn>,
    settings: FormatSettings,
    names: Vec<String>,
    tuples: Tuples,
    rows: usize,
}

impl Vertical {
    pub(super) fn new(columns: Vec<ResultColumn>, settings: FormatSettings) -> Self {
        let short: Vec<_> = columns.iter().map(|column| short_name(&column.name, 0)).collect();
        let widest = short.iter().map(|(_, width)| *width).max().unwrap_or_default();
        let names = short
            .iter()
            .map(|(name, width)| format!("{name}: {}", " ".repeat(widest - width)))
            .collect();
        Self { columns, settings, names, tuples: Tuples::Literal, rows: 0 }
    }

    /// Returns the writer that stands in for a table too wide to read.
    pub(super) fn instead_of_table(columns: Vec<ResultColumn>, settings: FormatSettings) -> Self {
        Self { tuples: Tuples::Json, ..Self::new(columns, settings) }
    }

    fn row(&mut self, cells: &[Cells<'_>], row: usize, out: &mut Vec<u8>) {
        self.rows += 1;
        if self.rows > self.settings.pretty_max_rows {
            return;
        }
        if self.rows > 1 {
            out.push(b'\n');
        }
        out.extend_from_slice(format!("Row {}:\n", self.rows).as_bytes());
        // The line grows a row early: ClickHouse takes the logarithm of the next number.
        let digits = (self.rows + 1).to_string().len();
        out.extend_from_slice("─".repeat("Row :".len() + digits).as_bytes());
        out.push(b'\n');
        for ((cells, name), column) in std::iter::zip(cells, &self.names).zip(&self.columns) {
            out.extend_from_slice(name.as_bytes());
            plain(cells, row, self.tuples, out);
            if column.data_type.is_number() {
                number_tip(cells, row, &self.settings, out);
            }
            out.push(b'\n');
        }
    }
}

impl BlockWriter for Vertical {
    fn start(&mut self, _out: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let columns = self.columns.clone();
        let cells = bind(&columns, batch, &self.settings)?;
        (0..batch.num_rows()).for_each(|row| self.row(&cells, row, out));
        Ok(())
    }

    fn finish(&mut self, _summary: &ResultSummary, out: &mut Vec<u8>) -> Result<(), FormatError> {
        if self.rows > self.settings.pretty_max_rows {
            let text = format!("Showed first {}.\n", self.settings.pretty_max_rows);
            out.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}
