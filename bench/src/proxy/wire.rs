//! As much of HTTP/1.1 as it takes to know where a message ends.
//!
//! Invariant: what is passed on is what came, byte for byte. Whatever is unclear is refused.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::ProxyError;

/// The longest head: signed requests and the store's answers have a few KiB.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// The end of a head.
const HEAD_END: &[u8] = b"\r\n\r\n";
/// The end of a line.
const LINE_END: &[u8] = b"\r\n";

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// After so many bytes.
    Length(u64),
    /// After the chunk of length zero.
    Chunked,
    /// With the connection.
    ToEnd,
}

/// What matters of a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: &'static str,
    pub(super) body: Body,
    pub(super) is_kept_alive: bool,
}

/// What matters of an answer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) body: Body,
    pub(super) is_kept_alive: bool,
}

impl RequestHead {
    /// Reads a head.
    pub(super) fn parse(head: &[u8]) -> Result<Self, ProxyError> {
        let (first, fields) = lines(head)?;
        let method = match first.split(' ').next().unwrap_or_default() {
            "GET" => "GET",
            "HEAD" => "HEAD",
            "PUT" => "PUT",
            "POST" => "POST",
            "DELETE" => "DELETE",
            _ => "other",
        };
        if !first.ends_with(" HTTP/1.1") {
            return Err(ProxyError::Http { what: "a request that is not HTTP/1.1" });
        }
        if field(&fields, "expect").is_some() {
            return Err(ProxyError::Http { what: "a request with Expect" });
        }
        let body = body(&fields)?.unwrap_or(Body::Length(0));
        Ok(Self { method, body, is_kept_alive: is_kept_alive(&fields) })
    }
}

impl ResponseHead {
    /// Reads the head of an answer to `request`.
    pub(super) fn parse(head: &[u8], request: &RequestHead) -> Result<Self, ProxyError> {
        let (first, fields) = lines(head)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status: u16 = status.ok_or(ProxyError::Http { what: "an answer without a status" })?;
        let has_none = request.method == "HEAD" || matches!(status, 100..=199 | 204 | 304);
        let body = if has_none { Some(Body::Length(0)) } else { body(&fields)? };
        let body = body.unwrap_or(Body::ToEnd);
        let is_kept_alive = body != Body::ToEnd && is_kept_alive(&fields);
        Ok(Self { status, body, is_kept_alive })
    }

    /// Returns whether the true answer is still to come.
    pub(super) const fn is_interim(&self) -> bool {
        matches!(self.status, 100..=199)
    }
}

type Fields<'a> = Vec<(&'a str, &'a str)>;

/// Returns the first line and the fields.
fn lines(head: &[u8]) -> Result<(&str, Fields<'_>), ProxyError> {
    let text = std::str::from_utf8(head).ok().and_then(|text| text.strip_suffix("\r\n\r\n"));
    let text = text.ok_or(ProxyError::Http { what: "a head that is no text" })?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let fields = lines.filter_map(|line| line.split_once(':'));
    Ok((first, fields.map(|(name, value)| (name, value.trim())).collect()))
}

fn field<'a>(fields: &Fields<'a>, name: &str) -> Option<&'a str> {
    fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
}

fn body(fields: &Fields<'_>) -> Result<Option<Body>, ProxyError> {
    if let Some(coding) = field(fields, "transfer-encoding") {
        let is_chunked = coding.eq_ignore_ascii_case("chunked");
        let unknown = ProxyError::Http { what: "an unknown transfer coding" };
        return if is_chunked { Ok(Some(Body::Chunked)) } else { Err(unknown) };
    }
    let length = field(fields, "content-length").map(|length| match length.parse() {
        Ok(length) => Ok(Body::Length(length)),
        Err(_not_a_number) => Err(ProxyError::Http { what: "a length that is no number" }),
    });
    length.transpose()
}

fn is_kept_alive(fields: &Fields<'_>) -> bool {
    !field(fields, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Incoming<R> {
    from: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: BytesMut::new() }
    }

    /// Returns the next head with the empty line after it, or `None` when the sender is done.
    pub(super) async fn head(&mut self) -> Result<Option<Bytes>, ProxyError> {
        if self.buffer.is_empty() && self.fill().await? == 0 {
            return Ok(None);
        }
        self.take_to(HEAD_END).await.map(Some)
    }

    /// Passes a body on and tells `count` of its bytes, without the framing.
    pub(super) async fn pass_body(
        &mut self,
        body: Body,
        to: &mut (impl AsyncWrite + Unpin),
        mut count: impl FnMut(u64),
    ) -> Result<(), ProxyError> {
        match body {
            Body::Length(length) => self.pass(length, to, &mut count).await,
            Body::Chunked => self.pass_chunks(to, &mut count).await,
            Body::ToEnd => loop {
                if self.buffer.is_empty() && self.fill().await? == 0 {
                    return Ok(());
                }
                self.pass(length_of(&self.buffer), to, &mut count).await?;
            },
        }
    }

    async fn pass_chunks(
        &mut self,
        to: &mut (impl AsyncWrite + Unpin),
        count: &mut impl FnMut(u64),
    ) -> Result<(), ProxyError> {
        loop {
            let line = self.take_to(LINE_END).await?;
            to.write_all(&line).await?;
            let text = std::str::from_utf8(&line).unwrap_or_default();
            let digits = text.split(';').next().unwrap_or_default().trim();
            let length = match u64::from_str_radix(digits, 16) {
                Ok(length) => length,
                Err(_not_a_number) => {
                    return Err(ProxyError::Http { what: "a chunk without a length" });
                }
            };
            if length == 0 {
                return self.pass_trailers(to).await;
            }
            self.pass(length, to, count).await?;
            self.pass(length_of(LINE_END), to, &mut |_| {}).await?;
        }
    }

    async fn pass_trailers(
        &mut self,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), ProxyError> {
        loop {
            let line = self.take_to(LINE_END).await?;
            to.write_all(&line).await?;
            if line == LINE_END {
                return Ok(());
            }
        }
    }

    /// Passes so many bytes on; each is counted before it is passed.
    async fn pass(
        &mut self,
        length: u64,
        to: &mut (impl AsyncWrite + Unpin),
        count: &mut impl FnMut(u64),
    ) -> Result<(), ProxyError> {
        let mut left = length;
        while left > 0 {
            if self.buffer.is_empty() && self.fill().await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            let here = left.min(length_of(&self.buffer));
            let piece = self.buffer.split_to(usize::try_from(here).unwrap_or(self.buffer.len()));
            left = left.saturating_sub(length_of(&piece));
            count(length_of(&piece));
            to.write_all(&piece).await?;
        }
        Ok(())
    }

    /// Takes everything up to and including `end`.
    async fn take_to(&mut self, end: &[u8]) -> Result<Bytes, ProxyError> {
        loop {
            let found = self.buffer.windows(end.len()).position(|window| window == end);
            if let Some(start) = found {
                return Ok(self.buffer.split_to(start.saturating_add(end.len())).freeze());
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(ProxyError::Http { what: "a head that is too long" });
            }
            if self.fill().await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(READ_BYTES);
        self.from.read_buf(&mut self.buffer).await
    }
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
