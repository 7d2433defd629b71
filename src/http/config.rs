//! The settings of the HTTP server.

use std::net::SocketAddr;
use std::time::Duration;

use crate::protocol::envelope::DEFAULT_BATCH_MAX;
use crate::units::ByteCount;

/// The most memory of one connection that is not charged to the budget: the read buffer, the head
/// of a request as bytes and parsed, a small answer, and the tasks that serve the connection.
pub const CONNECTION_MEMORY: ByteCount = ByteCount::kibibytes(160);

/// The settings of the server's socket and of the requests that it accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// Address to listen on. Default 127.0.0.1:8080.
    pub listen: SocketAddr,
    /// Host names by which a client may call the server, in addition to loopback names and the
    /// address listened on; `*` allows all. Default none. Without this check any website could let
    /// its own name resolve to this machine and read the answers (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Origins from which browsers may call; `*` allows all. Default none.
    pub allowed_origins: Vec<String>,
    /// Most open connections. For a further one, the longest-idle connection is closed. Default
    /// 1,024.
    pub max_connections: usize,
    /// Largest body of a request. Default 16 MiB.
    pub max_body: ByteCount,
    /// Memory for all requests, results and answers together. A request that does not fit is
    /// refused. Default 512 MiB.
    pub memory: ByteCount,
    /// Most calls of one batch. Default 32.
    pub max_batch: usize,
    /// Most uploads of blobs, and most downloads, at one time. Default 64.
    pub max_transfers: usize,
    /// Time from the first byte of a request to the end of its headers. Default 10 s.
    pub header_timeout: Duration,
    /// Time for a whole body. An upload gets another second for each 64 KiB, and may pause for this
    /// time. Default 30 s.
    pub body_timeout: Duration,
    /// Time for a client to take a whole answer, plus a second for each 64 KiB. Default 30 s.
    pub write_timeout: Duration,
    /// Time for a client to take any part of an answer. Default 5 s.
    pub stall_timeout: Duration,
    /// Time for which a connection may be idle between requests. Default 60 s.
    pub idle_timeout: Duration,
    /// Time for requests in progress to finish when the server stops. Default 30 s.
    pub drain_timeout: Duration,
}

/// The warning for the operator of a server that other machines can reach and that does not
/// authenticate them.
pub const EXPOSED: &str = "other machines can reach this server, and it leaves authentication to a \
                           proxy: whoever reaches it without the proxy can run programs, and read \
                           and delete blobs; let only the proxy connect to it, or set `auth.mode` \
                           to `keys`";

impl HttpConfig {
    /// True if other machines can reach the server.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        !self.listen.ip().to_canonical().is_loopback()
    }

    /// The defaults for a server that listens on this address.
    #[must_use]
    pub const fn listening_on(listen: SocketAddr) -> Self {
        Self {
            listen,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_connections: 1_024,
            max_body: ByteCount::mebibytes(16),
            memory: ByteCount::mebibytes(512),
            max_batch: DEFAULT_BATCH_MAX,
            max_transfers: 64,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
