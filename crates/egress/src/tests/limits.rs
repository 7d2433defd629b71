//! Limits: endless, huge and slow servers, and guests that never stop.

use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;

use crate::config::{EgressConfig, NetworkLimits};
use crate::error::errno;
use crate::guest::pipe::BUFFER;
use crate::network::{ClosedPart, RunNetwork, StreamReadiness};
use crate::tests::support::{AnyStream, Gateway, Guest, Server, config, ok, policy, read_head};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

const NAME: &str = "api.example.com";

fn limited(limits: NetworkLimits) -> Gateway {
    Gateway::new(EgressConfig { limits, ..config() })
}

fn open(gateway: &Gateway, server: &Server) -> RunNetwork {
    gateway.open(&[&format!("http://{NAME}:{}", server.port)])
}

/// Sends `first`, then `again` for ever.
async fn endless(first: &'static [u8], again: &'static [u8]) -> Server {
    Server::start(None, move |mut stream, heads| {
        Box::pin(async move {
            drop(read_head(&mut stream).await);
            let mut sent = 0_usize;
            drop(stream.write_all(first).await);
            while stream.write_all(again).await.is_ok() {
                sent += again.len();
                heads.lock().clear();
                heads.lock().push(sent.to_string());
            }
        })
    })
    .await
}

