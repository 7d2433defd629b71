//! Tests that need a socket: slow clients, many clients, and the end of the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use wardian_vocabulary::units::ByteCount;

use crate::http::tests::support::{Fake, config};
use crate::http::{HttpConfig, Readiness, Server, Stage};

const NEVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"run_code",
    "params":{"language":"python","code":"x"}}"#;
const GUIDE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"load_skills_protocol_guide"}"#;

struct Running {
    address: SocketAddr,
    stop: watch::Sender<Stage>,
    fake: Fake,
    server: JoinHandle<()>,
}

impl Running {
    async fn start(config: HttpConfig) -> Self {
        let fake = Fake::default();
        let readiness = Arc::new(Readiness::waiting_for("nothing"));
        readiness.open(fake.clone());
        let server = Server::bind(config).await.unwrap();
        let (stop, stopped) = watch::channel(Stage::Serve);
        let address = server.address();
        let server = tokio::spawn(server.serve(readiness, stopped));
        Self { address, stop, fake, server }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Waits until that many calls are being executed.
    async fn until_running(&self, calls: usize) {
        while self.fake.running.load(Ordering::SeqCst) != calls {
            tokio::task::yield_now().await;
        }
    }
}

fn request(body: &str) -> String {
    format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Everything until the server closes its end.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.ok();
    String::from_utf8(bytes).unwrap()
}

/// One answer without its headers.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    while !text.ends_with('}') {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the connection ended after {text:?}");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let running = Running::start(config()).await;
    let mut stream = running.connect().await;
    for _ in 0..3 {
        stream.write_all(request(GUIDE).as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("# Guide"), "{answer}");
    }
}

#[tokio::test]
async fn bounded_connections_end_when_headers_do_not_come() {
    let config = HttpConfig { header_timeout: Duration::from_millis(30), ..config() };
    let running = Running::start(config).await;
    let (mut silent, mut slow) = (running.connect().await, running.connect().await);
    slow.write_all(b"POST /rpc HTTP/1.1\r\nHost: loc").await.unwrap();
    assert_eq!(read_to_end(&mut silent).await, "");
    assert_eq!(read_to_end(&mut slow).await, "");
}

#[tokio::test]
async fn bounded_connections_end_when_they_are_idle() {
    let config = HttpConfig { idle_timeout: Duration::from_millis(30), ..config() };
    let running = Running::start(config).await;
    let mut stream = running.connect().await;
    stream.write_all(request(GUIDE).as_bytes()).await.unwrap();
    assert!(read_to_end(&mut stream).await.contains("# Guide"));
}

#[tokio::test]
async fn bounded_connections_end_when_a_body_does_not_come() {
    let config = HttpConfig { body_timeout: Duration::from_millis(30), ..config() };
    let running = Running::start(config).await;
    let mut stream = running.connect().await;
    stream.write_all(request(GUIDE).trim_end_matches('}').as_bytes()).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("-32600"), "{answer}");
}

#[tokio::test]
async fn bounded_connections_end_when_an_answer_is_not_taken() {
    let config = HttpConfig { write_timeout: Duration::from_millis(30), ..config() };
    let running = Running::start(config).await;
    // The answers together are more than the kernel keeps for a client with a small buffer.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut stream = socket.connect(running.address).await.unwrap();
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"read_blob","params":{"blob_id":"b"}}"#;
    let batch = format!("[{}]", [read; 16].join(","));
    stream.write_all(request(&batch).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let received = read_to_end(&mut stream).await.len();
    assert!(received < 7 << 20, "the whole answer of {received} bytes arrived");
}

#[tokio::test]
async fn more_connections_than_allowed_wait_while_all_are_busy() {
    let config = HttpConfig { max_connections: 1, ..config() };
    let running = Running::start(config).await;
    let mut first = running.connect().await;
    first.write_all(request(NEVER).as_bytes()).await.unwrap();
    running.until_running(1).await;
    let mut second = running.connect().await;
    second.write_all(request(GUIDE).as_bytes()).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(50), read_answer(&mut second)).await;
    assert!(early.is_err(), "the second was served beside the first");
    drop(first);
    assert!(read_answer(&mut second).await.contains("# Guide"));
}

