//! Paths of files inside a skill. Each file has one spelling, and no path leads outside.
//!
//! INVARIANT(one-spelling): an accepted path is relative, uses `/`, and has no empty, `.` or
//! `..` segment. So it is compared as text, and can be joined to a folder without escaping it.

/// Longest path, in bytes.
pub const MAX_PATH: usize = 1_024;

/// Checks that `path` could name a file of a skill.
///
/// # Errors
///
/// The problem, as the end of a sentence that begins with the path: `must be relative…`.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    if path.len() > MAX_PATH {
        return Err("must not be longer than 1024 bytes");
    }
    check_spelling(path)
}

/// As [`check_path`], for paths of any length.
///
/// # Errors
///
/// As those of [`check_path`].
pub(crate) fn check_spelling(path: &str) -> Result<(), &'static str> {
    let is_bad_segment = |segment: &str| matches!(segment, "" | "." | "..");
    if path.is_empty() {
        Err("must not be empty")
    } else if path.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else if path.contains('\\') {
        Err("must use `/` between folders, not `\\`")
    } else if path.starts_with('/') {
        Err("must be relative to the skill's folder, without a leading `/`")
    } else if path.split('/').any(is_bad_segment) {
        Err("must not contain empty, `.` or `..` segments")
    } else {
        Ok(())
    }
}

/// True for names of files and folders that are never part of a skill: hidden ones (`.git`, `.env`,
/// `.DS_Store`) and those that Python generates (`__pycache__`, `*.pyc`).
#[must_use]
pub fn is_left_out(name: &str) -> bool {
    name.starts_with('.') || name == "__pycache__" || name.ends_with(".pyc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_pass() {
        for path in [
            "SKILL.md",
            "code/main.py",
            "a b/c-d_e.F",
            "é",
            "..a/b..",
            "%2e%2e/x",
            &"a".repeat(1024),
        ] {
            assert_eq!(check_path(path), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn one_spelling_leaves_no_way_out_and_no_aliases() {
        for path in [
            "",
            ".",
            "..",
            "../skill.toml",
            "code/../../other/skill.toml",
            "/etc/passwd",
            "code//x",
            "code/./x",
            "code/x/",
            "./x",
            "..\\x",
            "a\\b",
            "a\0b",
            "a\nb",
            "C:\\x",
            &"a".repeat(1025),
            &"a/".repeat(2_500),
        ] {
            assert!(check_path(path).is_err(), "accepted {path:?}");
        }
    }

    #[test]
    fn hidden_and_generated_files_are_left_out() {
        for name in [".git", ".env", ".DS_Store", "__pycache__", "main.cpython-315.pyc"] {
            assert!(is_left_out(name), "{name}");
        }
        for name in ["SKILL.md", "__init__.py", "secrets.json", "a.pyi"] {
            assert!(!is_left_out(name), "{name}");
        }
    }
}
