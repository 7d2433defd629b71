//! Reads the tests of a skill, and finds their mistakes without running them.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crate::cli::commands::skill_cases::test_case::{BlobContent, TestCase, with_ids};
use wardian_formats::protocol::strict;
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_formats::skill::path::is_left_out;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::error::CauseChain;

/// Longest file of a case, in bytes.
pub(crate) const MAX_CASE: u64 = 4 << 20;

/// The folder with the tests of a skill.
pub(crate) const TESTS: &str = "resources/tests";

/// Reads the text of a case.
///
/// # Errors
///
/// Its mistakes, each in one line.
pub(crate) fn parse_case(text: &[u8]) -> Result<TestCase, Vec<String>> {
    let one = |problem: String| vec![problem];
    if u64::try_from(text.len()).is_ok_and(|size| size > MAX_CASE) {
        return Err(one(format!("it is longer than {MAX_CASE} bytes")));
    }
    strict::read(text).map_err(|fault| one(CauseChain(&fault).to_string()))?;
    let case: TestCase = serde_json::from_slice(text).map_err(|fault| one(fault.to_string()))?;
    let mistakes = mistakes_of(&case);
    if mistakes.is_empty() { Ok(case) } else { Err(mistakes) }
}

/// The mistakes of a case that do not depend on any file.
fn mistakes_of(case: &TestCase) -> Vec<String> {
    let mut mistakes = Vec::new();
    for (name, blob) in &case.blobs {
        if let Err(fault) = BlobKind::parse(&blob.mime_type) {
            mistakes.push(format!("blob {name}: {fault}"));
        }
        if let BlobContent::File(path) = &blob.content
            && let Err(fault) = resource(path)
        {
            mistakes.push(format!("blob {name}: {fault}"));
        }
    }
    let ids: BTreeMap<String, String> =
        case.blobs.keys().map(|name| (name.clone(), name.clone())).collect();
    if let Err(name) = with_ids(case.args.get(), &ids) {
        mistakes.push(format!("the blob `{name}` does not exist"));
    }
    for (at, exchange) in case.network.iter().enumerate() {
        let read = |path: &str| resource(path).map(|_| Vec::new());
        if let Err(fault) = exchange.recorded(read) {
            mistakes.push(format!("network[{at}]: {fault}"));
        }
    }
    mistakes
}

/// The name of the case in a file of a skill, if it is one.
pub(crate) fn case_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix(TESTS)?.strip_prefix('/')?.strip_suffix(".json")?;
    (!name.contains('/')).then_some(name)
}

/// The path in the skill of a file below `resources` that a case names.
///
/// # Errors
///
/// The path leaves the folder, or no skill has a file with this name.
pub(crate) fn resource(path: &str) -> Result<String, String> {
    let mut whole = "resources".to_owned();
    for part in Path::new(path).components() {
        let Some(name) = Some(part).filter(|part| matches!(part, Component::Normal(_))) else {
            return Err(format!("`{path}` is not a path below resources"));
        };
        let name = name.as_os_str().to_string_lossy();
        if is_left_out(&name) {
            return Err(format!(
                "`{path}` is not a file of the skill: names such as `{name}` are excluded"
            ));
        }
        whole.extend(["/", &name]);
    }
    match path.is_empty() {
        true => Err("`` is not a path below resources".to_owned()),
        false => Ok(whole),
    }
}

/// The files below `resources` that a case needs.
pub(crate) fn files_of(case: &TestCase) -> Vec<&str> {
    let blobs = case.blobs.values().filter_map(|blob| match &blob.content {
        BlobContent::File(path) => Some(path.as_str()),
        BlobContent::Text(_) => None,
    });
    blobs.chain(case.network.iter().filter_map(|exchange| exchange.file())).collect()
}

/// The mistakes in the tests of a skill. They are warnings: the skill itself can be executed.
pub(crate) fn check_tests(snapshot: &Snapshot) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for file in snapshot.files() {
        if case_name(&file.path).is_none() {
            continue;
        }
        let mut warn = |code, message: String, help: &str| {
            let problem = Problem::new(code, message).help(help);
            found.push(Diagnostic::about(Severity::Warning, &file.path, problem));
        };
        match snapshot.read_file(&file.path).map(parse_case) {
            Ok(Ok(case)) => {
                let lacks = |path: &&str| {
                    let path = resource(path).unwrap_or_default();
                    snapshot.read_file(&path).is_err()
                };
                for path in files_of(&case).into_iter().filter(lacks) {
                    let message =
                        format!("the test needs `resources/{path}`, which does not exist");
                    warn("test-file-missing", message, "without it the test fails");
                }
            }
            Ok(Err(mistakes)) => {
                for mistake in mistakes {
                    let help = "`wardian test` runs no tests until it is fixed";
                    warn("test-malformed", mistake, help);
                }
            }
            // The check of the folder has reported it.
            Err(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_of_cases_are_found_without_a_run() {
        for (text, expected) in [
            ("{", "byte 1: expected a member name in double quotes"),
            (r#"{"expects": {}}"#, "unknown field `expects`"),
            (r#"{"expect": {"status": "completed"}, "expect": {}}"#, "expect"),
            (
                r#"{"args": {"a": "{{blob:x}}"}, "expect": {"status": "completed"}}"#,
                "the blob `x` does not exist",
            ),
            (
                r#"{"blobs": {"x": {"mime_type": "text/plain", "file": "../a"}}, "expect": {"status": "failed"}}"#,
                "blob x: `../a` is not a path below resources",
            ),
            (
                r#"{"blobs": {"x": {"mime_type": "text", "text": ""}}, "expect": {"status": "failed"}}"#,
                "blob x: ",
            ),
            (
                r#"{"network": [{"request": {"url": "a"}, "response": {}}], "expect": {"status": "failed"}}"#,
                "network[0]: `a` does not begin with",
            ),
        ] {
            let found = parse_case(text.as_bytes()).unwrap_err().join("\n");
            assert!(found.contains(expected), "{text}: {found}");
        }
        let good = r#"{"blobs": {"x": {"mime_type": "text/plain", "file": "a.txt"}},
            "args": {"a": "{{blob:x}}"}, "network": [{"request": {"url": "https://a.example/"},
            "response": {"file": "b.txt"}}], "expect": {"status": "completed"}}"#;
        let case = parse_case(good.as_bytes()).unwrap();
        assert_eq!(files_of(&case), ["a.txt", "b.txt"]);
        assert_eq!(resource("a//b/./c.d").as_deref(), Ok("resources/a/b/c.d"));
        for outside in ["", "/a", "..", "a/../b", "./a", "."] {
            assert!(resource(outside).is_err(), "{outside}");
        }
        for left_out in [".x/a", "a/.x", "a/__pycache__/b", "__pycache__", "a.pyc", "a.pyc/b"] {
            assert!(resource(left_out).unwrap_err().contains("are excluded"), "{left_out}");
        }
    }

    #[test]
    fn cases_are_files_of_one_folder() {
        assert_eq!(case_name("resources/tests/one.json"), Some("one"));
        for other in ["resources/tests/a/one.json", "resources/one.json", "resources/tests/a.txt"] {
            assert_eq!(case_name(other), None, "{other}");
        }
    }
}
