//! Targets of requests, read strictly: what two parsers of URLs could read differently is refused.
//!
//! INVARIANT(one-reading): a target is accepted only in the spelling that every parser reads alike:
//! ASCII, a host of plain labels, no user name, no address, no backslash, no encoding in the host.

use std::fmt;

use crate::policy::spelling::has_one_reading;

/// Longest host name, in bytes, as the domain name system has it.
const MAX_HOST: usize = 253;

/// Longest path with its query, in bytes.
const MAX_PATH: usize = 16 << 10;

/// Why a text is not a target: a clause that follows the text in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTarget {
    /// The scheme is another one, or written unusually.
    #[error("does not begin with https:// or http://")]
    Scheme,
    /// An address in any of its spellings.
    #[error("is an IP address; requests must use host names")]
    Address,
    /// The host is not a name of plain labels.
    #[error("has no host name of letters, digits and inner dashes, joined by dots")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// The path has letters that do not belong there.
    #[error("has a path or query with characters that must be percent-encoded, or is too long")]
    Path,
}

/// How a request travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Encrypted.
    Https,
    /// In clear.
    Http,
}

impl Transport {
    /// The port that a URL without one means.
    #[must_use]
    pub(crate) const fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }

    /// The scheme of URLs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
}

/// The name of a host, in lowercase: plain labels joined by dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// Says why it is not a host name.
    pub fn parse(text: &str) -> Result<Self, InvalidTarget> {
        let is_bracketed = text.starts_with('[') || text.matches(':').count() > 1;
        if is_bracketed {
            return Err(InvalidTarget::Address);
        }
        if text.is_empty() || text.len() > MAX_HOST || !text.split('.').all(is_label) {
            return Err(InvalidTarget::Host);
        }
        // The last label of a name begins with a letter, of an address it is a number in some base.
        let last = text.rsplit('.').next().unwrap_or_default();
        if last.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(InvalidTarget::Address);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
    label.len() <= 63
        && label.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && label.bytes().next().is_some_and(is_plain)
        && label.bytes().next_back().is_some_and(is_plain)
}

/// Where a connection leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The host.
    pub host: HostName,
    /// The port, never 0.
    pub port: u16,
}

impl Destination {
    /// The destination as a header `Host` has it.
    #[must_use]
    pub fn authority(&self, transport: Transport) -> String {
        if self.port == transport.default_port() {
            return self.host.to_string();
        }
        format!("{}:{}", self.host, self.port)
    }

    /// True if `text` is this destination as a header `Host` has it. A port may be left out.
    #[must_use]
    pub(crate) fn is_named_by(&self, text: &str) -> bool {
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, parse_port(port)),
            None => (text, Ok(self.port)),
        };
        host.eq_ignore_ascii_case(self.host.as_str()) && port == Ok(self.port)
    }
}

/// A path with its query, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPath(String);

impl RequestPath {
    /// Checks the target of a request in the form that begins with `/`.
    ///
    /// # Errors
    ///
    /// Refuses characters that do not belong into a path or query.
    pub fn parse(text: &str) -> Result<Self, InvalidTarget> {
        let is_allowed = |byte: u8| matches!(byte, b'!'..=b'~') && !matches!(byte, b'\\' | b'#');
        if text.len() > MAX_PATH || !text.starts_with('/') || !text.bytes().all(is_allowed) {
            return Err(InvalidTarget::Path);
        }
        Ok(Self(text.to_owned()))
    }

    /// Path and query.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.split_once('?').map_or(&self.0, |(path, _)| path)
    }

    /// True if servers cannot disagree about the segments of this path. Rules about paths apply to
    /// such paths only.
    #[must_use]
    pub(crate) fn has_clear_segments(&self) -> bool {
        has_one_reading(self.path())
    }
}

/// Everything of a request that rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTarget {
    /// How it travels.
    pub transport: Transport,
    /// Where to.
    pub destination: Destination,
    /// Which resource.
    pub path: RequestPath,
}

impl RequestTarget {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// Says why it is refused.
    pub fn parse(url: &str) -> Result<Self, InvalidTarget> {
        let (scheme, rest) = url.split_once("://").ok_or(InvalidTarget::Scheme)?;
        let transport = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => Transport::Https,
            _ if scheme.eq_ignore_ascii_case("http") => Transport::Http,
            _ => return Err(InvalidTarget::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(InvalidTarget::Host)?;
        let is_address = authority.starts_with('[');
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) if !is_address => (host, parse_port(port)?),
            _ => (authority, transport.default_port()),
        };
        let host = HostName::parse(host)?;
        let begins_with_query = path.is_empty() || path.starts_with('?');
        let path = RequestPath::parse(&match begins_with_query {
            true => format!("/{path}"),
            false => path.to_owned(),
        })?;
        Ok(Self { transport, destination: Destination { host, port }, path })
    }
}

/// The URL.
impl fmt::Display for RequestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.destination.authority(self.transport);
        write!(f, "{}://{authority}{}", self.transport.as_str(), self.path.as_str())
    }
}

fn parse_port(text: &str) -> Result<u16, InvalidTarget> {
    let is_number = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_number && *port > 0);
    port.ok_or(InvalidTarget::Port)
}
