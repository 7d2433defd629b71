//! Requests in clear: what passes, what is refused, how responses come back.

use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::error::errno;
use crate::guest::pipe::StreamRead;
use crate::network::{ClosedPart, ConnectionHandle, MAX_HANDLES, StreamReadiness};
use crate::policy::target::RequestTarget;
use crate::rewrite::RequestRewriter;
use crate::tests::support::{Gateway, Guest, Server, config, ok, policy, read_head, text};
use wardian_vocabulary::ids::TenantId;

const NAME: &str = "api.example.com";

/// Sends `request` as it is and gives what came back, how it ended, and what the server saw.
async fn raw(server: &Server, request: &str) -> (String, Option<i32>, Vec<String>) {
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{NAME}:{}", server.port)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    // A refusal may come while the guest still writes.
    drop(guest.send(request.as_bytes()).await);
    network.close(guest.handle, ClosedPart::Writing).unwrap();
    let (answer, end) = guest.rest().await;
    (answer, end.err().map(|error| error.errno()), server.heads.lock().clone())
}

async fn answered(answer: &'static [u8], request: &str) -> (String, Option<i32>) {
    let server = Server::answering(None, move |_| answer.to_vec()).await;
    let request = request.replace("HOST", &format!("{NAME}:{}", server.port));
    let (answer, end, _) = raw(&server, &request).await;
    (answer, end)
}

const GET: &str = "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n";

#[tokio::test]
async fn every_request_is_built_anew() {
    let server = Server::answering(None, |_| {
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Authenticate: b\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b".to_vec()
    }).await;
    let host = format!("{NAME}:{}", server.port);
    let (answer, end, heads) = raw(&server, &format!(
        "GET /a?b=%20&c HTTP/1.1\r\nhOST: {}\r\nConnection: X-Drop, host, keep-alive\r\nX-Drop: 1\r\nKeep-Alive: 3\r\nProxy-Authorization: x\r\nTE: trailers\r\nUpgrade: websocket\r\nX-Stay: caf\u{e9}\r\nAccept-Encoding: gzip\r\n\r\n",
        host.to_uppercase())).await;
    assert_eq!(end, None);
    let head = heads[0].to_lowercase();
    assert!(
        head.starts_with("get /a?b=%20&c http/1.1\r\n")
            && head.contains(&format!("\r\nhost: {host}\r\n")),
        "{head}"
    );
    assert!(
        head.contains("\r\nx-stay: caf\u{e9}\r\n")
            && head.contains("\r\naccept-encoding: gzip\r\n"),
        "{head}"
    );
    for gone in ["x-drop", "keep-alive", "proxy", "te:", "upgrade", "connection"] {
        assert!(!head.contains(gone), "{gone} in {head}");
    }
    let lower = answer.to_lowercase();
    assert!(
        lower.starts_with("http/1.1 200 ok\r\n") && lower.ends_with("\x1f\u{fffd}"),
        "{answer:?}"
    );
    assert!(
        lower.contains("set-cookie: a=1\r\n")
            && lower.contains("set-cookie: b=2\r\n")
            && lower.contains("content-encoding: gzip"),
        "{answer}"
    );
    for gone in ["x-hop", "keep-alive", "proxy-auth"] {
        assert!(!lower.contains(gone), "{gone} in {answer}");
    }
}

