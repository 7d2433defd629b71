//! Assertions that are computed: on the answer of the model, and on the files that it left.

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::commands::skills::evals::cases::case_file::{Assertion, CaseCheck};
use crate::cli::commands::skills::evals::server::{CaseSession, WorkFile};
use crate::cli::failed::Failed;

/// Most characters of evidence.
const MAX_EVIDENCE: usize = 500;

/// What became of an assertion, in the form of `grading.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Grade {
    pub(super) text: String,
    /// `None` if nobody could grade it.
    pub(super) passed: Option<bool>,
    pub(super) evidence: String,
}

impl Grade {
    pub(super) fn new(assertion: &Assertion, passed: bool, evidence: &str) -> Self {
        let evidence = evidence.chars().take(MAX_EVIDENCE).collect();
        Self { text: assertion.text.clone(), passed: Some(passed), evidence }
    }

    /// That of an assertion that could not be graded, for this reason.
    pub(super) fn missing(assertion: &Assertion, reason: &str) -> Self {
        Self { passed: None, ..Self::new(assertion, false, reason) }
    }
}

/// The grade of an assertion; `None` if a model has to grade it.
pub(super) fn computed(
    assertion: &Assertion,
    session: &CaseSession<'_>,
    answer: &str,
    files: &[WorkFile],
) -> Result<Option<Grade>, Failed> {
    let grade = |passed, evidence: &str| Ok(Some(Grade::new(assertion, passed, evidence)));
    let missing = |path: &Option<String>| {
        format!("there is no file {} that is a text", path.as_deref().unwrap_or_default())
    };
    match &assertion.check {
        CaseCheck::Model => Ok(None),
        CaseCheck::Contains { value, path } => match looked_at(path.as_deref(), answer, files) {
            Some(text) => grade(text.contains(value.as_str()), &around(text, value)),
            None => grade(false, &missing(path)),
        },
        CaseCheck::NotContains { value, path } => match looked_at(path.as_deref(), answer, files) {
            Some(text) => grade(!text.contains(value.as_str()), &around(text, value)),
            None => grade(false, &missing(path)),
        },
        CaseCheck::Regex { value, path } => match looked_at(path.as_deref(), answer, files) {
            Some(text) => searched(assertion, session, value, text).map(Some),
            None => grade(false, &missing(path)),
        },
        CaseCheck::FileExists { value } => {
            match files.iter().find(|file| matches(value, &file.path)) {
                Some(file) => grade(true, &format!("{}, {} bytes", file.path, file.content.len())),
                None => {
                    let all: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
                    grade(false, &format!("the files are: {}", all.join(", ")))
                }
            }
        }
        CaseCheck::Python { value } => {
            let code = format!("answer = {}\n{value}", python_text(answer));
            match session.compute(&code)? {
                Ok(value) => grade(is_true(&value), &format!("the check gave {value}")),
                Err(raised) => grade(false, &raised),
            }
        }
    }
}

/// The text that an assertion is about.
fn looked_at<'t>(path: Option<&str>, answer: &'t str, files: &'t [WorkFile]) -> Option<&'t str> {
    let Some(path) = path else { return Some(answer) };
    let file = files.iter().find(|file| file.path == path)?;
    std::str::from_utf8(&file.content).ok()
}

/// Searches with Python's regular expressions, in the sandbox: one that takes too long is stopped there.
fn searched(
    assertion: &Assertion,
    session: &CaseSession<'_>,
    pattern: &str,
    text: &str,
) -> Result<Grade, Failed> {
    let (pattern, text) = (python_text(pattern), python_text(text));
    let code = format!(
        "import re as _re\n_found = _re.search({pattern}, {text})\n_found and _found.group()"
    );
    Ok(match session.compute(&code)? {
        Ok(Value::String(found)) => Grade::new(assertion, true, &found),
        Ok(_) => Grade::new(assertion, false, "nothing matches"),
        Err(raised) => Grade::new(assertion, false, &raised),
    })
}

/// A text as a literal of Python: JSON without letters beyond ASCII is one, but for pairs of surrogates.
pub(super) fn python_text(text: &str) -> String {
    text.chars().fold(String::from("\""), |mut literal, c| {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            ' '..='~' => literal.push(c),
            _ => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
        literal
    }) + "\""
}

/// Where a text has `value`, or how it begins.
fn around(text: &str, value: &str) -> String {
    let at = text.find(value).unwrap_or_default();
    let start = text.floor_char_boundary(at.saturating_sub(100));
    text.get(start..).unwrap_or_default().chars().take(300).collect()
}

/// True if a path is that of a pattern, in which `*` stands for any text.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| path.strip_prefix(first)) else { return false };
    let mut rest = rest;
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// As Python sees it. A check without a value at its end passes.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        other => *other != json!("") && *other != json!([]) && *other != json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_files_have_stars() {
        for (pattern, path, holds) in [
            ("a.txt", "a.txt", true),
            ("a.txt", "b/a.txt", false),
            ("*.txt", "b/a.txt", true),
            ("b/*a*.txt", "b/xay.txt", true),
            ("b/*.txt", "c/a.txt", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, path), holds, "{pattern} {path}");
        }
    }

    #[test]
    fn texts_are_literals_of_python() {
        assert_eq!(python_text("a\"\\\n"), "\"a\\\"\\\\\\U0000000a\"");
        assert_eq!(python_text("é😀"), "\"\\U000000e9\\U0001f600\"");
    }

    #[test]
    fn truth_is_that_of_python() {
        for (value, holds) in [
            (json!(null), true),
            (json!(true), true),
            (json!(false), false),
            (json!(0), false),
            (json!(2), true),
            (json!(""), false),
            (json!([]), false),
            (json!("x"), true),
        ] {
            assert_eq!(is_true(&value), holds, "{value}");
        }
    }
}
