//! Placeholders: random texts of the same shape as a value, which a guest gets in its place.
//!
//! A placeholder has the length of the value. Each digit is another digit, each letter another
//! letter of the same case, and every other character is the same, so that programs that check the
//! form of a key accept it. Prefixes that a service gives to all of its keys stay. A placeholder
//! tells the shape of the value and nothing else of it.
//!
//! INVARIANT(fresh-placeholder): each run has its own placeholders, which no other run knows.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Prefixes that a service gives to all keys of a kind. They are public, and programs check them.
const PUBLIC_PREFIXES: [&str; 31] = [
    "AIza",
    "AKIA",
    "ASIA",
    "Basic ",
    "Bearer ",
    "SG.",
    "dop_v1_",
    "gho_",
    "ghp_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "hf_",
    "npm_",
    "pk_live_",
    "pk_test_",
    "pypi-",
    "rk_live_",
    "rk_test_",
    "shpat_",
    "sk-ant-",
    "sk-proj-",
    "sk-",
    "sk_live_",
    "sk_test_",
    "whsec_",
    "xapp-",
    "xoxb-",
    "xoxp-",
];

/// Fewest letters and digits that are drawn. With fewer, other text could look like a placeholder.
const MIN_DRAWN: usize = 8;

/// Draws a placeholder for `value`.
///
/// # Errors
///
/// The value has no form that headers can carry, or too few letters and digits; or the system
/// gives no random bytes.
pub fn draw(value: &str) -> Result<String, PlaceholderError> {
    if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) || value.trim() != value {
        return Err(PlaceholderError::Form);
    }
    let prefix = PUBLIC_PREFIXES.iter().find(|prefix| value.starts_with(**prefix));
    let kept = prefix.map_or(0, |prefix| prefix.len());
    let drawn = value.bytes().skip(kept).filter(u8::is_ascii_alphanumeric).count();
    if drawn < MIN_DRAWN {
        return Err(PlaceholderError::Short);
    }
    loop {
        let mut placeholder = String::with_capacity(value.len());
        for (at, byte) in value.bytes().enumerate() {
            let letter = match byte {
                _ if at < kept => byte,
                b'0'..=b'9' => b'0'.saturating_add(below(10)?),
                b'a'..=b'z' => b'a'.saturating_add(below(26)?),
                b'A'..=b'Z' => b'A'.saturating_add(below(26)?),
                other => other,
            };
            placeholder.push(char::from(letter));
        }
        if placeholder != value {
            return Ok(placeholder);
        }
    }
}

/// Why there is no placeholder for a value.
#[derive(Debug, thiserror::Error)]
pub enum PlaceholderError {
    /// Headers cannot carry it.
    #[error("it must be one line of visible ASCII characters")]
    Form,
    /// It is too short.
    #[error("it must have at least 8 letters and digits after a known prefix")]
    Short,
    /// The system gives no random bytes.
    #[error("the system provides no random bytes")]
    Random(#[source] io::Error),
}

/// A random number below `limit`, each with the same probability.
fn below(limit: u8) -> Result<u8, PlaceholderError> {
    let fair = u8::MAX - u8::MAX % limit;
    loop {
        let mut byte = [0];
        getrandom(&mut byte, GetRandomFlags::empty())
            .map_err(|errno| PlaceholderError::Random(errno.into()))?;
        let [byte] = byte;
        if byte < fair {
            return Ok(byte % limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(letter: char) -> char {
        match letter {
            '0'..='9' => '0',
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            other => other,
        }
    }

    #[test]
    fn fresh_placeholder_of_the_same_shape() {
        for value in [
            "sk_live_51HxAbCdEfGhIjKlMn",
            "8b0c3a52-51c7-4a38-9f7c-5d1e0f3a2b4c",
            "correct-horse-battery-staple",
            "user:pa$$w0rd/with+signs==",
            "12345678",
        ] {
            let (one, other) = (draw(value).unwrap(), draw(value).unwrap());
            assert!(one != other && one != value, "{one} {other}");
            let shape = |text: &str| text.chars().map(class).collect::<String>();
            assert_eq!(shape(&one), shape(value));
        }
    }

    #[test]
    fn only_prefixes_that_everybody_knows_stay() {
        assert!(draw("sk_live_51HxAbCdEfGhIjKl").unwrap().starts_with("sk_live_"));
        let shared = |value: &str| {
            let placeholder = draw(value).unwrap();
            value.chars().zip(placeholder.chars()).filter(|(a, b)| a == b).count()
        };
        let value = "correcthorsebatterystaplewithmorewords";
        assert!(shared(value) < value.len() / 2, "a phrase has no prefix");
    }

    #[test]
    fn a_value_without_a_form_for_headers_has_no_placeholder() {
        for value in ["a\nb12345678", "schlüssel123", " padded12345", "tab\tabcdefgh"] {
            assert!(matches!(draw(value), Err(PlaceholderError::Form)), "{value:?}");
        }
        for value in ["1234567", "sk_live_1234567", "--------------", "a-b-c-d-e-f-g"] {
            assert!(matches!(draw(value), Err(PlaceholderError::Short)), "{value:?}");
        }
    }

    #[test]
    fn every_letter_is_drawn() {
        let drawn: std::collections::BTreeSet<char> = (0..100)
            .flat_map(|_| draw("aaaaaaaaaaaa").unwrap().chars().collect::<Vec<_>>())
            .collect();
        assert_eq!(drawn.len(), 26);
    }
}
