//! Tools as they are offered: bounded names, descriptions and schemas, which stay text.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::fault::told;
use wardian_formats::protocol::strict::{self, RootKind};
use wardian_vocabulary::ids::{Digest, is_tool_name};

/// Longest description, in bytes; the rest is cut off.
const MAX_DESCRIPTION: usize = 4 << 10;

/// Largest schema, in bytes. A tool with a larger one is left out.
const MAX_SCHEMA: usize = 64 << 10;

/// Most tools that are named among those that cannot be offered.
const MAX_REASONS: usize = 20;

/// Longest name that a server gives a tool: with the name of the server before it, it is still one.
const MAX_OWN_NAME: usize = 90;

/// A tool that a run may call.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// Its name: `github.search_issues`.
    pub name: String,
    /// What it does, in the words of its server.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of its output, in the words of its server: nobody has checked an output with it.
    pub output_schema: Option<Box<RawValue>>,
    /// True if each call needs the caller's approval.
    pub needs_approval: bool,
    /// The digest of all that its server says of it. It changes if the tool does.
    pub digest: Digest,
}

/// A tool as a server lists it.
#[derive(Debug, Clone)]
pub(crate) struct ToolDefinition {
    /// The name that its server gives it.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Box<RawValue>,
    pub(crate) output_schema: Option<Box<RawValue>>,
    /// The server says that it may destroy something.
    pub(crate) is_destructive: bool,
}

impl ToolDefinition {
    pub(crate) fn digest(&self) -> Digest {
        let mut digest = Digest::in_pieces();
        let output = self.output_schema.as_ref().map_or("", |schema| schema.get());
        for part in [&self.name, &self.description, self.input_schema.get(), output] {
            digest.add(part.as_bytes());
            digest.add(b"\0");
        }
        digest.add(&[u8::from(self.is_destructive)]);
        digest.finish()
    }
}

/// The tools of a server that can be offered, by the name that the server gives them.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    most: usize,
    tools: BTreeMap<String, ToolDefinition>,
    left_out: usize,
    /// Some of those that are left out, each with the reason.
    reasons: Vec<String>,
}

impl Listing {
    /// A listing of at most `most` tools.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, tools: BTreeMap::new(), left_out: 0, reasons: Vec::new() }
    }

    /// Adds a tool. One that has no usable name or schema, or a name twice, is left out.
    pub(crate) fn add(&mut self, mut tool: ToolDefinition) {
        if let Some(other) = self.tools.get_mut(&tool.name) {
            // The first of them is offered, and needs an approval if one of them does.
            other.is_destructive |= tool.is_destructive;
            self.leave_out(&tool.name, "another tool has this name");
            return;
        }
        let problem = if !is_tool_name(&tool.name) || tool.name.len() > MAX_OWN_NAME {
            "its name is too long, does not begin with a letter or `_`, or has other signs than letters, digits, `_`, `-` and `.`"
        } else if !is_schema(&tool.input_schema) {
            "its schema is too large, or is not a JSON object"
        } else if self.tools.len() >= self.most {
            "there are more tools than `max_tools`"
        } else {
            ""
        };
        if !problem.is_empty() {
            self.leave_out(&tool.name, problem);
            return;
        }
        tool.output_schema = tool.output_schema.take().filter(|schema| is_schema(schema));
        tool.description = shortened(&tool.description);
        self.tools.insert(tool.name.clone(), tool);
    }

    /// Notes that the tool of this name cannot be offered, for this reason.
    pub(crate) fn leave_out(&mut self, name: &str, problem: &str) {
        self.leave_out_told();
        if self.reasons.len() < MAX_REASONS {
            self.reasons.push(format!("`{}`: {problem}", told(name)));
        }
    }

    /// Notes that a tool of the server cannot be offered, of which the log was told.
    pub(crate) const fn leave_out_told(&mut self) {
        self.left_out = self.left_out.saturating_add(1);
    }

    /// Some of those that cannot be offered, each with the reason.
    pub(crate) fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// The number of tools that cannot be offered.
    pub(crate) const fn left_out(&self) -> usize {
        self.left_out
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.get(name)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.tools.values()
    }
}

/// True for a schema that can be shown to programs.
fn is_schema(schema: &RawValue) -> bool {
    let text = schema.get();
    text.len() <= MAX_SCHEMA && strict::read_output(text) == Ok(RootKind::Object)
}

/// A description without signs that a terminal obeys, cut off at its bound.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for letter in text.chars().filter(|letter| *letter == '\n' || !letter.is_control()) {
        if short.len().saturating_add(letter.len_utf8()) > MAX_DESCRIPTION {
            short.push_str("...");
            break;
        }
        short.push(letter);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str, schema: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: RawValue::from_string(schema.to_owned()).unwrap(),
            output_schema: None,
            is_destructive: false,
        }
    }

    #[test]
    fn what_is_listed_is_bounded() {
        let mut listing = Listing::new(2);
        listing.add(tool("a", &"\u{e9}\u{1b}".repeat(MAX_DESCRIPTION), "{}"));
        let description = &listing.find("a").unwrap().description;
        assert!(description.len() <= MAX_DESCRIPTION + 3 && description.ends_with("é..."));
        let large = format!("{{\"x\":\"{}\"}}", "y".repeat(MAX_SCHEMA));
        let long = "a".repeat(MAX_OWN_NAME + 1);
        for (name, schema) in [
            ("b", large.as_str()),
            ("b", "[]"),
            ("b", r#"{"a":1,"a":2}"#),
            ("a b", "{}"),
            ("", "{}"),
            (long.as_str(), "{}"),
        ] {
            listing.add(tool(name, "", schema));
        }
        assert_eq!((listing.tools().count(), listing.left_out()), (1, 6));
        for name in ["b", "c"] {
            listing.add(tool(name, "", "{}"));
        }
        assert_eq!((listing.tools().count(), listing.left_out()), (2, 7));
    }

    #[test]
    fn of_two_tools_with_one_name_the_worse_one_counts() {
        let mut listing = Listing::new(1);
        listing.add(tool("a", "first", "{}"));
        listing.add(ToolDefinition { is_destructive: true, ..tool("a", "second", "[]") });
        let found = listing.find("a").unwrap();
        assert_eq!((found.description.as_str(), found.is_destructive), ("first", true));
        assert_eq!(listing.left_out(), 1);
    }

    #[test]
    fn a_tool_that_changes_has_another_digest() {
        let was = tool("a", "b", "{}");
        for other in [tool("ab", "", "{}"), tool("a", "c", "{}"), tool("a", "b", "{ }")] {
            assert_ne!(was.digest(), other.digest());
        }
        let shows = |schema: &str| {
            let output_schema = RawValue::from_string(schema.to_owned()).ok();
            ToolDefinition { output_schema, ..was.clone() }
        };
        assert_ne!(was.digest(), shows("{}").digest());
        let mut listing = Listing::new(2);
        listing.add(shows("[]"));
        assert!(listing.find("a").unwrap().output_schema.is_none(), "no schema leaves no tool out");
        listing.add(tool("1 x", "", "{}"));
        assert!(listing.reasons()[0].starts_with("`1 x`: its name"), "{:?}", listing.reasons());
        let destructive = ToolDefinition { is_destructive: true, ..was.clone() };
        assert_ne!(was.digest(), destructive.digest());
        assert_eq!(was.digest(), was.clone().digest());
    }
}
