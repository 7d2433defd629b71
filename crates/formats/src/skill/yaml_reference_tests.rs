//! Compares Wardian's reading of frontmatter with that of `serde_norway`, the maintained fork of
//! `serde_yaml`.
//!
//! Documents that both accept must have the same values. One table lists every difference with its
//! reason and an example document. A listed difference that no longer occurs fails a test, and so
//! does one that is not listed. `PROPTEST_CASES` sets the number of documents.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::skill::diagnostic::Findings;
use crate::skill::source::from_yaml;
use crate::skill::source::node::{SourceNode, SourceValue};

/// The content of a document, for both readers.
#[derive(Clone, PartialEq)]
enum Read {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Read>),
    Map(Vec<(Read, Read)>),
    Tagged(String, Box<Read>),
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(items) => items.fmt(f),
            Self::Map(entries) => f.debug_map().entries(entries.iter().cloned()).finish(),
            Self::Tagged(tag, value) => write!(f, "{tag} {value:?}"),
        }
    }
}

fn ours(text: &str) -> Result<Read, String> {
    let mut findings = Findings::new("SKILL.md", text);
    match from_yaml::parse(&mut findings, 0..text.len()) {
        Some(node) => Ok(read(&node)),
        None => Err(findings.into_diagnostics().remove(0).to_string()),
    }
}

fn read(node: &SourceNode) -> Read {
    match &node.value {
        SourceValue::Null => Read::Null,
        SourceValue::Bool(value) => Read::Bool(*value),
        SourceValue::Integer(value) => Read::Integer((*value).into()),
        SourceValue::Unsigned(value) => Read::Integer((*value).into()),
        SourceValue::Float(value) => Read::Float(*value),
        SourceValue::Text(text) | SourceValue::Time(text) => Read::Text(text.clone()),
        SourceValue::Array(items) => Read::List(items.iter().map(read).collect()),
        SourceValue::Table(entries) => {
            let entries = entries.iter();
            Read::Map(
                entries.map(|entry| (Read::Text(entry.key.clone()), read(&entry.node))).collect(),
            )
        }
    }
}

fn theirs(text: &str) -> Result<Read, String> {
    let value = serde_norway::from_str::<serde_norway::Value>(text);
    value.map(|value| read_theirs(&value)).map_err(|error| error.to_string())
}

fn read_theirs(value: &serde_norway::Value) -> Read {
    use serde_norway::Value as Theirs;
    match value {
        Theirs::Null => Read::Null,
        Theirs::Bool(value) => Read::Bool(*value),
        Theirs::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => Read::Integer(value.into()),
            (_, Some(value), _) => Read::Integer(value.into()),
            (.., value) => Read::Float(value.unwrap()),
        },
        Theirs::String(text) => Read::Text(text.clone()),
        Theirs::Sequence(items) => Read::List(items.iter().map(read_theirs).collect()),
        Theirs::Mapping(entries) => {
            let entries = entries.iter();
            Read::Map(entries.map(|(key, value)| (read_theirs(key), read_theirs(value))).collect())
        }
        Theirs::Tagged(tagged) => {
            Read::Tagged(tagged.tag.to_string(), Box::new(read_theirs(&tagged.value)))
        }
    }
}

/// Something that both accept and read as different values.
struct Difference {
    name: &'static str,
    /// The reason why Wardian reads it as it does.
    reason: &'static str,
    /// True if the row is about these two values of that document.
    accepts: fn(&str, &Read, &Read) -> bool,
    witness: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "the tag `!`",
        reason: "`!` says that a value is text, as in YAML 1.2; the reference keeps it as a tag",
        accepts: |_, ours, theirs| match (ours, theirs) {
            // It is shown with one `!` more than was written.
            (Read::Text(_), Read::Tagged(tag, _)) => tag.trim_matches('!').is_empty(),
            _ => false,
        },
        witness: "a: ! 1\n",
    },
    Difference {
        name: "keys",
        reason: "keys of JSON are text, so a key is the text that was written; the reference makes \
                 numbers and booleans of keys",
        accepts: |_, ours, theirs| {
            let Read::Text(text) = ours else { return false };
            let Ok(value) = self::theirs(text) else { return false };
            // Shown, since what is not a number differs from itself.
            !matches!(theirs, Read::Text(_)) && format!("{value:?}") == format!("{theirs:?}")
        },
        witness: "1: a\n",
    },
    Difference {
        name: "a question mark in a flow",
        reason: "`?x` is text in YAML 1.2, since no space follows; the reference takes it for a key",
        accepts: |_, ours, theirs| match (ours, theirs) {
            (Read::Text(text), Read::Map(_)) => text.starts_with('?'),
            _ => false,
        },
        witness: "a: [?x]\n",
    },
    Difference {
        name: "ends of lines that only YAML 1.1 knows",
        reason: "in YAML 1.2 the characters U+0085, U+2028 and U+2029 are text like others; the \
                 reference folds them like new lines",
        accepts: |text, ours, theirs| {
            matches!((ours, theirs), (Read::Text(_), Read::Text(_)))
                && text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
        },
        witness: "a: \"\u{85}\"\n",
    },
];

