//! TLS: the handshake is a frame in the stream, certificates fail as the guest's own library says.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, date_time_ymd};
use rustls::server::WebPkiClientVerifier;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::config::{EgressConfig, NetworkLimits};
use crate::error::errno;
use crate::tests::requests::Broker;
use crate::tests::support::{
    AnyStream, Authority, Gateway, Guest, Server, authority_file, config, default_hello, ok,
    policy, secure,
};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

const NAME: &str = "api.example.com";

fn pattern(server: &Server) -> String {
    format!("https://{NAME}:{}", server.port)
}

#[tokio::test]
async fn a_handshake_is_a_frame_and_requests_follow() {
    let authority = Authority::new();
    let server =
        Server::answering(Some(authority.server(NAME, &["http/1.1"])), |_| ok("secret text")).await;
    let gateway = Gateway::trusting(&authority);
    let network = gateway.open(&[&pattern(&server)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let agreed = guest.hello(&default_hello("API.example.com")).await.unwrap();
    assert_eq!((&agreed["alpn"], &agreed["version"]), (&json!("http/1.1"), &json!("TLSv1.3")));
    assert!(agreed["cipher"][0].as_str().unwrap().starts_with("TLS_"), "{agreed}");
    assert!(agreed["certificate"]["der"].as_str().unwrap().len() > 100);
    let (answer, end) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
    assert!(answer.ends_with("secret text") && end.is_ok(), "{answer} {end:?}");
    let summary = network.summary();
    assert!(summary.sent_bytes > 300 && summary.received_bytes > 500, "{summary:?}");
}

#[tokio::test]
async fn http_2_is_spoken_to_the_world_and_http_1_to_the_guest() {
    async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let said = format!(
            "{:?} {} {:?} ",
            request.version(),
            request.uri(),
            request.headers().get("host")
        );
        let connection = request.headers().get("connection").is_some();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let said = format!("{said}{connection} {}", body.len());
        Ok(Response::builder().header("x-a", "b").body(Full::new(said.into())).unwrap())
    }
    let authority = Authority::new();
    let server = Server::start(Some(authority.server(NAME, &["h2"])), |stream, _| {
        Box::pin(async move {
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            drop(builder.serve_connection(TokioIo::new(stream), service_fn(answer)).await);
        })
    })
    .await;
    let gateway = Gateway::trusting(&authority);
    let network = gateway.open(&[&pattern(&server)]);
    let guest = secure(&network, NAME, server.port).await;
    let host = format!("{NAME}:{}", server.port);
    for (request, length) in [
        (format!("GET /a?b HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive\r\n\r\n"), 0),
        (format!("POST /a?b HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\n\r\nabcde"), 5),
        (
            format!(
                "POST /a?b HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            ),
            3,
        ),
    ] {
        guest.send(request.as_bytes()).await.unwrap();
        let response = guest.response().await;
        assert!(
            response.starts_with("HTTP/1.1 200 OK\r\n") && response.contains("x-a: b"),
            "{response}"
        );
        let said = format!("HTTP/2.0 https://{host}/a?b None false {length}");
        assert!(response.ends_with(&said), "{response}");
    }
    assert_eq!(*server.accepted.lock(), 1);
}

/// Three bytes, and then no end.
struct Breaking(bool);

impl hyper::body::Body for Breaking {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, std::io::Error>>> {
        let is_first = !std::mem::replace(&mut self.0, true);
        let data = hyper::body::Frame::data(Bytes::from_static(b"abc"));
        Poll::Ready(Some(if is_first { Ok(data) } else { Err(std::io::Error::other("broken")) }))
    }
}

#[tokio::test]
async fn a_stream_of_http_2_that_breaks_off_is_an_error() {
    let authority = Authority::new();
    let server = Server::start(Some(authority.server(NAME, &["h2"])), |stream, _| {
        Box::pin(async move {
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let answer =
                service_fn(|_| async { Ok::<_, Infallible>(Response::new(Breaking(false))) });
            drop(builder.serve_connection(TokioIo::new(stream), answer).await);
        })
    })
    .await;
    let gateway = Gateway::trusting(&authority);
    let network = gateway.open(&[&pattern(&server)]);
    let guest = secure(&network, NAME, server.port).await;
    let (answer, end) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_eq!(end.unwrap_err().errno(), errno::ECONNRESET);
}

/// Sends an empty SETTINGS frame and then `flood`, and reads all that comes.
async fn send_forever(stream: AnyStream, flood: &'static [u8]) {
    let (mut reading, mut writing) = tokio::io::split(stream);
    let mut ignored = tokio::io::sink();
    let draining = tokio::io::copy(&mut reading, &mut ignored);
    let frames = [b"\0\0\0\x04\0\0\0\0\0", &flood.repeat(500)[..]].concat();
    let flooding = async { while writing.write_all(&frames).await.is_ok() {} };
    drop(tokio::join!(draining, flooding));
}

#[tokio::test]
async fn floods_of_http_2_frames_are_cut_off() {
    let authority = Authority::new();
    let floods: [&[u8]; 3] = [
        // PING, SETTINGS, and an empty DATA frame of a stream that nobody opened.
        b"\0\0\x08\x06\0\0\0\0\0abcdefgh",
        b"\0\0\0\x04\0\0\0\0\0",
        b"\0\0\0\0\0\0\0\0\x01",
    ];
    for flood in floods {
        let tls = authority.server(NAME, &["h2"]);
        let server =
            Server::start(Some(tls), move |stream, _| Box::pin(send_forever(stream, flood)));
        let server = server.await;
        let limits = NetworkLimits {
            received: ByteCount::mebibytes(1),
            request_timeout: Duration::from_secs(3),
            ..NetworkLimits::default()
        };
        let authorities = Some(authority_file(&authority));
        let gateway = Gateway::new(EgressConfig { authorities, limits, ..config() });
        let network = gateway.open(&[&pattern(&server)]);
        let guest = secure(&network, NAME, server.port).await;
        let (answer, _) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
        assert_eq!(answer, "", "{flood:?}");
        assert!(network.summary().received_bytes < 2 << 20, "{flood:?}");
    }
}

#[tokio::test]
async fn bad_certificates_are_verified_and_named_as_openssl_does() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let params = |name: &str| CertificateParams::new(vec![name.to_owned()]).unwrap();
    let mut expired = params(NAME);
    expired.not_before = date_time_ymd(2019, 1, 1);
    expired.not_after = date_time_ymd(2020, 1, 1);
    let mut early = params(NAME);
    early.not_before = date_time_ymd(2400, 1, 1);
    early.not_after = date_time_ymd(2500, 1, 1);
    let rows = [
        (authority.server_with(&expired, &[]), 10),
        (authority.server_with(&early, &[]), 9),
        (authority.server("other.example.com", &[]), 62),
        (authority.server("*.com", &[]), 62),
        (stranger.server(NAME, &[]), 20),
    ];
    for (tls, code) in rows {
        let server = Server::answering(Some(tls), |_| ok("x")).await;
        for asks in [true, false] {
            let gateway = Gateway::trusting(&authority);
            let network = gateway.open(&[&pattern(&server)]);
            let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
            let mut hello = default_hello(NAME);
            hello["verify"] = json!(asks);
            hello["check_hostname"] = json!(asks);
            let answer = guest.hello(&hello).await.unwrap();
            assert_eq!(answer["error"]["verify_code"], json!(code), "{answer}");
            let is_told =
                answer["error"]["verify_message"].as_str().unwrap().contains("turns the check off");
            assert_eq!(is_told, !asks, "{answer}");
            assert_eq!(guest.rest().await, (String::new(), Ok(())));
        }
        assert!(server.heads.lock().is_empty());
    }
}

#[tokio::test]
async fn only_an_operator_lets_programs_connect_without_a_check() {
    let stranger = Authority::new();
    let server =
        Server::answering(Some(stranger.server("other.example.com", &[])), |_| ok("unchecked"))
            .await;
    let gateway = Gateway::new(EgressConfig { allows_unverified: true, ..config() });
    let network = gateway.open(&[&pattern(&server)]);
    for (asks, passes) in [(false, true), (true, false)] {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let mut hello = default_hello(NAME);
        hello["verify"] = json!(asks);
        let answer = guest.hello(&hello).await.unwrap();
        assert_eq!(answer.get("error").is_none(), passes, "{answer}");
    }
}

#[tokio::test]
async fn a_server_that_nobody_checked_gets_no_secrets() {
    let authority = Authority::new();
    let server = Server::answering(Some(authority.server(NAME, &[])), |_| ok("x")).await;
    let authorities = Some(authority_file(&authority));
    let gateway = Gateway::new(EgressConfig { authorities, allows_unverified: true, ..config() });
    let rules = policy(&[&pattern(&server)]).rewritten_by(Arc::new(Broker));
    let network = gateway.egress.open(&TenantId::local(), rules);
    for (asks, sent) in [(true, "Bearer the-secret"), (false, "Bearer PLACEHOLDER")] {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let mut hello = default_hello(NAME);
        hello["verify"] = json!(asks);
        guest.hello(&hello).await.unwrap();
        let host = format!("{NAME}:{}", server.port);
        let request =
            format!("GET / HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer PLACEHOLDER\r\n\r\n");
        guest.send(request.as_bytes()).await.unwrap();
        assert!(guest.response().await.ends_with('x'));
        assert!(server.heads.lock().pop().unwrap().contains(sent), "verify={asks}");
    }
}

#[tokio::test]
async fn authorities_of_a_program_are_demanded_on_top() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let ours = Server::answering(Some(authority.server(NAME, &[])), |_| ok("x")).await;
    let theirs = Server::answering(Some(stranger.server(NAME, &[])), |_| ok("x")).await;
    let gateway = Gateway::trusting(&authority);
    // The server, the authority that the program demands, and whether both trust.
    let rows = [(&ours, &authority, true), (&ours, &stranger, false), (&theirs, &stranger, false)];
    for (server, demanded, passes) in rows {
        let network = gateway.open(&[&pattern(server)]);
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let mut hello = default_hello(NAME);
        hello["authorities"] = json!([demanded.der()]);
        let answer = guest.hello(&hello).await.unwrap();
        assert_eq!(answer.get("error").is_none(), passes, "{answer}");
    }
}

