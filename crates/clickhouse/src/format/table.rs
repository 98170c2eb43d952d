//! Rows kept as text, for the formats that must know every width before they write the first line.
//!
//! Memory is bounded: of a result with more rows than are shown, only batches that hold rows of its first or
//! last half are kept.

use super::cells::{Decimals, Ints, Kind};
use super::number::float64;
use super::value::{Tuples, plain};
use super::{Cells, FormatError, FormatSettings, ResultColumn, bind};
use arrow::array::RecordBatch;
use std::collections::VecDeque;

/// Between these, a number is most likely a hash, and nobody wants to hear how large it is.
const HASH_RANGE: (f64, f64) = (1e17, 1.844_675e19);
/// From here on a number has too many digits to print without an exponent.
const FIXED_MAX: f64 = 1e60;
const UNITS: [&str; 22] = [
    "",
    " thousand",
    " million",
    " billion",
    " trillion",
    " quadrillion",
    " quintillion",
    " sextillion",
    " septillion",
    " octillion",
    " nonillion",
    " decillion",
    " undecillion",
    " duodecillion",
    " tredecillion",
    " quattuordecillion",
    " quindecillion",
    " sexdecillion",
    " septendecillion",
    " octodecillion",
    " novemdecillion",
    " vigintillion",
];

/// The batches of which rows are shown.
#[derive(Default)]
pub(super) struct Kept {
    first: Vec<RecordBatch>,
    last: VecDeque<RecordBatch>,
    pub(super) rows: usize,
}

impl Kept {
    /// Adds a batch and lets go of those from which no row can be shown any more.
    pub(super) fn push(&mut self, batch: &RecordBatch, max_rows: usize) {
        let kept: usize = self.first.iter().map(RecordBatch::num_rows).sum();
        self.rows += batch.num_rows();
        match kept < max_rows {
            true => self.first.push(batch.clone()),
            false => {
                self.last.push_back(batch.clone());
                let mut tail: usize = self.last.iter().map(RecordBatch::num_rows).sum();
                while let Some(oldest) = self.last.front().map(RecordBatch::num_rows) {
                    if tail - oldest < max_rows {
                        break;
                    }
                    tail -= oldest;
                    self.last.pop_front();
                }
            }
        }
    }

    /// Returns the batches that were kept, in order.
    pub(super) fn batches(&self) -> impl Iterator<Item = &RecordBatch> {
        self.first.iter().chain(&self.last)
    }

    /// Renders the rows that are shown.
    pub(super) fn render(
        &self,
        columns: &[ResultColumn],
        settings: &FormatSettings,
    ) -> Result<Rows, FormatError> {
        let mut rows = Rows::new(columns.len());
        let is_shown = |row| !is_cut(row, self.rows, settings.pretty_max_rows);
        let mut row = 0;
        for batch in &self.first {
            rows.add(columns, batch, settings, row, is_shown)?;
            row += batch.num_rows();
        }
        row = self.rows - self.last.iter().map(RecordBatch::num_rows).sum::<usize>();
        for batch in &self.last {
            rows.add(columns, batch, settings, row, is_shown)?;
            row += batch.num_rows();
        }
        Ok(rows)
    }
}

/// Returns whether a row falls into the part that is left out.
const fn is_cut(row: usize, rows: usize, max_rows: usize) -> bool {
    rows > max_rows && row >= max_rows.div_ceil(2) && row < rows - max_rows / 2
}

/// Rows as text, one cell after the other, with the tip of each row.
pub(super) struct Rows {
    columns: usize,
    text: Vec<u8>,
    /// Where each cell ends in `text`.
    ends: Vec<usize>,
    /// The place of each row in the result.
    pub(super) numbers: Vec<usize>,
    tips: Vec<Vec<u8>>,
}

impl Rows {
    const fn new(columns: usize) -> Self {
        Self { columns, text: Vec::new(), ends: Vec::new(), numbers: Vec::new(), tips: Vec::new() }
    }

    fn add(
        &mut self,
        columns: &[ResultColumn],
        batch: &RecordBatch,
        settings: &FormatSettings,
        first_row: usize,
        is_shown: impl Fn(usize) -> bool,
    ) -> Result<(), FormatError> {
        let cells = bind(columns, batch, settings)?;
        let has_tip = columns.last().is_some_and(|column| column.data_type.is_number());
        for row in (0..batch.num_rows()).filter(|row| is_shown(first_row + row)) {
            for cells in &cells {
                plain(cells, row, Tuples::Json, &mut self.text);
                self.ends.push(self.text.len());
            }
            self.numbers.push(first_row + row);
            let mut tip = Vec::new();
            if let (true, Some(cells)) = (has_tip, cells.last()) {
                number_tip(cells, row, settings, &mut tip);
            }
            self.tips.push(tip);
        }
        Ok(())
    }

    pub(super) const fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the text of a cell.
    pub(super) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.columns + column;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    /// Returns what is said about the last number of a row.
    pub(super) fn tip(&self, row: usize) -> &[u8] {
        &self.tips[row]
    }
}

/// Appends ` -- 1.23 million` for a large number.
pub(super) fn number_tip(
    cells: &Cells<'_>,
    row: usize,
    settings: &FormatSettings,
    out: &mut Vec<u8>,
) {
    let threshold = settings.pretty_single_large_number_tip_threshold;
    if threshold == 0 || cells.is_null(row) {
        return;
    }
    let Some(value) = approximate(cells, row).filter(|value| value.is_finite()) else { return };
    #[expect(clippy::cast_precision_loss, reason = "a threshold is round")]
    let is_large = value.abs() > threshold as f64;
    if is_large && !(value.abs() > HASH_RANGE.0 && value.abs() < HASH_RANGE.1) {
        out.extend_from_slice(b" -- ");
        readable(value, out);
    }
}

#[expect(clippy::cast_precision_loss, reason = "two digits of it are shown")]
fn approximate(cells: &Cells<'_>, row: usize) -> Option<f64> {
    Some(match &cells.kind {
        Kind::Int(Ints::U64(values)) => values[row] as f64,
        Kind::Int(values) => values.get(row) as f64,
        Kind::Float16(values) => values[row].to_f64(),
        Kind::Float32(values) => values[row].into(),
        Kind::Float64(values) => values[row],
        Kind::Decimal(values, scale) => {
            let unscaled = match values {
                Decimals::D32(values) => f64::from(values[row]),
                Decimals::D64(values) => values[row] as f64,
                Decimals::D128(values) => values[row] as f64,
                Decimals::D256(values) => values[row].to_string().parse().ok()?,
            };
            unscaled / 10_f64.powi(i32::from(*scale))
        }
        Kind::Dictionary(keys, values) => {
            return approximate(values, super::cells::index(keys, row));
        }
        _ => return None,
    })
}

/// Appends a number in words, with two digits after the point.
fn readable(mut value: f64, out: &mut Vec<u8>) {
    let mut unit = 0;
    while unit + 1 < UNITS.len() && value.abs() >= 1_000.0 {
        value /= 1_000.0;
        unit += 1;
    }
    match value.abs() < FIXED_MAX {
        // A tie is rounded away from zero, not to the even digit.
        true => out.extend_from_slice(format!("{:.2}", (value * (1.0 + f64::EPSILON))).as_bytes()),
        false => float64(value, out),
    }
    out.extend_from_slice(UNITS[unit].as_bytes());
}
