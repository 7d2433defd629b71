//! Checks the framing of requests before the HTTP parser sees them, against request smuggling.
//!
//! INVARIANT(one-border): a line ends with CR LF and with nothing else, a head has one length or
//! one `Transfer-Encoding: chunked` and never both, and chunks have their size and nothing besides
//! it. Any other request is refused with status 400, its connection is closed, and nothing of it is
//! executed. So a proxy in front and the server always agree on where a request ends.
//!
//! # Why
//!
//! The parser accepts all that the standard permits a lenient parser to accept. It takes a bare LF
//! for the end of a line, answers a request with both lengths before it closes the connection, and
//! skips chunk extensions. A proxy that is lenient in another way could forward one request that
//! the server reads as two.
//!
//! The check reads the bytes as they arrive and keeps only the current line of a head.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Longest line that is kept, in bytes. The parser's own limit is lower.
const MAX_LINE: usize = 32 << 10;

/// Most digits of a body's length or of a chunk's size: enough for any body, of 16 TiB too.
const MAX_DIGITS: usize = 15;

/// A byte that no head may contain. It replaces the rest of a malformed head, so the parser answers
/// with status 400 and closes the connection.
const POISON: u8 = 0;

/// The end of a head, which the parser gets behind [`POISON`]. It looks at a head that comes in
/// pieces when it sees the end, and would otherwise wait for the client.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A request that breaks the framing rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Breach;

/// The next part that is expected on a connection.
#[derive(Debug)]
enum Expected {
    /// A line of a head.
    Line(Head),
    /// This many bytes of a body.
    Body(u64),
    /// The size of a chunk.
    ChunkSize,
    /// This many bytes of a chunk.
    Chunk(u64),
    /// The CR LF after a chunk.
    ChunkEnd,
    /// The empty line after the last chunk: trailers are not accepted.
    LastLine,
    /// Nothing: a head broke the rules.
    NothingInHead,
    /// Nothing: a body broke the rules.
    NothingInBody,
}

impl Expected {
    /// The state after a breach in this state.
    const fn broken(&self) -> Self {
        match self {
            Self::Line(_) | Self::NothingInHead => Self::NothingInHead,
            _ => Self::NothingInBody,
        }
    }
}

/// The parts of a head that decide the framing.
#[derive(Debug, Default)]
struct Head {
    has_request_line: bool,
    is_http_1_0: bool,
    length: Option<u64>,
    is_chunked: bool,
}

/// Checks the bytes of a connection, in order.
#[derive(Debug)]
struct Inspector {
    expected: Expected,
    /// The line that is being read, without its end.
    line: Vec<u8>,
    after_cr: bool,
}

impl Default for Inspector {
    fn default() -> Self {
        let expected = Expected::Line(Head::default());
        Self { expected, line: Vec::new(), after_cr: false }
    }
}

impl Inspector {
    /// Checks the next bytes. On a breach, returns the number of bytes before it.
    fn inspect(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let passed = match &mut self.expected {
                Expected::Body(left) | Expected::Chunk(left) => {
                    let passed = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left = left.saturating_sub(u64::try_from(passed).unwrap_or(u64::MAX));
                    self.pass_content();
                    passed
                }
                Expected::NothingInHead | Expected::NothingInBody => return Err(at),
                _ => {
                    let byte = rest.first().copied().unwrap_or(POISON);
                    self.next_of_line(byte).map_err(|Breach| {
                        self.expected = self.expected.broken();
                        at
                    })?;
                    1
                }
            };
            at = at.saturating_add(passed);
        }
        Ok(())
    }

    /// Advances to the next part, if a body or a chunk is complete.
    fn pass_content(&mut self) {
        match self.expected {
            Expected::Body(0) => self.expected = Expected::Line(Head::default()),
            Expected::Chunk(0) => self.expected = Expected::ChunkEnd,
            _ => {}
        }
    }

    fn next_of_line(&mut self, byte: u8) -> Result<(), Breach> {
        match (self.after_cr, byte) {
            (true, b'\n') => {
                self.after_cr = false;
                let line = std::mem::take(&mut self.line);
                let ended = self.end_line(&line);
                self.line = line;
                self.line.clear();
                self.line.shrink_to(256);
                return ended;
            }
            (false, b'\r') => self.after_cr = true,
            // Bytes above ASCII are allowed (`obs-text` of RFC 9110). Of the control characters
            // only the tab is.
            (false, b'\t' | b' '..=b'~' | 0x80..) if self.line.len() < MAX_LINE => {
                self.line.push(byte);
            }
            _ => return Err(Breach),
        }
        Ok(())
    }

    fn end_line(&mut self, line: &[u8]) -> Result<(), Breach> {
        match &mut self.expected {
            Expected::Line(head) if line.is_empty() => {
                // Some clients send an empty line before a request. It is ignored.
                if head.has_request_line {
                    self.expected = head.body()?;
                }
            }
            Expected::Line(head) => head.add(line)?,
            Expected::ChunkSize => {
                let size = hexadecimal(line)?;
                self.expected = if size == 0 { Expected::LastLine } else { Expected::Chunk(size) };
            }
            Expected::ChunkEnd if line.is_empty() => self.expected = Expected::ChunkSize,
            Expected::LastLine if line.is_empty() => {
                self.expected = Expected::Line(Head::default());
            }
            _ => return Err(Breach),
        }
        Ok(())
    }
}

