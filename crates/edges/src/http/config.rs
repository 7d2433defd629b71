//! The settings of the HTTP server.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;

use crate::http::tls::TlsFiles;
use wardian_formats::protocol::envelope::DEFAULT_BATCH_MAX;
use wardian_vocabulary::units::ByteCount;

/// The most memory of one connection that is not charged to the budget: the read buffer, the head
/// of a request as bytes and parsed, a small answer, and the tasks that serve the connection.
pub const CONNECTION_MEMORY: ByteCount = ByteCount::kibibytes(160);

/// The most memory that TLS adds to a connection: the handshake, a record in each direction, and
/// what is encrypted and not yet sent.
pub const TLS_MEMORY: ByteCount = ByteCount::kibibytes(160);

/// The settings of the server's socket and of the requests that it accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// Address to listen on. Default 127.0.0.1:8080.
    pub listen: SocketAddr,
    /// Address for operators: metrics and health. Default none.
    pub admin_listen: Option<SocketAddr>,
    /// Host names by which a client may call the server, in addition to loopback names and the
    /// address listened on; `*` allows all. Default none. Without this check any website could let
    /// its own name resolve to this machine and read the answers (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Origins from which browsers may call; `*` allows all. Default none.
    pub allowed_origins: Vec<String>,
    /// Whether pages of the server itself may call it: those of the console. Default true on
    /// loopback addresses.
    pub serves_console: bool,
    /// Most open connections. For a further one, the longest-idle connection is closed. Default
    /// 1,024.
    pub max_connections: usize,
    /// Most open connections of one address. For a further one, the longest-idle connection of that
    /// address is closed; if none of them is idle, the new one is. Default: a quarter of
    /// [`max_connections`](Self::max_connections).
    pub max_connections_per_address: usize,
    /// Addresses without that limit, such as those of proxies. Default: loopback addresses.
    pub unlimited_addresses: Vec<IpNet>,
    /// The certificate and its key; without them, connections are not encrypted. Default none.
    pub tls: Option<TlsFiles>,
    /// Time for a client to shake hands. Default 10 s.
    pub handshake_timeout: Duration,
    /// Largest body of a request. Default 16 MiB.
    pub max_body: ByteCount,
    /// Memory for all requests, results and answers together. A request that does not fit is
    /// refused. Default 512 MiB.
    pub memory: ByteCount,
    /// Maximum number of calls of one batch. Default 32.
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
    proxy: anyone who bypasses the proxy can run programs and read and delete blobs; allow \
    connections only from the proxy, or set `auth.mode` to `keys`";

/// Addresses of this machine itself, where proxies often are: `127.0.0.0/8` and `::1`.
fn loopback_addresses() -> Vec<IpNet> {
    use std::net::{Ipv4Addr, Ipv6Addr};

    let v4 = ipnet::Ipv4Net::new(Ipv4Addr::LOCALHOST, 8).map(|net| IpNet::V4(net.trunc()));
    let v6 = ipnet::Ipv6Net::new(Ipv6Addr::LOCALHOST, 128).map(IpNet::V6);
    v4.into_iter().chain(v6).collect()
}

/// The requests that may wait for the end of a run at one time, `GET /v1/runs/{id}?wait_ms=` and
/// repeated calls of one name: those of all tenants, and those of one tenant.
///
/// A request that waits keeps its connection busy. So a part of the connections is always left to
/// requests that are answered at once, and no tenant has more than half of the rest.
fn share_of_waits(max_connections: usize) -> (usize, usize) {
    let all = max_connections.saturating_sub(max_connections.div_ceil(4)).max(1);
    (all, all.div_ceil(2))
}

/// The part of `max_connections` that one address gets by default.
#[must_use]
pub fn share_of_an_address(max_connections: usize) -> usize {
    max_connections.div_ceil(4).max(1)
}

impl HttpConfig {
    /// The requests that may wait for the end of a run: of all tenants, and of one.
    #[must_use]
    pub fn waits(&self) -> (usize, usize) {
        share_of_waits(self.max_connections)
    }

    /// Maximum number of connections of a client's address; `None` if it has no limit of its own.
    pub(crate) fn connections_of(&self, address: IpAddr) -> Option<usize> {
        let is_unlimited = self.unlimited_addresses.iter().any(|net| net.contains(&address));
        (!is_unlimited).then_some(self.max_connections_per_address)
    }

    /// The scheme of the server's URLs.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// True if other machines can reach the server.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        !self.listen.ip().to_canonical().is_loopback()
    }

    /// The defaults for a server that listens on this address.
    #[must_use]
    pub fn listening_on(listen: SocketAddr) -> Self {
        Self {
            listen,
            admin_listen: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            serves_console: listen.ip().to_canonical().is_loopback(),
            max_connections: 1_024,
            max_connections_per_address: share_of_an_address(1_024),
            unlimited_addresses: loopback_addresses(),
            tls: None,
            handshake_timeout: Duration::from_secs(10),
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
