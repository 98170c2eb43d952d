//! The settings that change what formats write, with ClickHouse's defaults.

use crate::exception::{ErrorCode, Exception};

/// How dates with times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateTimeOutput {
    /// `2026-01-02 03:04:05`, in the zone of the type.
    #[default]
    Simple,
    /// `2026-01-02T02:04:05Z`, in UTC.
    Iso,
    /// Seconds since 1970.
    UnixTimestamp,
}

/// Settings of formats; the fields are ClickHouse's settings without the prefix `output_format_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatSettings {
    /// Whether JSON documents end with elapsed time, rows and bytes read.
    pub write_statistics: bool,
    /// Whether (U)Int64 and wider are strings in JSON.
    pub json_quote_64bit_integers: bool,
    /// Whether Float64 are strings in JSON.
    pub json_quote_64bit_floats: bool,
    /// Whether nan and inf are strings in JSON instead of null.
    pub json_quote_denormals: bool,
    /// Whether decimals are strings in JSON.
    pub json_quote_decimals: bool,
    /// Whether `/` is `\/` in JSON.
    pub json_escape_forward_slashes: bool,
    /// Whether tuples with names are objects in JSON.
    pub json_named_tuples_as_objects: bool,
    /// What separates fields in CSV.
    pub csv_delimiter: u8,
    /// Whether CSV lines end with CR LF.
    pub csv_crlf_end_of_line: bool,
    /// Whether TabSeparated lines end with CR LF.
    pub tsv_crlf_end_of_line: bool,
    /// How NULL is written in CSV.
    pub csv_null_representation: String,
    /// How NULL is written in TabSeparated and TSKV.
    pub tsv_null_representation: String,
    /// How true is written in CSV and TabSeparated.
    pub bool_true_representation: String,
    /// How false is written in CSV and TabSeparated.
    pub bool_false_representation: String,
    /// How dates with times are written.
    pub date_time_output_format: DateTimeOutput,
    /// Rows that the Pretty formats and Vertical show.
    pub pretty_max_rows: usize,
    /// Width at which a value is cut in the Pretty formats.
    pub pretty_max_value_width: usize,
    /// Width up to which a column is padded in the Pretty formats.
    pub pretty_max_column_pad_width: usize,
    /// Whether the Pretty formats number the rows.
    pub pretty_row_numbers: bool,
    /// Whether a wide table of few rows is written as Vertical.
    pub pretty_fallback_to_vertical: bool,
    /// Number above which a tip (`-- 1.23 million`) is written.
    pub pretty_single_large_number_tip_threshold: u64,
}

impl Default for FormatSettings {
    fn default() -> Self {
        Self {
            write_statistics: true,
            json_quote_64bit_integers: false,
            json_quote_64bit_floats: false,
            json_quote_denormals: false,
            json_quote_decimals: false,
            json_escape_forward_slashes: true,
            json_named_tuples_as_objects: true,
            csv_delimiter: b',',
            csv_crlf_end_of_line: false,
            tsv_crlf_end_of_line: false,
            csv_null_representation: "\\N".to_string(),
            tsv_null_representation: "\\N".to_string(),
            bool_true_representation: "true".to_string(),
            bool_false_representation: "false".to_string(),
            date_time_output_format: DateTimeOutput::Simple,
            pretty_max_rows: 1_000,
            pretty_max_value_width: 10_000,
            pretty_max_column_pad_width: 250,
            pretty_row_numbers: true,
            pretty_fallback_to_vertical: true,
            pretty_single_large_number_tip_threshold: 1_000_000,
        }
    }
}

impl FormatSettings {
    /// Sets what ClickHouse calls `name`; returns whether the name is one of a format's settings.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, Exception> {
        let flag = || flag(name, value);
        match name {
            "output_format_write_statistics" => self.write_statistics = flag()?,
            "output_format_json_quote_64bit_integers" => self.json_quote_64bit_integers = flag()?,
            "output_format_json_quote_64bit_floats" => self.json_quote_64bit_floats = flag()?,
            "output_format_json_quote_denormals" => self.json_quote_denormals = flag()?,
            "output_format_json_quote_decimals" => self.json_quote_decimals = flag()?,
            "output_format_json_escape_forward_slashes" => {
                self.json_escape_forward_slashes = flag()?;
            }
            "output_format_json_named_tuples_as_objects" => {
                self.json_named_tuples_as_objects = flag()?;
            }
            "format_csv_delimiter" => self.csv_delimiter = delimiter(name, value)?,
            "output_format_csv_crlf_end_of_line" => self.csv_crlf_end_of_line = flag()?,
            "output_format_tsv_crlf_end_of_line" => self.tsv_crlf_end_of_line = flag()?,
            "format_csv_null_representation" => self.csv_null_representation = value.to_string(),
            "format_tsv_null_representation" => self.tsv_null_representation = value.to_string(),
            "bool_true_representation" => self.bool_true_representation = value.to_string(),
            "bool_false_representation" => self.bool_false_representation = value.to_string(),
            "date_time_output_format" => self.date_time_output_format = date_time(name, value)?,
            "output_format_pretty_max_rows" => self.pretty_max_rows = number(name, value)?,
            "output_format_pretty_max_value_width" => {
                self.pretty_max_value_width = number(name, value)?;
            }
            "output_format_pretty_max_column_pad_width" => {
                self.pretty_max_column_pad_width = number(name, value)?;
            }
            "output_format_pretty_row_numbers" => self.pretty_row_numbers = flag()?,
            "output_format_pretty_fallback_to_vertical" => {
                self.pretty_fallback_to_vertical = flag()?;
            }
            "output_format_pretty_single_large_number_tip_threshold" => {
                self.pretty_single_large_number_tip_threshold = number(name, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn bad(name: &str, value: &str) -> Exception {
    Exception::new(ErrorCode::BadArguments, format!("Bad value {value:?} of setting {name}"))
}

fn flag(name: &str, value: &str) -> Result<bool, Exception> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(bad(name, value)),
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, Exception> {
    value.parse().ok().ok_or_else(|| bad(name, value))
}

fn delimiter(name: &str, value: &str) -> Result<u8, Exception> {
    match value.as_bytes() {
        [b'"' | b'\n' | b'\r'] => Err(bad(name, value)),
        &[byte] if byte.is_ascii() => Ok(byte),
        _ => Err(bad(name, value)),
    }
}

fn date_time(name: &str, value: &str) -> Result<DateTimeOutput, Exception> {
    match value {
        "simple" => Ok(DateTimeOutput::Simple),
        "iso" => Ok(DateTimeOutput::Iso),
        "unix_timestamp" => Ok(DateTimeOutput::UnixTimestamp),
        _ => Err(bad(name, value)),
    }
}
