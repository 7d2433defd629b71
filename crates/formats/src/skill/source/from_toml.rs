//! Reads TOML into [`SourceNode`]s.
//!
//! TOML 1.1 is accepted: a trailing comma in an inline table is understood.
//!
//! INVARIANT(toml-depth): text that could nest deeper than [`MAX_LINKS`] is refused before it is
//! parsed. The parser bounds brackets and dotted keys separately, 80 each, so a few kilobytes
//! could make a value of 6,400 levels, whose drop alone takes more than a megabyte of stack.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::source::node::{MAX_DEPTH, SourceEntry, SourceNode, SourceValue};
use crate::skill::source::toml_brackets::{Unclosed, find_unclosed};

/// Most dots and opening brackets in the whole text. Each of them can open one level at most.
const MAX_LINKS: usize = 2_048;

/// Most lines with syntax errors that are reported. Later errors mostly follow from the first.
const MAX_SYNTAX_ERRORS: usize = 3;

/// Parses the text of `findings`. Adds an error to `findings` if it returns `None`.
pub(crate) fn parse(findings: &mut Findings<'_>) -> Option<SourceNode> {
    let text = findings.text();
    let links = text.bytes().filter(|byte| matches!(byte, b'.' | b'[' | b'{')).count();
    if links > MAX_LINKS {
        let message = format!("has {links} dots and opening brackets, more than {MAX_LINKS}");
        findings.file_error(Problem::new("toml-too-complex", message));
        return None;
    }

    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        report_syntax(findings, &errors);
        return None;
    }
    let span = 0..text.len();
    Some(SourceNode { span, value: table_value(table.get_ref(), 1, findings)? })
}

/// Reports the first error of each of the first few lines that have any.
fn report_syntax(findings: &mut Findings<'_>, errors: &[toml::de::Error]) {
    let text = findings.text();
    let line_of =
        |at: usize| text.get(..at).map_or(usize::MAX, |before| before.matches('\n').count());
    let mut lines: Vec<(usize, &toml::de::Error)> = Vec::new();
    let unclosed = find_unclosed(text);
    // After an open bracket, errors of the parser name the wrong line.
    let end = unclosed.map_or(usize::MAX, |unclosed| line_of(unclosed.at));
    for error in errors {
        let line = line_of(start_of(error));
        if line >= end {
            continue;
        }
        if !lines.iter().any(|(other, _)| *other == line) {
            lines.push((line, error));
        }
    }
    lines.sort_by_key(|(line, _)| *line);
    let most = MAX_SYNTAX_ERRORS.saturating_sub(usize::from(unclosed.is_some()));
    for (_, error) in lines.into_iter().take(most) {
        let start = start_of(error);
        let span = error.span().unwrap_or(start..start);
        let help = advice(error.message()).map(str::to_owned);
        findings.error(&span, Problem::new("toml-syntax", error.message()).maybe_help(help));
    }
    if let Some(Unclosed { at, closing }) = unclosed {
        let problem = Problem::new("toml-syntax", "this bracket is not closed");
        let span = at..at.saturating_add(1);
        findings.error(&span, problem.help(format!("close it with `{closing}`")));
    }
}

/// Advice about the most frequent mistakes.
fn advice(message: &str) -> Option<&'static str> {
    let begins = |starts: &[&str]| starts.iter().any(|start| message.starts_with(start));
    if begins(&["invalid float", "invalid integer", "invalid boolean", "string values must be"]) {
        Some("put text in quotes")
    } else if begins(&["invalid basic string", "invalid literal string"]) {
        Some("close the quotes on the line where they begin")
    } else {
        None
    }
}

fn start_of(error: &toml::de::Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

fn node(
    spanned: &Spanned<DeValue<'_>>,
    depth: usize,
    findings: &mut Findings<'_>,
) -> Option<SourceNode> {
    let span = spanned.span();
    let value = match spanned.get_ref() {
        DeValue::String(text) => SourceValue::Text(text.clone().into_owned()),
        DeValue::Boolean(value) => SourceValue::Bool(*value),
        DeValue::Datetime(time) => SourceValue::Time(time.to_string()),
        DeValue::Integer(digits) => SourceValue::Integer(integer(digits, &span, findings)?),
        DeValue::Float(digits) => SourceValue::Float(float(digits, &span, findings)?),
        DeValue::Array(_) | DeValue::Table(_) if depth >= MAX_DEPTH => {
            let message = format!("is nested deeper than {MAX_DEPTH} levels");
            findings.error(&span, Problem::new("toml-too-deep", message));
            return None;
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| node(item, depth + 1, findings));
            SourceValue::Array(items.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => table_value(table, depth + 1, findings)?,
    };
    Some(SourceNode { span, value })
}

fn table_value(
    table: &DeTable<'_>,
    depth: usize,
    findings: &mut Findings<'_>,
) -> Option<SourceValue> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        entries.push(SourceEntry {
            key: key.get_ref().clone().into_owned(),
            key_span: key.span(),
            node: node(value, depth, findings)?,
        });
    }
    entries.sort_by_key(|entry| entry.key_span.start);
    Some(SourceValue::Table(entries))
}

