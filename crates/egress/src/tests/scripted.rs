//! Recorded and replayed networks: the guest sees the same in both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::error::{NetworkError, errno};
use crate::guest::pipe::StreamRead;
use crate::network::{ClosedPart, ConnectionHandle, RunNetwork, StreamReadiness};
use crate::scripted::{NetworkPlayer, NetworkRecorder, NetworkScript};
use crate::tests::support::{Authority, Gateway, Server, config, default_hello, ok, policy, text};
use wardian_formats::provenance::NetworkDocument;
use wardian_formats::provenance::network::NetworkEvent;
use wardian_vocabulary::ids::TenantId;

/// A guest that notes all that it sees, operation by operation.
struct Witness {
    network: RunNetwork,
    seen: Vec<String>,
}

impl Witness {
    fn new(gateway: &Gateway, patterns: &[&str], script: &Arc<NetworkScript>) -> Self {
        let script = Arc::clone(script);
        let network = gateway.egress.open_scripted(&TenantId::local(), policy(patterns), script);
        Self { network, seen: Vec::new() }
    }

    async fn note(&mut self, what: &str, seen: impl std::fmt::Debug) {
        self.network.settle().await;
        self.seen.push(format!("{what}: {seen:?}"));
    }

    async fn start(&mut self, host: &str, port: u16) -> Result<ConnectionHandle, NetworkError> {
        let found = self.network.resolve(host).await;
        self.note("resolve", found).await;
        let started = self.network.start(host, port);
        self.note("start", &started).await;
        started
    }

    async fn write(&mut self, handle: ConnectionHandle, bytes: &[u8]) {
        let taken = self.network.write(handle, bytes);
        self.note("write", taken).await;
    }

    async fn poll(&mut self, handles: &[ConnectionHandle]) {
        let wishes: Vec<_> = handles.iter().map(|one| (*one, StreamReadiness::BOTH)).collect();
        let ready = self.network.poll(&wishes, Some(Duration::from_secs(20))).await;
        self.note("poll", ready).await;
    }

    /// Reads until there is nothing more.
    async fn read(&mut self, handle: ConnectionHandle, piece: usize) -> String {
        let mut all = Vec::new();
        loop {
            let read = self.network.read(handle, piece, Some(Duration::from_secs(20))).await;
            let seen = match &read {
                Ok(StreamRead::Bytes(bytes)) => format!("{} bytes", bytes.len()),
                other => format!("{other:?}"),
            };
            self.note("read", seen).await;
            match read {
                Ok(StreamRead::Bytes(bytes)) => all.extend(bytes),
                Ok(StreamRead::Nothing | StreamRead::End) | Err(_) => break,
            }
        }
        self.seen.push(text(&all));
        text(&all)
    }

    async fn get(&mut self, handle: ConnectionHandle, host: &str, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.write(handle, head.as_bytes()).await;
        self.poll(&[handle]).await;
        self.read(handle, 1 << 16).await
    }
}

fn records() -> Arc<NetworkScript> {
    Arc::new(NetworkScript::Records(NetworkRecorder::default()))
}

fn document(script: &NetworkScript) -> NetworkDocument {
    let NetworkScript::Records(recorder) = script else { panic!("{script:?}") };
    let document = recorder.document().unwrap();
    let text = document.text().unwrap();
    assert_eq!(NetworkDocument::read(text.as_bytes()).unwrap(), document);
    document
}

fn replays(document: NetworkDocument) -> Arc<NetworkScript> {
    Arc::new(NetworkScript::Replays(NetworkPlayer::new(document)))
}

fn differences(script: &NetworkScript) -> Vec<String> {
    let NetworkScript::Replays(player) = script else { panic!("{script:?}") };
    player.differences()
}

