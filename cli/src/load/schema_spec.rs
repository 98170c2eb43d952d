//! Column lists as people write them: `ts timestamp, host utf8, bytes int64`.
//!
//! Used by `load --schema` and `table create --columns`, from the command line or from a file.

use arrow::datatypes::{DataType, TimeUnit};

/// Most columns of one list: far more than anybody types, less than a wrong file holds.
const COLUMNS_MAX: usize = 10_000;

/// The names of types that a list may use, for messages.
pub const TYPE_NAMES: &str = "bool, int8..int64, uint8..uint64, float32, float64, utf8, binary, date, \
     timestamp, timestamp(s|ms|us|ns), decimal(precision, scale)";

/// Reads a list of `name type`, separated by commas or line ends. Names with spaces or commas stand
/// in double quotes or backticks; text after `--` or `#` at the start of a line is a comment.
///
/// # Errors
/// A sentence that names the entry and what is wrong with it.
pub fn parse_columns(text: &str) -> Result<Vec<(String, DataType)>, String> {
    let mut columns: Vec<(String, DataType)> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("--") || line.starts_with('#') {
            continue;
        }
        for entry in split_entries(line).into_iter().filter(|entry| !entry.is_empty()) {
            let (name, data_type) = parse_entry(entry)?;
            if columns.iter().any(|(known, _)| *known == name) {
                return Err(format!("column {name} stands twice in the list"));
            }
            columns.push((name, data_type));
        }
        if columns.len() > COLUMNS_MAX {
            return Err(format!("the list has more than {COLUMNS_MAX} columns"));
        }
    }
    if columns.is_empty() { Err("the list has no columns".to_owned()) } else { Ok(columns) }
}

/// Cuts a line at the commas outside quotes and parentheses.
fn split_entries(line: &str) -> Vec<&str> {
    let (mut entries, mut begin, mut depth) = (Vec::new(), 0_usize, 0_i32);
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ',') if depth <= 0 => {
                entries.push(line.get(begin..at).unwrap_or_default().trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    entries.push(line.get(begin..).unwrap_or_default().trim());
    entries
}

/// Reads one `name type`.
fn parse_entry(entry: &str) -> Result<(String, DataType), String> {
    let quoted = ['"', '`'].into_iter().find_map(|quote| {
        let rest = entry.strip_prefix(quote)?;
        rest.split_once(quote)
    });
    let found = quoted.or_else(|| entry.split_once(char::is_whitespace));
    let Some((name, type_name)) = found else {
        return Err(format!("'{entry}' is not a name and a type"));
    };
    let data_type = parse_type(type_name.trim()).ok_or_else(|| {
        format!("column {name}: unknown type '{}'; known are {TYPE_NAMES}", type_name.trim())
    })?;
    Ok((name.to_owned(), data_type))
}

/// Reads the name of a type; capital letters do not matter.
fn parse_type(text: &str) -> Option<DataType> {
    let text = text.to_ascii_lowercase();
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')')?.trim())),
        None => (text.as_str(), None),
    };
    match (name, arguments) {
        ("timestamp", unit) => Some(timestamp(unit.unwrap_or("us"))?),
        ("decimal", Some(arguments)) => {
            let (precision, scale) = arguments.split_once(',').unwrap_or((arguments, "0"));
            let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
            let is_valid = (1..=38).contains(&precision) && scale >= 0;
            is_valid.then_some(DataType::Decimal128(precision, scale))
        }
        (name, None) => flat_type(name),
        _ => None,
    }
}

/// Returns the timestamp type of a unit, in UTC.
fn timestamp(unit: &str) -> Option<DataType> {
    let unit = match unit {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    };
    Some(DataType::Timestamp(unit, Some("UTC".into())))
}

/// Returns the type of a name without arguments.
fn flat_type(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" | "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" | "int" => DataType::Int32,
        "int64" | "bigint" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float32" | "float" => DataType::Float32,
        "float64" | "double" => DataType::Float64,
        "utf8" | "string" | "text" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date" | "date32" => DataType::Date32,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = match parse_columns(text) {
            Ok(columns) => {
                let show = |(name, data_type): &(String, DataType)| format!("{name}: {data_type}");
                columns.iter().map(show).collect::<Vec<_>>().join("; ")
            }
            Err(problem) => problem,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn lists_are_read() {
        check("a int64, b utf8", expect!["a: Int64; b: Utf8"]);
        check(
            "ts Timestamp(ms),\n# a comment\n\"user agent, raw\" string\n`x y` decimal(10, 2)",
            expect![[r#"ts: Timestamp(ms, "UTC"); user agent, raw: Utf8; x y: Decimal128(10, 2)"#]],
        );
        check("ts timestamp,", expect![[r#"ts: Timestamp(µs, "UTC")"#]]);
    }

    #[test]
    fn mistakes_are_named() {
        check("", expect!["the list has no columns"]);
        check("a", expect!["'a' is not a name and a type"]);
        check("a int64, a utf8", expect!["column a stands twice in the list"]);
        check(
            "a integer",
            expect![
                "column a: unknown type 'integer'; known are bool, int8..int64, uint8..uint64, float32, float64, utf8, binary, date, timestamp, timestamp(s|ms|us|ns), decimal(precision, scale)"
            ],
        );
        check(
            "a decimal(99, 2)",
            expect![
                "column a: unknown type 'decimal(99, 2)'; known are bool, int8..int64, uint8..uint64, float32, float64, utf8, binary, date, timestamp, timestamp(s|ms|us|ns), decimal(precision, scale)"
            ],
        );
    }
}
