//! Reads the subset of YAML that a frontmatter may use into [`SourceNode`]s.
//!
//! Many features of YAML surprise authors, and a frontmatter does not need them. So anchors,
//! aliases, merge keys, tags of programming languages and a second document are refused, and `true`
//! and `false` are the only booleans. Numbers and null follow the core schema of YAML 1.2: `1_000`,
//! `0X1F` and `nUll` are text.
//!
//! INVARIANT(yaml-budget): nesting, values and bytes are bounded while parsing, and nothing is
//! ever expanded, so the work is proportional to the text.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::source::node::{MAX_DEPTH, SourceEntry, SourceNode, SourceValue};
use crate::skill::text::quoted;

/// Most keys and values in a frontmatter.
const MAX_VALUES: usize = 2_000;

/// Parses the bytes `range` of the text of `findings`. Adds an error to `findings` if it returns
/// `None`.
pub(crate) fn parse(findings: &mut Findings<'_>, range: Range<usize>) -> Option<SourceNode> {
    let text = findings.text().get(range.clone())?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_VALUES,
            max_events: 4 * MAX_VALUES,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<Parsed>>(text, options) {
        Ok(parsed) => node(parsed, &range, findings),
        Err(error) => {
            let at = error.location().map_or(0..0, |location| bytes_of(text, location.span()));
            findings.error(&shift(&at, &range), explain(&error));
            None
        }
    }
}

/// The deserializer's result, before its places are converted to bytes of the file.
enum Parsed {
    Scalar(SourceValue),
    Array(Vec<Spanned<Parsed>>),
    Table(Vec<(Spanned<String>, Spanned<Parsed>)>),
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, a boolean, a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(SourceValue::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(SourceValue::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(SourceValue::Integer(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(
            i64::try_from(value).map_or(SourceValue::Unsigned(value), SourceValue::Integer),
        ))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(SourceValue::Float(value)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(SourceValue::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Parsed, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Parsed::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Parsed, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(Parsed::Table(table))
    }
}

fn node(
    parsed: Spanned<Parsed>,
    range: &Range<usize>,
    findings: &mut Findings<'_>,
) -> Option<SourceNode> {
    let text = findings.text().get(range.clone())?;
    let within = bytes_of(text, parsed.referenced.span());
    let span = shift(&within, range);
    let value = match parsed.value {
        // An integer that became a float has lost digits.
        Parsed::Scalar(SourceValue::Float(_))
            if is_integer(text.get(within.clone()).unwrap_or_default()) =>
        {
            findings.error(&span, Problem::new("number-too-large", "is beyond a 64-bit integer"));
            return None;
        }
        Parsed::Scalar(
            value @ (SourceValue::Null
            | SourceValue::Integer(_)
            | SourceValue::Unsigned(_)
            | SourceValue::Float(_)),
        ) => {
            let written = text.get(within).unwrap_or_default().trim();
            if is_of_core_schema(written) { value } else { SourceValue::Text(written.to_owned()) }
        }
        Parsed::Scalar(value) => value,
        Parsed::Array(items) => {
            let items = items.into_iter().map(|item| node(item, range, findings));
            SourceValue::Array(items.collect::<Option<_>>()?)
        }
        Parsed::Table(entries) => {
            let mut table = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let key_span = shift(&bytes_of(text, key.referenced.span()), range);
                table.push(SourceEntry {
                    key: key.value,
                    key_span,
                    node: node(value, range, findings)?,
                });
            }
            SourceValue::Table(table)
        }
    };
    Some(SourceNode { span, value })
}

/// True if a text that the parser took for a number or null is one by the core schema of YAML 1.2.
/// The parser also accepts numbers with `_`, and capital letters anywhere.
fn is_of_core_schema(written: &str) -> bool {
    // A tag overrides the core schema.
    let is_tagged = written.starts_with(['!', '"', '\'']);
    let is_nothing = ["", "~", "null", "Null", "NULL"].contains(&written);
    let is_number = written.bytes().any(|byte| byte.is_ascii_digit())
        && !["_", "0X", "0O", "0B"].iter().any(|sign| written.contains(sign));
    is_tagged || is_nothing || is_number
}

fn is_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-_".contains(&byte))
}

/// Converts a span to bytes of `text`. Spans always count characters, and sometimes bytes as well.
fn bytes_of(text: &str, span: serde_saphyr::Span) -> Range<usize> {
    let plain = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let start = span.byte_offset().map_or_else(
        || text.char_indices().nth(plain(span.offset())).map_or(text.len(), |(at, _)| at),
        plain,
    );
    let length = span.byte_len().map_or(0, plain);
    start.min(text.len())..start.saturating_add(length).min(text.len())
}

fn shift(within: &Range<usize>, range: &Range<usize>) -> Range<usize> {
    range.start + within.start..range.start + within.end
}

/// Describes an error of the parser for the author of a frontmatter.
fn explain(error: &serde_saphyr::Error) -> Problem {
    use serde_saphyr::Error as Fault;
    match error {
        Fault::DuplicateMappingKey { key: Some(key), .. } => {
            Problem::new("yaml-duplicate-key", format!("duplicate key `{key}`"))
        }
        Fault::Budget {
            breach: BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. },
            ..
        }
        | Fault::UnknownAnchor { .. } => {
            Problem::new("yaml-alias", "anchors and aliases (`&` and `*`) are not allowed")
                .help("write the value where it is needed, in quotes if it begins with `&` or `*`")
        }
        Fault::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            Problem::new("yaml-too-deep", format!("is nested deeper than {MAX_DEPTH} levels"))
        }
        Fault::Budget { breach: BudgetBreach::Documents { .. }, .. }
        | Fault::MultipleDocuments { .. } => Problem::new(
            "yaml-documents",
            "a frontmatter is one YAML document, this begins another",
        ),
        Fault::Budget { .. } => {
            Problem::new("yaml-too-large", format!("has more than {MAX_VALUES} keys and values"))
        }
        Fault::MergeKeyNotAllowed { .. } => {
            Problem::new("yaml-merge-key", "merge keys (`<<`) are not allowed")
        }
        Fault::UnsupportedTag { tag, .. } => {
            Problem::new("yaml-tag", format!("the tag {} is not allowed", quoted(tag)))
        }
        Fault::NonFiniteFloat { value, .. } => {
            Problem::new("number-not-finite", format!("{} is not a finite number", quoted(value)))
        }
        Fault::NullIntoString { .. } | Fault::Unexpected { .. } => {
            Problem::new("yaml-key", "a key must be text")
        }
        other => syntax(&other.to_string()),
    }
}

