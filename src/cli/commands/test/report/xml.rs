//! Text within the XML that commands write.

/// A text without characters that XML forbids or gives a meaning, in an attribute too.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_with_a_meaning_are_text() {
        assert_eq!(escaped("<a b='\"'>\n&"), "&lt;a b=&apos;&quot;&apos;&gt;&#10;&amp;");
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(
            escaped("a\0\u{1}\u{7f}\u{ffff}\r"),
            "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
        );
    }
}
