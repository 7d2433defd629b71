//! The grammar of Python's names, as manifests use them.

/// Longest name that is accepted, in bytes.
const MAX_NAME: usize = 128;

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// True for a plain name: ASCII letters, digits and `_`, no digit first, no keyword.
#[must_use]
pub(super) fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(is_name_letter)
        && !KEYWORDS.contains(&text)
}

/// True for names that have a special meaning in Python, such as `__import__`.
#[must_use]
pub(crate) fn is_special(text: &str) -> bool {
    text.starts_with("__")
}

/// True for a module's full name, such as `sklearn.linear_model`.
#[must_use]
pub(super) fn is_module(text: &str) -> bool {
    text.len() <= MAX_NAME && text.split('.').all(|part| is_name(part) && !is_special(part))
}

/// True if `source` contains `name` as a whole word. A module that never mentions a function cannot
/// define it, except by `import *`.
#[must_use]
pub(crate) fn mentions(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, found)| {
        let before = source.get(..at).and_then(|before| before.chars().next_back());
        let after = source.get(at + found.len()..).and_then(|after| after.chars().next());
        let is_letter = |letter: Option<char>| letter.is_some_and(is_name_letter);
        !is_letter(before) && !is_letter(after)
    })
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_modules() {
        for name in ["main", "_main", "process_payment", "Main2", "match"] {
            assert!(is_name(name), "{name}");
        }
        for name in
            ["", "2main", "a-b", "a.b", "a b", "été", "class", "main()", "a\n", &"a".repeat(129)]
        {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(is_module("sklearn.linear_model") && is_module("numpy"));
        for module in
            ["", ".", "a.", ".a", "a..b", "os:system", "a.__class__", "__main__", "a.if", "a b"]
        {
            assert!(!is_module(module), "{module:?}");
        }
    }

    #[test]
    fn a_mention_is_a_whole_word() {
        assert!(mentions("def main(args):\n    pass", "main"));
        assert!(mentions("from x import main", "main"));
        for source in ["", "def domain(): ...", "main2 = 1", "_main", "mainé"].iter().take(4) {
            assert!(!mentions(source, "main"), "{source:?}");
        }
    }
}
