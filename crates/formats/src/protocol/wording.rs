//! Quotes texts of a caller in error messages.

/// Longest quotation, in characters: enough to recognise a text, too little to flood a log.
const SHOWN: usize = 48;

/// Cuts a long text and escapes its control and formatting characters, so that it can neither fill
/// a log nor forge a line in it.
#[must_use]
pub(super) fn shortened(text: &str) -> String {
    let mut shown = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == SHOWN {
            shown.push('…');
            break;
        }
        match letter {
            '"' | '\'' => shown.push(letter),
            '`' => shown.push('\''),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

/// Joins names for a sentence: `a`, `b` and `c`, each in backticks.
#[must_use]
pub(super) fn listed<'a, N: IntoIterator<Item = &'a str>>(names: N, last: &str) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., end] => format!("{} {last} {end}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_short_and_harmless() {
        assert_eq!(shortened("plain \"text\" é"), "plain \"text\" é");
        assert_eq!(shortened("a\nb\u{1b}[31m\u{202e}`"), "a\\nb\\u{1b}[31m\\u{202e}'");
        assert_eq!(shortened(&"x".repeat(1000)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(listed(["a"], "or"), "`a`");
        assert_eq!(listed(["a", "b", "c"], "or"), "`a`, `b` or `c`");
        assert_eq!(listed([], "or"), "");
    }
}
