//! Clients of the protocol that send what the tests tell them to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::support::{Command, Reply, TestServer, eventually};

/// The newest revision, and the newest one that begins with a handshake.
pub(crate) const NEWEST: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The metadata that every request of the newest revision has.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request of the newest revision.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut params = params;
    let members = params.as_object_mut().unwrap();
    let own = members.remove("_meta").unwrap_or_else(|| json!({}));
    let mut all = meta();
    all.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    members.insert("_meta".into(), all);
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A request of an older revision.
pub(crate) fn legacy(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// The first request of older revisions.
pub(crate) fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client});
    legacy(0, "initialize", params)
}

/// The headers that the newest revision wants beside a message.
pub(crate) fn headers_of(message: &Value) -> String {
    let method = message["method"].as_str().unwrap();
    let params = &message["params"];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/cancel" | "tasks/update" => params["taskId"].as_str(),
        _ => None,
    };
    let name = name.map_or_else(String::new, |name| format!("Mcp-Name: {name}\r\n"));
    let revision = match params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str() {
        Some(revision) => format!("MCP-Protocol-Version: {revision}\r\n"),
        None => String::new(),
    };
    format!("Mcp-Method: {method}\r\n{revision}{name}")
}

/// Sends a body to `/mcp`, and returns the stream with the answer.
pub(crate) fn open(server: &TestServer, headers: &str, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let host =
        if headers.to_ascii_lowercase().contains("host:") { "" } else { "Host: localhost\r\n" };
    let head = format!(
        "POST /mcp HTTP/1.1\r\n{host}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses a request from its head may close the connection before its end.
    stream.write_all(body).ok();
    stream
}

/// An answer: its status, its head and the messages in it.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    pub(crate) messages: Vec<Value>,
}

impl Said {
    /// The last message, which is the response.
    pub(crate) fn response(&self) -> &Value {
        self.messages.last().unwrap_or_else(|| panic!("no message: {self:?}"))
    }

    pub(crate) fn result(&self) -> &Value {
        let result = &self.response()["result"];
        assert!(result.is_object(), "{self:?}");
        result
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends a body, and reads the whole answer.
pub(crate) fn post(server: &TestServer, headers: &str, body: &[u8]) -> Said {
    let mut bytes = Vec::new();
    open(server, headers, body).read_to_end(&mut bytes).unwrap();
    said(&bytes)
}

fn said(bytes: &[u8]) -> Said {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { dechunked(body) } else { body.to_owned() };
    let is_events = head.to_ascii_lowercase().contains("content-type: text/event-stream");
    let messages = if is_events {
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(str::trim).filter(|data| !data.is_empty()).map(parsed).collect()
    } else {
        serde_json::from_str(&body).into_iter().collect()
    };
    Said { status, head: head.to_owned(), body, messages }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

fn dechunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    whole
}

/// Sends a message of the newest revision with the headers that it wants.
pub(crate) fn ask(server: &TestServer, method: &str, params: Value) -> Said {
    let message = request(1, method, params);
    post(server, &headers_of(&message), message.to_string().as_bytes())
}

/// Calls a tool over HTTP, and returns its result.
pub(crate) fn call(server: &TestServer, tool: &str, arguments: Value) -> Value {
    let answer = ask(server, "tools/call", json!({"name": tool, "arguments": arguments}));
    answer.result().clone()
}

/// A process of `wardian mcp`.
pub(crate) struct StdioClient {
    process: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    log: NamedTempFile,
    _place: Command,
}

impl StdioClient {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let place = Command::new();
        let mut process = place.process(&[&["mcp"], arguments].concat());
        let log = NamedTempFile::new().unwrap();
        let process = process.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = process.stderr(log.reopen().unwrap()).spawn().unwrap();
        let (sender, messages) = channel();
        let output = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                // Every line is a message: nothing else is ever printed there.
                if sender.send(parsed(&line)).is_err() {
                    return;
                }
            }
        });
        let input = process.stdin.take();
        Self { process, input, messages, log, _place: place }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// What the process writes to its standard error output, also after its end.
    pub(crate) fn log_file(&self) -> NamedTempFile {
        let copy = NamedTempFile::new().unwrap();
        std::fs::remove_file(copy.path()).unwrap();
        std::fs::hard_link(self.log.path(), copy.path()).unwrap();
        copy
    }

    /// Waits until the standard error output has this text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        eventually(PATIENCE, || {
            let log = std::fs::read_to_string(self.log.path()).unwrap();
            log.contains(text).then_some(())
        });
    }

    pub(crate) fn next(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap()
    }

    pub(crate) fn says_nothing_for(&self, time: Duration) -> bool {
        self.messages.recv_timeout(time).is_err()
    }

    /// The response to the request of this id, with the notifications before it.
    pub(crate) fn response(&self, id: &Value) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.next();
            if message.get("id") == Some(id) {
                return (message, before);
            }
            before.push(message);
        }
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.response(&message["id"]).0
    }

    /// Begins as clients of older revisions do.
    pub(crate) fn initialized(arguments: &[&str]) -> Self {
        let mut client = Self::start(arguments);
        let answer = client.ask(&initialize());
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Closes the input, and waits for the end of the process.
    pub(crate) fn end(mut self) -> i32 {
        drop(self.input.take());
        self.process.wait().unwrap().code().unwrap()
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        drop(self.input.take());
        self.process.wait().ok();
    }
}

/// A value with a line that is a message.
pub(crate) const TWO_LINES: &str =
    "{\"a\":\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"forged\":true}}\r\n\r\n}";

/// The reply to a request that is no message.
pub(crate) fn get(server: &TestServer, method: &str) -> Reply {
    let request = format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Length: 0\r\n\r\n"
    );
    server.connect().send(request).reply()
}
