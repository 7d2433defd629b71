//! Checks the output of a program for its result. The text comes from the guest and may be hostile.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use wardian_formats::job::outcome::RunFailure;
use wardian_formats::protocol::members::{Sort, string};
use wardian_formats::protocol::strict::{self, MAX_DEPTH, ROOT, RootKind, StrictError};
use wardian_formats::skill::text::is_invisible;

const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// Longest summary, in bytes.
const MAX_SUMMARY: usize = 500;

/// A returned value that passed the check: JSON with one meaning.
#[derive(Debug)]
pub(crate) struct Output {
    /// The `output` member; `None` if the program returned `None`.
    pub value: Option<Box<RawValue>>,
    /// The program's own summary.
    pub summary: Option<String>,
    /// Whether the value is a member of the output.
    pub(crate) wrapping: Wrapping,
}

/// Whether an output is the returned value itself, or an object that has it as its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// It is the value itself.
    None,
    /// The value is its member `result`.
    InResult,
}

impl Output {
    /// Checks the text that the guest's runner sent. The value stays text, because a tree of it
    /// could take a hundred times its size.
    ///
    /// # Errors
    ///
    /// The run fails if the text is not JSON (the runner of the guest always sends JSON), if it is
    /// nested deeper than a request may be, or if JSON parsers would read it differently.
    pub(crate) fn parse(text: Vec<u8>) -> Result<Self, RunFailure> {
        let text = String::from_utf8(text).ok().ok_or_else(unreadable)?;
        let root = strict::read_output(&text).map_err(|fault| refused(&fault))?;
        let text = in_one_line(text).ok_or_else(unreadable)?;
        let trimmed = text.trim_ascii();
        if trimmed == "null" {
            return Ok(Self { value: None, summary: None, wrapping: Wrapping::None });
        }
        if root != RootKind::Object {
            let wrapped = format!("{{\"result\":{trimmed}}}");
            drop(text);
            let value = RawValue::from_string(wrapped).ok().ok_or_else(unreadable)?;
            let wrapping = Wrapping::InResult;
            return Ok(Self { value: Some(value), summary: None, wrapping });
        }
        let summary = serde_json::from_str::<OwnSummary>(trimmed).ok().and_then(|own| own.0);
        let text = if trimmed.len() == text.len() { text } else { trimmed.to_owned() };
        let value = RawValue::from_string(text).ok().ok_or_else(unreadable)?;
        Ok(Self { value: Some(value), summary, wrapping: Wrapping::None })
    }
}

/// Returns a JSON text without line breaks. Breaks are found between the tokens of JSON only, where a
/// space means the same. With them a program could end the line or the event that its value is part
/// of, and write the next one itself.
pub(crate) fn in_one_line(text: String) -> Option<String> {
    if !text.contains(LINE_BREAKS) {
        return Some(text);
    }
    let mut bytes = text.into_bytes();
    for byte in &mut bytes {
        if LINE_BREAKS.contains(&char::from(*byte)) {
            *byte = b' ';
        }
    }
    String::from_utf8(bytes).ok()
}

fn unreadable() -> RunFailure {
    RunFailure::SandboxCrash { reason: "the program ended with a result that is not JSON".into() }
}

/// The failure of a run that returned a text with this fault.
fn refused(fault: &StrictError) -> RunFailure {
    let message = match fault {
        StrictError::TooDeep { .. } => {
            format!("the returned value is nested more than {MAX_DEPTH} levels deep")
        }
        StrictError::LoneSurrogate { .. } => {
            "the returned value contains text that is not Unicode".to_owned()
        }
        StrictError::DuplicateMember { path } => format!(
            "the returned value has the key `{path}` twice; keys such as 1 and \"1\" are one in JSON"
        ),
        StrictError::NumberTooLarge { path } => {
            let what = match path.as_str() {
                ROOT => "the returned number".to_owned(),
                path => format!("the number at `{path}` of the returned value"),
            };
            format!("{what} is too large for a double; use str(...)")
        }
        _ => return unreadable(),
    };
    RunFailure::Exception { class: "ValueError".to_owned(), message, traceback: None }
}

/// The member `summary` of a returned object, as one line. All other members are skipped.
struct OwnSummary(Option<String>);

impl<'de> Deserialize<'de> for OwnSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OwnSummaryVisitor)
    }
}

struct OwnSummaryVisitor;

impl<'de> Visitor<'de> for OwnSummaryVisitor {
    type Value = OwnSummary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut summary = None;
        while let Some(Name(name)) = map.next_key()? {
            if name == "summary" {
                let value: &RawValue = map.next_value()?;
                let text = Some(value).filter(|value| Sort::of(value) == Sort::Text);
                let line = text.and_then(string).map(|text| one_line(&text));
                summary = line.filter(|line| !line.is_empty());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(OwnSummary(summary))
    }
}

/// A member's name, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the first line of `text` without control characters and invisible characters, at most
/// [`MAX_SUMMARY`] bytes long.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short = String::new();
    let is_shown = |letter: &char| !letter.is_control() && !is_invisible(*letter);
    for letter in line.chars().filter(is_shown) {
        if short.len().saturating_add(letter.len_utf8()) > MAX_SUMMARY {
            short.push('…');
            break;
        }
        short.push(letter);
    }
    short
}

