//! The spellings of a path: whether servers can read it in two ways, and whether any reading is a
//! path that the operator denies.
//!
//! INVARIANT(denied-in-every-spelling): whatever a server does to a path before it looks it up
//! (decode it once or twice, resolve dots, merge slashes, drop parameters, trim blanks and dots,
//! normalise Unicode, ignore case), the result is a denied path only if the path is refused.

use std::borrow::Cow;

use icu_normalizer::ComposingNormalizerBorrowed;

/// Compatibility forms of letters become the letters, such as `ａ` and `ſ`.
const NORMALIZER: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();

/// True if servers cannot disagree about the segments of `path`, which has no query.
///
/// Refused are dot segments, empty segments, parameters, everything that becomes one of these when
/// it is decoded, normalised or trimmed, and bytes that are not text: controls, broken escapes,
/// overlong and other malformed UTF-8.
#[must_use]
pub fn has_one_reading(path: &str) -> bool {
    if path.contains("//") || path.contains(';') {
        return false;
    }
    let is_clear = |segment: &str| {
        let Some(text) = decoded(segment) else { return false };
        let is_hidden = segment.len() != text.len() && has_escape_of(segment, b"./\\%;");
        !is_hidden && !text.chars().any(char::is_control) && keeps_its_place(&text)
    };
    path.split('/').all(is_clear)
}

/// True if `path` may be read as `wanted`, or as a path below it if that ends with `/`. Neither has
/// a query.
pub(crate) fn may_be_read_as(path: &str, wanted: &str) -> bool {
    if !has_one_reading(path) {
        return true;
    }
    let wanted = folded(wanted);
    let path = folded(path);
    // A server that decodes before it cuts the query off.
    let before_query = path.split(['?', '#']).next().unwrap_or_default();
    let is_read_as = |path: &str| match wanted.ends_with('/') {
        true => path.starts_with(&wanted),
        false => path.trim_end_matches('/') == wanted,
    };
    is_read_as(&path) || is_read_as(before_query)
}

/// The text that a segment's escapes stand for; none if an escape is broken, or if the bytes are
/// not UTF-8.
fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    if !segment.contains('%') {
        return Some(Cow::Borrowed(segment));
    }
    let mut parts = segment.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(escaped(code)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The byte that two digits stand for.
fn escaped(code: &str) -> Option<u8> {
    let is_hex = code.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(code, 16).ok().filter(|_| is_hex)
}

/// True if one of these bytes is escaped in the segment.
fn has_escape_of(segment: &str, bytes: &[u8]) -> bool {
    let mut codes = segment.split('%').skip(1).filter_map(|part| part.get(..2));
    codes.any(|code| escaped(code).is_some_and(|byte| bytes.contains(&byte)))
}

/// True if a segment is the same segment after it is normalised and trimmed.
fn keeps_its_place(text: &str) -> bool {
    let normal = NORMALIZER.normalize(text);
    let is_trimmed = |text: &str| text.trim() == text;
    // Also in front of the name of a stream.
    let name = normal.split(':').next().unwrap_or_default();
    let is_dot = |letter: char| letter == '.' || letter.is_whitespace();
    let is_dots = !name.is_empty() && name.chars().all(is_dot);
    is_trimmed(text)
        && is_trimmed(&normal)
        && !is_dots
        && !normal.contains(['/', '\\'])
        && !normal.chars().any(char::is_control)
}

/// A path with one reading, as the most tolerant server compares it: decoded, normalised, without
/// case, and each segment without what Windows ignores at its end.
fn folded(path: &str) -> String {
    let fold = |segment: &str| {
        let text = decoded(segment).unwrap_or_default();
        // Upper case first: `ı` and `ſ` have the capitals of other letters.
        let text = NORMALIZER.normalize(&text).to_uppercase().to_lowercase();
        // `name::$DATA` and `name:stream` are the file `name` there.
        let name = text.split(':').next().unwrap_or_default();
        name.trim_end_matches(['.', ' ']).to_owned()
    };
    let mut names: Vec<String> = path.split('/').map(fold).collect();
    // The last one is also empty if it is the stream of a folder: `/folder/:stream`.
    let ends_in_folder = names.last().is_some_and(String::is_empty);
    names.retain(|name| !name.is_empty());
    let end = if ends_in_folder && !names.is_empty() { "/" } else { "" };
    format!("/{}{end}", names.join("/"))
}