#[tokio::test]
async fn clients_that_send_nothing_keep_nobody_out() {
    let config = HttpConfig { max_connections: 3, ..config() };
    let running = Running::start(config).await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        let mut stream = running.connect().await;
        stream.write_all(b"POST /rpc HTTP/1.1\r\nX: ").await.unwrap();
        silent.push(stream);
    }
    let mut stream = running.connect().await;
    stream.write_all(request(GUIDE).as_bytes()).await.unwrap();
    assert!(read_answer(&mut stream).await.contains("# Guide"));
    assert_eq!(read_to_end(&mut silent[0]).await, "", "the one that waited longest is gone");
}

#[tokio::test]
async fn headers_beyond_their_limit_are_refused() {
    let running = Running::start(config()).await;
    for headers in [format!("X: {}\r\n", "x".repeat(17 << 10)), "X: y\r\n".repeat(200)] {
        let mut stream = running.connect().await;
        let request = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_to_end(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_refused_before_it_is_sent() {
    let running = Running::start(config()).await;
    let mut stream = running.connect().await;
    let head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(read_to_end(&mut stream).await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test]
async fn a_client_that_sends_all_of_a_body_that_is_too_large_learns_why_it_is_refused() {
    let largest = 1 << 20;
    let config = HttpConfig { max_body: ByteCount::mebibytes(1), ..config() };
    let running = Running::start(config).await;
    for framing in ["Content-Length: 3145728", "Transfer-Encoding: chunked"] {
        let mut stream = running.connect().await;
        let head = format!(
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let body = match framing.starts_with("Content") {
            true => " ".repeat(3 * largest),
            false => format!("300000\r\n{}\r\n0\r\n\r\n", " ".repeat(3 * largest)),
        };
        stream.write_all(body.as_bytes()).await.unwrap();
        let answer = read_to_end(&mut stream).await;
        assert!(
            answer.starts_with("HTTP/1.1 413 ") && answer.contains("at most 1 MiB"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn requests_of_two_lengths_are_refused() {
    let running = Running::start(config()).await;
    let mut stream = running.connect().await;
    let head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 3\r\nContent-Length: 4\r\n\r\n{}  ";
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(read_to_end(&mut stream).await.starts_with("HTTP/1.1 400 "));
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let running = Running::start(config()).await;
    let mut stream = running.connect().await;
    stream.write_all(request(NEVER).as_bytes()).await.unwrap();
    running.until_running(1).await;
    drop(stream);
    running.until_running(0).await;
}

#[tokio::test]
async fn a_stopping_server_finishes_what_it_began() {
    let running = Running::start(config()).await;
    let mut busy = running.connect().await;
    busy.write_all(request(GUIDE).trim_end_matches('}').as_bytes()).await.unwrap();
    let mut idle = running.connect().await;
    idle.write_all(request(GUIDE).as_bytes()).await.unwrap();
    read_answer(&mut idle).await;

    running.stop.send_replace(Stage::Drain);
    assert_eq!(read_to_end(&mut idle).await, "", "an idle connection ends at once");
    assert!(TcpStream::connect(running.address).await.is_err(), "no new connections");
    busy.write_all(b"}").await.unwrap();
    assert!(read_to_end(&mut busy).await.contains("# Guide"));
    running.server.await.unwrap();
}

#[tokio::test]
async fn a_call_that_does_not_end_is_told_so_after_the_time_for_draining() {
    let config = HttpConfig { drain_timeout: Duration::from_millis(30), ..config() };
    let running = Running::start(config).await;
    let mut stream = running.connect().await;
    stream.write_all(request(NEVER).as_bytes()).await.unwrap();
    running.until_running(1).await;
    running.stop.send_replace(Stage::Drain);
    let answer = read_to_end(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("shutting down"), "{answer}");
    running.server.await.unwrap();
}

#[tokio::test]
async fn a_second_signal_does_not_wait() {
    let running = Running::start(config()).await;
    let mut stream = running.connect().await;
    stream.write_all(request(NEVER).as_bytes()).await.unwrap();
    running.until_running(1).await;
    running.stop.send_replace(Stage::Drain);
    running.stop.send_replace(Stage::Abort);
    assert!(read_to_end(&mut stream).await.contains("shutting down"));
    running.server.await.unwrap();
}