/// The beginning of `text`, cut between characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The end of `text`, cut between characters.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    let first = text.len().saturating_sub(limit);
    let start = (first..=text.len()).find(|at| text.is_char_boundary(*at));
    text.get(start.unwrap_or(text.len())..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Option<String>, Option<String>) {
        let output = Output::parse(text.as_bytes().to_vec()).unwrap();
        (output.value.map(|value| value.get().to_owned()), output.summary)
    }

    #[test]
    fn a_dict_is_shown_as_it_is() {
        let text = r#"{"summary":"Synced 7.","n":123456789012345678901234567890}"#;
        assert_eq!(parse(text), (Some(text.to_owned()), Some("Synced 7.".to_owned())));
    }

    #[test]
    fn other_values_become_a_result_and_none_becomes_null() {
        assert_eq!(parse("[1,2]"), (Some(r#"{"result":[1,2]}"#.to_owned()), None));
        assert_eq!(parse(r#""x""#), (Some(r#"{"result":"x"}"#.to_owned()), None));
        assert_eq!(parse("null"), (None, None));
    }

    #[test]
    fn a_summary_that_is_no_text_is_no_summary() {
        assert_eq!(parse(r#"{"summary":7}"#).1, None);
        assert_eq!(parse(r#"{"summary":" \n"}"#).1, None);
        let text = serde_json::json!({ "summary": format!("a\u{1b}[2Jb\nc{}", "d".repeat(900)) });
        assert_eq!(parse(&text.to_string()).1.unwrap(), "a[2Jb");
        let hidden = serde_json::json!({ "summary": "a\u{202e}b\u{200b}c\u{e0041}" });
        assert_eq!(parse(&hidden.to_string()).1.unwrap(), "abc");
        let long = serde_json::json!({ "summary": "é".repeat(900) }).to_string();
        assert!(parse(&long).1.unwrap().len() <= MAX_SUMMARY + '…'.len_utf8());
    }

    #[test]
    fn hostile_texts_fail_the_run() {
        for text in ["", "{", "nul", "1 2", "\u{feff}1", "{'a': 1}", "NaN"] {
            let failure = Output::parse(text.as_bytes().to_vec()).unwrap_err();
            assert_eq!(failure.error_type(), "SandboxCrash", "{text:.20}");
        }
        assert!(Output::parse(b"\"\xff\"".to_vec()).is_err());
    }

    #[test]
    fn a_value_that_is_too_deep_fails_the_run() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Output::parse(nested(MAX_DEPTH).into_bytes()).is_ok());
        let failure = Output::parse(nested(MAX_DEPTH + 1).into_bytes()).unwrap_err();
        assert_eq!(failure.error_type(), "ValueError");
    }

    #[test]
    fn half_characters_fail_the_run() {
        for text in [r#""\ud800""#, r#""\udc00""#, r#"["\uD83D x"]"#, r#"{"\ud83d\ud83d\ude00":1}"#]
        {
            let failure = Output::parse(text.as_bytes().to_vec()).unwrap_err();
            assert_eq!(failure.error_type(), "ValueError", "{text}");
        }
        for text in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u00e9""#, r#""\\\ud83d\ude00""#] {
            assert!(Output::parse(text.as_bytes().to_vec()).is_ok(), "{text}");
        }
    }

    #[test]
    fn values_with_two_meanings_fail_the_run() {
        for (text, said) in [
            (r#"{"a":1,"a":2}"#, "the key `a` twice"),
            (r#"[{"b":{"x":1,"\u0078":2}}]"#, "the key `[0].b.x` twice"),
            (r#"{"a":[1e400]}"#, "the number at `a[0]`"),
            (r#"{"a":-1e400}"#, "the number at `a` of the returned value"),
            ("1e400", "the returned number is too large"),
        ] {
            let failure = Output::parse(text.as_bytes().to_vec()).unwrap_err();
            assert_eq!(failure.error_type(), "ValueError", "{text}");
            assert!(failure.to_string().contains(said), "{failure}");
        }
    }

    #[test]
    fn white_space_around_a_value_is_no_part_of_it() {
        assert_eq!(parse(" {\"a\":1}\n").0.unwrap(), r#"{"a":1}"#);
        assert_eq!(parse(" null ").0, None);
        assert_eq!(parse("\t[1] ").0.unwrap(), r#"{"result":[1]}"#);
    }

    #[test]
    fn a_value_is_one_line() {
        let forged = "{\"a\":\n{\"id\":7}\r\n,\"b\":[1,\r2],\n\"c\":\"\\n\u{85}\u{2028}\"}";
        let line = "{\"a\": {\"id\":7}  ,\"b\":[1, 2], \"c\":\"\\n\u{85}\u{2028}\"}";
        assert_eq!(parse(forged).0.unwrap(), line);
        assert_eq!(parse("[1,\n2]").0.unwrap(), r#"{"result":[1, 2]}"#);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((head("éé", 3), tail("éé", 3)), ("é", "é"));
        assert_eq!((head("ab", 9), tail("ab", 9)), ("ab", "ab"));
        assert_eq!((head("é", 1), tail("é", 1)), ("", ""));
    }
}