/// Sends a byte now and then.
async fn drip(stream: &mut AnyStream) {
    while stream.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn end_of_get(gateway: &Gateway, server: &Server) -> (usize, i32, String) {
    let network = open(gateway, server);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let (answer, end) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
    let error = end.unwrap_err();
    (answer.len(), error.errno(), error.text().to_owned())
}

const ZEROS: &[u8] = &[0; 16 << 10];

#[tokio::test]
async fn endless_responses_are_cut_off() {
    let limits =
        NetworkLimits { response_body: ByteCount::mebibytes(1), ..NetworkLimits::default() };
    let gateway = limited(limits);
    let until_close = endless(b"HTTP/1.1 200 OK\r\n\r\n", ZEROS).await;
    let (length, code, text) = end_of_get(&gateway, &until_close).await;
    assert_eq!(code, errno::EDQUOT, "{text}");
    assert!((1 << 19..3 << 20).contains(&length), "{length}");
    let chunked =
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nabc\r\n").await;
    assert_eq!(end_of_get(&gateway, &chunked).await.1, errno::EDQUOT);
    let announced = endless(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", ZEROS).await;
    let (length, code, _) = end_of_get(&gateway, &announced).await;
    assert_eq!((length, code), (0, errno::EDQUOT));
}

#[tokio::test]
async fn a_run_receives_no_more_than_its_limit_in_all() {
    let gateway =
        limited(NetworkLimits { received: ByteCount::kibibytes(300), ..NetworkLimits::default() });
    let server = endless(b"HTTP/1.1 200 OK\r\n\r\n", ZEROS).await;
    let network = open(&gateway, &server);
    for _ in 0..3 {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let (_, end) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
        assert_eq!(end.unwrap_err().errno(), errno::EDQUOT);
    }
    let summary = network.summary();
    assert!(summary.received_bytes < 800 << 10, "{summary:?}");
}

#[tokio::test]
async fn a_run_sends_no_more_than_its_limit() {
    let server = Server::start(None, |mut stream, _| {
        Box::pin(async move {
            drop(tokio::io::copy(&mut stream, &mut tokio::io::sink()).await);
        })
    })
    .await;
    let host = format!("{NAME}:{}", server.port);
    let rows = [
        NetworkLimits { sent: ByteCount::kibibytes(200), ..NetworkLimits::default() },
        NetworkLimits { request_body: ByteCount::kibibytes(200), ..NetworkLimits::default() },
    ];
    for limits in rows {
        for framing in ["Content-Length: 10000000", "Transfer-Encoding: chunked"] {
            let gateway = limited(limits);
            let network = open(&gateway, &server);
            let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
            guest
                .send(format!("POST / HTTP/1.1\r\nHost: {host}\r\n{framing}\r\n\r\n").as_bytes())
                .await
                .unwrap();
            let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            let mut sent = 0;
            let failure = loop {
                match guest.send(chunk.as_bytes()).await {
                    Ok(()) => sent += chunk.len(),
                    Err(error) => break error,
                }
                assert!(sent < 4 << 20, "nothing stops the guest");
            };
            assert_eq!(failure.errno(), errno::EDQUOT, "{failure}");
            assert!(network.summary().sent_bytes < 400 << 10);
        }
    }
}

#[tokio::test]
async fn heads_without_end_are_refused() {
    let gateway = limited(NetworkLimits::default());
    let line = b"X-Header: 0123456789012345678901234567890123456789\r\n";
    let many = endless(b"HTTP/1.1 200 OK\r\n", line).await;
    assert_eq!(end_of_get(&gateway, &many).await.1, errno::EMSGSIZE);
    let short = endless(b"HTTP/1.1 200 OK\r\n", b"a:\r\n").await;
    assert_eq!(end_of_get(&gateway, &short).await.1, errno::EMSGSIZE);
    let long = endless(b"HTTP/1.1 200 OK\r\nX: ", &[b'a'; 4096]).await;
    assert_eq!(end_of_get(&gateway, &long).await.1, errno::EMSGSIZE);
    // Of the guest, too.
    let server = Server::answering(None, |_| ok("x")).await;
    for line in ["X: 0123456789\r\n", "aaaaaaaaaaaaaa"] {
        let network = open(&gateway, &server);
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        drop(
            guest
                .send(
                    format!(
                        "GET / HTTP/1.1\r\nHost: {NAME}:{}\r\nY: {}",
                        server.port,
                        line.repeat(20_000)
                    )
                    .as_bytes(),
                )
                .await,
        );
        let (answer, _) = guest.rest().await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer:?}");
    }
    assert!(server.heads.lock().is_empty());
}

#[tokio::test]
async fn floods_of_interim_responses_end_at_the_limit_of_bytes_or_time() {
    let gateway =
        limited(NetworkLimits { received: ByteCount::mebibytes(1), ..NetworkLimits::default() });
    let server = endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n").await;
    let (length, code, _) = end_of_get(&gateway, &server).await;
    assert_eq!((length, code), (0, errno::EDQUOT));
}

#[tokio::test]
async fn servers_that_never_answer_end_at_their_time() {
    let hanging = Server::start(None, |mut stream, _| {
        Box::pin(async move {
            let head = read_head(&mut stream).await.unwrap();
            if head.contains("/drip") {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").await);
                drip(&mut stream).await;
            }
            std::future::pending::<()>().await;
        })
    })
    .await;
    let short = Duration::from_millis(300);
    let rows = [
        ("/", NetworkLimits { first_byte_timeout: short, ..NetworkLimits::default() }),
        ("/", NetworkLimits { request_timeout: short, ..NetworkLimits::default() }),
        ("/drip", NetworkLimits { request_timeout: short, ..NetworkLimits::default() }),
    ];
    for (path, limits) in rows {
        let gateway = limited(limits);
        let network = open(&gateway, &hanging);
        let guest = Guest::connect(&network, NAME, hanging.port).await.unwrap();
        let started = Instant::now();
        let (_, end) = guest.get(&format!("{NAME}:{}", hanging.port), path).await;
        assert_eq!(end.unwrap_err().errno(), errno::ETIMEDOUT);
        assert!(started.elapsed() >= short && started.elapsed() < Duration::from_secs(10));
    }
    // A handshake that is never answered.
    let gateway = limited(NetworkLimits { connect_timeout: short, ..NetworkLimits::default() });
    let network = gateway.open(&[&format!("https://{NAME}:{}", hanging.port)]);
    let guest = Guest::connect(&network, NAME, hanging.port).await.unwrap();
    let hello = crate::tests::support::default_hello(NAME);
    assert_eq!(guest.hello(&hello).await.unwrap_err().errno(), errno::ETIMEDOUT);
}

#[tokio::test]
async fn a_guest_that_does_not_read_stops_the_server() {
    let server = endless(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", ZEROS).await;
    let gateway = limited(NetworkLimits::default());
    let network = open(&gateway, &server);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    guest
        .send(format!("GET / HTTP/1.1\r\nHost: {NAME}:{}\r\n\r\n", server.port).as_bytes())
        .await
        .unwrap();
    network.poll(&[(guest.handle, StreamReadiness::READ)], None).await.unwrap();
    let mut received = network.summary().received_bytes;
    // Until nothing moves any more.
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = network.summary().received_bytes;
        if now == received {
            break;
        }
        received = now;
    }
    // The buffer towards the guest, and those of the parsers.
    assert!(received < 6 * u64::try_from(BUFFER).unwrap(), "{received} bytes were read ahead");
    assert_eq!(guest.exactly(1 << 20).await.len(), 1 << 20);
    assert!(network.summary().received_bytes > 1 << 20);
}

#[tokio::test]
async fn requests_and_connections_of_a_run_are_counted() {
    let server = Server::answering(None, |_| ok("x")).await;
    let host = format!("{NAME}:{}", server.port);
    let gateway =
        limited(NetworkLimits { requests: 5, connections: 2, ..NetworkLimits::default() });
    let network = open(&gateway, &server);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    for _ in 0..5 {
        guest.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
        assert!(guest.response().await.ends_with('x'));
    }
    guest.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let (answer, end) = guest.rest().await;
    assert_eq!((answer.as_str(), end.unwrap_err().errno()), ("", errno::EDQUOT));
    assert_eq!(server.heads.lock().len(), 5);
    assert!(network.start(NAME, server.port).is_ok());
    assert_eq!(network.start(NAME, server.port).unwrap_err().errno(), errno::EDQUOT);
}

#[tokio::test]
async fn all_runs_together_have_a_bounded_number_of_connections() {
    let server = Server::answering(None, |_| ok("x")).await;
    let limits =
        NetworkLimits { connect_timeout: Duration::from_millis(200), ..NetworkLimits::default() };
    let gateway = Gateway::new(EgressConfig { limits, max_open_connections: 2, ..config() });
    let (one, other) = (open(&gateway, &server), open(&gateway, &server));
    let _first = Guest::connect(&one, NAME, server.port).await.unwrap();
    let _second = Guest::connect(&one, NAME, server.port).await.unwrap();
    let refused = Guest::connect(&other, NAME, server.port).await.err().unwrap();
    assert_eq!(refused.errno(), errno::EAGAIN);
    drop(one);
    assert!(Guest::connect(&other, NAME, server.port).await.is_ok());
}

#[tokio::test]
async fn a_tenant_leaves_connections_to_others() {
    let server = Server::answering(None, |_| ok("x")).await;
    let limits =
        NetworkLimits { connect_timeout: Duration::from_millis(200), ..NetworkLimits::default() };
    let config = EgressConfig { limits, max_open_connections: 4, most_of_tenant: 3, ..config() };
    let gateway = Gateway::new(config);
    let pattern = format!("http://{NAME}:{}", server.port);
    let network =
        |tenant: &str| gateway.egress.open(&TenantId::parse(tenant).unwrap(), policy(&[&pattern]));
    let (greedy, again, modest) = (network("greedy"), network("greedy"), network("modest"));
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(Guest::connect(&greedy, NAME, server.port).await.unwrap());
    }
    let refused = Guest::connect(&again, NAME, server.port).await.err().unwrap();
    assert_eq!(refused.errno(), errno::EAGAIN, "another run of the tenant has the same share");
    let _first = Guest::connect(&modest, NAME, server.port).await.unwrap();
    // The next connection that ends goes to the tenant that has fewer.
    let second = Guest::connect(&modest, NAME, server.port);
    let last = held.pop().unwrap().handle;
    let ends = async { greedy.close(last, ClosedPart::Everything).unwrap() };
    let (second, ()) = tokio::join!(second, ends);
    assert!(second.is_ok());
}

