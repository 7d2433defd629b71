//! Shows text of strangers: one line, cut, and without characters that a terminal or a person could
//! be deceived with.
//!
//! INVARIANT(visible-excerpt): an excerpt has no control, invisible or reordering characters.

/// Most characters of an excerpt.
const MAX_EXCERPT: usize = 120;

/// The text as an excerpt: one line of visible characters.
pub(crate) fn excerpt_of(text: &str) -> String {
    let mut shown = String::new();
    let (mut count, mut was_space) = (0_usize, true);
    for letter in text.chars() {
        if count >= MAX_EXCERPT {
            shown.push('…');
            return shown;
        }
        if letter.is_whitespace() && letter.is_ascii() {
            if !was_space {
                shown.push(' ');
                count = count.saturating_add(1);
            }
            was_space = true;
            continue;
        }
        was_space = false;
        count = count.saturating_add(1);
        push_visible(&mut shown, letter);
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// The path of a file without unprintable characters.
pub(crate) fn printable_name(name: &str) -> String {
    let mut shown = String::new();
    name.chars().for_each(|letter| push_visible(&mut shown, letter));
    shown
}

fn push_visible(shown: &mut String, letter: char) {
    if letter.is_control() || is_unseen(letter) || (letter.is_whitespace() && letter != ' ') {
        shown.extend(letter.escape_unicode());
    } else {
        shown.push(letter);
    }
}

/// True for characters that leave no mark of their own, joiners and selectors included.
pub(crate) const fn is_unseen(letter: char) -> bool {
    is_zero_width(letter)
        || is_tag(letter)
        || is_bidi(letter)
        || is_selector(letter)
        || matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{fff9}'..='\u{fffb}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Spaces and joiners without a width.
pub(crate) const fn is_zero_width(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}'
        | '\u{feff}')
}

/// Tags: invisible copies of ASCII, which models read.
pub(crate) const fn is_tag(letter: char) -> bool {
    matches!(letter, '\u{e0000}'..='\u{e007f}')
}

/// Embeddings, overrides and isolates of the direction of text.
pub(crate) const fn is_bidi(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Variation selectors.
pub(crate) const fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_excerpt_has_no_characters_that_deceive() {
        let hostile = "a\u{1b}[2J\u{202e}b\u{200b}\u{e0041}\r\n\tc\u{9b}\u{fe0f}\u{2028}\u{a0}é中";
        let shown = excerpt_of(hostile);
        assert!(!shown.chars().any(|letter| letter.is_control() || is_unseen(letter)), "{shown}");
        assert!(shown.ends_with("é中"), "{shown}");
        assert!(excerpt_of(&"x".repeat(500)).chars().count() <= MAX_EXCERPT + 1);
        assert_eq!(excerpt_of("  a  \n b "), "a b");
    }
}
