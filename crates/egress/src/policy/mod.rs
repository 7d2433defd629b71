//! What a run may reach: the patterns that its skill or the operator grants, and what they match.

pub mod address;
pub mod rules;
pub mod spelling;
pub mod target;

use std::sync::Arc;

use crate::policy::target::{Destination, HostName, RequestPath, RequestTarget, Transport};
use crate::rewrite::RequestRewriter;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;

/// Who grants the patterns of a run, for the texts of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grantor {
    /// The manifest of the skill that runs.
    Manifest,
    /// The operator, for code without a skill.
    Operator,
}

/// The requests that a run may send.
#[derive(Debug, Clone)]
pub struct RunPolicy {
    pub(crate) patterns: Vec<UrlPattern>,
    pub(crate) grantor: Grantor,
    rewriter: Option<Arc<dyn RequestRewriter>>,
}

impl RunPolicy {
    /// The policy of a skill: `permissions.network` of its manifest.
    #[must_use]
    pub fn of_manifest(patterns: Vec<UrlPattern>) -> Self {
        Self { patterns, grantor: Grantor::Manifest, rewriter: None }
    }

    /// The policy of code without a skill: the operator's list.
    #[must_use]
    pub fn of_operator(patterns: Vec<UrlPattern>) -> Self {
        Self { patterns, grantor: Grantor::Operator, rewriter: None }
    }

    /// Lets `rewriter` see each request after the checks.
    #[must_use]
    pub fn rewritten_by(mut self, rewriter: Arc<dyn RequestRewriter>) -> Self {
        self.rewriter = Some(rewriter);
        self
    }

    /// The rewriter of this run.
    #[must_use]
    pub(crate) fn rewriter(&self) -> Option<&Arc<dyn RequestRewriter>> {
        self.rewriter.as_ref()
    }
}

/// True if `pattern` names `host`: label by label, and with `*.` never the domain itself.
#[must_use]
pub fn names_host(pattern: &UrlPattern, host: &HostName) -> bool {
    if !pattern.allows_subdomains() {
        return host.as_str() == pattern.host();
    }
    let labels = host.as_str().strip_suffix(pattern.host());
    labels.and_then(|labels| labels.strip_suffix('.')).is_some_and(|labels| !labels.is_empty())
}

/// True if `pattern` grants requests to this path. A pattern with a path grants only paths that
/// have one reading.
#[must_use]
pub(crate) fn names_path(pattern: &UrlPattern, path: &RequestPath) -> bool {
    let wanted = pattern.path();
    if wanted.is_empty() || wanted == "/" {
        return true;
    }
    let is_below = match wanted.ends_with('/') {
        true => path.path().starts_with(wanted),
        false => path.path() == wanted,
    };
    is_below && path.has_clear_segments()
}

/// True if `pattern` grants `target`.
#[must_use]
pub fn grants(pattern: &UrlPattern, target: &RequestTarget) -> bool {
    grants_transport(pattern, target.transport, &target.destination)
        && names_path(pattern, &target.path)
}

/// True if `pattern` grants some requests to this destination.
pub(crate) fn grants_transport(
    pattern: &UrlPattern,
    transport: Transport,
    to: &Destination,
) -> bool {
    pattern.is_encrypted() == (transport == Transport::Https)
        && pattern.port() == to.port
        && names_host(pattern, &to.host)
}