/// Finds pairs of values that differ, from the outside to the inside.
fn differing(ours: &Read, theirs: &Read, found: &mut Vec<(Read, Read)>) {
    match (ours, theirs) {
        (Read::List(ours), Read::List(theirs)) if ours.len() == theirs.len() => {
            for (ours, theirs) in ours.iter().zip(theirs) {
                differing(ours, theirs, found);
            }
        }
        (Read::Map(ours), Read::Map(theirs)) if ours.len() == theirs.len() => {
            for ((our_key, ours), (their_key, theirs)) in ours.iter().zip(theirs) {
                differing(our_key, their_key, found);
                differing(ours, theirs, found);
            }
        }
        // A zero keeps its sign.
        (Read::Float(ours), Read::Float(theirs)) if ours.to_bits() == theirs.to_bits() => {}
        (Read::Float(_), Read::Float(_)) => found.push((ours.clone(), theirs.clone())),
        _ if ours == theirs => {}
        _ => found.push((ours.clone(), theirs.clone())),
    }
}

/// The rows that explain how the document is read; an error if one is missing.
fn compare(text: &str) -> Result<Vec<usize>, String> {
    let (Ok(ours), Ok(theirs)) = (ours(text), theirs(text)) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    differing(&ours, &theirs, &mut found);
    let mut rows = Vec::new();
    for (ours, theirs) in found {
        let row = DIFFERENCES.iter().position(|row| (row.accepts)(text, &ours, &theirs));
        rows.push(
            row.ok_or_else(|| format!("{text:?} is read as {ours:?}, by them as {theirs:?}"))?,
        );
    }
    Ok(rows)
}

/// Scalars that are written without quotes.
const PLAIN: &[&str] = &[
    "text",
    "some words",
    "é ü 日本",
    "a:b",
    "a#b",
    "it's",
    "say \"x\"",
    "http://a.b/c?d=e",
    "a, b",
    "-x",
    "?x",
    ":x",
    "=",
    "<<",
    "*",
    "&",
    "!x",
    "true",
    "false",
    "True",
    "TRUE",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "N",
    "null",
    "Null",
    "NULL",
    "~",
    "nUll",
    "",
    "0",
    "1",
    "-1",
    "+1",
    "007",
    "0o7",
    "0O7",
    "0x1F",
    "0X1f",
    "-0x1",
    "0b11",
    "1_000",
    "1,000",
    "12:30:45",
    "1e3",
    "1E+3",
    "1.5",
    "-1.5",
    "+1.5",
    ".5",
    "-.5",
    "5.",
    "1e",
    ".",
    "..",
    "1.2.3",
    "-0",
    "-0.0",
    "0.1e-7",
    "1e400",
    ".inf",
    "-.inf",
    "+.INF",
    ".nan",
    ".NaN",
    "inf",
    "nan",
    "Infinity",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "2026-01-02",
    "2026-01-02T03:04:05Z",
    "1/2",
    "50%",
    "0.",
    "00",
    "08",
    "0o8",
    "-0o7",
    "+0x1",
    "1__0",
    "_1",
    "1_",
    "0_1",
    "1.5_0",
    "1e5_0",
    "0x_1",
    "\u{a0}x",
    "x\u{85}y",
    "x\u{2028}y",
    "x\u{feff}y",
    "a\tb",
    "\u{7f}",
    "--",
    "---x",
    "...",
    "%a",
    "@a",
    "`a",
    "{a",
    "[b",
    "a]",
    "a}",
    "|",
    ">",
    "!!str 1",
    "!!int \"1\"",
    "!!float 1",
    "!!bool x",
    "!x y",
    "! 1",
    "!!null x",
    "&a 1",
    "*a",
];

fn scalar() -> BoxedStrategy<String> {
    let inside = prop_oneof![select(vec![
        "a",
        " ",
        "  ",
        "\\n",
        "\\t",
        "\\\\",
        "\\\"",
        "\\x41",
        "\\u263a",
        "\\U0001f600",
        "\\/",
        "\\0",
        "\\e",
        "\\_",
        "\\N",
        "\\L",
        "\\P",
        "\\ ",
        "\\q",
        "''",
        "#",
        ": ",
        "é",
        "\t",
        "\n ",
        "\n\n  ",
        " \n ",
        "\\\n ",
        "\u{2028}",
        "\u{85}",
        "\r\n ",
        "1",
    ]),];
    let inside = vec(inside, 0..6).prop_map(|parts| parts.concat());
    let plain_lines = vec(select(vec!["a", "b c", "1", "# x", "é", "d #e", "-", "k"]), 1..4);
    prop_oneof![
        8 => select(PLAIN).prop_map(str::to_owned),
        2 => "[a-z0-9_.+:#-]{1,6}",
        2 => "[+-]?[0-9._]{1,5}(e[+-]?[0-9]{1,2})?",
        2 => inside.clone().prop_map(|text| format!("\"{text}\"")),
        2 => inside.prop_map(|text| format!("'{}'", text.replace('\\', "/"))),
        1 => plain_lines.prop_map(|lines| lines.join("\n   ")),
    ]
    .boxed()
}

