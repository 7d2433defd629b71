//! The rules of a run: its policy, and what the operator denies.
//!
//! INVARIANT(granted-only): a request leaves only if a pattern grants its scheme, host, port and
//! path, and no pattern of the operator's deny list concerns it. No name is looked up that no
//! pattern names.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::NetworkError;
use crate::policy::spelling::may_be_read_as;
use crate::policy::target::{
    Destination, HostName, InvalidTarget, RequestPath, RequestTarget, Transport,
};
use crate::policy::{Grantor, RunPolicy, grants, grants_transport, names_host};
use crate::rewrite::RequestRewriter;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;

/// The rules of a run and those of the operator together.
#[derive(Debug)]
pub struct NetworkRules {
    policy: RunPolicy,
    denied: Arc<[UrlPattern]>,
    is_enabled: bool,
    /// One body of the run is rewritten at a time.
    rewriting: Arc<Semaphore>,
}

impl NetworkRules {
    pub(crate) fn new(policy: RunPolicy, denied: Arc<[UrlPattern]>, is_enabled: bool) -> Self {
        Self { policy, denied, is_enabled, rewriting: Arc::new(Semaphore::new(1)) }
    }

    /// Waits until no other body of the run is rewritten. The memory of one is what a run is
    /// charged for, [`REWRITING_MEMORY`](crate::rewrite::REWRITING_MEMORY).
    pub(crate) async fn begin_rewriting(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.rewriting).acquire_owned().await.ok()
    }

    pub(crate) fn rewriter(&self) -> Option<&Arc<dyn RequestRewriter>> {
        self.policy.rewriter()
    }

    /// Checks a URL as a whole.
    ///
    /// # Errors
    ///
    /// Refuses with `EACCES`.
    pub fn check_url(&self, url: &str) -> Result<RequestTarget, NetworkError> {
        let target = RequestTarget::parse(url).map_err(|invalid| {
            NetworkError::denied(format!("this server sends no such request: the URL {invalid}"))
        })?;
        self.check_request(&target)?;
        Ok(target)
    }

    /// Checks a name before it is looked up.
    ///
    /// # Errors
    ///
    /// Refuses with `EACCES` what no pattern names.
    pub fn check_name(&self, name: &str) -> Result<HostName, NetworkError> {
        let host = parse_host(name)?;
        self.check_enabled()?;
        self.check_not_denied(&host)?;
        if self.policy.patterns.iter().any(|pattern| names_host(pattern, &host)) {
            return Ok(host);
        }
        let line = format!("https://{host}");
        Err(self.refusal(&format!("`{host}`"), &line))
    }

    /// Checks the destination of a connection.
    ///
    /// # Errors
    ///
    /// Refuses with `EACCES` what no pattern names.
    pub(crate) fn check_destination(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Destination, NetworkError> {
        let host = parse_host(host)?;
        self.check_enabled()?;
        self.check_not_denied(&host)?;
        let destination = Destination { host, port };
        let names = |pattern: &UrlPattern| {
            pattern.port() == port && port != 0 && names_host(pattern, &destination.host)
        };
        if self.policy.patterns.iter().any(names) {
            return Ok(destination);
        }
        let transport = if port == 80 { Transport::Http } else { Transport::Https };
        Err(self.refusal_of_connection(transport, &destination))
    }

    /// Checks how a connection is used: encrypted or not.
    ///
    /// # Errors
    ///
    /// Refuses with `EACCES` what no pattern names.
    pub(crate) fn check_transport(
        &self,
        transport: Transport,
        destination: &Destination,
    ) -> Result<(), NetworkError> {
        let granted = |pattern| grants_transport(pattern, transport, destination);
        if self.policy.patterns.iter().any(granted) {
            return Ok(());
        }
        Err(self.refusal_of_connection(transport, destination))
    }

    /// Checks a request.
    ///
    /// # Errors
    ///
    /// Refuses with `EACCES` what no pattern grants and what the operator denies.
    pub(crate) fn check_request(&self, target: &RequestTarget) -> Result<(), NetworkError> {
        self.check_enabled()?;
        let RequestTarget { transport, destination, path } = target;
        let denies = |pattern: &UrlPattern| {
            names_host(pattern, &destination.host) && may_name_path(pattern, path)
        };
        if self.denied.iter().any(denies) {
            return Err(denial(&destination.host));
        }
        if self.policy.patterns.iter().any(|pattern| grants(pattern, target)) {
            return Ok(());
        }
        self.check_transport(*transport, destination)?;
        let url = format!("{}://{}", transport.as_str(), destination.authority(*transport));
        if !path.has_clear_segments() {
            return Err(NetworkError::denied(format!(
                "requests to `{}` are granted by path, and this path is ambiguous: it has `..`, \
                 `//`, `;`, an encoded `.`, `/`, `\\` or `%`, a segment that begins or ends with a \
                 space, or an escape that is not UTF-8 text",
                destination.host
            )));
        }
        let line = format!("{url}{}", path.path());
        Err(self.refusal(&format!("this path of `{}`", destination.host), &line))
    }

    fn check_enabled(&self) -> Result<(), NetworkError> {
        if self.is_enabled {
            return Ok(());
        }
        Err(NetworkError::denied(
            "this server grants no network access; its operator can enable it",
        ))
    }

    /// Refuses a host that is denied as a whole.
    fn check_not_denied(&self, host: &HostName) -> Result<(), NetworkError> {
        let denies = |pattern: &UrlPattern| pattern.path().len() <= 1 && names_host(pattern, host);
        if self.denied.iter().any(denies) { Err(denial(host)) } else { Ok(()) }
    }

    fn refusal_of_connection(&self, transport: Transport, to: &Destination) -> NetworkError {
        let line = format!("{}://{}", transport.as_str(), to.authority(transport));
        let scheme = transport.as_str();
        self.refusal(&format!("{scheme} requests to `{}` at port {}", to.host, to.port), &line)
    }

    /// A refusal that says what would grant the request.
    fn refusal(&self, what: &str, line: &str) -> NetworkError {
        let what = format!("nothing grants {what}");
        if UrlPattern::parse(line).is_err() {
            return NetworkError::denied(format!("{what}, and nothing can"));
        }
        NetworkError::denied(match self.policy.grantor {
            Grantor::Manifest => {
                format!(
                    "{what}: the skill's manifest needs network = [\"{line}\"] in [permissions]"
                )
            }
            Grantor::Operator => {
                format!("{what}: the operator's list for code without a skill needs \"{line}\"")
            }
        })
    }
}

fn denial(host: &HostName) -> NetworkError {
    NetworkError::denied(format!("the operator of this server denies requests to `{host}`"))
}

/// Reads a host. The refusal is the same for all addresses, whatever listens there.
fn parse_host(text: &str) -> Result<HostName, NetworkError> {
    HostName::parse(text).map_err(|invalid| {
        NetworkError::denied(match invalid {
            InvalidTarget::Address => "requests go to hosts by name, never to addresses",
            _ => "requests go to hosts with plain names, such as `api.acme.com`",
        })
    })
}

/// True if `pattern` of a deny list concerns requests to this path, in whatever way the server may
/// read it.
fn may_name_path(pattern: &UrlPattern, path: &RequestPath) -> bool {
    let wanted = pattern.path();
    wanted.len() <= 1 || may_be_read_as(path.path(), wanted)
}
