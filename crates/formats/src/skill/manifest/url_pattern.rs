//! Patterns of URLs that a skill may send requests to, such as `https://*.salesforce.com`.
//!
//! INVARIANT(named-hosts): an accepted pattern names a host or a domain. It never matches all
//! hosts, every name below a registry such as `com` or `co.uk`, or an address.

use std::fmt;

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 512;

/// Longest host name of the domain name system, in bytes.
const MAX_HOST: usize = 253;

/// Second-level domains below which, in most countries, names are registered.
const REGISTRY_LABELS: [&str; 16] = [
    "co", "com", "org", "net", "edu", "gov", "ac", "or", "ne", "go", "gob", "gen", "mil", "nom",
    "ltd", "plc",
];

/// A pattern of URLs: a scheme, a host or all hosts below it, a port, and a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    text: String,
    scheme: Scheme,
    host: String,
    allows_subdomains: bool,
    port: Option<u16>,
    path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Https,
    Http,
}

/// The reason why a text is not a valid pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPattern {
    /// The problem, as the end of a sentence that begins with the pattern: `must be ASCII`.
    pub problem: &'static str,
    /// A correction.
    pub help: Option<String>,
}

const fn invalid(problem: &'static str) -> InvalidPattern {
    InvalidPattern { problem, help: None }
}

impl UrlPattern {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The problem and a correction.
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let pattern = Self::parse_host_of_machine(text)?;
        if !pattern.host.contains('.') {
            return Err(invalid("must have a host with a domain, such as `api.acme.com`"));
        }
        Ok(pattern)
    }

    /// As [`parse`](Self::parse), for a host that the machine's own user names: it may be a name of the machine or of
    /// its network, such as `localhost`.
    ///
    /// # Errors
    ///
    /// The problem and a correction.
    pub fn parse_host_of_machine(text: &str) -> Result<Self, InvalidPattern> {
        check_letters(text)?;
        let (scheme, rest) = split_scheme(text)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(parse_port(port)?)),
            None => (authority, None),
        };
        let (allows_subdomains, host) = match host.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, host),
        };
        if allows_subdomains {
            check_breadth(host)?;
        }
        check_host(host)?;
        check_path_pattern(path)?;
        let path = path.trim_end_matches('*').to_owned();
        let (text, host) = (text.to_owned(), host.to_owned());
        Ok(Self { text, scheme, host, allows_subdomains, port, path })
    }

    /// The pattern as its author wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True for `https`.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// The host, or for patterns with `*.` the domain whose subdomains match.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// True if names below [`host`](Self::host) match, by one label or more, and the host itself
    /// does not.
    #[must_use]
    pub const fn allows_subdomains(&self) -> bool {
        self.allows_subdomains
    }

    /// The port: the one in the pattern, or the scheme's own.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.is_encrypted() { 443 } else { 80 })
    }

    /// The beginning of allowed paths, or the path itself if it has no `/` at the end. Empty for
    /// any path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Refuses characters that parsers of URLs could read differently.
