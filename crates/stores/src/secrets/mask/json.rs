//! Masks over a JSON text, which stays JSON.
//!
//! Strings are read before they are searched, so that an escape hides nothing. A number that holds
//! a value becomes a string. The text never becomes longer.

use crate::secrets::mask::Masks;

impl Masks {
    /// Covers all forms in the strings and numbers of a JSON text. What is not JSON may come out
    /// with a part of a form: whoever reads the text refuses it.
    #[must_use]
    pub fn cover_json(&self, mut text: Vec<u8>) -> Vec<u8> {
        let (mut from, mut to) = (0_usize, 0_usize);
        while let Some(first) = text.get(from).copied() {
            let end = match first {
                b'"' => end_of_string(&text, from),
                b'-' | b'0'..=b'9' => end_of_number(&text, from),
                _ => from.saturating_add(1),
            };
            let covered = match first {
                b'"' => self.string(text.get_mut(from..end).unwrap_or_default()),
                b'-' | b'0'..=b'9' => self.number(text.get(from..end).unwrap_or_default()),
                _ => None,
            };
            // A token that was rewritten is at most as long as before.
            match covered.filter(|covered| covered.len() <= end.saturating_sub(from)) {
                Some(covered) => {
                    let until = to.saturating_add(covered.len());
                    if let Some(place) = text.get_mut(to..until) {
                        place.copy_from_slice(&covered);
                    }
                    to = until;
                }
                None => {
                    text.copy_within(from..end, to);
                    to = to.saturating_add(end.saturating_sub(from));
                }
            }
            from = end;
        }
        text.truncate(to);
        text
    }

    /// Covers forms in a string with its quotes: in place, or as a new token.
    fn string(&self, token: &mut [u8]) -> Option<Vec<u8>> {
        if token.contains(&b'\\')
            && let Ok(mut content) = serde_json::from_slice::<String>(token)
            && self.is_in(content.as_bytes())
        {
            self.cover_text(&mut content);
            return serde_json::to_vec(&content).ok();
        }
        let inner = token.len().saturating_sub(1);
        if let Some(content) = token.get_mut(1..inner) {
            self.cover(content);
        }
        None
    }

    fn number(&self, token: &[u8]) -> Option<Vec<u8>> {
        let stars = token.len().saturating_sub(2);
        self.is_in(token).then(|| [b"\"", vec![b'*'; stars].as_slice(), b"\""].concat())
    }
}

/// The end of the string that begins at `from`, behind its last quote.
fn end_of_string(text: &[u8], from: usize) -> usize {
    let mut at = from.saturating_add(1);
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'"') => return at.saturating_add(1),
            Some(b'\\') => at = at.saturating_add(2),
            Some(_) => at = at.saturating_add(1),
        }
    }
}

fn end_of_number(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    from.saturating_add(rest.iter().take_while(|byte| is_part(byte)).count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn covered(text: &str) -> String {
        let masks = Masks::hiding(["hunter2\"x", "12345678"]).unwrap();
        String::from_utf8(masks.cover_json(text.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn what_holds_a_value_stays_json() {
        for (given, expected) in [
            (r#"{"a":"hunter2\"x","b":[1,2]}"#, r#"{"a":"*********","b":[1,2]}"#),
            (r#"{"hunter2\"x":null}"#, r#"{"*********":null}"#),
            (r#"["\u0068unter2\u0022x"]"#, r#"["*********"]"#),
            (
                r#"["12345678", 12345678, -12345678.5, 1234567]"#,
                r#"["********", "******", "*********", 1234567]"#,
            ),
            (r#""{\"k\": \"hunter2\\\"x\"}""#, r#""{\"k\": \"**********\"}""#),
            (r#"{"a": "b\\c\n"}"#, r#"{"a": "b\\c\n"}"#),
            ("", ""),
            ("null", "null"),
        ] {
            assert_eq!(covered(given), expected);
        }
    }

    #[test]
    fn what_is_no_json_comes_to_an_end() {
        for text in ["\"", "\"\\", "{\"a", "\"\\u00", "--", "[", "\"\\\"hunter2"] {
            assert_eq!(covered(text), text);
        }
    }

    proptest! {
        #[test]
        fn json_without_a_value_stays_as_it_is(text in "[\\[\\]{}\",:\\\\ua0-9 .eE-]{0,60}") {
            prop_assert_eq!(covered(&text.replace('8', "9")), text.replace('8', "9"));
        }

        #[test]
        fn every_json_stays_json(words in proptest::collection::vec("[a-z\"\\\\é\n]{0,6}", 0..6)) {
            let words: Vec<String> =
                words.into_iter().map(|word| word + "hunter2\"x" + "\u{7f}").collect();
            let text = serde_json::to_string(&words).unwrap();
            let read: Value = serde_json::from_str(&covered(&text)).unwrap();
            prop_assert!(!read.to_string().contains("hunter2"), "{}", read);
        }
    }
}