#[tokio::test]
async fn servers_without_modern_tls_are_refused() {
    let rows: [(&[u8], &str); 3] = [
        // The alert `protocol_version`, as a server without TLS 1.2 sends it.
        (b"\x15\x03\x01\x00\x02\x02\x46", "TLSV1_ALERT_PROTOCOL_VERSION"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "WRONG_VERSION_NUMBER"),
        (b"", "UNEXPECTED_EOF_WHILE_READING"),
    ];
    for (said, reason) in rows {
        let server = Server::start(None, move |mut stream, _| {
            Box::pin(async move {
                let mut hello = [0; 100];
                stream.read_exact(&mut hello).await.unwrap();
                stream.write_all(said).await.unwrap();
                stream.shutdown().await.unwrap();
                let mut rest = Vec::new();
                drop(stream.read_to_end(&mut rest).await);
            })
        })
        .await;
        let gateway = Gateway::new(config());
        let network = gateway.open(&[&pattern(&server)]);
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let answer = guest.hello(&default_hello(NAME)).await.unwrap();
        assert_eq!(answer["error"]["reason"], json!(reason), "{answer}");
    }
}

#[tokio::test]
async fn a_server_that_demands_a_client_certificate_gets_none() {
    let authority = Authority::new();
    let mut roots = rustls::RootCertStore::empty();
    let der = data_encoding::BASE64.decode(authority.der().as_bytes()).unwrap();
    roots.add(der.into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let demands = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec![NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(demands)
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    let server = Server::answering(Some(tls), |_| ok("x")).await;
    let gateway = Gateway::new(EgressConfig { allows_unverified: true, ..config() });
    let network = gateway.open(&[&pattern(&server)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let mut hello = default_hello(NAME);
    hello["verify"] = json!(false);
    let answer = guest.hello(&hello).await.unwrap();
    if answer.get("error").is_none() {
        // With TLS 1.3 the server says so after the handshake.
        let (answer, _) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
        assert_eq!(answer, "");
    }
    assert!(server.heads.lock().is_empty());
}

#[tokio::test]
async fn names_and_schemes_hold_within_the_stream() {
    let authority = Authority::new();
    let server = Server::answering(Some(authority.server(NAME, &[])), |_| ok("x")).await;
    let gateway = Gateway::trusting(&authority);
    // TLS must name the host of the connection.
    let network =
        gateway.open(&[&pattern(&server), &format!("https://other.example.com:{}", server.port)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let refused = guest.hello(&default_hello("other.example.com")).await.unwrap_err();
    assert_eq!(refused.errno(), errno::EACCES);
    // So must the header of the request.
    let guest = secure(&network, NAME, server.port).await;
    let (_, end) = guest.get(&format!("other.example.com:{}", server.port), "/").await;
    assert_eq!(end.unwrap_err().errno(), errno::EACCES);
    // A pattern with https grants nothing in clear.
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    let (_, end) = guest.get(&format!("{NAME}:{}", server.port), "/").await;
    let refused = end.unwrap_err();
    assert!(refused.errno() == errno::EACCES && refused.text().contains("http://"), "{refused}");
    // A pattern with http grants nothing encrypted.
    let network = gateway.open(&[&format!("http://{NAME}:{}", server.port)]);
    let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
    assert_eq!(guest.hello(&default_hello(NAME)).await.unwrap_err().errno(), errno::EACCES);
    // A second handshake within the first is not a request.
    let network = gateway.open(&[&pattern(&server)]);
    let guest = secure(&network, NAME, server.port).await;
    guest.send(b"\x16\x00\x00\x00\x02{}").await.unwrap();
    let (answer, _) = guest.rest().await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(server.heads.lock().is_empty());
}

#[tokio::test]
async fn malformed_hellos_end_the_connection() {
    let server = Server::answering(None, |_| ok("x")).await;
    let gateway = Gateway::new(config());
    let network = gateway.open(&[&pattern(&server)]);
    let frames: [&[u8]; 5] = [
        b"\x16\xff\xff\xff\xff",
        b"\x16\x00\x00\x00\x02[]",
        b"\x16\x00\x00\x00\x02{}",
        b"\x16\x00\x00\x00\x00",
        b"\x16\x00\x00\x00\x30{\"server_hostname\":3,\"verify\":true}             ",
    ];
    for frame in frames {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        guest.send(frame).await.unwrap();
        let (answer, end) = guest.rest().await;
        assert_eq!((answer.as_str(), end.unwrap_err().errno()), ("", errno::EPROTO), "{frame:?}");
    }
}

#[tokio::test]
async fn a_file_without_certificates_is_an_error_of_the_operator() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let names = Arc::new(crate::tests::support::Names::default());
    for path in [empty.path().to_owned(), "/no/such/file".into()] {
        let config = EgressConfig { authorities: Some(path), ..config() };
        assert!(crate::Egress::new(config, Arc::clone(&names) as _).is_err());
    }
    let authority = Authority::new();
    let config = EgressConfig { authorities: Some(authority_file(&authority)), ..config() };
    assert!(crate::Egress::new(config, names).is_ok());
}