#[tokio::test]
async fn many_runs_at_once_have_their_answers_each() {
    let server = Server::answering(None, |head| ok(head.split(' ').nth(1).unwrap())).await;
    let gateway = Gateway::new(EgressConfig { max_open_connections: 20, ..config() });
    let host = format!("{NAME}:{}", server.port);
    let one = async |number: usize| {
        let network = open(&gateway, &server);
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let (answer, end) = guest.get(&host, &format!("/run{number}")).await;
        assert!(answer.ends_with(&format!("/run{number}")) && end.is_ok(), "{answer}");
    };
    for round in 0..10 {
        let ten = |tens: usize| one(round * 100 + tens * 10);
        tokio::join!(
            ten(0),
            ten(1),
            ten(2),
            ten(3),
            ten(4),
            ten(5),
            ten(6),
            ten(7),
            ten(8),
            ten(9),
            ten(10),
            ten(11),
            ten(12),
            ten(13),
            ten(14),
            ten(15),
            ten(16),
            ten(17),
            ten(18),
            ten(19),
            ten(20),
            ten(21),
            ten(22),
            ten(23),
            ten(24),
            ten(25),
            ten(26),
            ten(27),
            ten(28),
            ten(29),
        );
    }
    assert_eq!(server.heads.lock().len(), 300);
}
