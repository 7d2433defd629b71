//! Checks the paths of a wheel's entries.
//!
//! A layer is mounted on a case-sensitive file system, but its paths are checked as if it were
//! unpacked anywhere: a path that two systems read in two ways is refused.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Longest path, in bytes.
const MAX_PATH: usize = 1_024;

/// Longest name, in bytes.
const MAX_NAME: usize = 255;

/// Deepest folder.
const MAX_DEPTH: usize = 64;

/// Names that mean a device on Windows, whatever follows their first dot.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Returns the reason why a path may not be in a layer, as the end of a sentence.
#[must_use]
pub fn path_fault(path: &str) -> Option<&'static str> {
    if path.is_empty() || path.starts_with('/') {
        return Some("which is not a relative path");
    }
    if path.len() > MAX_PATH {
        return Some("whose path is too long");
    }
    if path.split('/').count() > MAX_DEPTH {
        return Some("whose folders are nested too deeply");
    }
    if path.chars().any(|letter| letter.is_control() || is_ambiguous(letter)) {
        return Some("whose path has a character that is not allowed in names");
    }
    path.split('/').find_map(name_fault)
}

fn is_ambiguous(letter: char) -> bool {
    matches!(letter, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        // Invisible letters, and those that turn the direction of a text.
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name == "." || name == ".." {
        return Some("whose path is not a plain one");
    }
    if name.len() > MAX_NAME {
        return Some("whose name is too long");
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Some("whose name begins or ends with a letter that some systems drop");
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    let numbered = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let is_port = numbered.is_some_and(|rest| {
        let mut letters = rest.chars();
        let port = letters.next();
        letters.next().is_none() && port.is_some_and(|one| "0123456789¹²³".contains(one))
    });
    if DEVICES.contains(&stem.as_str()) || is_port {
        return Some("which is the name of a device on some systems");
    }
    None
}

/// Equal for two paths that some file systems take for one: they differ only in case, or in the
/// composition of their letters.
#[must_use]
pub fn collision_key(path: &str) -> String {
    let normalizer = ComposingNormalizerBorrowed::new_nfc();
    let composed = normalizer.normalize(path);
    // Upper case first: some letters have one capital and several small forms.
    let folded = composed.to_uppercase().to_lowercase();
    normalizer.normalize(&folded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_pass_and_tricks_do_not() {
        for path in [
            "a.py",
            "a/b/__init__.py",
            "a-1.dist-info/RECORD",
            "a/été.txt",
            "a/.hidden",
            "console.py",
            "com.py",
            "com10/x",
            "a b.txt",
        ] {
            assert_eq!(path_fault(path), None, "{path}");
        }
        let (long, name, deep) = ("a/".repeat(600) + "b", "a".repeat(256), "a/".repeat(64) + "b");
        for path in [
            "",
            "/etc/passwd",
            "//a",
            "../a",
            "a/../b",
            "a/..",
            "./a",
            "a/./b",
            "a//b",
            "a/",
            "a\\b",
            "C:/a",
            "c:a",
            "a\0b",
            "a\nb",
            "a\u{7f}b",
            "a\u{202e}b",
            "con",
            "CON.py",
            "a/nul.txt",
            "aux.tar.gz",
            "com1",
            "LPT9.x",
            "lpt¹",
            "a.",
            "a/b ",
            " a",
            "a*b",
            "a?b",
            "CONIN$",
            &long,
            &name,
            &deep,
        ] {
            assert!(path_fault(path).is_some(), "accepted {path:?}");
        }
    }

    #[test]
    fn paths_that_differ_in_case_or_composition_collide() {
        for (one, other) in [
            ("a/B.py", "A/b.py"),
            ("\u{e9}", "e\u{301}"),
            ("\u{c9}", "e\u{301}"),
            ("\u{212a}", "k"),
            ("σ", "ς"),
            ("ß", "SS"),
        ] {
            assert_eq!(collision_key(one), collision_key(other), "{one} {other}");
        }
        assert_ne!(collision_key("a"), collision_key("b"));
    }
}
