//! What a ClickHouse client is told when a query fails: a number, a name, an HTTP status and a text.
//!
//! Clients parse this text (`Code: 60. DB::Exception: … (UNKNOWN_TABLE)`), so its shape is part of the
//! protocol. The set of codes is closed; which error gets which code is decided in `classify.rs`.

mod classify;
mod code;

pub use classify::from_datafusion;
pub use code::ErrorCode;

/// The ClickHouse version that clients are told, as they compare it before they use newer features.
pub const SERVER_VERSION: &str = "26.9.2.1";

/// Bytes of message text in one mid-stream frame: clients read at most 16 KiB for the whole frame.
const FRAME_MESSAGE_BYTES_MAX: usize = 16 * 1024 - 256;

/// One error as ClickHouse clients see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Code: {}. DB::Exception: {message} ({})", code.number(), code.name())]
pub struct Exception {
    /// The code: number, name and HTTP status.
    pub code: ErrorCode,
    /// The text for a person, without the code around it.
    pub message: String,
}

impl Exception {
    /// Returns an exception with this code and text.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Returns the code 48 for a clause that is not supported, naming it.
    pub fn not_implemented(what: impl std::fmt::Display) -> Self {
        Self::new(ErrorCode::NotImplemented, format!("{what} is not supported"))
    }

    /// Returns the body of an HTTP answer: the whole text with the version, ended by a line feed.
    pub fn body(&self) -> String {
        format!("{self} (version {SERVER_VERSION} (official build))\n")
    }

    /// Returns the HTTP status that goes with the code.
    pub const fn http_status(&self) -> u16 {
        self.code.http_status()
    }
}

/// Returns the frame that tells a client about an error after the first byte of the answer was sent.
///
/// `tag` is the value of the header X-ClickHouse-Exception-Tag. The frame must be the last HTTP chunk, written
/// in one piece; a message too long for it is cut at a character boundary.
pub fn exception_frame(tag: &str, message: &str) -> Vec<u8> {
    let mut end = message.len().min(FRAME_MESSAGE_BYTES_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let message = message.get(..end).unwrap_or_default().trim_end_matches('\n');
    let length = message.len() + 1;
    format!("\r\n__exception__\r\n{tag}\r\n{message}\n{length} {tag}\r\n__exception__\r\n")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(code: ErrorCode, message: &str, body: Expect) {
        body.assert_eq(&Exception::new(code, message).body());
    }

    #[test]
    fn body_has_the_shape_that_clients_parse() {
        check(
            ErrorCode::UnknownTable,
            "Unknown table expression identifier 'x'",
            expect![[r#"
                Code: 60. DB::Exception: Unknown table expression identifier 'x' (UNKNOWN_TABLE) (version 26.9.2.1 (official build))
            "#]],
        );
        check(
            ErrorCode::SyntaxError,
            "Syntax error: failed at position 1 (x)",
            expect![[r#"
                Code: 62. DB::Exception: Syntax error: failed at position 1 (x) (SYNTAX_ERROR) (version 26.9.2.1 (official build))
            "#]],
        );
    }

    #[test]
    fn frame_counts_the_message_with_its_line_feed() {
        let frame = exception_frame("abcdefghijklmnop", "Code: 1. DB::Exception: no (X)\n");
        let text = String::from_utf8(frame).unwrap();
        assert_eq!(
            text,
            "\r\n__exception__\r\nabcdefghijklmnop\r\nCode: 1. DB::Exception: no (X)\n31 abcdefghijklmnop\r\n__exception__\r\n"
        );
    }

    #[test]
    fn frame_is_never_longer_than_clients_read() {
        let frame = exception_frame("abcdefghijklmnop", &"é".repeat(20_000));
        assert!(frame.len() <= 16 * 1024, "{}", frame.len());
        assert!(String::from_utf8(frame).is_ok());
    }
}
