//! Checks the `Host` and the `Origin` of requests.
//!
//! INVARIANT(no-rebinding): a host name that is not allowed is refused. So a website whose own
//! name resolves to this machine (DNS rebinding) reads nothing.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};

use crate::http::access::cors::Permission;
use crate::http::config::HttpConfig;

/// Where the page lies that sent a request, as the browser sees it. Pages cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The reason why a request's host or origin is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostFault {
    /// No host, two hosts, or a malformed one.
    Malformed,
    /// A host name that is not allowed.
    Host,
    /// A website that is not allowed.
    Origin,
}

/// The names and origins that are accepted.
#[derive(Debug)]
pub(crate) struct Hosts {
    names: Vec<String>,
    origins: Vec<String>,
    any_name: bool,
    any_origin: bool,
    listening: IpAddr,
    /// True if pages of this server call it.
    has_pages: bool,
    is_encrypted: bool,
}

impl Hosts {
    pub(crate) fn of(config: &HttpConfig) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let has_any = |names: &[String]| names.iter().any(|name| name == "*");
        Self {
            names: lower(&config.allowed_hosts),
            origins: lower(&config.allowed_origins),
            any_name: has_any(&config.allowed_hosts),
            any_origin: has_any(&config.allowed_origins),
            listening: config.listen.ip(),
            has_pages: config.serves_console,
            is_encrypted: config.tls.is_some(),
        }
    }

    /// Checks the host and origin of a request. Returns the permission of the website that sent
    /// the request, if a website sent it.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<Permission>, HostFault> {
        if !self.allows_host(uri, headers)? {
            return Err(HostFault::Host);
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(None) };
        // A browser names one origin. With two, it is unclear which one the answer is for.
        if origins.next().is_some() {
            return Err(HostFault::Origin);
        }
        if self.is_own_page(origin, headers) {
            return Ok(None);
        }
        if self.any_origin {
            return Ok(Some(Permission::of_any()));
        }
        let is_allowed = origin.to_str().is_ok_and(|origin| self.allows_origin(origin));
        if is_allowed { Ok(Some(Permission::of(origin.clone()))) } else { Err(HostFault::Origin) }
    }

    /// True if answers differ from website to website.
    pub(crate) const fn depend_on_origin(&self) -> bool {
        !self.origins.is_empty() && !self.any_origin
    }

    /// True if a page of this server itself sent the request. The name that the browser knows the
    /// server by must be one that is allowed as such: with `*` alone any website could make its own
    /// name lead here, and be the origin of what it reads.
    fn is_own_page(&self, origin: &HeaderValue, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_ascii_lowercase);
        let host = headers.get(header::HOST).and_then(text);
        let (Some(origin), Some(host)) = (text(origin), host) else { return false };
        let authority = match (origin.strip_prefix("https://"), self.is_encrypted) {
            (Some(authority), _) => Some(authority),
            // A page that was not encrypted may come from anybody in between.
            (None, true) => None,
            (None, false) => origin.strip_prefix("http://"),
        };
        // Browsers tell it of encrypted and of loopback addresses, also behind a proxy that encrypts.
        let site = headers.get(SEC_FETCH_SITE);
        self.has_pages
            && authority == Some(&host)
            && site.is_none_or(|site| site == "same-origin")
            && Authority::try_from(host.as_str()).is_ok_and(|host| self.allows_name(host.host()))
    }

    fn allows_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    fn allows_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<bool, HostFault> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().ok_or(HostFault::Malformed)?;
        if hosts.next().is_some() {
            return Err(HostFault::Malformed);
        }
        let host = host.as_bytes();
        if let Some(asked) = uri.authority()
            && !asked.as_str().as_bytes().eq_ignore_ascii_case(host)
        {
            return Err(HostFault::Malformed);
        }
        if self.any_name {
            return Ok(true);
        }
        let host = Authority::try_from(host).ok().ok_or(HostFault::Malformed)?;
        if host.as_str().contains('@') {
            return Err(HostFault::Malformed);
        }
        Ok(self.allows_name(host.host()))
    }

    fn allows_name(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        if let Ok(address) = bare.parse::<IpAddr>() {
            let address = address.to_canonical();
            // The client used an address, not a name, so rebinding is impossible.
            let is_ours =
                self.listening.is_unspecified() || self.listening.to_canonical() == address;
            if address.is_loopback() || is_ours {
                return true;
            }
        }
        name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str, names: &[&str], origins: &[&str]) -> Hosts {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Hosts::of(&HttpConfig {
            allowed_hosts: owned(names),
            allowed_origins: owned(origins),
            ..HttpConfig::listening_on(listen.parse().unwrap())
        })
    }

    fn check(hosts: &Hosts, named: &[&str], origins: &[&str]) -> Result<(), HostFault> {
        let mut headers = HeaderMap::new();
        for host in named {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        hosts.check(&Uri::from_static("/rpc"), &headers).map(drop)
    }

    #[test]
    fn no_rebinding_is_possible_by_a_foreign_name() {
        let ours = hosts("127.0.0.1:8080", &["skills.example"], &[]);
        for host in [
            "localhost",
            "localhost:8080",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "skills.example",
            "Skills.Example:443",
        ] {
            assert_eq!(check(&ours, &[host], &[]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.5",
            "0.0.0.0",
            "xskills.example",
            "skills.example.evil",
            "a.skills.example",
            "2130706433",
            "localhost.",
            "[fe80::1]",
        ] {
            assert_eq!(check(&ours, &[host], &[]), Err(HostFault::Host), "{host}");
        }
        for named in
            [&[] as &[&str], &["localhost", "evil.example"], &["a@localhost"], &[""], &["a b"]]
        {
            assert_eq!(check(&ours, named, &[]), Err(HostFault::Malformed), "{named:?}");
        }
    }

    #[test]
    fn an_address_that_is_listened_on_may_be_named() {
        assert_eq!(check(&hosts("10.0.0.5:80", &[], &[]), &["10.0.0.5"], &[]), Ok(()));
        assert_eq!(
            check(&hosts("10.0.0.5:80", &[], &[]), &["10.0.0.6"], &[]),
            Err(HostFault::Host)
        );
        assert_eq!(check(&hosts("0.0.0.0:80", &[], &[]), &["10.0.0.6:80"], &[]), Ok(()));
        assert_eq!(check(&hosts("[::]:80", &[], &[]), &["[2001:db8::1]:80"], &[]), Ok(()));
        assert_eq!(
            check(&hosts("0.0.0.0:80", &[], &[]), &["evil.example"], &[]),
            Err(HostFault::Host)
        );
        assert_eq!(check(&hosts("0.0.0.0:80", &["*"], &[]), &["any.example"], &[]), Ok(()));
    }

    /// The answers to a page at `origin` that a browser sends to `host`.
    fn check_page(ours: &Hosts, host: &str, origin: &str, site: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        if let Some(site) = site {
            headers.insert("sec-fetch-site", HeaderValue::from_str(site).unwrap());
        }
        matches!(ours.check(&Uri::from_static("/rpc"), &headers), Ok(None))
    }

    #[test]
    fn only_pages_of_the_server_itself_are_its_own() {
        let ours = hosts("127.0.0.1:8080", &["skills.example"], &[]);
        let same = Some("same-origin");
        assert!(check_page(&ours, "localhost:8080", "http://localhost:8080", same));
        assert!(check_page(&ours, "127.0.0.1:8080", "http://127.0.0.1:8080", None));
        assert!(check_page(&ours, "skills.example", "https://skills.example", same));
        for (host, origin, site) in [
            ("localhost:8080", "http://localhost:3000", Some("same-site")),
            ("localhost:8080", "http://localhost:8080", Some("cross-site")),
            ("localhost:8080", "http://127.0.0.1:8080", None),
            ("localhost:8080", "http://evil.example", None),
            ("localhost:8080", "ftp://localhost:8080", None),
            ("localhost:8080", "null", None),
            ("skills.example", "http://skills.example.evil", None),
        ] {
            assert!(!check_page(&ours, host, origin, site), "{host} {origin} {site:?}");
        }
    }

    #[test]
    fn a_website_that_rebinds_its_name_is_no_page_of_the_server() {
        let open = hosts("0.0.0.0:8080", &["*"], &[]);
        let open = Hosts { has_pages: true, ..open };
        assert!(!check_page(&open, "evil.example:8080", "http://evil.example:8080", None));
        assert!(check_page(&open, "10.0.0.5:8080", "http://10.0.0.5:8080", None));
    }

    #[test]
    fn a_page_that_was_not_encrypted_is_none_of_a_server_with_tls() {
        let ours = Hosts { is_encrypted: true, ..hosts("127.0.0.1:8443", &[], &[]) };
        assert!(check_page(&ours, "localhost:8443", "https://localhost:8443", None));
        assert!(!check_page(&ours, "localhost:8443", "http://localhost:8443", None));
    }

    #[test]
    fn without_the_console_no_page_is_its_own() {
        let ours = Hosts { has_pages: false, ..hosts("127.0.0.1:8080", &[], &[]) };
        assert!(!check_page(&ours, "localhost:8080", "http://localhost:8080", None));
    }

    #[test]
    fn a_target_and_a_host_that_differ_are_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        let ours = hosts("127.0.0.1:8080", &[], &[]);
        let check = |uri| ours.check(&Uri::from_static(uri), &headers).map(drop);
        assert_eq!(check("http://localhost/rpc"), Ok(()));
        assert_eq!(check("http://evil.example/rpc"), Err(HostFault::Malformed));
    }

    #[test]
    fn websites_are_refused_unless_they_are_named() {
        let named = hosts("127.0.0.1:8080", &[], &["https://console.example"]);
        assert_eq!(check(&named, &["localhost"], &["https://console.example"]), Ok(()));
        for origin in
            ["null", "http://localhost:8080", "https://evil.example", "http://console.example"]
        {
            assert_eq!(
                check(&named, &["localhost"], &[origin]),
                Err(HostFault::Origin),
                "{origin}"
            );
        }
        let both = ["https://console.example", "https://evil.example"];
        assert_eq!(check(&named, &["localhost"], &both), Err(HostFault::Origin));
        assert_eq!(
            check(&hosts("[::1]:1", &[], &["*"]), &["[::1]"], &["https://any.example"]),
            Ok(())
        );
    }
}