impl Head {
    fn add(&mut self, line: &[u8]) -> Result<(), Breach> {
        if !self.has_request_line {
            self.has_request_line = true;
            self.is_http_1_0 = line.ends_with(b" HTTP/1.0");
            let spaces = line.iter().filter(|byte| matches!(byte, b' ' | b'\t')).count();
            return if spaces == 2 { Ok(()) } else { Err(Breach) };
        }
        // A line that begins with a space would continue the line before it. With a space before
        // the colon, parsers disagree on the name of the header.
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return Err(Breach) };
        if name.is_empty() || !name.iter().all(is_token) {
            return Err(Breach);
        }
        let value = value.trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            if self.length.replace(decimal(value)?).is_some() {
                return Err(Breach);
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Breach);
            }
            self.is_chunked = true;
        }
        Ok(())
    }

    /// Returns the part after the head.
    const fn body(&self) -> Result<Expected, Breach> {
        match (self.length, self.is_chunked) {
            (Some(_), true) => Err(Breach),
            (None, true) if self.is_http_1_0 => Err(Breach),
            (None, true) => Ok(Expected::ChunkSize),
            (Some(length), false) if length > 0 => Ok(Expected::Body(length)),
            (_, false) => Ok(Expected::Line(Self {
                has_request_line: false,
                is_http_1_0: false,
                length: None,
                is_chunked: false,
            })),
        }
    }
}

/// True for a character that a header's name may contain.
fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

fn decimal(text: &[u8]) -> Result<u64, Breach> {
    number(text, 10, u8::is_ascii_digit)
}

fn hexadecimal(text: &[u8]) -> Result<u64, Breach> {
    number(text, 16, u8::is_ascii_hexdigit)
}

fn number(text: &[u8], base: u32, is_digit: fn(&u8) -> bool) -> Result<u64, Breach> {
    if text.is_empty() || text.len() > MAX_DIGITS || !text.iter().all(is_digit) {
        return Err(Breach);
    }
    let digits = std::str::from_utf8(text).ok().ok_or(Breach)?;
    u64::from_str_radix(digits, base).ok().ok_or(Breach)
}

/// A stream that passes only requests with valid framing.
#[derive(Debug)]
pub struct ClearStream<S> {
    stream: S,
    inspector: Inspector,
}

