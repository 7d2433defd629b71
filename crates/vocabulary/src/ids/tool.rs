//! The names of the tools that callers declare.

/// Longest name of a tool, in bytes.
pub const MAX_TOOL_NAME: usize = 128;

/// True for a name that a tool can have: letters, digits, and `_`, `-`, `.`, `/`, of which a letter or `_`
/// is the first.
#[must_use]
pub fn is_tool_name(text: &str) -> bool {
    let is_first = |sign: u8| sign.is_ascii_alphabetic() || sign == b'_';
    let is_later = |sign: u8| is_first(sign) || sign.is_ascii_digit() || b"-./".contains(&sign);
    text.len() <= MAX_TOOL_NAME
        && text.bytes().next().is_some_and(is_first)
        && text.bytes().all(is_later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools() {
        for (name, is_one) in [
            ("f", true),
            ("_f1", true),
            ("crm/find-all.v2", true),
            ("", false),
            ("1f", false),
            ("-f", false),
            ("a b", false),
            ("\u{e9}", false),
            ("a\n", false),
        ] {
            assert_eq!(is_tool_name(name), is_one, "{name:?}");
        }
        assert!(is_tool_name(&"a".repeat(MAX_TOOL_NAME)));
        assert!(!is_tool_name(&"a".repeat(MAX_TOOL_NAME + 1)));
    }
}
