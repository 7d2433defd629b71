//! The address of a collector.

use std::fmt;
use std::net::IpAddr;

use ureq::http::Uri;

/// The path of requests that export spans, below that of the address.
const PATH: &str = "/v1/traces";

/// The address of a collector: `http` or `https`, a host, and the path that OTLP adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorAddress {
    /// As the operator wrote it.
    base: String,
    url: String,
    is_encrypted: bool,
    is_here: bool,
}

impl CollectorAddress {
    /// Parses an address such as `http://127.0.0.1:4318`. A password in it, a query and a fragment
    /// are refused.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok().filter(|_| !text.contains(['@', '?', '#']))?;
        let is_encrypted = match uri.scheme_str()? {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let authority = uri.authority().filter(|authority| !authority.host().is_empty())?;
        let has_port = authority.as_str() != authority.host();
        if has_port && authority.port_u16().is_none_or(|port| port == 0) {
            return None;
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let base = text.trim_end_matches('/');
        let url = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        let is_here = is_loopback || host.eq_ignore_ascii_case("localhost");
        Some(Self { base: text.to_owned(), url, is_encrypted, is_here })
    }
}

impl CollectorAddress {
    /// The address of requests that export spans.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// True if nobody on the way reads what is sent.
    pub(super) const fn is_private(&self) -> bool {
        self.is_encrypted || self.is_here
    }
}

impl fmt::Display for CollectorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_otlp_is_added_once() {
        for (text, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://x.example/otlp/", "https://x.example/otlp/v1/traces"),
            ("https://x.example/v1/traces", "https://x.example/v1/traces"),
        ] {
            assert_eq!(CollectorAddress::parse(text).unwrap().url(), url);
        }
    }

    #[test]
    fn only_loopback_is_private_without_encryption() {
        for (text, is_private) in [
            ("http://127.0.0.1", true),
            ("http://[::1]:4318", true),
            ("http://localhost:4318", true),
            ("https://collector.example", true),
            ("http://collector.example", false),
            ("http://localhost.example", false),
            ("http://10.0.0.1:4318", false),
            ("http://[::2]", false),
        ] {
            let address = CollectorAddress::parse(text).unwrap();
            assert_eq!(address.is_private(), is_private, "{text}");
        }
    }
}
