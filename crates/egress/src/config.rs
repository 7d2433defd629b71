//! What operators decide about requests of guests to the world.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::policy::target::{Destination, HostName};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::units::ByteCount;

/// Settings of the gateway's network for guests.
#[derive(Debug, Clone)]
pub struct EgressConfig {
    /// Whether any guest may reach anything.
    pub is_enabled: bool,
    /// Hosts that no guest reaches, whatever a manifest says. Scheme and port do not matter here.
    pub denied: Vec<UrlPattern>,
    /// Private ranges that names may resolve to, for intranets.
    pub private_ranges: Vec<IpNet>,
    /// A proxy that all connections pass through.
    pub proxy: Option<ProxyAddress>,
    /// A file with certificates (PEM) of further authorities.
    pub authorities: Option<PathBuf>,
    /// Whether a program may connect without a check of the certificate. Without it, certificates
    /// are checked even where the program asks not to.
    pub allows_unverified: bool,
    /// Connections that all runs together may have open.
    pub max_open_connections: usize,
    /// Connections that the runs of one tenant may have open. Default three quarters of all.
    pub most_of_tenant: usize,
    /// Limits of each run.
    pub limits: NetworkLimits,
}

/// Maximum number of connections that all runs together have open, unless the configuration sets
/// another number. Each has about 0.5 MiB of buffers, so 128 MiB at the most.
const CONNECTIONS: usize = 256;

/// The part of `all` that one tenant may have, unless the configuration sets another: a tenant that
/// takes what it can get leaves some to others.
#[must_use]
pub const fn three_quarters(all: usize) -> usize {
    let quarter = all / 4;
    if quarter == 0 { all } else { all.saturating_sub(quarter) }
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            is_enabled: true,
            denied: Vec::new(),
            private_ranges: Vec::new(),
            proxy: None,
            authorities: None,
            allows_unverified: false,
            max_open_connections: CONNECTIONS,
            most_of_tenant: three_quarters(CONNECTIONS),
            limits: NetworkLimits::default(),
        }
    }
}

/// What one run may use of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkLimits {
    /// Requests in all.
    pub requests: u64,
    /// Connections in all, and separately look-ups of names.
    pub connections: u64,
    /// Bytes to servers, as they travel: heads and encryption count.
    pub sent: ByteCount,
    /// Bytes from servers, as they travel: before decompression, heads and encryption count.
    pub received: ByteCount,
    /// Body of one request.
    pub request_body: ByteCount,
    /// Body of one response, before decompression.
    pub response_body: ByteCount,
    /// Head of a request or response: all its lines. At least 8 KiB.
    pub head: ByteCount,
    /// Looking up, connecting and each TLS handshake.
    pub connect_timeout: Duration,
    /// From the last byte of a request that was sent to the head of its response.
    pub first_byte_timeout: Duration,
    /// From the head of a request to the last byte of its response.
    pub request_timeout: Duration,
}

impl Default for NetworkLimits {
    fn default() -> Self {
        Self {
            requests: 1_000,
            connections: 256,
            sent: ByteCount::mebibytes(64),
            received: ByteCount::mebibytes(256),
            request_body: ByteCount::mebibytes(64),
            response_body: ByteCount::mebibytes(128),
            head: ByteCount::kibibytes(64),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(300),
        }
    }
}

/// An HTTP proxy, which is asked to connect to hosts on ports (the method CONNECT).
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyAddress {
    host: String,
    port: u16,
    authorization: Option<String>,
}

/// A text that is not an address of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write the proxy as `http://HOST:PORT` or `http://USER:PASSWORD@HOST:PORT`")]
pub struct InvalidProxy;

impl ProxyAddress {
    /// Reads `http://[USER:PASSWORD@]HOST:PORT`.
    ///
    /// # Errors
    ///
    /// Says what would be right.
    pub fn parse(text: &str) -> Result<Self, InvalidProxy> {
        let rest = text.strip_prefix("http://").ok_or(InvalidProxy)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (credentials, address) = match rest.rsplit_once('@') {
            Some((credentials, address)) => (Some(credentials), address),
            None => (None, rest),
        };
        let (host, port) = address.rsplit_once(':').ok_or(InvalidProxy)?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:_".contains(&byte);
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(InvalidProxy)?;
        if host.is_empty() || !host.bytes().all(is_plain) {
            return Err(InvalidProxy);
        }
        let authorization = credentials.map(|credentials| {
            let decoded = percent_decoded(credentials.as_bytes());
            format!("Basic {}", data_encoding::BASE64.encode(&decoded))
        });
        Ok(Self { host, port, authorization })
    }

    /// Name or address of the proxy.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port of the proxy.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The head of a request for a tunnel.
    pub(crate) fn connect_head(&self, to: &Destination) -> String {
        let Destination { host, port } = to;
        let host: &HostName = host;
        let mut head = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some(authorization) = &self.authorization {
            head.push_str("Proxy-Authorization: ");
            head.push_str(authorization);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

/// Shows no password.
impl fmt::Debug for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyAddress({}:{})", self.host, self.port)
    }
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let byte = code.and_then(|code| data_encoding::HEXLOWER_PERMISSIVE.decode(code).ok());
        if let Some(byte) = byte {
            decoded.extend(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_and_its_password_is_not_shown() {
        let proxy = ProxyAddress::parse("http://me:p%40ss@proxy.corp:3128").unwrap();
        assert_eq!((proxy.host(), proxy.port()), ("proxy.corp", 3128));
        let to = Destination { host: HostName::parse("a.example").unwrap(), port: 443 };
        let head = proxy.connect_head(&to);
        assert!(head.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), "{head}");
        assert_eq!(format!("{proxy:?}"), "ProxyAddress(proxy.corp:3128)");
        assert_eq!(ProxyAddress::parse("http://[::1]:8080/").unwrap().host(), "::1");
        for text in
            ["", "proxy:1", "https://a:1", "http://a", "http://:1", "http://a:0", "http://a b:1"]
        {
            assert_eq!(ProxyAddress::parse(text), Err(InvalidProxy), "{text}");
        }
    }
}