/// A block literal below a key, with its lines indented by `indent`.
fn block() -> BoxedStrategy<String> {
    let head = select(vec!["|", ">", "|-", ">-", "|+", ">+", "|2", ">2-", "| # why", "|1"]);
    let line = select(vec![
        "text",
        "  more",
        "",
        " ",
        "# no comment",
        "é",
        "a: b",
        "- x",
        "\ttab",
        "  ",
        "x  ",
        "'q'",
    ]);
    (head, vec(line, 0..6))
        .prop_map(|(head, lines)| {
            let lines = lines.iter().map(|line| format!("    {line}"));
            std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
        })
        .boxed()
}

fn key() -> BoxedStrategy<String> {
    prop_oneof![
        12 => select(vec!["name", "tags", "a", "b", "c", "d", "metadata", "é"]).prop_map(str::to_owned),
        2 => select(vec!["'a b'", "\"c\\td\"", "a b", "x-y", "x.y", "1", "0x1", "1.0", "true", "null",
            "~", "1_0", "2026-01-02", "", "? a\n", "[x]", "<<", "!!str k", "-k", "''"]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn flow() -> BoxedStrategy<String> {
    let item = scalar().prop_filter("one line", |text| !text.contains('\n'));
    item.prop_recursive(3, 12, 4, |inner| {
        let separator = || select(vec![", ", ",", " , ", ",\n    "]);
        let end = || select(vec!["", ",", " "]);
        prop_oneof![
            (vec(inner.clone(), 0..4), separator(), end())
                .prop_map(|(items, by, end)| format!("[{}{end}]", items.join(by))),
            (vec((key(), inner), 0..3), separator(), end()).prop_map(|(entries, by, end)| {
                let entries: Vec<_> =
                    entries.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                format!("{{{}{end}}}", entries.join(by))
            }),
        ]
    })
    .boxed()
}

/// A value below a key or in a list, as the text that comes after the `:` or `-`.
fn value() -> BoxedStrategy<String> {
    let leaf = prop_oneof![6 => scalar(), 1 => block(), 2 => flow()];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let indented = |text: String| text.replace('\n', "\n  ");
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(move |items| {
                items.iter().map(|item| format!("\n  - {}", indented(item.clone()))).collect()
            }),
            vec((key(), inner), 1..4).prop_map(move |entries| {
                let entries = entries.into_iter();
                entries.map(|(key, value)| format!("\n  {key}: {}", indented(value))).collect()
            }),
        ]
    })
    .boxed()
}

fn document() -> BoxedStrategy<String> {
    let comment = select(vec!["", "", "", "", "", " # comment", "  ", "\t", "#no"]);
    let line = prop_oneof![
        14 => (key(), value(), comment).prop_map(|(key, value, end)| format!("{key}: {value}{end}")),
        1 => select(vec!["# a comment", "", "  ", "\t", "---", "...", "%YAML 1.2", "? a", ": b"])
            .prop_map(str::to_owned),
        1 => value().prop_map(|value| format!("- {value}")),
    ];
    let text = (vec(line, 0..6), select(vec!["\n", "\n", "\n", "\r\n", "\r"]), any::<bool>());
    let text = text.prop_map(|(lines, end, ends)| {
        let text = lines.join("\n") + if ends { "\n" } else { "" };
        if end == "\n" { text } else { text.replace('\n', end) }
    });
    // A frontmatter begins after the line `---`, so never with a byte order mark, and ends before
    // another, so always with a new line.
    (text, select(vec!["", "", "", "", "", "", " ", "\n"]))
        .prop_map(|(text, before)| format!("{before}{text}\n"))
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn values_that_both_accept_are_the_same_but_for_listed_differences(text in document()) {
        let compared = compare(&text);
        prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }

    #[test]
    fn single_values_are_the_same_but_for_listed_differences(value in value()) {
        let compared = compare(&format!("a: {value}\n"));
        prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}

#[test]
fn every_listed_difference_still_occurs() {
    for (index, row) in DIFFERENCES.iter().enumerate() {
        let rows = compare(row.witness).unwrap();
        assert!(rows.contains(&index), "{}: {:?}", row.name, rows);
        assert!(row.reason.len() > 20, "{}", row.name);
    }
}

/// Most documents of the strategies are read by both: otherwise nothing would be compared.
#[test]
fn most_single_values_are_read_by_both() {
    let read = PLAIN.iter().map(|value| format!("a: {value}"));
    let both = read.filter(|text| ours(text).is_ok() && theirs(text).is_ok()).count();
    assert!(both > PLAIN.len() / 2, "{both} of {}", PLAIN.len());
}
