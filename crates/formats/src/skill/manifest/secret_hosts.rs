//! The hosts that brokered secrets are sent to: `secret_hosts` of a manifest, `secrets.hosts` of
//! the operator.

use std::collections::BTreeMap;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::{Fields, TextField};
use crate::skill::manifest::secret_name::check_secret_name;
use crate::skill::manifest::url_pattern::UrlPattern;
use crate::skill::source::node::{SourceEntry, SourceValue};
use crate::skill::text::quoted;

/// Most hosts of one secret, and most secrets with hosts.
pub const MAX_ENTRIES: usize = 32;

/// Brokered secrets by name, each with the hosts that it is sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretHosts(pub BTreeMap<String, BrokeredHosts>);

/// The hosts that one secret is sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrokeredHosts {
    /// The requests that get it.
    pub patterns: Vec<UrlPattern>,
    /// True if bodies of requests get it too, and not only headers.
    pub in_body: bool,
}

impl SecretHosts {
    /// Reads `secret_hosts` of the section `[permissions]`.
    pub fn read(section: &Fields<'_>, findings: &mut Findings<'_>) -> Self {
        let Some(table) = section.table("secret_hosts", findings) else { return Self::default() };
        if table.entries().len() > MAX_ENTRIES {
            if let Some(node) = section.node("secret_hosts") {
                let name = table.name();
                let count = table.entries().len();
                let message = format!("`{name}` has {count} entries, more than {MAX_ENTRIES}");
                findings.error(&node.span, Problem::new("too-many", message));
            }
            return Self::default();
        }
        let mut hosts = BTreeMap::new();
        for entry in table.entries() {
            if let Err(message) = check_secret_name(&entry.key) {
                let message = format!("the secret {} {message}", quoted(&entry.key));
                findings.error(&entry.key_span, Problem::new("invalid-secret", message));
                continue;
            }
            let named = read_entry(&table, entry, findings);
            if named.patterns.is_empty() && !findings.has_errors() {
                let message = format!("`{}` does not name a host", table.path(&entry.key));
                let help = format!("write `{} = [\"https://api.acme.com\"]`", entry.key);
                let problem = Problem::new("invalid-network", message).help(help);
                findings.error(&entry.node.span, problem);
            }
            hosts.insert(entry.key.clone(), named);
        }
        Self(hosts)
    }

    /// The hosts of a secret, if it is brokered.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<&BrokeredHosts> {
        self.0.get(name)
    }
}

/// Reads a list of hosts, or a table with `hosts` and `in_body`.
fn read_entry(
    table: &Fields<'_>,
    entry: &SourceEntry,
    findings: &mut Findings<'_>,
) -> BrokeredHosts {
    let SourceValue::Table(_) = entry.node.value else {
        let texts = table.texts(&entry.key, MAX_ENTRIES, findings);
        return BrokeredHosts { patterns: read_patterns(&texts, findings), in_body: false };
    };
    let path = table.path(&entry.key);
    let Some(fields) = Fields::of_node(&path, &entry.node, findings) else {
        return BrokeredHosts::default();
    };
    fields.warn_unknown(&["hosts", "in_body"], findings);
    let texts = fields.texts("hosts", MAX_ENTRIES, findings);
    let in_body = fields.boolean("in_body", findings).unwrap_or(false);
    BrokeredHosts { patterns: read_patterns(&texts, findings), in_body }
}

/// Reads patterns of URLs, and warns of those without encryption.
pub(crate) fn read_patterns(
    texts: &[TextField<'_>],
    findings: &mut Findings<'_>,
) -> Vec<UrlPattern> {
    let mut patterns = Vec::with_capacity(texts.len());
    for text in texts {
        match UrlPattern::parse(text.text) {
            Ok(pattern) => {
                if !pattern.is_encrypted() {
                    let message = format!("`{pattern}` is not encrypted");
                    let problem = Problem::new("unencrypted", message);
                    findings.warning(text.span, problem.help("use https if the host offers it"));
                }
                patterns.push(pattern);
            }
            Err(invalid) => {
                let message = format!("the URL pattern {} {}", quoted(text.text), invalid.problem);
                let problem = Problem::new("invalid-network", message);
                findings.error(text.span, problem.maybe_help(invalid.help));
            }
        }
    }
    patterns
}
