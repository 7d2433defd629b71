//! How responses of HTTP/1 are framed: the cases of the published lists for clients (RFC 9112, 6.3
//! and 7.1, and lists of responses that two readers cut in two ways).
//!
//! A response reaches a program whole, or it ends with an error. It never ends short without one.

use std::sync::Arc;

use crate::error::errno;
use crate::policy::RunPolicy;
use crate::policy::target::RequestTarget;
use crate::rewrite::{RequestRewriter, ResponseFilter};
use crate::tests::support::{Gateway, Guest, Server, config, policy};
use wardian_vocabulary::ids::TenantId;

const NAME: &str = "api.example.com";

/// Responses and their bodies. The connection closes after each.
#[rustfmt::skip]
const WHOLE: &[(&str, &str)] = &[
    ("Content-Length: 3\r\n\r\nabc", "abc"),
    ("Content-Length:3\r\n\r\nabc", "abc"),
    ("Content-Length: \t 3 \t\r\n\r\nabc", "abc"),
    ("Content-Length: 003\r\n\r\nabc", "abc"),
    ("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "abc"),
    ("Content-Length: 3, 3\r\n\r\nabc", "abc"),
    ("Content-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "abc"),
    ("Content-Length: 0\r\n\r\n", ""),
    ("\r\nabc", "abc"),
    ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc"),
    ("Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc"),
    ("Transfer-Encoding: chunked\r\n\r\n3;name=value;other=\"x\"\r\nabc\r\n0;last\r\n\r\n", "abc"),
    ("Transfer-Encoding: chunked\r\n\r\n000003\r\nabc\r\n000\r\n\r\n", "abc"),
    ("Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
    ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 1\r\nX: y\r\n\r\n", "abc"),
    ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nabc", ""),
];

/// Responses that have no single length, or a coding that nobody asked for.
#[rustfmt::skip]
const REFUSED: &[&str] = &[
    "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Content-Length: 3\r\nTransfer-Encoding: identity\r\n\r\nabc",
    "Transfer-Encoding: identity\r\n\r\nabc",
    "Transfer-Encoding: gzip\r\n\r\nabc",
    "Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked, gzip\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: xchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunkedx\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: \"chunked\"\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked;q=1\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding: ,chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding:\r\n\r\nabc",
    "Transfer-Encoding: \x0bchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding : chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding:\r\n chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Transfer-Encoding\0: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "Content-Length: 4\r\nContent-Length: 3\r\n\r\nabcd",
    "Content-Length: 3, 4\r\n\r\nabcd",
    "Content-Length: 3,\r\n\r\nabc",
    "Content-Length: ,3\r\n\r\nabc",
    "Content-Length: +3\r\n\r\nabc",
    "Content-Length: -3\r\n\r\nabc",
    "Content-Length: 0x3\r\n\r\nabc",
    "Content-Length: 3.0\r\n\r\nabc",
    "Content-Length: 3e0\r\n\r\nabc",
    "Content-Length: 3a\r\n\r\nabc",
    "Content-Length: 3 3\r\n\r\nabc",
    "Content-Length: 3;x\r\n\r\nabc",
    "Content-Length: \"3\"\r\n\r\nabc",
    "Content-Length:\r\n\r\nabc",
    "Content-Length: abc\r\n\r\nabc",
    "Content-Length: 18446744073709551616\r\n\r\nabc",
    "Content-Length: 18446744073709551619\r\n\r\nabc",
    "Content-Length: \x0c3\r\n\r\nabc",
    "Content-Length: 3\0\r\n\r\nabc",
    "Content-Length : 3\r\n\r\nabc",
    " Content-Length: 3\r\n\r\nabc",
    "Content-Length:\r\n 3\r\n\r\nabc",
    "Content-Length: 3\r\n 4\r\n\r\nabc",
    "X: a\rContent-Length: 3\r\n\r\nabc",
    "X: a\0b\r\nContent-Length: 3\r\n\r\nabc",
    "X: a\r\n folded\r\nContent-Length: 3\r\n\r\nabc",
    ": 3\r\nContent-Length: 3\r\n\r\nabc",
    "no colon\r\nContent-Length: 3\r\n\r\nabc",
];

/// Bodies in chunks that are malformed, or end too early.
#[rustfmt::skip]
const BROKEN_CHUNKS: &[&str] = &[
    "", "3", "3\r\n", "3\r\nab", "3\r\nabc", "3\r\nabc\r\n", "3\r\nabc\r\n0", "3\r\nabc\r\n0\r\n",
    "4\r\nabc\r\n0\r\n\r\n", "2\r\nabc\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n", "3\r\nabc\n0\r\n\r\n",
    "+3\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "3g\r\nabc\r\n0\r\n\r\n",
    " 3\r\nabc\r\n0\r\n\r\n", "\r\n3\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n", ";x\r\nabc\r\n0\r\n\r\n",
    "3\nabc\n0\n\n", "3\rabc\r0\r\r", "3\r\r\nabc\r\n0\r\n\r\n", "3 3\r\nabc\r\n0\r\n\r\n", "3;a\nb\r\nabc\r\n0\r\n\r\n",
    "10000000000000003\r\nabc\r\n0\r\n\r\n", "ffffffffffffffff\r\nabc\r\n0\r\n\r\n", "3\r\nabcXX0\r\n\r\n",
    "3_0\r\nabc\r\n0\r\n\r\n", "３\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n-0\r\n\r\n", "3\r\nabc\r\n0\r\nbad trailer\r\n",
];

/// Whole responses whose first line is not a status line, or that are none.
#[rustfmt::skip]
const NO_RESPONSES: &[&str] = &[
    "HTTP/2.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 20 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 2000 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200\0OK\r\nContent-Length: 3\r\n\r\nabc",
    "http/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 +20 OK\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 099 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/11 200 OK\r\nContent-Length: 3\r\n\r\nabc",
    "ICY 200 OK\r\nContent-Length: 3\r\n\r\nabc", "<html>abc</html>\r\n\r\n", "HTTP/1.1\r\n\r\nabc",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nabc",
];

/// Keeps each piece until the next one comes, as a filter for secrets does.
#[derive(Debug, Default)]
struct Holding(Vec<u8>);

impl ResponseFilter for Holding {
    fn header(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn body(&mut self, piece: &[u8]) -> Vec<u8> {
        std::mem::replace(&mut self.0, piece.to_vec())
    }

    fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

#[derive(Debug)]
struct Filtering;

impl RequestRewriter for Filtering {
    fn rewrite_header(&self, _: &RequestTarget, _: &str, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn response_filter(&self, _: &RequestTarget) -> Option<Box<dyn ResponseFilter>> {
        Some(Box::<Holding>::default())
    }
}

/// What a program gets of a response: its head, its body, and how it ended.
async fn received(response: &str, is_filtered: bool) -> (String, String, Option<i32>) {
    let bytes = response.as_bytes().to_vec();
    let server = Server::start(None, move |mut stream, _| {
        let bytes = bytes.clone();
        Box::pin(async move {
            use tokio::io::AsyncWriteExt as _;
            drop(crate::tests::support::read_head(&mut stream).await);
            drop(stream.write_all(&bytes).await);
            drop(stream.shutdown().await);
        })
    })
    .await;
    let gateway = Gateway::new(config());
    let host = format!("{NAME}:{}", server.port);
    let rules: RunPolicy = policy(&[&format!("http://{host}")]);
    let rules = if is_filtered { rules.rewritten_by(Arc::new(Filtering)) } else { rules };
    let network = gateway.egress.open(&TenantId::local(), rules);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let (answer, end) = guest.get(&host, "/").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let head = head.to_lowercase();
    let is_chunked = head.contains("transfer-encoding: chunked");
    let (body, is_whole) = if is_chunked { unchunked(body) } else { (body.to_owned(), true) };
    let end = end.err().map(|error| error.errno());
    assert!(is_whole || end.is_some(), "{response:?}: chunks without an end or an error");
    (head, body, end)
}

/// The content of chunks, and whether the last one is there.
fn unchunked(mut text: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.push_str(rest.get(..size).unwrap_or(rest));
        text = rest.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

#[tokio::test]
async fn a_response_arrives_whole_and_with_one_length() {
    for is_filtered in [false, true] {
        for (response, expected) in WHOLE {
            let response = format!("HTTP/1.1 200 OK\r\n{response}");
            let (head, body, end) = received(&response, is_filtered).await;
            assert_eq!((body.as_str(), end), (*expected, None), "{response:?}: {head}");
            let framings =
                head.matches("content-length").count() + head.matches("transfer-encoding").count();
            assert!(framings <= 1, "{response:?}: {head}");
        }
        for status in ["204 No Content", "304 Not Modified"] {
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 3\r\n\r\nabc");
            let (_, body, end) = received(&response, is_filtered).await;
            assert_eq!((body.as_str(), end), ("", None), "{response:?}");
        }
    }
}

#[tokio::test]
async fn a_response_with_two_readings_is_refused() {
    for is_filtered in [false, true] {
        let rows = REFUSED.iter().map(|row| format!("HTTP/1.1 200 OK\r\n{row}"));
        for response in rows.chain(NO_RESPONSES.iter().map(|row| (*row).to_owned())) {
            let (_, body, end) = received(&response, is_filtered).await;
            assert_eq!((body.as_str(), end), ("", Some(errno::EPROTO)), "{response:?}");
        }
    }
}

#[tokio::test]
async fn a_response_that_ends_too_early_is_never_a_short_success() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = BROKEN_CHUNKS.iter().map(|row| format!("{head}{row}"));
    let lengths =
        ["", "a", "ab"].map(|row| format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{row}"));
    for response in chunks.chain(lengths) {
        for is_filtered in [false, true] {
            let (_, body, end) = received(&response, is_filtered).await;
            let is_error = matches!(end, Some(errno::EPROTO | errno::ECONNRESET));
            assert!(is_error, "{response:?}: {body:?}, {end:?}");
        }
    }
}
