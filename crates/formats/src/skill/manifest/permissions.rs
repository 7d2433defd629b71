//! The `[permissions]` section: the hosts that a skill may reach, the secrets that it needs, the tools of the
//! operator's servers that it may call, and the skills that it may execute.

use std::collections::BTreeSet;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::Fields;
use crate::skill::manifest::secret_hosts::{MAX_ENTRIES, SecretHosts, read_patterns};
use crate::skill::manifest::secret_name::check_secret_name;
use crate::skill::manifest::tool_pattern::{
    ToolGlob, ToolPattern, read_skill_patterns, read_tool_patterns,
};
use crate::skill::manifest::url_pattern::UrlPattern;
use crate::skill::text::quoted;

/// The keys of the section.
pub(crate) const KEYS: [&str; 6] = ["network", "secrets", "secret_hosts", "tools", "skills", "env"];

/// The permissions that a skill's manifest asks for. Default: none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The URLs that it may send requests to.
    pub network: Vec<UrlPattern>,
    /// Names of the environment variables that it needs filled with secrets.
    pub secrets: Vec<String>,
    /// Those secrets that it gets as placeholders, with the hosts that get the values.
    pub secret_hosts: SecretHosts,
    /// The tools of the operator's servers that it may call.
    pub tools: Vec<ToolPattern>,
    /// The skills that it may execute, by patterns of their names.
    pub skills: Vec<ToolGlob>,
    /// Names of the environment variables that callers may set for its scripts.
    pub env: Vec<String>,
}

impl Permissions {
    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Self {
        let Some(section) = fields.table("permissions", findings) else {
            return Self::default();
        };
        section.warn_unknown(&KEYS, findings);

        let network = section.texts("network", MAX_ENTRIES, findings);
        let mut permissions =
            Self { network: read_patterns(&network, findings), ..Self::default() };
        permissions.secrets =
            read_names(&section, "secrets", ("secret", "invalid-secret"), findings);
        permissions.env = read_names(&section, "env", ("variable", "invalid-variable"), findings);
        permissions.secret_hosts = SecretHosts::read(&section, findings);
        let tools = section.texts("tools", MAX_ENTRIES, findings);
        permissions.tools = read_tool_patterns(&tools, findings);
        let skills = section.texts("skills", MAX_ENTRIES, findings);
        permissions.skills = read_skill_patterns(&skills, findings);
        permissions.warn_of_unreachable_hosts(&section, findings);
        permissions
    }

    /// Names of all secrets that the skill gets: as values, or as placeholders.
    #[must_use]
    pub fn secret_names(&self) -> BTreeSet<&str> {
        let brokered = self.secret_hosts.0.keys().map(String::as_str);
        self.secrets.iter().map(String::as_str).chain(brokered).collect()
    }

    /// Warns of hosts that get a secret and no request, and of secrets that other runtimes would
    /// not hand out.
    fn warn_of_unreachable_hosts(&self, section: &Fields<'_>, findings: &mut Findings<'_>) {
        let Some(table) = section.node("secret_hosts") else { return };
        for (name, brokered) in &self.secret_hosts.0 {
            if !self.secrets.contains(name) {
                let message = format!("`secrets` does not list the brokered secret `{name}`");
                let help = "other runtimes may read only `secrets`";
                let problem = Problem::new("unlisted-secret", message).help(help);
                findings.warning(&table.span, problem);
            }
            let is_reached = |to: &&UrlPattern| self.network.iter().any(|by| reaches(by, to));
            if let Some(pattern) = brokered.patterns.iter().find(|to| !is_reached(to)) {
                let message = format!("`network` grants no request to `{pattern}`");
                let help = format!("add \"{pattern}\" to `network`");
                let problem = Problem::new("no-effect", message).help(help);
                findings.warning(&table.span, problem);
            }
        }
    }
}

/// The names of environment variables under `key`.
fn read_names(
    section: &Fields<'_>,
    key: &str,
    (word, code): (&str, &'static str),
    findings: &mut Findings<'_>,
) -> Vec<String> {
    let mut names = Vec::new();
    for text in section.texts(key, MAX_ENTRIES, findings) {
        match check_secret_name(text.text) {
            Ok(()) => names.push(text.text.to_owned()),
            Err(message) => {
                let message = format!("the {word} {} {message}", quoted(text.text));
                findings.error(text.span, Problem::new(code, message));
            }
        }
    }
    names
}

/// True if some requests that `to` names are granted by `by`.
fn reaches(by: &UrlPattern, to: &UrlPattern) -> bool {
    let is_below = |name: &UrlPattern, domain: &UrlPattern| {
        let labels = name.host().strip_suffix(domain.host());
        domain.allows_subdomains() && labels.is_some_and(|labels| labels.ends_with('.'))
    };
    let is_same = by.host() == to.host() && by.allows_subdomains() == to.allows_subdomains();
    by.is_encrypted() == to.is_encrypted()
        && by.port() == to.port()
        && (is_same || is_below(to, by) || is_below(by, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_reached_by_patterns_that_share_requests_with_it() {
        let reaches =
            |by, to| reaches(&UrlPattern::parse(by).unwrap(), &UrlPattern::parse(to).unwrap());
        for (by, to) in [
            ("https://api.acme.com", "https://api.acme.com/v1/"),
            ("https://*.acme.com", "https://api.acme.com"),
            ("https://api.acme.com", "https://*.acme.com"),
            ("https://*.acme.com", "https://*.eu.acme.com"),
        ] {
            assert!(reaches(by, to), "{by} {to}");
        }
        for (by, to) in [
            ("https://acme.com", "https://*.acme.com"),
            ("https://*.acme.com", "https://acme.com"),
            ("https://*.acme.com", "https://api.evil-acme.com"),
            ("http://api.acme.com", "https://api.acme.com"),
            ("https://api.acme.com:8443", "https://api.acme.com"),
        ] {
            assert!(!reaches(by, to), "{by} {to}");
        }
    }
}
