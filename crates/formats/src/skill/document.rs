//! `SKILL.md`: a YAML frontmatter for programs, and Markdown for the model that reads it.
//!
//! Two forms of frontmatter are accepted: the protocol's, with a title as `name` and a
//! `short_description`, and that of Agent Skills, with `description`. Other keys are kept.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::{Fields, TextField};
use crate::skill::manifest::{MAX_DESCRIPTION, read_tags};
use crate::skill::source::node::SourceNode;
use crate::skill::source::repaired_yaml;
use crate::skill::text::{byte_order_mark, is_one_line};

/// Longest `SKILL.md`, in bytes. A model reads the whole of it.
pub const MAX_DOCUMENT: usize = 1 << 20;

/// Longest frontmatter, in bytes.
pub const MAX_FRONTMATTER: usize = 64 << 10;

/// Longest title, in characters.
const MAX_TITLE: usize = 200;

const MARK: &str = "---";

const KEYS: [&str; 4] = ["name", "short_description", "description", "tags"];

/// A checked `SKILL.md`.
#[derive(Debug, Clone)]
pub struct Document {
    /// The frontmatter's `name`: a title for people, or the skill's name in Agent Skills.
    pub title: String,
    /// The frontmatter's `short_description` or `description`, as one line.
    pub summary: String,
    /// The skill's tags.
    pub tags: Vec<String>,
    body: Range<usize>,
    json: Box<RawValue>,
}

impl Document {
    /// The frontmatter as JSON, keys in the author's order.
    #[must_use]
    pub fn frontmatter_json(&self) -> &RawValue {
        &self.json
    }

    /// Returns the part of the file after its frontmatter, without leading empty lines. `text` is
    /// the whole file.
    #[must_use]
    pub fn body<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.body.clone()).unwrap_or_default()
    }
}

/// A document, its frontmatter as a tree, and the place of its name.
#[derive(Debug)]
pub struct ParsedDocument {
    pub(crate) document: Document,
    pub(crate) frontmatter: SourceNode,
    pub(crate) name: Range<usize>,
    /// True if it has the protocol's key `short_description`.
    pub(crate) is_of_protocol: bool,
}

/// Parses the text of `findings`. Adds an error to `findings` if it returns `None`.
pub fn parse(findings: &mut Findings<'_>) -> Option<ParsedDocument> {
    let parts = split(findings)?;
    let frontmatter = repaired_yaml::parse(findings, parts.frontmatter.clone())?;
    let Some(fields) = Fields::of_file(&frontmatter) else {
        let message =
            format!("the frontmatter must be keys and values, not {}", frontmatter.kind());
        let problem = Problem::new("frontmatter-keys", message);
        findings.error(&parts.frontmatter, problem.help("such as `name: Sales Report`"));
        return None;
    };
    fields.warn_misspelt(&KEYS, findings);
    let name = fields.required_text("name", "name: Sales Report", findings);
    let title = name.as_ref().and_then(|text| read_title(text, findings));
    let summary = read_summary(&fields, findings);
    let tags = read_tags(&fields, findings);
    let is_of_protocol = fields.entry("short_description").is_some();

    let body = findings.text().get(parts.body.clone()).unwrap_or_default();
    if body.is_empty() {
        let message = "the frontmatter is followed by nothing: describe what the skill does and \
            how to use it";
        findings.warning(&parts.body, Problem::new("empty-document", message));
    }
    if findings.has_errors() {
        return None;
    }
    let document = Document {
        title: title?,
        summary: summary?,
        tags,
        body: parts.body,
        json: frontmatter.to_raw_json()?,
    };
    let name = name?.span.clone();
    Some(ParsedDocument { document, name, is_of_protocol, frontmatter })
}

struct Parts {
    frontmatter: Range<usize>,
    body: Range<usize>,
}

fn split(findings: &mut Findings<'_>) -> Option<Parts> {
    let text = findings.text();
    let start = byte_order_mark(text);
    let mut lines = lines_from(text, start);
    let (opening, first) = lines.next().unwrap_or((start..start, ""));
    if first != MARK {
        let example = "---\\nname: …\\ndescription: …\\n---";
        let help = match text.get(start..).is_some_and(|rest| rest.trim_start().starts_with(MARK)) {
            true => "remove everything before the `---`".to_owned(),
            false => format!("begin the file with `{example}`, where `\\n` is a new line"),
        };
        let problem = Problem::new("frontmatter-missing", "the first line must be `---`");
        findings.error(&opening, problem.help(help));
        return None;
    }
    let Some((closing, _)) = lines.find(|(_, line)| *line == MARK) else {
        let problem =
            Problem::new("frontmatter-open", "the frontmatter that starts here never ends");
        findings.error(&opening, problem.help("add a line `---` after its last key"));
        return None;
    };
    let frontmatter = opening.end..closing.start;
    if frontmatter.len() > MAX_FRONTMATTER {
        let message = format!("the frontmatter has more than {MAX_FRONTMATTER} bytes");
        findings.error(&opening, Problem::new("frontmatter-too-large", message));
        return None;
    }
    let rest = text.get(closing.end..).unwrap_or_default();
    let skipped = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    Some(Parts { frontmatter, body: closing.end + skipped..text.len() })
}