fn integer(
    digits: &DeInteger<'_>,
    span: &Range<usize>,
    findings: &mut Findings<'_>,
) -> Option<i64> {
    let value = i64::from_str_radix(digits.as_str(), digits.radix()).ok();
    if value.is_none() {
        findings.error(span, Problem::new("number-too-large", "is beyond a 64-bit integer"));
    }
    value
}

fn float(digits: &DeFloat<'_>, span: &Range<usize>, findings: &mut Findings<'_>) -> Option<f64> {
    let value = digits.as_str().parse().ok().filter(|value: &f64| value.is_finite());
    if value.is_none() {
        let problem = Problem::new("number-not-finite", "is not a finite number");
        findings.error(span, problem.help("JSON, in which arguments arrive, has no others"));
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> String {
        let mut findings = Findings::new("skill.toml", text);
        match parse(&mut findings) {
            Some(node) => node.to_raw_json().unwrap().get().to_owned(),
            None => shown(findings),
        }
    }

    fn shown(findings: Findings<'_>) -> String {
        let lines: Vec<_> = findings.into_diagnostics().iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn keys_keep_their_authors_order() {
        let text = "z = 1\na.y = true\nb = [1.5, 'x']\na.b = 2026-01-02\n[t]\nd = 0x1f\n[c.e]\n";
        let expected =
            r#"{"z":1,"a":{"y":true,"b":"2026-01-02"},"b":[1.5,"x"],"t":{"d":31},"c":{"e":{}}}"#;
        assert_eq!(json(text), expected);
    }

    #[rustfmt::skip]
    const MISTAKES: &[(&str, &str)] = &[
        ("a = 1\na = 2\n", "skill.toml:2:1: error: duplicate key"),
        ("a = tru\nb = \"x\n", "skill.toml:1:5: error: invalid boolean, expected `true`; put text in quotes\nskill.toml:2:7: error: invalid basic string, expected `\"`; close the quotes on the line where they begin"),
        ("a = 99999999999999999999", "skill.toml:1:5: error: is beyond a 64-bit integer"),
        ("a = nan", "skill.toml:1:5: error: is not a finite number; JSON, in which arguments arrive, has no others"),
        ("a = 1e999", "skill.toml:1:5: error: is not a finite number; JSON, in which arguments arrive, has no others"),
        ("a = 1\ntags = [\"x\", \"y\"\nb = 2\n[t]\nc = 3\n", "skill.toml:2:8: error: this bracket is not closed; close it with `]`"),
        ("a = tru\nb = { c = 1\nd = 2\n", "skill.toml:1:5: error: invalid boolean, expected `true`; put text in quotes\nskill.toml:2:5: error: this bracket is not closed; close it with `}`"),
        ("a\0 = 1", "skill.toml:1:2: error: invalid unquoted key, expected letters, numbers, `-`, `_`"),
    ];

    #[test]
    fn typical_mistakes_are_reported_at_their_place() {
        for &(text, expected) in MISTAKES {
            assert_eq!(json(text), expected);
        }
    }

    #[test]
    fn byte_order_mark_and_windows_line_ends_are_accepted() {
        assert_eq!(json("\u{feff}a = 1\r\nb = 2\r\n"), r#"{"a":1,"b":2}"#);
    }

    /// Runs on a small stack: a parse or drop that recursed with the text would crash here.
    #[test]
    fn toml_depth_is_bounded_before_parsing() {
        let nested = |levels: usize, dots: usize| {
            let open = format!("{{{}a=", "a.".repeat(dots)).repeat(levels);
            format!("a={open}1{}", "}".repeat(levels))
        };
        let bombs = [
            format!("a={}", "[".repeat(60_000)),
            format!("a={}", "{a=".repeat(20_000)),
            format!("{}a=1", "a.".repeat(30_000)),
            format!("a={}1{}", "[".repeat(70), "]".repeat(70)),
            nested(79, 79),
            nested(25, 70),
            format!("{}\n{}", nested(25, 50), nested(2, 79)),
            "[a]\n".repeat(500),
            "[[a]]\n".repeat(1_000),
        ];
        let run = move || {
            for bomb in &bombs {
                let mut findings = Findings::new("skill.toml", bomb);
                assert!(parse(&mut findings).is_none() || bomb.starts_with("[["));
                assert!(findings.into_diagnostics().len() <= MAX_SYNTAX_ERRORS);
            }
        };
        let thread = std::thread::Builder::new().stack_size(768 << 10);
        thread.spawn(run).unwrap().join().unwrap();
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            json(&text);
        }

        #[test]
        fn no_tokens_panic(tokens in proptest::collection::vec(
            prop_oneof!["[a-c.=\\[\\]{},\"'#\n ]", "[0-9eE_+-]{1,3}", Just("true".to_owned()), Just("\"\"\"".to_owned()), Just("\\u00e9".to_owned())], 0..60,
        )) {
            json(&tokens.concat());
        }
    }
}
