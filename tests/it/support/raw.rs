//! A connection on which any bytes can be sent, for clients that break the rules.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;

/// How long the server may take to answer or to hang up.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection to a server.
#[derive(Debug)]
pub(crate) struct Connection(BufReader<Stream>);

/// A stream of bytes, encrypted or not.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    const fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Encrypted(stream) => &stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

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

/// What a handshake has agreed upon.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientConnectionFacts {
    pub(crate) protocol: Option<String>,
    /// The server's certificate (DER).
    pub(crate) certificate: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    /// A connection over a socket that is open already.
    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(Stream::Plain(stream)))
    }

    /// An encrypted connection. The handshake is complete.
    pub(crate) fn encrypted(
        address: &str,
        config: Arc<ClientConfig>,
    ) -> io::Result<(Self, ClientConnectionFacts)> {
        let mut socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let name = ServerName::try_from("localhost").unwrap();
        let mut session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        let facts = ClientConnectionFacts {
            protocol: session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into()),
            certificate: session.peer_certificates().unwrap()[0].to_vec(),
        };
        let stream = Stream::Encrypted(Box::new(StreamOwned::new(session, socket)));
        Ok((Self(BufReader::new(stream)), facts))
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.try_send(bytes).unwrap();
        self
    }

    /// Sends bytes to a server that may not want them.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.get_mut().write_all(bytes.as_ref())?;
        self.0.get_mut().flush()
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
        self.0.get_ref().socket().set_read_timeout(Some(patience)).unwrap();
        let has_begun = self.0.fill_buf().is_ok_and(|bytes| !bytes.is_empty());
        self.0.get_ref().socket().set_read_timeout(Some(PATIENCE)).unwrap();
        has_begun.then(|| self.reply())
    }

    /// True if the server hangs up within this time, and says nothing before.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> bool {
        self.0.get_ref().socket().set_read_timeout(Some(patience)).unwrap();
        let has_ended = match self.0.fill_buf() {
            Ok(bytes) => bytes.is_empty(),
            Err(fault) => is_end(&fault),
        };
        self.0.get_ref().socket().set_read_timeout(Some(PATIENCE)).unwrap();
        has_ended
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
            Err(fault) if is_end(&fault) => rest,
            Err(fault) => panic!("the server does not hang up: {fault}"),
        }
    }
}

/// True if the server has hung up, with or without an announcement.
fn is_end(fault: &io::Error) -> bool {
    matches!(fault.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
}