impl<S> ClearStream<S> {
    /// Inspects what `stream` brings from now on.
    pub fn new(stream: S) -> Self {
        Self { stream, inspector: Inspector::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClearStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if matches!(this.inspector.expected, Expected::NothingInBody) {
            // The call waits for the rest of a body whose framing is invalid.
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        if matches!(this.inspector.expected, Expected::NothingInHead) {
            let end = END_OF_HEAD.get(..buffer.remaining().min(END_OF_HEAD.len()));
            buffer.put_slice(end.unwrap_or_default());
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        let arrived = buffer.filled().get(before..).unwrap_or_default();
        let Err(in_order) = this.inspector.inspect(arrived) else { return Poll::Ready(Ok(())) };
        buffer.set_filled(before.saturating_add(in_order));
        if matches!(this.inspector.expected, Expected::NothingInHead) {
            buffer.put_slice(&[POISON]);
        } else if in_order == 0 {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClearStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    /// Checks `text` in pieces of this size. On a breach, returns the length of the accepted part.
    fn in_order(text: &str, piece: usize) -> Result<(), usize> {
        let mut inspector = Inspector::default();
        for (index, piece_of_text) in text.as_bytes().chunks(piece).enumerate() {
            inspector.inspect(piece_of_text).map_err(|at| index * piece + at)?;
        }
        Ok(())
    }

    const GOOD: &[&str] = &[
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\0\nGET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length:0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\n\n\n\n\r\nA\r\n0123456789\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: \ttab and caf\u{e9}\t\r\nY:\r\n\r\n",
    ];

    #[test]
    fn one_border_is_seen_however_the_bytes_arrive() {
        for text in GOOD {
            for piece in [1, 2, 3, 7, 1_000] {
                assert_eq!(in_order(text, piece), Ok(()), "{text:?} by {piece}");
            }
        }
    }

    #[test]
    fn whatever_has_two_borders_is_a_breach() {
        let head = "POST / HTTP/1.1\r\n";
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        for text in [
            "GET / HTTP/1.1\n".to_owned(),
            format!("{head}Host: a\n"),
            format!("{head}Host: a\r\n\n"),
            format!("{head}Host: a\rb: c\r\n"),
            format!("{head}X: a\r\n folded\r\n"),
            format!("{head}X: a\r\n\tfolded\r\n"),
            format!("{head}X : a\r\n"),
            format!("{head}: a\r\n"),
            format!("{head}no colon\r\n"),
            format!("{head}X: a\0\r\n"),
            format!("{head}X: a\u{1b}[2J\r\n"),
            format!("{head}X: a\u{7f}\r\n"),
            format!("{head}X\u{e9}: a\r\n"),
            format!("{head}Content-Length: 3\r\nContent-Length: 3\r\n"),
            format!("{head}Content-Length: 3, 3\r\n"),
            format!("{head}Content-Length: +3\r\n"),
            format!("{head}Content-Length: -1\r\n"),
            format!("{head}Content-Length: 0x3\r\n"),
            format!("{head}Content-Length:\r\n"),
            format!("{head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
            format!("{head}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"),
            format!("{head}Transfer-Encoding: chunked, chunked\r\n"),
            format!("{head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            format!("{head}Transfer-Encoding: identity\r\n"),
            format!("{head}Transfer-Encoding: gzip, chunked\r\n"),
            format!("{head}Transfer-Encoding: \u{b}chunked\r\n"),
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            "POST  / HTTP/1.1\r\n".to_owned(),
            "POST /\r\n".to_owned(),
            format!("{chunked}3;a=b\r\n"),
            format!("{chunked}3 \r\n"),
            format!("{chunked}0x3\r\n"),
            format!("{chunked}\r\n"),
            format!("{chunked}3\n"),
            format!("{chunked}3\r\nabcd\r\n"),
            format!("{chunked}3\r\nabc\n"),
            format!("{chunked}fffffffffffffffff\r\n"),
            format!("{chunked}0\r\nContent-Length: 3\r\n\r\n"),
            format!("{chunked}0\r\n\n"),
        ] {
            for piece in [1, 3, 1_000] {
                let found = in_order(&text, piece);
                assert!(found.is_err_and(|at| at < text.len()), "{text:?} by {piece}");
            }
            assert_eq!(in_order(&text, 1), in_order(&text, 1_000), "{text:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut inspector = Inspector::default();
        assert_eq!(inspector.inspect(&vec![b'a'; 2 * MAX_LINE]), Err(MAX_LINE));
        assert!(inspector.line.capacity() <= 2 * MAX_LINE);
    }

    #[tokio::test]
    async fn a_breach_is_the_last_that_is_read() {
        let (mut client, server) = duplex(1 << 10);
        let mut stream = ClearStream::new(server);
        client.write_all(b"GET / HTTP/1.1\r\nA: b\nGET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut read = vec![0; 100];
        let count = stream.read(&mut read).await.unwrap();
        assert_eq!(read[..count], *b"GET / HTTP/1.1\r\nA: b\0");
        // The parser does not wait for the client to see that this is the end.
        let count = stream.read(&mut read).await.unwrap();
        assert_eq!(read[..count], *END_OF_HEAD);

        let (mut client, server) = duplex(1 << 10);
        let mut stream = ClearStream::new(server);
        let body = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;x\r\n";
        client.write_all(body).await.unwrap();
        let count = stream.read(&mut read).await.unwrap();
        assert_eq!(count, body.len() - 1, "the end of the line is held back");
        assert_eq!(stream.read(&mut read).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