/// Removes the place from the parser's message, because the finding shows it.
fn syntax(message: &str) -> Problem {
    let said = message.rsplit_once(" at line ").map_or(message, |(said, _)| said);
    let help = match said {
        _ if said.starts_with("mapping values are not allowed") => {
            Some("put a value that contains `: ` in quotes")
        }
        _ if said.starts_with("unexpected character") => {
            Some("put a value that begins with a special character in quotes")
        }
        _ if said.starts_with("recursion limit") => {
            let message = format!("is nested deeper than {MAX_DEPTH} levels");
            return Problem::new("yaml-too-deep", message);
        }
        _ => None,
    };
    Problem::new("yaml-syntax", said).maybe_help(help.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The JSON of a frontmatter that begins on line 2 of its file, or its findings.
    fn json(yaml: &str) -> String {
        let text = format!("---\n{yaml}");
        let mut findings = Findings::new("SKILL.md", &text);
        match parse(&mut findings, 4..text.len()) {
            Some(node) => node.to_raw_json().unwrap().get().to_owned(),
            None => findings.into_diagnostics().remove(0).to_string(),
        }
    }

    #[rustfmt::skip]
    const ORDINARY: &[(&str, &str)] = &[
        ("name: é x\ntags: [crm, leads]\n", r#"{"name":"é x","tags":["crm","leads"]}"#),
        ("b: 1\r\na:\r\n  - 1.5\r\n  - x\r\n", r#"{"b":1,"a":[1.5,"x"]}"#),
        ("a: >\n  x\n  y\nb: |\n  z\n", r#"{"a":"x y\n","b":"z\n"}"#),
        ("a: ~\nb:\nc: true\n# d\n", r#"{"a":null,"b":null,"c":true}"#),
        ("a: 18446744073709551615\nb: 0o17", r#"{"a":18446744073709551615,"b":15}"#),
        ("1: x\n__proto__: y", r#"{"1":"x","__proto__":"y"}"#),
        ("a: 2026-01-02\nb: '--- no end'", r#"{"a":"2026-01-02","b":"--- no end"}"#),
    ];

    #[test]
    fn ordinary_frontmatter_is_read_in_order() {
        for &(yaml, expected) in ORDINARY {
            assert_eq!(json(yaml), expected, "{yaml:?}");
        }
    }

    #[test]
    fn norway_is_a_country() {
        assert_eq!(
            json("a: no\nb: off\nc: Yes\nd: y"),
            r#"{"a":"no","b":"off","c":"Yes","d":"y"}"#
        );
    }

    #[test]
    fn numbers_and_nothing_are_those_of_yaml_1_2() {
        assert_eq!(
            json("a: 1_000\nb: 0X1F\nc: [0O17, 1_0.5]\nd: nUll\ne: !!int 7"),
            r#"{"a":"1_000","b":"0X1F","c":["0O17","1_0.5"],"d":"nUll","e":7}"#
        );
        assert_eq!(
            json("a: 0x1F\nb: -1e3\nc: NULL\nd: .5\ne:"),
            r#"{"a":31,"b":-1000.0,"c":null,"d":0.5,"e":null}"#
        );
    }

    #[test]
    fn surprising_yaml_is_refused_at_its_place() {
        let bomb: String = std::iter::once("a: &a [x, x, x]\n".to_owned())
            .chain(('b'..'j').map(|c| format!("{c}: &{c} [*a, *a, *a, *a]\n")))
            .collect();
        let one_document = "a frontmatter is one YAML document, this begins another";
        let alias = "anchors and aliases (`&` and `*`) are not allowed; write the value where it is needed, in quotes if it begins with `&` or `*`";
        for (yaml, expected) in [
            (bomb.as_str(), format!("2:7: error: {alias}")),
            ("a: &a [*a]", format!("2:7: error: {alias}")),
            ("b: 1\na: *a", format!("3:4: error: {alias}")),
            ("a: 1\na: 2", "3:1: error: duplicate key `a`".to_owned()),
            ("<<: {a: 1}", "2:1: error: merge keys (`<<`) are not allowed".to_owned()),
            ("a: !!python/object x", "2:20: error: the tag \"!!python/object\" is not allowed".to_owned()),
            ("a: 1\n...\nb: 2", format!("3:1: error: {one_document}")),
            ("a: 1\n---\nb: 2", format!("3:1: error: {one_document}")),
            ("[a]: b", "2:1: error: a key must be text".to_owned()),
            ("null: b", "2:1: error: a key must be text".to_owned()),
            ("a: .inf", "2:4: error: \".inf\" is not a finite number".to_owned()),
            ("é: 99999999999999999999999", "2:4: error: is beyond a 64-bit integer".to_owned()),
            ("a: b: c", "2:5: error: mapping values are not allowed in this context; put a value that contains `: ` in quotes".to_owned()),
            ("é: é\na: @x", "3:4: error: unexpected character: `@'; put a value that begins with a special character in quotes".to_owned()),
            ("a: 'x", "2:4: error: unclosed quote".to_owned()),
            ("%YAML 9.9\n---\na: 1", "2:1: error: unsupported YAML major version".to_owned()),
        ] {
            assert_eq!(json(yaml), format!("SKILL.md:{expected}"), "{yaml:?}");
        }
    }

    #[test]
    fn yaml_budget_stops_bombs() {
        for (yaml, expected) in [
            (format!("a: {}", "[".repeat(60_000)), "2:20: error: is nested deeper than 16 levels"),
            ("- ".repeat(30_000), "2:33: error: is nested deeper than 16 levels"),
            ("{a: ".repeat(15_000), "2:65: error: is nested deeper than 16 levels"),
            ("? ".repeat(30_000), "2:33: error: is nested deeper than 16 levels"),
            (
                (0..9_000).map(|i| format!("k{i}: 1\n")).collect(),
                "1001:7: error: has more than 2000 keys and values",
            ),
        ] {
            assert_eq!(json(&yaml), format!("SKILL.md:{expected}"));
        }
        assert_eq!(json(&format!("a: {}", "x".repeat(60_000))).len(), 60_008);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            json(&text);
        }

        #[test]
        fn no_tokens_panic(tokens in proptest::collection::vec(
            prop_oneof!["[a-c:&*!?|>%@`\\[\\]{},\"'#\n -]", Just("\n  ".to_owned()), Just(": ".to_owned()), Just("é\u{2028}".to_owned()), Just("\\x41".to_owned())], 0..60,
        )) {
            json(&tokens.concat());
        }
    }
}
