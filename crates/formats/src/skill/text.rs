//! Makes untrusted text safe to show.
//!
//! INVARIANT(printable): text from [`quoted`], [`printable`] and [`masked`] has no control
//! characters except line feeds and tabs, and no characters that reorder or hide text. So a skill
//! cannot control the terminal of a person who reads its diagnostics.

/// Maximum number of characters of a quotation: enough to recognise a value, too few to flood a
/// message.
const MAX_QUOTED: usize = 60;

/// Returns `text` in double quotes, escaped, cut if it is long.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut shown = printable(&text.chars().take(MAX_QUOTED).collect::<String>());
    shown = shown.replace('\n', "\\n").replace('\t', "\\t");
    let rest = if text.chars().nth(MAX_QUOTED).is_some() { "…" } else { "" };
    format!("\"{shown}{rest}\"")
}

/// Returns `text` with unprintable characters escaped like `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unprintable(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns `text` with unprintable characters replaced by marks of the same length in bytes, so
/// that byte offsets stay valid.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match (is_unprintable(letter), letter.len_utf8()) {
            (false, _) => shown.push(letter),
            (true, 3) => shown.push('\u{fffd}'),
            (true, length) => shown.extend(std::iter::repeat_n('?', length)),
        }
    }
    shown
}

fn is_unprintable(letter: char) -> bool {
    let is_layout = matches!(letter, '\n' | '\t');
    (letter.is_control() && !is_layout)
        || matches!(letter, '\u{2028}' | '\u{2029}')
        || is_invisible(letter)
}

/// True for characters that a person does not see but a language model reads.
///
/// They are tags, directional overrides, and zero-width spaces. Joiners and variation selectors are excluded, because scripts
/// and emoji need them.
#[must_use]
pub fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Length of the byte order mark at the start of `text`, or 0.
#[must_use]
pub(crate) fn byte_order_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// True if `text` is one line without control characters.
#[must_use]
pub(crate) fn is_one_line(text: &str) -> bool {
    !text.chars().any(|letter| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotations_are_escaped_and_cut() {
        assert_eq!(quoted("a\x1b[31m\u{202e}b\n"), r#""a\u{1b}[31m\u{202e}b\n""#);
        assert_eq!(quoted(&"é".repeat(61)), format!("\"{}…\"", "é".repeat(60)));
        assert_eq!(quoted(&"é".repeat(60)), format!("\"{}\"", "é".repeat(60)));
    }

    #[test]
    fn joiners_in_emoji_and_persian_are_allowed() {
        assert!(!"👩‍👩‍👧 می‌خواهم ❤️".chars().any(is_invisible));
        assert!("\u{e0041}\u{200b}".chars().all(is_invisible));
    }

    proptest! {
        #[test]
        fn printable_text_has_no_control_characters(text in any::<String>()) {
            let is_safe = |shown: &str| {
                !shown.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || is_invisible(c))
            };
            prop_assert!(is_safe(&quoted(&text)) && is_safe(&printable(&text)));
            prop_assert!(is_safe(&masked(&text)));
            prop_assert_eq!(masked(&text).len(), text.len());
            for (at, _) in text.char_indices() {
                prop_assert!(masked(&text).is_char_boundary(at));
            }
        }
    }
}
