//! Decodes constant texts as the program would, so that what they hide can be looked at.

use data_encoding::{BASE32, BASE64, BASE64URL, HEXLOWER_PERMISSIVE, Specification};

/// Longest text that is decoded.
const MAX_ENCODED: usize = 64 << 10;

/// The text that a function of Python's library makes of a constant.
pub(crate) fn decoded(function: &str, text: &str) -> Option<String> {
    if text.len() > MAX_ENCODED {
        return None;
    }
    let bytes = match function {
        "base64.b64decode"
        | "base64.standard_b64decode"
        | "base64.decodebytes"
        | "binascii.a2b_base64" => base64(text)?,
        "base64.urlsafe_b64decode" => BASE64URL.decode(padded(text).as_bytes()).ok()?,
        "base64.b32decode" => BASE32.decode(text.as_bytes()).ok()?,
        "base64.b16decode" | "bytes.fromhex" | "bytearray.fromhex" | "binascii.unhexlify"
        | "binascii.a2b_hex" => {
            let digits: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
            HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?
        }
        _ => return None,
    };
    String::from_utf8(bytes).ok()
}

/// The bytes of base64 with or without its padding, with line ends.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let mut lenient = Specification::new();
    lenient.symbols.push_str("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    let plain = text.trim_end_matches('=');
    lenient.check_trailing_bits = false;
    let decoded = lenient.encoding().ok().and_then(|one| one.decode(plain.as_bytes()).ok());
    decoded.or_else(|| BASE64.decode(text.as_bytes()).ok())
}

fn padded(text: &str) -> String {
    let mut text = text.trim_end_matches('=').to_owned();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// ROT13.
pub(crate) fn rotated(text: &str) -> String {
    let turn = |letter: char, first: u8| {
        let place = u32::from(letter).saturating_sub(u32::from(first));
        char::from_u32((place.saturating_add(13) % 26).saturating_add(u32::from(first)))
    };
    let turned = text.chars().filter_map(|letter| match letter {
        'a'..='z' => turn(letter, b'a'),
        'A'..='Z' => turn(letter, b'A'),
        _ => Some(letter),
    });
    turned.collect()
}

/// The text of numbers that are codes of characters.
pub(crate) fn of_codes(codes: &[String]) -> Option<String> {
    let code = |text: &String| {
        let value = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => text.parse().ok()?,
        };
        char::from_u32(value)
    };
    if codes.is_empty() { None } else { codes.iter().map(code).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_decoded_as_the_program_would() {
        assert_eq!(decoded("base64.b64decode", "cHJpbnQoMSk="), Some("print(1)".to_owned()));
        assert_eq!(decoded("base64.b64decode", "cHJp\nbnQoMSk"), Some("print(1)".to_owned()));
        assert_eq!(decoded("bytes.fromhex", "70 72"), Some("pr".to_owned()));
        assert_eq!(rotated("vzcbeg bf"), "import os");
        assert_eq!(of_codes(&["0x65".to_owned(), "118".to_owned()]), Some("ev".to_owned()));
    }
}
