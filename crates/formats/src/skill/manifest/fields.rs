//! Reads keys of a table and reports missing and unknown ones and wrong types.

use std::ops::Range;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::similar::did_you_mean;
use crate::skill::source::node::{SourceEntry, SourceNode, SourceValue};
use crate::skill::text::quoted;

/// The keys of one table.
#[derive(Debug, Clone)]
pub struct Fields<'n> {
    /// The prefix of keys in messages: empty, or `runtime.`.
    prefix: String,
    /// The place of the table; `None` for a whole file.
    span: Option<Range<usize>>,
    entries: &'n [SourceEntry],
}

/// A string and its place.
#[derive(Debug, Clone)]
pub struct TextField<'n> {
    pub(crate) text: &'n str,
    pub(crate) span: &'n Range<usize>,
}

impl<'n> Fields<'n> {
    /// The keys at the top of a file; `None` if the file is not a table.
    pub fn of_file(root: &'n SourceNode) -> Option<Self> {
        match &root.value {
            SourceValue::Table(entries) => {
                Some(Self { prefix: String::new(), span: None, entries })
            }
            _ => None,
        }
    }

    /// The keys of `node`, which messages call `name`. It is an error if `node` is not a table.
    pub(crate) fn of_node(
        name: &str,
        node: &'n SourceNode,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let SourceValue::Table(entries) = &node.value else {
            let message = format!("`{name}` must be a table, not {}", node.kind());
            findings.error(&node.span, Problem::new("wrong-type", message));
            return None;
        };
        Some(Self { prefix: format!("{name}."), span: Some(node.span.clone()), entries })
    }

    /// The name of `key` in messages.
    pub fn path(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// The name of the table in messages.
    pub fn name(&self) -> String {
        self.prefix.trim_end_matches('.').to_owned()
    }

    pub(crate) const fn entries(&self) -> &'n [SourceEntry] {
        self.entries
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&'n SourceEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn node(&self, key: &str) -> Option<&'n SourceNode> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn table(&self, key: &str, findings: &mut Findings<'_>) -> Option<Self> {
        let name = format!("{}{key}", self.prefix);
        self.node(key).and_then(|node| Fields::of_node(&name, node, findings))
    }

    /// The string under `key`, if the key exists. Another type is an error. `example` is a valid
    /// line for the message.
    pub fn text(
        &self,
        key: &str,
        example: &str,
        findings: &mut Findings<'_>,
    ) -> Option<TextField<'n>> {
        let node = self.node(key)?;
        if let SourceValue::Text(text) = &node.value {
            return Some(TextField { text, span: &node.span });
        }
        let message = format!("`{}{key}` must be a string, not {}", self.prefix, node.kind());
        let problem = Problem::new("wrong-type", message).help(format!("write `{example}`"));
        findings.error(&node.span, problem);
        None
    }

    /// The string under `key`; its absence is an error.
    pub(crate) fn required_text(
        &self,
        key: &str,
        example: &str,
        findings: &mut Findings<'_>,
    ) -> Option<TextField<'n>> {
        if self.entry(key).is_none() {
            let problem = Problem::new("missing-key", format!("`{}{key}` is missing", self.prefix))
                .help(format!("add `{example}`"));
            match &self.span {
                Some(span) => findings.error(span, problem),
                None => findings.file_error(problem),
            }
        }
        self.text(key, example, findings)
    }

    pub(crate) fn boolean(&self, key: &str, findings: &mut Findings<'_>) -> Option<bool> {
        let node = self.node(key)?;
        if let SourceValue::Bool(value) = node.value {
            return Some(value);
        }
        let message = format!("`{}{key}` must be true or false, not {}", self.prefix, node.kind());
        findings.error(&node.span, Problem::new("wrong-type", message));
        None
    }

    /// The strings of the list under `key`, at most `max`; empty if there is no such list.
    pub fn texts(&self, key: &str, max: usize, findings: &mut Findings<'_>) -> Vec<TextField<'n>> {
        let name = format!("{}{key}", self.prefix);
        let Some(node) = self.node(key) else { return Vec::new() };
        let SourceValue::Array(items) = &node.value else {
            let message = format!("`{name}` must be a list of strings, not {}", node.kind());
            findings.error(&node.span, Problem::new("wrong-type", message));
            return Vec::new();
        };
        if items.len() > max {
            let message = format!("`{name}` has {} entries, more than {max}", items.len());
            findings.error(&node.span, Problem::new("too-many", message));
            return Vec::new();
        }
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                SourceValue::Text(text) => texts.push(TextField { text, span: &item.span }),
                _ => {
                    let message =
                        format!("`{name}` must contain only strings, not {}", item.kind());
                    findings.error(&item.span, Problem::new("wrong-type", message));
                }
            }
        }
        texts
    }

    /// Warns of every key that is not `known`. It is not an error, because newer runtimes may know
    /// more keys.
    pub(crate) fn warn_unknown(&self, known: &[&str], findings: &mut Findings<'_>) {
        for entry in self.unknown(known) {
            let message =
                format!("unknown key {}", quoted(&format!("{}{}", self.prefix, entry.key)));
            let help = did_you_mean(&entry.key, known.iter().copied());
            findings
                .warning(&entry.key_span, Problem::new("unknown-key", message).maybe_help(help));
        }
    }

    /// Warns only of unknown keys that look like misspelt known keys, where other keys are allowed.
    pub(crate) fn warn_misspelt(&self, known: &[&str], findings: &mut Findings<'_>) {
        for entry in self.unknown(known) {
            let absent = known.iter().copied().filter(|key| self.entry(key).is_none());
            if let Some(help) = did_you_mean(&entry.key, absent) {
                let key = quoted(&format!("{}{}", self.prefix, entry.key));
                let problem = Problem::new("unknown-key", format!("unknown key {key}")).help(help);
                findings.warning(&entry.key_span, problem);
            }
        }
    }

    fn unknown(&self, known: &[&str]) -> impl Iterator<Item = &'n SourceEntry> {
        self.entries.iter().filter(move |entry| !known.contains(&entry.key.as_str()))
    }
}
