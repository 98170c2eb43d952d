//! What a load has done.

use std::fmt;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};

/// The result of a load that ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSummary {
    /// `database.table`.
    pub table: String,
    /// Whether the load created the table.
    pub is_new_table: bool,
    /// The primary timestamp of the table, if it has one.
    pub primary: Option<String>,
    /// Columns that the load added to an existing table.
    pub added_columns: Vec<String>,
    /// Rows that are now in the table.
    pub rows: u64,
    /// Partitions that hold them.
    pub partitions: u64,
    /// Bytes of the inputs as they are stored, as far as they were read.
    pub bytes_in: u64,
    /// Bytes of all files of the partitions.
    pub bytes_out: u64,
    /// Rows that were skipped.
    pub rejected: u64,
    /// The catalog sequence from which on the rows are visible.
    pub sequence: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl LoadSummary {
    /// Returns rows per second.
    #[must_use]
    pub fn rows_per_second(&self) -> u64 {
        let per_second = u128::from(self.rows) * 1_000 / self.elapsed.as_millis().max(1);
        u64::try_from(per_second).unwrap_or(u64::MAX)
    }

    /// Returns how many bytes of input became one byte of output, in hundredths; none without input
    /// bytes.
    #[must_use]
    pub fn ratio_percent(&self) -> Option<u64> {
        let ratio = self.bytes_in.saturating_mul(100).checked_div(self.bytes_out)?;
        (self.bytes_in > 0).then_some(ratio)
    }
}

impl fmt::Display for LoadSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let created = if self.is_new_table { " (created)" } else { "" };
        writeln!(f, "table       {}{created}", self.table)?;
        if !self.added_columns.is_empty() {
            writeln!(f, "new columns {}", self.added_columns.join(", "))?;
        }
        match &self.primary {
            Some(primary) => writeln!(f, "primary     {primary}")?,
            None if self.is_new_table => {
                writeln!(f, "primary     none, so no time range prunes it (see --timestamp)")?;
            }
            None => {}
        }
        writeln!(f, "rows        {}", HumanCount(self.rows))?;
        writeln!(f, "partitions  {}", HumanCount(self.partitions))?;
        if self.bytes_in > 0 {
            writeln!(f, "bytes in    {}", HumanBytes(self.bytes_in))?;
        }
        write!(f, "bytes out   {}", HumanBytes(self.bytes_out))?;
        match self.ratio_percent() {
            Some(ratio) => writeln!(f, " (ratio {}.{:02})", ratio / 100, ratio % 100)?,
            None => writeln!(f)?,
        }
        let seconds = self.elapsed.as_secs();
        let (tenths, rate) = (self.elapsed.subsec_millis() / 100, self.rows_per_second());
        writeln!(f, "seconds     {seconds}.{tenths} ({} rows/s)", HumanCount(rate))?;
        write!(f, "rejected    {}", HumanCount(self.rejected))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_summary_is_a_small_table() {
        let summary = LoadSummary {
            table: "db.events".into(),
            is_new_table: true,
            primary: Some("ts".into()),
            added_columns: vec![],
            rows: 1_234_567,
            partitions: 5,
            bytes_in: 3_000_000,
            bytes_out: 1_000_000,
            rejected: 2,
            sequence: 1,
            elapsed: Duration::from_millis(2_500),
        };
        expect![[r#"
            table       db.events (created)
            primary     ts
            rows        1,234,567
            partitions  5
            bytes in    2.86 MiB
            bytes out   976.56 KiB (ratio 3.00)
            seconds     2.5 (493,826 rows/s)
            rejected    2"#]]
        .assert_eq(&summary.to_string());
    }
}