fn check_letters(text: &str) -> Result<(), InvalidPattern> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/*".contains(&byte);
    if text.len() > MAX_PATTERN {
        return Err(invalid("is longer than 512 bytes"));
    }
    match text.bytes().find(|byte| !is_plain(*byte)) {
        None => Ok(()),
        Some(b'?' | b'#') => Err(invalid("must not have a query or fragment")),
        Some(b'@') => Err(invalid("must not have a user name")),
        Some(b'[' | b']') => Err(invalid("must name a host, not an address")),
        Some(byte) if !byte.is_ascii() => Err(InvalidPattern {
            problem: "must be ASCII",
            help: Some("write international names as `xn--…`".to_owned()),
        }),
        Some(_) => Err(invalid("must not contain spaces or special characters")),
    }
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), InvalidPattern> {
    if let Some(rest) = text.strip_prefix("https://") {
        return Ok((Scheme::Https, rest));
    }
    if let Some(rest) = text.strip_prefix("http://") {
        return Ok((Scheme::Http, rest));
    }
    let looks_like_host = !text.contains(':') && text.contains('.') && !text.starts_with('/');
    let help = looks_like_host.then(|| format!("write \"https://{text}\""));
    Err(InvalidPattern { problem: "must begin with `https://`", help })
}

fn parse_port(text: &str) -> Result<u16, InvalidPattern> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_number && *port > 0);
    port.ok_or(invalid("must have a port from 1 to 65535 after the colon"))
}

fn check_host(host: &str) -> Result<(), InvalidPattern> {
    let labels: Vec<&str> = host.split('.').collect();
    if host.is_empty() || host == "*" {
        return Err(invalid("must name a host, such as `https://api.acme.com`"));
    }
    if host.contains('*') {
        return Err(invalid("may have `*` only as the first label, as in `https://*.acme.com`"));
    }
    if host.len() > MAX_HOST || !labels.iter().all(|label| is_label(label)) {
        return Err(InvalidPattern {
            problem: "must have a host of a-z, 0-9 and inner dashes, joined by dots",
            help: host
                .bytes()
                .any(|byte| byte.is_ascii_uppercase())
                .then(|| format!("write the host in lowercase: `{}`", host.to_ascii_lowercase())),
        });
    }
    // The last label of a host name contains a letter. In an address it is a number in some base.
    let last = labels.last().copied().unwrap_or_default();
    if last.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(invalid("must name a host, not an address"));
    }
    Ok(())
}

fn is_label(label: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inner = |byte: u8| is_letter(byte) || byte == b'-';
    label.len() <= 63
        && label.bytes().all(inner)
        && label.bytes().next().is_some_and(is_letter)
        && label.bytes().next_back().is_some_and(is_letter)
}

/// Refuses `*.` before a domain below which names of different owners are registered.
fn check_breadth(domain: &str) -> Result<(), InvalidPattern> {
    let mut labels = domain.rsplit('.');
    let (top, second, third) = (labels.next(), labels.next(), labels.next());
    let is_registry = top.is_some_and(|top| top.len() == 2)
        && second.is_some_and(|second| REGISTRY_LABELS.contains(&second))
        && third.is_none();
    if second.is_none() || is_registry {
        return Err(invalid("matches hosts of many owners: name your own domain after `*.`"));
    }
    Ok(())
}

fn check_path_pattern(path: &str) -> Result<(), InvalidPattern> {
    let fixed = path.strip_suffix("/*").map_or(path, |fixed| fixed);
    if fixed.contains('*') {
        return Err(invalid("may have `*` in its path only as the entire last segment"));
    }
    let segments = fixed.strip_prefix('/').unwrap_or(fixed).trim_end_matches('/');
    let is_odd = |segment: &str| matches!(segment, "" | "." | "..") || segment.contains(':');
    if path.contains("//") || (!segments.is_empty() && segments.split('/').any(is_odd)) {
        return Err(invalid("must have a path without empty, `.` or `..` segments"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_documented_patterns_are_understood() {
        let all = UrlPattern::parse("https://*.salesforce.com").unwrap();
        assert_eq!(
            (all.host(), all.allows_subdomains(), all.port(), all.path()),
            ("salesforce.com", true, 443, "")
        );
        let one = UrlPattern::parse("https://api.stripe.com").unwrap();
        assert_eq!(
            (one.host(), one.allows_subdomains(), one.is_encrypted()),
            ("api.stripe.com", false, true)
        );
        let path = UrlPattern::parse("http://xn--bcher-kva.example:8080/v1/*").unwrap();
        assert_eq!((path.port(), path.path(), path.is_encrypted()), (8080, "/v1/", false));
        assert_eq!(UrlPattern::parse("https://a.bc/v1").unwrap().path(), "/v1");
        assert!(UrlPattern::parse("https://*.acme.co.uk/").is_ok());
    }

    #[rustfmt::skip]
    const REFUSED: &[&str] = &[
        "", "*", "https://", "https://*", "http://*", "https://*.", "https://*.com",
        "https://*.co.uk", "https://*.com.au", "https://example.com:*", "https://example.com:0",
        "https://example.com:65536", "https://example.com:+1", "https://example.com:", "file://*",
        "file:///etc/passwd", "ftp://a.com", "https:example.com", "https:/example.com",
        "//example.com", "HTTPS://example.com", "https://10.0.0.0/8", "https://10.0.0.1",
        "https://127.1", "https://0x7f000001", "https://a.0x7f", "https://2130706433",
        "https://[::1]", "https://localhost", "https://com", "https://a..example.com",
        "https://.example.com", "https://example.com.", "https://-a.example.com",
        "https://a-.example.com", "https://user@example.com", "https://evil.com\\@example.com",
        "https://exa mple.com", "https://example.com%2eevil.com", "https://exam\tple.com",
        "https://example.com\0", "https://ａ.com", "https://Example.com", "https://a.*.com",
        "https://a*.example.com", "https://**.example.com", "https://example.com?x=1",
        "https://example.com#x", "https://example.com/a*", "https://example.com/*/b",
        "https://example.com/../b", "https://example.com/./b", "https://example.com//b",
        "https://example.com/a;b", "https://a_b.example.com",
    ];

    #[test]
    fn named_hosts_are_all_that_a_pattern_can_mean() {
        let long =
            [format!("https://{}.com", "a".repeat(64)), format!("https://{}com", "a.".repeat(200))];
        for text in REFUSED.iter().copied().chain(long.iter().map(String::as_str)) {
            assert!(UrlPattern::parse(text).is_err(), "accepted {text:?}");
        }
    }

    #[test]
    fn a_bare_host_gets_advice() {
        let invalid = UrlPattern::parse("api.acme.com").unwrap_err();
        assert_eq!(invalid.help.unwrap(), "write \"https://api.acme.com\"");
        let shouted = UrlPattern::parse("https://API.acme.com").unwrap_err();
        assert_eq!(shouted.help.unwrap(), "write the host in lowercase: `api.acme.com`");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_passes_is_plain(text in "(https?://)?[a-z*.:/@%0-9\\[\\]?-]{0,40}") {
            if let Ok(pattern) = UrlPattern::parse(&text) {
                prop_assert!(pattern.host().contains('.') && !pattern.host().contains('*'));
                prop_assert!(pattern.host().bytes().next_back().unwrap().is_ascii_lowercase()
                    || pattern.host().rsplit('.').next().unwrap().starts_with(|c: char| c.is_ascii_lowercase()));
                prop_assert!(pattern.path().is_empty() || pattern.path().starts_with('/'));
            }
        }
    }
}