/// Iterates over the lines after `start`: the range of each line, and its text without trailing
/// white space.
fn lines_from(text: &str, start: usize) -> impl Iterator<Item = (Range<usize>, &str)> {
    let rest = text.get(start..).unwrap_or_default();
    rest.split_inclusive('\n').scan(start, |at, line| {
        let span = *at..*at + line.len();
        *at = span.end;
        Some((span, line.trim_end()))
    })
}

fn read_title(text: &TextField<'_>, findings: &mut Findings<'_>) -> Option<String> {
    let title = text.text.trim();
    let length = title.chars().count();
    if (1..=MAX_TITLE).contains(&length) && is_one_line(title) {
        return Some(title.to_owned());
    }
    let message = format!("`name` must be one line of 1 to {MAX_TITLE} characters");
    findings.error(text.span, Problem::new("invalid-title", message));
    None
}

/// Reads `short_description`, or `description` if it is missing, which may have several lines.
fn read_summary(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<String> {
    let key = match fields.entry("short_description").or(fields.entry("description")) {
        Some(entry) if entry.key == "description" => "description",
        _ => "short_description",
    };
    let example = format!("{key}: Writes the monthly sales report.");
    let text = fields.required_text(key, &example, findings)?;
    let summary = text.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = summary.chars().count();
    if key == "description" && length > MAX_DESCRIPTION && is_one_line(&summary) {
        // Clients of Agent Skills are advised to warn and to load it.
        let message = format!("`{key}` has {length} characters, more than {MAX_DESCRIPTION}");
        let problem = Problem::new("long-description", message);
        findings.warning(text.span, problem.help("lists of skills show all of it"));
        return Some(summary);
    }
    let problem = if summary.is_empty() {
        Some(format!("`{key}` must not be empty"))
    } else if length > MAX_DESCRIPTION {
        Some(format!("`{key}` has {length} characters, more than {MAX_DESCRIPTION}"))
    } else if !is_one_line(&summary) {
        Some(format!("`{key}` must not contain control characters"))
    } else if key == "short_description" && !is_one_line(text.text.trim()) {
        Some("`short_description` must be one line".to_owned())
    } else {
        None
    };
    if let Some(message) = problem {
        findings.error(text.span, Problem::new("invalid-description", message));
        return None;
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "---\nname: Sales Report\nshort_description: Writes it.\ntags: [crm, sales]\nlicense: MIT\n---\n\n```\n# no heading\n```\n# Sales Report #\n\nText.\n";

    fn document(text: &str) -> Result<Document, String> {
        let mut findings = Findings::new("SKILL.md", text);
        let parsed = parse(&mut findings);
        let lines: Vec<_> = findings.into_diagnostics().iter().map(ToString::to_string).collect();
        parsed.map(|parsed| parsed.document).ok_or(lines.join("\n"))
    }

    #[test]
    fn frontmatter_and_body_are_told_apart() {
        for text in [
            GOOD.to_owned(),
            format!("\u{feff}{GOOD}"),
            GOOD.replace('\n', "\r\n"),
            GOOD.replace("---\n", "---  \n"),
        ] {
            let read = document(&text).unwrap();
            assert_eq!(
                (read.title.as_str(), read.summary.as_str()),
                ("Sales Report", "Writes it.")
            );
            assert_eq!(read.tags.len(), 2);
            let json = r#"{"name":"Sales Report","short_description":"Writes it.","tags":["crm","sales"],"license":"MIT"}"#;
            assert_eq!(read.frontmatter_json().get(), json);
            assert!(read.body(&text).starts_with("```"), "{:?}", read.body(&text));
        }
    }

    #[test]
    fn the_agent_skills_form_is_read_too() {
        let read = document("---\nname: pdf-forms\ndescription: >\n  Fills\n  forms.\nmetadata: {version: \"1.2\"}\n---\nx").unwrap();
        assert_eq!((read.title.as_str(), read.summary.as_str()), ("pdf-forms", "Fills forms."));
        assert!(read.frontmatter_json().get().contains(r#""metadata":{"version":"1.2"}"#));
    }

    #[test]
    fn marks_inside_values_do_not_end_the_frontmatter() {
        let read = document("---\nname: |\n  ---\nshort_description: '--- x'\n---\nbody").unwrap();
        assert_eq!((read.title.as_str(), read.summary.as_str()), ("---", "--- x"));
    }

    #[rustfmt::skip]
    const RULES: &[(&str, &str)] = &[
        ("", "1:1: error: the first line must be `---`; begin the file with `---\\nname: …\\ndescription: …\\n---`, where `\\n` is a new line"),
        ("# Title", "1:1: error: the first line must be `---`; begin the file with `---\\nname: …\\ndescription: …\\n---`, where `\\n` is a new line"),
        ("\n---\nname: x\n---\n", "1:1: error: the first line must be `---`; remove everything \
            before the `---`"),
        ("--- \u{b}x\nname: x", "1:1: error: the first line must be `---`; remove everything \
            before the `---`"),
        ("---\nname: x\n", "1:1: error: the frontmatter that starts here never ends; add a line \
            `---` after its last key"),
        ("---\nname: x\n--\n ---\n", "1:1: error: the frontmatter that starts here never \
            ends; add a line `---` after its last key"),
        ("---\n---\nx", "2:1: error: the frontmatter must be keys and values, not nothing; such as `name: Sales Report`"),
        ("---\n- a\n---\nx", "2:1: error: the frontmatter must be keys and values, not a list; such as `name: Sales Report`"),
        ("---\nshort_description: x\n---\nx", " error: `name` is missing; add `name: Sales Report`"),
        ("---\nname: x\n---\nx", " error: `short_description` is missing; add `short_description: Writes the monthly sales report.`"),
        ("---\nname: 12\nshort_description: x\n---\nx", "2:7: error: `name` must be a string, not an integer; write `name: Sales Report`"),
        ("---\nname: ''\nshort_description: x\n---\nx", "2:7: error: `name` must be one line of 1 to 200 characters"),
        ("---\nname: x\nshort_description: |\n  a\n  b\n---\nx", "4:3: error: `short_description` must be one line"),
        ("---\nname: x\nshort_description: ' '\n---\nx", "3:20: error: `short_description` must not be empty"),
        ("---\nname: x\nshort_description: \"a\\e[31m\"\n---\nx", "3:20: error: `short_description` must not contain control characters"),
        ("---\nname: x\nshort_description: y\ntags: a, b\n---\nx", "4:7: error: `tags` must be a list of strings, not a string"),
        ("---\nname: x\nshort_description: y\ntags: [a, 1]\n---\nx", "4:11: error: `tags` must \
            contain only strings, not an integer"),
    ];

    #[test]
    fn each_broken_rule_of_the_document_is_reported() {
        for (text, expected) in RULES {
            assert_eq!(document(text).unwrap_err(), format!("SKILL.md:{expected}"), "{text:?}");
        }
    }

    #[test]
    fn parts_beyond_their_limits_are_refused() {
        let with = |line: &str| document(&format!("---\nname: x\n{line}\n---\nx")).unwrap_err();
        let expected =
            "SKILL.md:3:20: error: `short_description` has 1025 characters, more than 1024";
        assert_eq!(with(&format!("short_description: {}", "x".repeat(1_025))), expected);
        let expected = "SKILL.md:1:1: error: the frontmatter has more than 65536 bytes";
        assert_eq!(with(&format!("z: {}", "z".repeat(MAX_FRONTMATTER))), expected);
    }

    #[test]
    fn doubtful_documents_are_served_with_a_warning() {
        for (text, expected) in [
            (
                "---\nname: x\nshort_description: y\n---\n\n",
                "SKILL.md:6:1: warning: the frontmatter is followed by nothing: describe what the \
                skill does and how to use it",
            ),
            (
                "---\nname: x\nshort_description: y\ntag: [a]\n---\nx",
                "SKILL.md:4:1: warning: unknown key \"tag\"; did you mean `tags`?",
            ),
        ] {
            let mut findings = Findings::new("SKILL.md", text);
            assert!(parse(&mut findings).is_some());
            assert_eq!(findings.into_diagnostics()[0].to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), inner in any::<String>()) {
            drop(document(&text));
            drop(document(&format!("---\n{inner}\n---\n{text}")));
        }
    }
}
