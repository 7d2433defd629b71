//! Frontmatters that are not YAML because a text in them has a colon: `description: Use it when: always`.
//!
//! Published skills have them, and other clients read them as their authors meant. So the frontmatter of such
//! a document is read once more, with quotes around those texts.

use std::ops::Range;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::source::from_yaml;
use crate::skill::source::node::{SourceNode, SourceValue};

/// The key that only documents with a manifest have. Their authors write for this server.
const OWN_KEY: &str = "short_description:";

/// Characters that begin a YAML value other than plain text.
const NOT_PLAIN: &str = "\"'[{|>&*!%@`#-?";

/// Parses the bytes `range` of the text of `findings`, as it is or with quotes. Adds an error to `findings`
/// if it returns `None`, and a warning if it has added quotes.
pub(crate) fn parse(findings: &mut Findings<'_>, range: Range<usize>) -> Option<SourceNode> {
    let text = findings.text().get(range.clone()).unwrap_or_default();
    let repaired = (!text.contains(OWN_KEY)).then(|| with_quotes(text)).flatten();
    let Some(repaired) = repaired else { return from_yaml::parse(findings, range) };
    let mut as_it_is = Findings::new("", text);
    if from_yaml::parse(&mut as_it_is, 0..text.len()).is_some() {
        return from_yaml::parse(findings, range);
    }
    let mut quoted = Findings::new("", &repaired);
    let Some(mut node) = from_yaml::parse(&mut quoted, 0..repaired.len()) else {
        return from_yaml::parse(findings, range);
    };
    let message = "a text with a colon needs quotes in YAML: it is read as if it had them";
    findings.warning(&range, Problem::new("unquoted-text", message));
    move_to(&mut node, &range);
    Some(node)
}

/// The text with quotes around the plain values of its top level that have a colon. `None` if there are none.
fn with_quotes(text: &str) -> Option<String> {
    let mut is_changed = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let Some(value) = unquoted(line) else { return line.to_owned() };
        is_changed = true;
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        line.replacen(value, &format!("\"{escaped}\""), 1)
    });
    let repaired: String = lines.collect();
    is_changed.then_some(repaired)
}

/// The value of a line that needs quotes.
fn unquoted(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let value = rest.trim();
    let is_plain = !value.is_empty() && !value.starts_with(|first: char| NOT_PLAIN.contains(first));
    let needs_quotes = value.contains(": ") || value.ends_with(':');
    (!key.is_empty() && key.chars().all(is_key) && is_plain && needs_quotes).then_some(value)
}

/// Gives all parts of a tree the place of the whole: their own ones are those of another text.
fn move_to(node: &mut SourceNode, place: &Range<usize>) {
    node.span = place.clone();
    match &mut node.value {
        SourceValue::Array(items) => items.iter_mut().for_each(|item| move_to(item, place)),
        SourceValue::Table(entries) => {
            for entry in entries {
                entry.key_span = place.clone();
                move_to(&mut entry.node, place);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<String>, Vec<String>) {
        let mut findings = Findings::new("SKILL.md", text);
        let node = parse(&mut findings, 0..text.len());
        let lines = findings.into_diagnostics().iter().map(ToString::to_string).collect();
        (node.map(|node| node.to_json().to_string()), lines)
    }

    #[test]
    fn a_text_with_a_colon_is_read_as_its_author_meant() {
        let text = "name: a\ndescription: Use it when: \"always\" \\ now\nlicense: MIT:\n";
        let (json, lines) = read(text);
        let expected =
            r#"{"name":"a","description":"Use it when: \"always\" \\ now","license":"MIT:"}"#;
        let value: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert_eq!(json.unwrap(), value.to_string());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("needs quotes in YAML"), "{lines:?}");
    }

    #[test]
    fn yaml_is_read_as_it_is() {
        for text in [
            "name: a\ndescription: 'Use it: now'\n",
            "name: a\ndescription: >\n  Use it: now\n",
            "url: http://x\n",
            "description: {a: b}\n",
        ] {
            let (json, lines) = read(text);
            assert!(json.is_some() && lines.is_empty(), "{text} {lines:?}");
        }
        for text in ["a: [b: c\nd: e: f\n", "short_description: x: y\n", "\ta: b: c\n"] {
            let (json, lines) = read(text);
            assert!(json.is_none() && lines[0].contains("error"), "{text} {lines:?}");
        }
    }
}
