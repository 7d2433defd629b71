//! A connection on which any bytes can be sent, for clients that break the rules.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// How long the server may take to answer or to hang up.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to a server.
#[derive(Debug)]
pub(crate) struct Connection(BufReader<TcpStream>);

/// An answer as it came over the wire.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The header of this name, or an empty text.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The body, which must be JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Kind of the JSON-RPC error that the body must be.
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["data"]["kind"].as_str().unwrap().to_owned()
    }
}

impl Connection {
    pub(crate) fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.try_send(bytes).unwrap();
        self
    }

    /// Sends bytes to a server that may not want them.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.0.get_mut().write_all(bytes.as_ref())
    }

    /// Sends a whole request with a body.
    pub(crate) fn post(&mut self, headers: &str, body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let head = format!("POST /rpc HTTP/1.1\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        self.send(head).send(body).reply()
    }

    /// Reads an answer to its end; the connection stays open if the server leaves it so.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let length = reply.header("content-length").parse().unwrap_or(0);
        reply.body = vec![0; length];
        self.0.read_exact(&mut reply.body).unwrap();
        reply
    }

    /// Reads the head of an answer, and nothing of a body.
    pub(crate) fn head(&mut self) -> Reply {
        let line = self.line();
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status line: {line:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        Reply { status, headers, body: Vec::new() }
    }

    /// Reads an answer that has begun to arrive after this time, if one has.
    pub(crate) fn reply_within(&mut self, patience: Duration) -> Option<Reply> {
        self.0.get_ref().set_read_timeout(Some(patience)).unwrap();
        let has_begun = self.0.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.0.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        has_begun.then(|| self.reply())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until the server hangs up; returns what it said before.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(fault) if fault.kind() == ErrorKind::ConnectionReset => rest,
            Err(fault) => panic!("the server does not hang up: {fault}"),
        }
    }
}
