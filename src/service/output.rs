//! What a program returned, as a result shows it. The text comes from the guest and may be hostile.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::job::outcome::RunFailure;
use crate::protocol::strict::MAX_DEPTH;

/// Longest summary, in bytes.
const MAX_SUMMARY: usize = 500;

/// A returned value that was read and found to be JSON.
#[derive(Debug)]
pub(super) struct Output {
    /// The `output` member; nothing if the program returned `None`.
    pub(super) value: Option<Box<RawValue>>,
    /// What the program says of itself.
    pub(super) summary: Option<String>,
}

impl Output {
    /// Reads the text that the guest's runner sent.
    ///
    /// # Errors
    ///
    /// Text that is no JSON fails the run: an honest runner sends none. So does a value that is
    /// nested deeper than what the server itself takes, since clients would choke on it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, RunFailure> {
        let unreadable = |_| RunFailure::SandboxCrash {
            reason: "the program ended with a result that is no JSON".into(),
        };
        let value: Box<RawValue> = serde_json::from_slice(text).map_err(unreadable)?;
        let text = value.get();
        if depth(text) > MAX_DEPTH {
            let reason = format!("the returned value is nested more than {MAX_DEPTH} levels deep");
            return Err(RunFailure::Exception {
                class: "ValueError".to_owned(),
                message: reason,
                traceback: None,
            });
        }
        if has_lone_surrogate(text) {
            return Err(RunFailure::Exception {
                class: "ValueError".to_owned(),
                message: "the returned value has text that is not Unicode".to_owned(),
                traceback: None,
            });
        }
        if text == "null" {
            return Ok(Self { value: None, summary: None });
        }
        if !text.starts_with('{') {
            let wrapped = RawValue::from_string(format!("{{\"result\":{text}}}"));
            return Ok(Self { value: Some(wrapped.map_err(unreadable)?), summary: None });
        }
        let summary = serde_json::from_str::<OwnSummary>(text).ok().and_then(|own| own.summary);
        let summary = summary.as_deref().map(one_line).filter(|line| !line.is_empty());
        Ok(Self { value: Some(value), summary })
    }
}

/// How deeply lists and objects are nested in a JSON text. [`RawValue`] checks syntax only.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// True if an escape such as `\ud800` in a JSON text stands for half a character. [`RawValue`]
/// lets it through, and many readers of a result would refuse the whole of it.
fn has_lone_surrogate(text: &str) -> bool {
    let mut rest = text.as_bytes();
    let mut high = false;
    while let Some((byte, after)) = rest.split_first() {
        let escaped = if *byte == b'\\' { after.split_first() } else { None };
        let unit = match escaped {
            Some((b'u', digits)) => {
                rest = digits.get(4..).unwrap_or_default();
                digits.get(..4).and_then(|digits| std::str::from_utf8(digits).ok())
            }
            Some((_, beyond)) => {
                rest = beyond;
                None
            }
            None => {
                rest = after;
                None
            }
        };
        let unit = unit.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match (high, unit) {
            (true, Some(0xdc00..=0xdfff)) => high = false,
            (true, _) | (false, Some(0xdc00..=0xdfff)) => return true,
            (false, Some(0xd800..=0xdbff)) => high = true,
            (false, _) => {}
        }
    }
    high
}

/// The one member of a returned object that means something here.
#[derive(Deserialize)]
struct OwnSummary {
    #[serde(default, deserialize_with = "text_or_nothing")]
    summary: Option<String>,
}

fn text_or_nothing<'de, D>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_str().map(str::to_owned))
}

/// The first line of `text`, without control characters, at most [`MAX_SUMMARY`] bytes long.
pub(super) fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short = String::new();
    for letter in line.chars().filter(|letter| !letter.is_control()) {
        if short.len().saturating_add(letter.len_utf8()) > MAX_SUMMARY {
            short.push('…');
            break;
        }
        short.push(letter);
    }
    short
}

/// The beginning of `text`, cut between characters.
pub(super) fn head(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The end of `text`, cut between characters.
pub(super) fn tail(text: &str, limit: usize) -> &str {
    let first = text.len().saturating_sub(limit);
    let start = (first..=text.len()).find(|at| text.is_char_boundary(*at));
    text.get(start.unwrap_or(text.len())..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Option<String>, Option<String>) {
        let output = Output::parse(text.as_bytes()).unwrap();
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
        let long = serde_json::json!({ "summary": "é".repeat(900) }).to_string();
        assert!(parse(&long).1.unwrap().len() <= MAX_SUMMARY + '…'.len_utf8());
    }

    #[test]
    fn hostile_texts_fail_the_run() {
        for text in ["", "{", "nul", "1 2", "\u{feff}1", "{'a': 1}", "NaN"] {
            let failure = Output::parse(text.as_bytes()).unwrap_err();
            assert_eq!(failure.error_type(), "SandboxCrash", "{text:.20}");
        }
        assert!(Output::parse(b"\"\xff\"").is_err());
    }

    #[test]
    fn a_value_that_is_too_deep_fails_the_run() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Output::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        let failure = Output::parse(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert_eq!(failure.error_type(), "ValueError");
        assert_eq!(depth(r#"{"[[[\"[{": [1, "]"], "\\": {}}"#), 2);
    }

    #[test]
    fn half_characters_fail_the_run() {
        for text in [r#""\ud800""#, r#""\udc00""#, r#"["\uD83D x"]"#, r#"{"\ud83d\ud83d\ude00":1}"#]
        {
            let failure = Output::parse(text.as_bytes()).unwrap_err();
            assert_eq!(failure.error_type(), "ValueError", "{text}");
        }
        for text in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u00e9""#, r#""\\\ud83d\ude00""#] {
            assert!(Output::parse(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((head("éé", 3), tail("éé", 3)), ("é", "é"));
        assert_eq!((head("ab", 9), tail("ab", 9)), ("ab", "ab"));
        assert_eq!((head("é", 1), tail("é", 1)), ("", ""));
    }
}
