//! The header `Content-Disposition`: an attachment with a name (RFC 6266).

use std::fmt::Write as _;

use axum::http::HeaderValue;

use wardian_vocabulary::ids::BlobName;

/// Checks the name of a file that a client sent.
pub(crate) fn check_name(name: &str) -> Result<BlobName, &'static str> {
    BlobName::parse(name).map_err(|_invalid| {
        "`filename` must be the name of a file: at most 255 bytes, without `/`, `\\` and control \
         characters"
    })
}

/// An attachment of this name.
pub(crate) fn attachment(name: &str) -> HeaderValue {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_. ()[]+,=@".contains(letter);
    let fallback: String =
        name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let mut value = format!("attachment; filename=\"{fallback}\"");
    if fallback != name {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                value.push(char::from(byte));
            } else {
                // Writing to a string never fails.
                write!(value, "%{byte:02X}").ok();
            }
        }
    }
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_header() {
        for (name, value) in [
            ("a b.csv", "attachment; filename=\"a b.csv\""),
            (
                "a\"; x=\".csv",
                "attachment; filename=\"a__ x=_.csv\"; filename*=UTF-8''a%22%3B%20x%3D%22.csv",
            ),
            ("é.txt", "attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%A9.txt"),
        ] {
            assert!(check_name(name).is_ok());
            assert_eq!(attachment(name), value);
        }
        let long = "x".repeat(256);
        for name in ["", "a/b", "a\\b", "a\r\nX: y", "a\0", "\u{85}", &long] {
            assert!(check_name(name).is_err(), "{name}");
            assert!(attachment(name).to_str().is_ok());
        }
    }
}