/// Several connections at one time, bodies larger than the buffers, pieces and pauses of the server,
/// closed connections, refusals and failures.
async fn visit(witness: &mut Witness, port: u16) {
    let host = format!("a.test:{port}");
    let mut handles = Vec::new();
    for _ in 0..3 {
        handles.push(witness.start("a.test", port).await.unwrap());
    }
    for (number, handle) in handles.iter().enumerate() {
        let head = format!("GET /slow/{number} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let (first, second) = head.split_at(11);
        witness.write(*handle, first.as_bytes()).await;
        witness.write(*handle, second.as_bytes()).await;
    }
    witness.poll(&handles).await;
    for handle in &handles {
        witness.read(*handle, 1_000).await;
    }
    for path in ["/large", "/close", "/large"] {
        witness.get(handles[0], &host, path).await;
    }
    witness.get(handles[1], &host, "/silent").await;
    let body = "b".repeat(100_000);
    let length = body.len();
    let post =
        format!("POST /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}");
    let mut rest = post.as_bytes();
    while !rest.is_empty() {
        let taken = witness.network.write(handles[2], rest).unwrap();
        witness.note("wrote", taken).await;
        rest = &rest[taken..];
    }
    witness.read(handles[2], 70_000).await;
    witness.network.close(handles[2], ClosedPart::Everything).unwrap();
    witness.start("b.test", port).await.unwrap_err();
    let refused = witness.start("a.test", 1).await.unwrap_err();
    assert_eq!(refused.errno(), errno::EACCES);
}

async fn server(calls: Arc<AtomicUsize>) -> Server {
    Server::answering(None, move |head| {
        calls.fetch_add(1, Ordering::SeqCst);
        match head.split(' ').nth(1).unwrap() {
            "/large" => ok(&"l".repeat(300_000)),
            "/close" => {
                b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok".to_vec()
            }
            "/silent" => Vec::new(),
            path => ok(&format!("hello {path}")),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_replay_shows_the_guest_what_the_recorded_run_saw() {
    let calls = Arc::<AtomicUsize>::default();
    let server = server(Arc::clone(&calls)).await;
    let gateway = Gateway::new(config());
    let pattern = format!("http://a.test:{}", server.port);
    let script = records();
    let mut first = Witness::new(&gateway, &[&pattern], &script);
    visit(&mut first, server.port).await;
    let recorded = document(&script);
    let sent = calls.load(Ordering::SeqCst);
    assert!(sent >= 6, "{sent}: {:#?}", first.seen);
    let lines = first.seen.join("\n");
    assert!(lines.contains("hello /slow/2") && lines.contains("65536 bytes"), "{lines}");
    for _ in 0..20 {
        // No rule of this gateway grants anything.
        let script = replays(recorded.clone());
        let mut again = Witness::new(&gateway, &[], &script);
        visit(&mut again, server.port).await;
        assert_eq!(again.seen, first.seen);
        assert_eq!(differences(&script), Vec::<String>::new());
    }
    assert_eq!(calls.load(Ordering::SeqCst), sent, "a replay reaches no server");
    for _ in 0..5 {
        let script = records();
        let mut again = Witness::new(&gateway, &[&pattern], &script);
        visit(&mut again, server.port).await;
        assert_eq!(again.seen, first.seen, "the time that servers take shows");
        assert_eq!(document(&script), recorded);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encrypted_connections_and_their_refusals_are_replayed() {
    let authority = Authority::new();
    let tls = authority.server("a.test", &["h2", "http/1.1"][1..]);
    let server = Server::answering(Some(tls), |_| ok("secret")).await;
    let port = server.port;
    let patterns = [format!("https://a.test:{port}"), format!("https://b.test:{port}")];
    let patterns = [patterns[0].as_str(), patterns[1].as_str()];
    let gateway = Gateway::trusting(&authority);
    let script = records();
    let visit = async |witness: &mut Witness| {
        for name in ["a.test", "b.test"] {
            let handle = witness.start(name, port).await.unwrap();
            let json = serde_json::to_vec(&default_hello(name)).unwrap();
            let length = u32::try_from(json.len()).unwrap().to_be_bytes();
            witness.write(handle, &[&[0x16], &length[..], &json].concat()).await;
            witness.read(handle, 1 << 16).await;
            if name == "a.test" {
                let host = format!("{name}:{port}");
                let page = witness.get(handle, &host, "/").await;
                assert!(page.ends_with("secret"), "{page}");
            }
        }
    };
    let mut first = Witness::new(&gateway, &patterns, &script);
    visit(&mut first).await;
    let recorded = document(&script);
    drop(server);
    let script = replays(recorded);
    let mut again = Witness::new(&gateway, &[], &script);
    visit(&mut again).await;
    assert_eq!(again.seen, first.seen);
    assert!(again.seen.join("\n").contains("Hostname mismatch"), "{:#?}", again.seen);
}

#[tokio::test]
async fn what_was_not_recorded_fails_and_is_named() {
    let server = server(Arc::default()).await;
    let gateway = Gateway::new(config());
    let pattern = format!("http://a.test:{}", server.port);
    let host = format!("a.test:{}", server.port);
    let script = records();
    let mut first = Witness::new(&gateway, &[&pattern], &script);
    let handle = first.start("a.test", server.port).await.unwrap();
    first.get(handle, &host, "/one").await;
    first.get(handle, &host, "/two").await;
    let recorded = document(&script);
    for (path, told) in
        [("/other", "was not recorded; at this point the record has GET "), ("/two", "/one")]
    {
        let script = replays(recorded.clone());
        let mut again = Witness::new(&gateway, &[], &script);
        let handle = again.start("a.test", server.port).await.unwrap();
        again.get(handle, &host, path).await;
        let seen = again.seen.join("\n");
        assert!(seen.contains(&format!("GET http://{host}{path} was not recorded")), "{seen}");
        let found = differences(&script);
        assert!(found.len() == 1 && found[0].contains(told), "{found:?}");
    }
    let script = replays(recorded);
    let mut again = Witness::new(&gateway, &[], &script);
    let handle = again.start("a.test", server.port).await.unwrap();
    again.get(handle, &host, "/one").await;
    let unused = format!("GET http://{host}/two was recorded, but not requested");
    assert_eq!(differences(&script), [unused]);
}

#[tokio::test]
async fn values_that_prove_who_asks_are_in_no_record() {
    let server = Server::answering(None, |head| {
        let sent = head.contains("sid=s3cret-session");
        let cookie = "set-cookie: sid=s3cret-session; Path=/\r\n";
        let body = if sent { "known" } else { "new" };
        format!("HTTP/1.1 200 OK\r\n{cookie}content-length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    })
    .await;
    let gateway = Gateway::new(config());
    let host = format!("a.test:{}", server.port);
    let pattern = format!("http://{host}");
    let script = records();
    let visit = async |witness: &mut Witness| {
        let handle = witness.start("a.test", server.port).await.unwrap();
        let page = witness.get(handle, &host, "/").await;
        let cookie = page.split("sid=").nth(1).unwrap().split(';').next().unwrap();
        let head = format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer hunter2\r\nCookie: sid={cookie}\r\n\r\n"
        );
        witness.write(handle, head.as_bytes()).await;
        witness.read(handle, 1 << 16).await
    };
    let mut first = Witness::new(&gateway, &[&pattern], &script);
    let known = visit(&mut first).await;
    assert!(known.ends_with("known"), "{known}");
    assert!(server.heads.lock()[1].contains("Bearer hunter2"));
    let recorded = document(&script);
    let text = recorded.text().unwrap();
    assert!(!text.contains("s3cret") && !text.contains("hunter2"), "{text}");
    assert!(text.contains("[\"authorization\",null]"), "{text}");
    let script = replays(recorded);
    let mut again = Witness::new(&gateway, &[], &script);
    visit(&mut again).await;
    assert_eq!(again.seen, first.seen);
}

#[tokio::test]
async fn responses_without_an_end_and_records_without_room_are_failures_that_repeat() {
    let server = Server::answering(None, |head| match head.split(' ').nth(1).unwrap() {
        "/events" => {
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n".to_vec()
        }
        _ => ok(&"\u{7}".repeat(8 << 20)),
    })
    .await;
    let gateway = Gateway::new(config());
    let host = format!("a.test:{}", server.port);
    let pattern = format!("http://{host}");
    let visit = async |witness: &mut Witness| {
        for path in ["/events", "/1", "/2", "/3"] {
            let handle = witness.start("a.test", server.port).await.unwrap();
            let page = witness.get(handle, &host, path).await;
            witness.seen.push(page.len().to_string());
        }
    };
    let script = records();
    let mut first = Witness::new(&gateway, &[&pattern], &script);
    visit(&mut first).await;
    let recorded = document(&script);
    let failures = recorded.events.iter().filter_map(|event| match event {
        NetworkEvent::Exchange(exchange) => exchange.failure.as_ref(),
        _ => None,
    });
    let failures: Vec<_> = failures.map(|failure| failure.text.as_str()).collect();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures[0].contains("never ends") && failures[1].contains("full"), "{failures:?}");
    let script = replays(recorded);
    let mut again = Witness::new(&gateway, &[], &script);
    visit(&mut again).await;
    assert_eq!(again.seen, first.seen);
    assert_eq!(differences(&script), Vec::<String>::new());
}
