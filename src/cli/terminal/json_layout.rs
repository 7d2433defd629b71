//! Formats JSON for people without building a tree: a result may be 32 MiB long.

use std::borrow::Cow;

/// Spaces for each level.
const INDENT: usize = 2;

/// Levels that are indented: what a server or a program sends is never nested more deeply.
const MAX_INDENTED: usize = 64;

/// Spaces that every text may have for its indentation, and further ones for each of its bytes. With
/// more, lines begin at the margin: a short line on a deep level would take many times its length.
const FREE_SPACES: usize = 64 << 10;
const SPACES_PER_BYTE: usize = 8;

/// Formats a JSON text as `json.dumps(indent=2)` does. Members keep their order and numbers their
/// digits. Escaped letters are shown as letters, except for those that would control the terminal.
///
/// Text that is not JSON is also returned, with harmless characters only. Whatever the text is, the
/// indentation takes no more memory than [`SPACES_PER_BYTE`] says.
pub(crate) fn laid_out(json: &str) -> String {
    let mut text = String::with_capacity(json.len().saturating_mul(2));
    let mut depth: usize = 0;
    let mut spaces = json.len().saturating_mul(SPACES_PER_BYTE).saturating_add(FREE_SPACES);
    let mut new_line = |text: &mut String, depth: usize| {
        let indent = depth.min(MAX_INDENTED).saturating_mul(INDENT).min(spaces);
        spaces = spaces.saturating_sub(indent);
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent));
    };
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            _ => first.len_utf8(),
        };
        let (token, later) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = later;
        match first {
            '"' => text.push_str(&readable(token)),
            '{' | '[' => {
                text.push(first);
                let after = rest.trim_ascii_start();
                if after.starts_with(['}', ']']) {
                    let (close, later) = after.split_at_checked(1).unwrap_or((after, ""));
                    text.push_str(close);
                    rest = later;
                } else {
                    depth = depth.saturating_add(1);
                    new_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(first);
            }
            ',' => {
                text.push(',');
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ if first.is_ascii_whitespace() => {}
            _ => push_harmless(&mut text, first),
        }
    }
    text
}

/// The length of the string at the start of `text`, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

/// A string with its letters as letters.
fn readable(token: &str) -> String {
    let plain = match serde_json::from_str::<String>(token).map(|text| serde_json::to_string(&text))
    {
        Ok(Ok(plain)) => Cow::Owned(plain),
        _ => Cow::Borrowed(token),
    };
    let mut text = String::with_capacity(plain.len());
    for letter in plain.chars() {
        push_harmless(&mut text, letter);
    }
    text
}

/// Appends a letter, or its JSON escape if it could control a terminal.
fn push_harmless(text: &mut String, letter: char) {
    let is_direction = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    if letter.is_control() || is_direction {
        text.push_str(&format!("\\u{:04x}", u32::from(letter)));
    } else {
        text.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn outputs_are_laid_out_for_people() {
        insta::assert_snapshot!(laid_out(r#"{"b":[1,2, {}],"a":"x\n\u00e9\"y","e":[ ]}"#), @r#"
        {
          "b": [
            1,
            2,
            {}
          ],
          "a": "x\né\"y",
          "e": []
        }
        "#);
        // A number keeps its digits, whether or not a double can hold it.
        let long = "123456789012345678901234567890.10";
        assert_eq!(laid_out(long), long);
        assert_eq!(laid_out("1e999"), "1e999");
    }

    #[test]
    fn a_result_cannot_move_the_cursor() {
        let shown = laid_out("{\"a\":\"\\u001b[2J \u{9b}2J \u{202e}x\"}");
        assert_eq!(shown, "{\n  \"a\": \"\\u001b[2J \\u009b2J \\u202ex\"\n}");
        assert!(!laid_out("\u{1b}[2J").contains('\u{1b}'));
    }

    #[test]
    fn deep_and_hostile_texts_take_memory_in_proportion_to_their_length() {
        let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
        assert!(laid_out(&deep).contains(&format!("\n{}1\n", " ".repeat(128))));
        let wide = format!("{}{}", "[".repeat(64), "0,".repeat(1 << 20));
        for text in ["[".repeat(1 << 20), "[1,".repeat(1 << 20), wide, "{\"a\":".repeat(1 << 18)] {
            let shown = laid_out(&text);
            let most = text.len() * (SPACES_PER_BYTE + 2) + FREE_SPACES;
            assert!(shown.len() <= most, "{} of {}", shown.len(), text.len());
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,8}|[\"\\\\{}:,\n\u{85}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a\"{:]{0,3}", inner, 0..4)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_laid_out_is_the_same_value(value in json()) {
            let shown = laid_out(&value.to_string());
            prop_assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        }

        #[test]
        fn any_text_can_be_laid_out(text in "[\\[\\]{}:,\"\\\\a \\n]{0,40}") {
            laid_out(&text);
        }
    }
}