#[tokio::test]
async fn requests_with_two_readings_never_reach_the_wire() {
    let server = Server::answering(None, |_| ok("x")).await;
    let host = format!("{NAME}:{}", server.port);
    let good = format!("GET / HTTP/1.1\r\nHost: {host}\r\n");
    let refused: Vec<(String, Option<i32>)> = vec![
        (format!("{good}X: a\nY: b\r\n\r\n"), None),
        (format!("{good}X: a\rY: b\r\n\r\n"), None),
        (format!("{good}X: a\0\r\n\r\n"), None),
        (format!("{good}X : a\r\n\r\n"), None),
        (format!("{good}X: a\r\n folded\r\n\r\n"), None),
        (format!("{good}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx"), None),
        (format!("{good}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), None),
        (format!("{good}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), None),
        (format!("GET / HTTP/1.1\r\nX: GET / HTTP/1.1\r\nHost:{host}\n\r\n"), None),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), Some(errno::EACCES)),
        (format!("{good}Host: {host}\r\n\r\n"), Some(errno::EACCES)),
        ("GET / HTTP/1.1\r\nHost: internal\r\n\r\n".to_owned(), Some(errno::EACCES)),
        (format!("GET / HTTP/1.1\r\nHost: {NAME}:1\r\n\r\n"), Some(errno::EACCES)),
        (format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        (format!("GET http://internal/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        (format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        (format!("CONNECT internal:22 HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        (format!("TRACE / HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        (format!("OPTIONS * HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        (format!("GET /\\x HTTP/1.1\r\nHost: {host}\r\n\r\n"), Some(errno::EACCES)),
        ("EHLO there\r\n\r\n".to_owned(), None),
        ("*1\r\n$4\r\nPING\r\n".to_owned(), None),
    ];
    for (request, code) in refused {
        let (answer, end, heads) = raw(&server, &request).await;
        assert_eq!(heads, Vec::<String>::new(), "{request:?} was sent");
        match code {
            Some(code) => assert_eq!((answer.as_str(), end), ("", Some(code)), "{request:?}"),
            None => assert!(answer.starts_with("HTTP/1.1 4"), "{request:?}: {answer:?} {end:?}"),
        }
    }
}

#[tokio::test]
async fn every_request_of_a_connection_is_checked() {
    let server = Server::answering(None, |_| ok("fine")).await;
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{NAME}:{}/v1/*", server.port)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let request =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {NAME}:{}\r\n\r\n", server.port);
    // The second request is in the buffer before the first is answered.
    guest.send((request("/v1/x") + &request("/v1/../admin?key=secret")).as_bytes()).await.unwrap();
    let (answer, end) = guest.rest().await;
    assert!(answer.ends_with("fine"), "{answer:?}");
    assert_eq!(end.clone().unwrap_err().errno(), errno::EACCES);
    assert_eq!(guest.send(b"x").await.unwrap_err(), end.unwrap_err());
    assert_eq!(server.heads.lock().len(), 1);
    let summary = network.summary();
    assert_eq!((summary.requests, summary.refusals, summary.connections), (1, 1, 1));
    assert_eq!((summary.hosts[0].host.as_str(), summary.hosts[0].requests), (NAME, 1));
    assert!(summary.sent_bytes > 30 && summary.received_bytes > 30);
    let record = serde_json::to_string(&summary).unwrap();
    assert!(!record.contains("secret") && !record.contains("admin"), "{record}");
}

#[tokio::test]
async fn a_connection_is_kept_and_its_end_is_seen() {
    let server = Server::answering(None, |head| match head.contains("/last") {
        true => b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nz".to_vec(),
        false => ok("a"),
    })
    .await;
    let host = format!("{NAME}:{}", server.port);
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{host}")]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    for _ in 0..3 {
        guest.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
        assert!(guest.response().await.ends_with("\r\n\r\na"));
    }
    assert_eq!(*server.accepted.lock(), 1);
    let idle =
        network.poll(&[(guest.handle, StreamReadiness::READ)], Some(Duration::ZERO)).await.unwrap();
    assert_eq!(idle, []);
    guest.send(format!("GET /last HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let (answer, end) = guest.rest().await;
    assert!(
        answer.contains("connection: close") && answer.ends_with('z') && end.is_ok(),
        "{answer}"
    );
    assert_eq!(guest.send(b"x").await.unwrap_err().errno(), errno::EPIPE);
}

#[tokio::test]
async fn an_idle_connection_that_the_server_closes_ends_for_the_guest() {
    let server = Server::start(None, |mut stream, _| {
        Box::pin(async move {
            read_head(&mut stream).await.unwrap();
            stream.write_all(&ok("a")).await.unwrap();
        })
    })
    .await;
    let host = format!("{NAME}:{}", server.port);
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{host}")]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    guest.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let (answer, end) = guest.rest().await;
    assert!(answer.ends_with("\r\n\r\na") && end.is_ok(), "{answer} {end:?}");
}

#[tokio::test]
async fn responses_of_every_framing_come_through() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nX-Sum: 42\r\n\r\n";
    let (answer, end) = answered(chunked, GET).await;
    assert!(
        answer.contains("transfer-encoding: chunked\r\n")
            && answer.ends_with("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
        "{answer}"
    );
    assert!(!answer.to_lowercase().contains("x-sum") && end.is_none(), "{answer}");

    let until_close = b"HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nto the end";
    let (answer, end) = answered(until_close, GET).await;
    assert!(
        answer.contains("to the end")
            && answer.contains("connection: close")
            && answer.ends_with("0\r\n\r\n"),
        "{answer}"
    );
    assert_eq!(end, None);

    let (answer, end) = answered(b"HTTP/1.1 204 No Content\r\n\r\n", GET).await;
    assert!(
        answer.starts_with("HTTP/1.1 204") && answer.ends_with("\r\n\r\n") && end.is_none(),
        "{answer}"
    );
    let (answer, _) = answered(b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", GET).await;
    assert!(answer.starts_with("HTTP/1.1 304") && answer.contains("etag: \"x\""), "{answer}");
    let (answer, end) = answered(
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: HOST\r\n\r\n",
    )
    .await;
    assert!(
        answer.contains("content-length: 1000") && answer.ends_with("\r\n\r\n") && end.is_none(),
        "{answer} {end:?}"
    );
    let hints = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate";
    let (answer, _) = answered(hints, GET).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("late"), "{answer}");
}

#[tokio::test]
async fn broken_responses_are_errors_and_never_a_clean_end() {
    let (answer, end) =
        answered(b"HTTP/1.1 200 OK\r\nconnection: close\r\nContent-Length: 1000\r\n\r\nxxxx", GET)
            .await;
    assert!(answer.ends_with("xxxx"), "{answer}");
    assert_eq!(end, Some(errno::ECONNRESET));
    let (answer, end) = answered(b"HTTP/1.1 200 OK\r\nconnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nxxxx\r\nff\r\nabc", GET).await;
    assert!(answer.contains("xxxx") && !answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_eq!(end, Some(errno::ECONNRESET));
    for odd in [
        &b"this is not HTTP\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nconnection: close\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\nContent-Length: -1\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\nBad Name: x\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: close\r\nUpgrade: websocket\r\n\r\nraw",
    ] {
        let (answer, end) = answered(odd, GET).await;
        assert_eq!((answer.as_str(), end), ("", Some(errno::EPROTO)), "{:?}", text(odd));
    }
    // Nothing at all: the guest's own library says so.
    let (answer, end) = answered(b"", GET).await;
    assert_eq!((answer.as_str(), end), ("", None));
}

#[tokio::test]
async fn uploads_stream_and_early_refusals_arrive() {
    let server = Server::start(None, |mut stream, heads| {
        Box::pin(async move {
            let head = read_head(&mut stream).await.unwrap();
            heads.lock().push(head.clone());
            if head.contains("/early") {
                stream.write_all(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig").await.unwrap();
                let mut rest = Vec::new();
                drop(tokio::time::timeout(Duration::from_secs(1), stream.read_to_end(&mut rest)).await);
                return;
            }
            let mut body = Vec::new();
            let mut piece = [0; 4096];
            while !body.ends_with(b"END") && !body.ends_with(b"0\r\n\r\n") {
                let count = stream.read(&mut piece).await.unwrap();
                body.extend(&piece[..count]);
            }
            stream.write_all(&ok(&format!("{} bytes", body.len()))).await.unwrap();
        })
    })
    .await;
    let host = format!("{NAME}:{}", server.port);
    let size = 1 << 20;
    let body = "x".repeat(size - 3) + "END";
    let (answer, end, heads) = raw(
        &server,
        &format!("POST /all HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n\r\n{body}"),
    )
    .await;
    assert!(answer.ends_with(&format!("{size} bytes")) && end.is_none(), "{answer} {end:?}");
    assert!(heads[0].to_lowercase().contains(&format!("content-length: {size}")), "{heads:?}");

    let chunked = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    for method in ["POST", "GET"] {
        let (answer, _, heads) = raw(&server, &format!("{method} /all HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}")).await;
        assert!(answer.ends_with(" bytes"), "{answer}");
        let head = heads.last().unwrap().to_lowercase();
        assert!(
            head.contains("transfer-encoding: chunked") && !head.contains("content-length"),
            "{head}"
        );
    }
    let (answer, _, _) = raw(
        &server,
        &format!("POST /early HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n\r\n{body}"),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.ends_with("big"), "{answer:?}");

    // The head alone; the body follows the interim response.
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{host}")]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    guest.send(format!("POST /all HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(text(&guest.exactly(25).await), "HTTP/1.1 100 Continue\r\n\r\n");
    guest.send(b"END").await.unwrap();
    assert!(guest.response().await.ends_with("3 bytes"));
    assert!(!server.heads.lock().last().unwrap().to_lowercase().contains("expect"));
}

#[tokio::test]
async fn redirects_are_returned_and_each_hop_is_a_request_of_its_own() {
    for location in
        ["http://127.0.0.1/", "https://evil.com/", "file:///etc/passwd", "//evil.com/x", "/loop"]
    {
        let server = Server::answering(None, move |_| {
            format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nSet-Cookie: a=b\r\ncontent-length: 0\r\n\r\n").into_bytes()
        })
        .await;
        let host = format!("{NAME}:{}", server.port);
        let (answer, end, heads) =
            raw(&server, &format!("GET /x HTTP/1.1\r\nHost: {host}\r\nAuthorization: y\r\n\r\n"))
                .await;
        assert!(answer.contains(&format!("location: {location}\r\n")) && end.is_none(), "{answer}");
        assert_eq!(heads.len(), 1, "the gateway followed {location}");
    }
}

#[tokio::test]
async fn ten_slow_requests_take_as_long_as_one() {
    let server = Server::start(None, |mut stream, _| {
        Box::pin(async move {
            read_head(&mut stream).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            stream.write_all(&ok("slow")).await.unwrap();
        })
    })
    .await;
    let host = format!("{NAME}:{}", server.port);
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{host}")]);
    let mut handles: Vec<ConnectionHandle> = Vec::new();
    let started = std::time::Instant::now();
    for _ in 0..10 {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        guest.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
        handles.push(guest.handle);
    }
    let mut done = 0;
    while !handles.is_empty() {
        let wishes: Vec<_> =
            handles.iter().map(|handle| (*handle, StreamReadiness::READ)).collect();
        let ready = network.poll(&wishes, Some(Duration::from_secs(20))).await.unwrap();
        assert!(!ready.is_empty());
        for (handle, _) in ready {
            assert!(matches!(
                network.read(handle, 1 << 16, Some(Duration::ZERO)).await,
                Ok(StreamRead::Bytes(_))
            ));
            network.close(handle, ClosedPart::Everything).unwrap();
            handles.retain(|kept| *kept != handle);
            done += 1;
        }
    }
    assert_eq!(done, 10);
    assert!(started.elapsed() < Duration::from_millis(2_500), "took {:?}", started.elapsed());
}

#[tokio::test]
async fn handles_are_checked_and_bounded() {
    let server = Server::answering(None, |_| ok("x")).await;
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{NAME}:{}", server.port)]);
    let unknown = ConnectionHandle(7);
    assert_eq!(network.write(unknown, b"x").unwrap_err().errno(), errno::EBADF);
    assert_eq!(network.read(unknown, 1, None).await.unwrap_err().errno(), errno::EBADF);
    assert_eq!(
        network.poll(&[(unknown, StreamReadiness::READ)], None).await.unwrap_err().errno(),
        errno::EBADF
    );
    assert_eq!(network.poll(&[], None).await.unwrap_err().errno(), errno::EINVAL);
    assert_eq!(network.close(unknown, ClosedPart::Everything).unwrap_err().errno(), errno::EBADF);
    let handles: Vec<_> =
        (0..MAX_HANDLES).map(|_| network.start(NAME, server.port).unwrap()).collect();
    assert_eq!(network.write(handles[0], b"x").unwrap_err().errno(), errno::ENOTCONN);
    assert_eq!(network.start(NAME, server.port).unwrap_err().errno(), errno::EMFILE);
    network.close(handles[3], ClosedPart::Everything).unwrap();
    assert_eq!(network.read(handles[3], 1, None).await.unwrap_err().errno(), errno::EBADF);
    assert!(network.start(NAME, server.port).is_ok());
}

#[derive(Debug)]
pub(super) struct Broker;

impl RequestRewriter for Broker {
    fn rewrite_header(&self, target: &RequestTarget, _: &str, value: &[u8]) -> Option<Vec<u8>> {
        let is_for_us = target.path.path() != "/elsewhere";
        (is_for_us && value == b"Bearer PLACEHOLDER").then(|| b"Bearer the-secret".to_vec())
    }

    fn rewrites_body(&self, target: &RequestTarget) -> bool {
        target.path.path() == "/body"
    }

    fn rewrite_body(&self, _: &RequestTarget, body: Vec<u8>) -> Vec<u8> {
        text(&body).replace("PLACEHOLDER", "the-secret").into_bytes()
    }
}

#[tokio::test]
async fn secrets_enter_after_the_checks_and_only_where_they_belong() {
    let server = Server::start(None, |mut stream, heads| {
        Box::pin(async move {
            let head = read_head(&mut stream).await.unwrap();
            let length = head
                .to_lowercase()
                .split("content-length: ")
                .nth(1)
                .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            heads.lock().push(head + &text(&body));
            stream.write_all(&ok("x")).await.unwrap();
        })
    })
    .await;
    let host = format!("{NAME}:{}", server.port);
    let gateway = Gateway::new(config());
    let rules = policy(&[&format!("http://{host}")]).rewritten_by(std::sync::Arc::new(Broker));
    let network = gateway.egress.open(&TenantId::local(), rules);
    for path in ["/here", "/elsewhere", "/body"] {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        guest.send(format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer PLACEHOLDER\r\nContent-Length: 15\r\n\r\nkey=PLACEHOLDER").as_bytes()).await.unwrap();
        assert!(guest.response().await.ends_with('x'));
    }
    let heads = server.heads.lock().clone();
    assert!(
        heads[0].contains("Bearer the-secret") && heads[0].ends_with("key=PLACEHOLDER"),
        "{heads:?}"
    );
    assert!(
        heads[1].contains("Bearer PLACEHOLDER") && heads[1].ends_with("key=PLACEHOLDER"),
        "{heads:?}"
    );
    assert!(
        heads[2].contains("Bearer the-secret") && heads[2].ends_with("key=the-secret"),
        "{heads:?}"
    );
}

/// What a stream of requests answers, if its bytes come in these pieces.
async fn in_pieces(server: &Server, stream: &[u8], pieces: &[usize]) -> (String, Option<i32>) {
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&format!("http://{NAME}:{}/v1/*", server.port)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let mut rest = stream;
    for piece in pieces.iter().cycle() {
        let (now, later) = rest.split_at((*piece).min(rest.len()));
        if now.is_empty() || guest.send(now).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
        rest = later;
    }
    drop(network.close(guest.handle, ClosedPart::Writing));
    let (answer, end) = guest.rest().await;
    (answer, end.err().map(|error| error.errno()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn splits_of_a_stream_do_not_change_its_answers(pieces in proptest::collection::vec(1_usize..60, 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::answering(None, |head| ok(head.split(' ').nth(1).unwrap())).await;
            let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {NAME}:{}\r\n\r\n", server.port);
            for last in ["/v1/last", "/admin", "/v1/%2e%2e/admin"] {
                let stream = get("/v1/a") + &get("/v1/b") + &get(last);
                let whole = in_pieces(&server, stream.as_bytes(), &[10_000]).await;
                assert!(whole.0.contains("/v1/b"), "{whole:?}");
                assert_eq!(in_pieces(&server, stream.as_bytes(), &pieces).await, whole);
            }
            let bad = get("/v1/a") + "GET /v1/b HTTP/1.1\r\nA: b\nC: d\r\n\r\n";
            let whole = in_pieces(&server, bad.as_bytes(), &[10_000]).await;
            assert!(whole.0.contains("HTTP/1.1 400"), "{whole:?}");
            assert_eq!(in_pieces(&server, bad.as_bytes(), &pieces).await, whole);
        });
    }
}
