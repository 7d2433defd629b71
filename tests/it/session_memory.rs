//! What requests to sessions hold of the server while they wait, and while states are restored.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, Connection, TestServer, eventually, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// A session of a server, perhaps with a cell that runs until it is interrupted.
struct Session<'a> {
    server: &'a TestServer,
    id: String,
}

impl<'a> Session<'a> {
    fn begin(server: &'a TestServer, code: &str) -> Self {
        let first = server.client().run_with(code, json!({"session": "new"}));
        output(&first);
        Self { server, id: first["session"]["id"].as_str().unwrap().to_owned() }
    }

    fn client(&self) -> Client {
        self.server.client()
    }

    /// Begins a cell that ends with [`Self::interrupt`].
    fn occupy(&self) -> JoinHandle<Value> {
        let (client, id) = (self.client(), self.id.clone());
        let code = "import time\nwhile True: time.sleep(0.01)";
        let cell = thread::spawn(move || client.run_with(code, json!({"session": id})));
        eventually(PATIENCE, || self.is_running().then_some(()));
        cell
    }

    fn is_running(&self) -> bool {
        let cells = self.client().get(&format!("/v1/sessions/{}/cells", self.id)).json();
        let cells = cells["cells"].as_array().unwrap();
        cells.last().is_some_and(|cell| cell["state"] == "running")
    }

    /// Ends a cell, which may not have begun to listen yet.
    fn interrupt(&self) {
        let path = format!("/v1/sessions/{}/interrupt", self.id);
        eventually(PATIENCE, || {
            self.client().post_json(&path, &json!({}));
            (!self.is_running()).then_some(())
        });
    }

    /// Sends a request for a file, with so much of its content.
    fn ask(&self, method: &str, file: &str, length: usize, content: &[u8]) -> Connection {
        let place = format!("/v1/sessions/{}/files/{file}", self.id);
        let head = format!(
            "{method} {place} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
        );
        let mut connection = self.server.connect();
        connection.send([head.as_bytes(), content].concat());
        connection
    }
}

#[test]
fn requests_that_wait_for_their_session_keep_nobody_from_a_transfer() {
    let server = TestServer::start(&["--set", "http.max_transfers=2"]);
    let code = "open('f', 'w').write('1')";
    let [busy, free] = [code; 2].map(|code| Session::begin(&server, code));
    let cell = busy.occupy();
    let mut reads = [(); 2].map(|()| busy.ask("GET", "f?wait_ms=60000", 0, b""));
    let written = ["g", "h"].map(|name| format!("{name}?wait_ms=60000"));
    let written = written.map(|path| busy.ask("PUT", &path, 3, b"abc"));
    for _ in 0..3 {
        let other = free.ask("GET", "f", 0, b"").reply();
        assert_eq!((other.status, other.body.as_slice()), (200, &b"1"[..]), "{other:?}");
        let other = free.ask("PUT", "g", 1, b"2").reply();
        assert!([200, 201].contains(&other.status), "{other:?}");
        let early = reads.iter_mut().find_map(|one| one.reply_within(Duration::from_millis(20)));
        assert!(early.is_none(), "it has not waited: {early:?}");
    }
    busy.interrupt();
    cell.join().unwrap();
    for mut read in reads {
        let read = read.reply();
        assert_eq!((read.status, read.body.as_slice()), (200, &b"1"[..]), "{read:?}");
    }
    for mut written in written {
        assert_eq!(written.reply().status, 201);
    }
    // One that does not wait is told at once, and one whose time is over is too.
    let cell = busy.occupy();
    for path in ["f", "f?wait_ms=100"] {
        for (method, content) in [("GET", &b""[..]), ("PUT", b"x"), ("DELETE", b"")] {
            let refused = busy.ask(method, path, content.len(), content).reply();
            assert_eq!(
                (refused.status, refused.kind().as_str()),
                (409, "session_busy"),
                "{method}"
            );
        }
    }
    busy.interrupt();
    cell.join().unwrap();
}

#[test]
fn uploads_that_wait_for_their_session_take_no_memory_of_others() {
    let settings = ["--set", "http.memory=64 MiB", "--set", "http.max_body=12 MiB"];
    let server = TestServer::start(&settings);
    let busy = Session::begin(&server, "1");
    let cell = busy.occupy();
    // All that large requests may have.
    let length = 28 << 20;
    let uploads =
        ["a", "b"].map(|name| busy.ask("PUT", &format!("{name}?wait_ms=60000"), length, b"begun"));
    let program = format!("1 #{}", "x".repeat(900 << 10));
    for _ in 0..3 {
        assert_eq!(output(&server.client().run_with(&program, json!({})))["result"], 1);
    }
    drop(uploads);
    busy.interrupt();
    cell.join().unwrap();
    let written = busy.ask("PUT", "c", 3, b"abc").reply();
    assert_eq!(written.status, 201, "{written:?}");
    // One that would never fit is told so.
    let large = busy.ask("PUT", "d", 40 << 20, b"").reply();
    assert_eq!((large.status, large.kind().as_str()), (413, "too_large"));
    let message = large.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("http.memory"), "{message}");
}

#[test]
fn a_state_is_in_the_memory_of_requests_until_its_cell_begins() {
    let place = Command::new();
    let data = place.folder().join("data");
    let settings = ["--set", "http.memory=32 MiB", "--set", "http.max_body=1 MiB"];
    let code = "import os\nx = os.urandom(14 << 20)\nlen(x)";
    let ids = {
        let server = TestServer::start_on(&data, &settings);
        [code; 2].map(|code| Session::begin(&server, code).id)
    };
    let server = TestServer::start_on(&data, &settings);
    let [one, other] = ids.map(|id| Session { server: &server, id });
    let cell = one.occupy();
    // Two of these states do not fit beside each other.
    let length = eventually(PATIENCE, || {
        let params = json!({"language": "python", "code": "len(x)", "session": other.id});
        match server.client().call("run_code", params) {
            Ok(result) => Some(output(&result)["result"].clone()),
            Err(error) => {
                assert_eq!(error.kind, "overloaded", "{error:?}");
                None
            }
        }
    });
    assert_eq!(length, 14 << 20);
    assert!(!cell.is_finished(), "the first cell has ended");
    one.interrupt();
    cell.join().unwrap();
}
