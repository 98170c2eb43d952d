//! How text is escaped in each format. Runs without a special byte are copied whole.
//!
//! Bytes need not be UTF-8; only JSON documents replace what is not (`valid_utf8`).

/// What U+2028 and U+2029 begin with in UTF-8: JavaScript takes them for line ends, so JSON escapes them.
const LINE_SEPARATOR_PREFIX: [u8; 2] = [0xE2, 0x80];

/// Appends `text`, with `special` bytes replaced by what `replace` appends for them.
fn copy_runs(
    text: &[u8],
    out: &mut Vec<u8>,
    special: impl Fn(u8) -> bool,
    mut replace: impl FnMut(u8, &mut Vec<u8>),
) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| special(byte)) {
        let (run, tail) = rest.split_at(at);
        out.extend_from_slice(run);
        let Some((&byte, tail)) = tail.split_first() else { return };
        replace(byte, out);
        rest = tail;
    }
    out.extend_from_slice(rest);
}

/// The bytes that a backslash escape stands for, with its letter.
const fn backslash_letter(byte: u8) -> Option<u8> {
    match byte {
        0x08 => Some(b'b'),
        0x0C => Some(b'f'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        b'\t' => Some(b't'),
        0x00 => Some(b'0'),
        b'\\' => Some(b'\\'),
        b'\'' => Some(b'\''),
        _ => None,
    }
}

/// Appends text with backslash escapes: a field of TabSeparated, or the inside of a quoted literal.
pub(crate) fn backslash(text: &[u8], out: &mut Vec<u8>) {
    copy_runs(
        text,
        out,
        |byte| backslash_letter(byte).is_some(),
        |byte, out| out.extend([b'\\', backslash_letter(byte).unwrap_or(byte)]),
    );
}

/// Appends the name of a TSKV field: as a field, but with `=` escaped instead of the quote.
pub(crate) fn tskv_name(text: &[u8], out: &mut Vec<u8>) {
    copy_runs(
        text,
        out,
        |byte| byte == b'=' || (byte != b'\'' && backslash_letter(byte).is_some()),
        |byte, out| out.extend([b'\\', backslash_letter(byte).unwrap_or(byte)]),
    );
}

/// Appends text as a literal in single quotes.
pub(crate) fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    backslash(text, out);
    out.push(b'\'');
}

/// Appends text as a field of CSV: in double quotes, which are doubled inside.
pub(crate) fn csv(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    copy_runs(text, out, |byte| byte == b'"', |_, out| out.extend_from_slice(b"\"\""));
    out.push(b'"');
}

/// Appends text as a JSON string.
pub(crate) fn json(text: &[u8], escape_slashes: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    loop {
        let special = |byte: u8| {
            byte < 0x20
                || byte == b'"'
                || byte == b'\\'
                || byte == 0xE2
                || (escape_slashes && byte == b'/')
        };
        let Some(at) = rest.iter().position(|&byte| special(byte)) else { break };
        let (run, tail) = rest.split_at(at);
        out.extend_from_slice(run);
        rest = json_special(tail, out);
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends the first character of `text`, which may need an escape, and returns the rest.
fn json_special<'a>(text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    match text {
        [first, second, last @ (0xA8 | 0xA9), rest @ ..]
            if [*first, *second] == LINE_SEPARATOR_PREFIX =>
        {
            out.extend_from_slice(if *last == 0xA8 { b"\\u2028" } else { b"\\u2029" });
            rest
        }
        [byte, rest @ ..] => {
            match *byte {
                0x08 => out.extend_from_slice(b"\\b"),
                0x0C => out.extend_from_slice(b"\\f"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                byte @ (b'"' | b'\\' | b'/') => out.extend([b'\\', byte]),
                byte if byte < 0x20 => {
                    out.extend_from_slice(b"\\u00");
                    out.extend([byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]));
                }
                byte => out.push(byte),
            }
            rest
        }
        [] => text,
    }
}

/// Appends bytes as UTF-8: a run that is none becomes one replacement character.
pub(crate) fn valid_utf8(text: &[u8], out: &mut Vec<u8>) {
    let mut was_replaced = false;
    for chunk in text.utf8_chunks() {
        if !chunk.valid().is_empty() {
            out.extend_from_slice(chunk.valid().as_bytes());
            was_replaced = false;
        }
        if !chunk.invalid().is_empty() && !was_replaced {
            out.extend_from_slice("\u{FFFD}".as_bytes());
            was_replaced = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(escape: impl Fn(&[u8], &mut Vec<u8>), text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        escape(text, &mut out);
        out
    }

    /// Reads backslash escapes as ClickHouse's clients do.
    fn unescape(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = text.iter();
        while let Some(&byte) = rest.next() {
            out.push(match byte {
                b'\\' => match rest.next().expect("an escape has two bytes") {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'0' => 0,
                    &other => other,
                },
                byte => byte,
            });
        }
        out
    }

    #[test]
    fn json_escapes_what_javascript_takes_for_line_ends() {
        let text =
            bytes(|text, out| json(text, true, out), "a\u{2028}b\u{2029}c—d/\u{1}".as_bytes());
        assert_eq!(String::from_utf8(text).unwrap(), r#""a\u2028b\u2029c—d\/\u0001""#);
    }

    #[test]
    fn invalid_runs_become_one_character() {
        assert_eq!(bytes(valid_utf8, b"\xFF\xFEA\xC3("), "\u{FFFD}A\u{FFFD}(".as_bytes());
    }

    proptest! {
        #[test]
        fn backslash_reads_back(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            let escaped = bytes(backslash, &text);
            prop_assert!(!escaped.iter().any(|byte| matches!(byte, b'\t' | b'\n' | 0)));
            prop_assert_eq!(unescape(&escaped), text);
        }

        #[test]
        fn csv_reads_back(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            let field = bytes(csv, &text);
            let inside = &field[1..field.len() - 1];
            let mut read = Vec::new();
            let mut rest = inside.iter();
            while let Some(&byte) = rest.next() {
                read.push(byte);
                if byte == b'"' {
                    prop_assert_eq!(rest.next(), Some(&b'"'));
                }
            }
            prop_assert_eq!(read, text);
        }

        #[test]
        fn json_reads_back(text in ".{0,80}", slashes in any::<bool>()) {
            let literal = bytes(|text, out| json(text, slashes, out), text.as_bytes());
            prop_assert_eq!(serde_json::from_slice::<String>(&literal).unwrap(), text);
        }

        #[test]
        fn replaced_bytes_are_utf8(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(String::from_utf8(bytes(valid_utf8, &text)).is_ok());
        }
    }
}
