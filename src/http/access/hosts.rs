//! Checks the `Host` and the `Origin` of requests.
//!
//! INVARIANT(no-rebinding): a host name that is not allowed is refused. So a website whose own
//! name resolves to this machine (DNS rebinding) reads nothing.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

use crate::http::access::cors::Permission;
use crate::http::config::HttpConfig;

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
    use axum::http::HeaderValue;

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
