//! How wide a text is in a terminal, and how a name is shortened to a width.

use crate::data_type::is_plain_identifier;
use unicode_width::UnicodeWidthChar;

/// Columns from one tab stop to the next.
const TAB_WIDTH: usize = 8;
/// Width that a column name longer than it is cut to.
const NAME_WIDTH_MAX: usize = 24;
/// How much longer a name may be before it is worth cutting.
const NAME_WIDTH_SLACK: usize = 4;

/// Returns the width of `text` that begins at column `prefix`; bytes that are not UTF-8 have none.
pub(super) fn width(text: &[u8], prefix: usize) -> usize {
    let mut width = 0;
    for_each_char(text, prefix, |_, end| {
        width = end;
        true
    });
    width
}

/// Returns how many bytes of `text` fit into `limit` columns.
pub(super) fn bytes_within(text: &[u8], prefix: usize, limit: usize) -> usize {
    let mut bytes = text.len();
    for_each_char(text, prefix, |start, end| {
        if end > limit {
            bytes = start;
        }
        end <= limit
    });
    bytes
}

/// Calls `visit` with where each character begins in bytes and ends in columns, until it says stop.
fn for_each_char(text: &[u8], prefix: usize, mut visit: impl FnMut(usize, usize) -> bool) {
    let (mut column, mut at) = (0, 0);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            column += match c {
                '\t' => TAB_WIDTH - (prefix + column) % TAB_WIDTH,
                c => char_width(c),
            };
            if !visit(at, column) {
                return;
            }
            at += c.len_utf8();
        }
        at += chunk.invalid().len();
    }
}

/// Returns the width of a character; emoji of before Unicode 9 have one column, as ClickHouse counts them.
fn char_width(c: char) -> usize {
    const NARROW_EMOJI: [std::ops::RangeInclusive<char>; 8] = [
        '\u{231A}'..='\u{27BF}',
        '\u{2B1B}'..='\u{2B55}',
        '\u{1F004}'..='\u{1F19A}',
        '\u{1F300}'..='\u{1F64F}',
        '\u{1F680}'..='\u{1F6EC}',
        '\u{1F910}'..='\u{1F918}',
        '\u{1F980}'..='\u{1F984}',
        '\u{1F9C0}'..='\u{1F9C0}',
    ];
    match c.width().unwrap_or(0) {
        2 if NARROW_EMOJI.iter().any(|range| range.contains(&c)) => 1,
        width => width,
    }
}

/// Returns a column name as tables show it, with its width: a long one loses its middle, unless it is an
/// identifier or its column is as wide anyway.
pub(super) fn short_name(name: &str, column_width: usize) -> (String, usize) {
    let full = width(name.as_bytes(), 0);
    let cut_to = NAME_WIDTH_MAX.max(column_width);
    if full <= cut_to + NAME_WIDTH_SLACK || is_plain_identifier(name) {
        return (name.to_string(), full);
    }
    let prefix = bytes_within(name.as_bytes(), 0, cut_to / 2);
    let suffix = bytes_within(name.as_bytes(), 0, full - (cut_to - 1) / 2);
    let (prefix, suffix) = (name.get(..prefix), name.get(suffix..));
    (format!("{}⋯{}", prefix.unwrap_or_default(), suffix.unwrap_or_default()), cut_to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        for (text, expected) in [
            ("", 0),
            ("abc", 3),
            ("日本", 4),
            ("héllo — 日本語 🚀", 16),
            ("a\tb", 9),
            ("\0\u{8}x", 1),
        ] {
            assert_eq!(width(text.as_bytes(), 0), expected, "{text:?}");
        }
        assert_eq!(width(b"\xFF\xFEA", 0), 1);
        assert_eq!(width(b"a\tb", 5), 4);
    }

    #[test]
    fn long_names_lose_their_middle() {
        let name = "concat('a rather long text', 'and another one')";
        assert_eq!(short_name(name, 0), ("concat('a ra⋯other one')".to_string(), 24));
        assert_eq!(short_name(&"x".repeat(60), 0).1, 60);
        assert_eq!(short_name(name, 60).1, name.len());
    }
}
