//! `evals/evals.json` of a skill: the format of the Agent Skills guide and of its skill for creating skills.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use crate::cli::failed::Failed;

/// The file, by its path in a skill.
pub(super) const PATH: &str = "evals/evals.json";

/// Maximum size of the file, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Maximum size of a file that a case brings along, in bytes.
const MAX_INPUT: u64 = 16 << 20;

/// Most cases of a skill.
const MAX_CASES: usize = 1_000;

/// Most assertions, and most files, of a case.
const MAX_ITEMS: usize = 100;

/// The cases of a skill.
#[derive(Debug)]
pub(super) struct CaseFile {
    pub(super) skill_name: Option<String>,
    cases: Vec<Case>,
}

/// With the skill or without it, by the names that `benchmark.json` has for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Configuration {
    With,
    Without,
}

impl Configuration {
    pub(super) const BOTH: [Self; 2] = [Self::With, Self::Without];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::With => "with_skill",
            Self::Without => "without_skill",
        }
    }
}

/// A task for a model, and what its solution has to be like.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected_output: Option<String>,
    pub(super) assertions: Vec<Assertion>,
    pub(super) files: Vec<InputFile>,
}

/// A file that the model finds in its working folder.
#[derive(Debug, Clone, Serialize)]
pub(super) struct InputFile {
    /// Its path there.
    pub(super) path: String,
    #[serde(skip)]
    pub(super) content: Vec<u8>,
}

/// Something that has to be true of a solution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Assertion {
    /// What the reports say.
    pub(super) text: String,
    pub(super) check: CaseCheck,
}

/// How it is found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CaseCheck {
    /// By the model that grades.
    Model,
    /// The answer, or the file at a path, has this text.
    Contains { value: String, path: Option<String> },
    /// It does not.
    NotContains { value: String, path: Option<String> },
    /// Python's regular expression is found in it.
    Regex { value: String, path: Option<String> },
    /// The working folder has such a file; `*` stands for any part of its path.
    FileExists { value: String },
    /// Python code raises nothing, and its last expression is not false.
    Python { value: String },
}

#[derive(Deserialize)]
struct Written {
    skill_name: Option<String>,
    evals: Vec<WrittenCase>,
}

#[derive(Deserialize)]
struct WrittenCase {
    id: WrittenId,
    prompt: String,
    expected_output: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    expectations: Vec<WrittenAssertion>,
    #[serde(default)]
    assertions: Vec<WrittenAssertion>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenId {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenAssertion {
    Statement(String),
    Check(WrittenCheck),
}

#[derive(Deserialize)]
struct WrittenCheck {
    #[serde(rename = "type")]
    kind: String,
    #[serde(alias = "text")]
    name: Option<String>,
    #[serde(alias = "code", alias = "pattern")]
    value: String,
    path: Option<String>,
}

impl CaseFile {
    /// Reads the cases of the skill in `folder`, and the files that they bring along.
    pub(super) fn read(folder: &Path) -> Result<Self, Failed> {
        let path = folder.join(PATH);
        let text = read_up_to(&path, MAX_FILE)?;
        let named = |problem: String| Failed::usage(format!("{}: {problem}", path.display()));
        let written: Written =
            serde_json::from_slice(&text).map_err(|fault| named(fault.to_string()))?;
        if written.evals.is_empty() || written.evals.len() > MAX_CASES {
            return Err(named(format!("it has to have 1 to {MAX_CASES} cases in `evals`")));
        }
        let mut ids = BTreeSet::new();
        let mut cases = Vec::new();
        for case in written.evals {
            let case = case.checked(folder).map_err(named)?;
            if !ids.insert(case.id.clone()) {
                return Err(named(format!("two cases have the id `{}`", case.id)));
            }
            cases.push(case);
        }
        Ok(Self { skill_name: written.skill_name, cases })
    }

    /// The cases with these ids, or all.
    pub(super) fn chosen(&self, ids: &[String]) -> Result<Vec<Case>, Failed> {
        let known = |id: &&String| !self.cases.iter().any(|case| case.id == **id);
        if let Some(unknown) = ids.iter().find(known) {
            let all: Vec<&str> = self.cases.iter().map(|case| case.id.as_str()).collect();
            let all = all.join(", ");
            return Err(Failed::usage(format!("no case has the id `{unknown}`: there are {all}"))
                .harmless());
        }
        let is_chosen = |case: &&Case| ids.is_empty() || ids.contains(&case.id);
        Ok(self.cases.iter().filter(is_chosen).cloned().collect())
    }
}

impl WrittenCase {
    fn checked(self, folder: &Path) -> Result<Case, String> {
        let id = match self.id {
            WrittenId::Number(number) => number.to_string(),
            WrittenId::Text(text) => text,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if id.is_empty() || id.len() > 64 || id.starts_with('.') || !id.chars().all(is_plain) {
            return Err(format!(
                "`{id}` is not an id: a number, or up to 64 of letters, digits, `-`, `_` and `.`"
            ));
        }
        let wrong = |problem: String| format!("case {id}: {problem}");
        if self.prompt.trim().is_empty() {
            return Err(wrong("`prompt` is empty".to_owned()));
        }
        let written = self.expectations.into_iter().chain(self.assertions);
        let mut assertions =
            written.map(WrittenAssertion::checked).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        if let Some(expected) = self.expected_output.as_ref().filter(|_| assertions.is_empty()) {
            let text = format!("The result is as expected: {expected}");
            assertions.push(Assertion { text, check: CaseCheck::Model });
        }
        if assertions.is_empty() {
            return Err(wrong("it needs `expectations` or `expected_output`".to_owned()));
        }
        if assertions.len() > MAX_ITEMS || self.files.len() > MAX_ITEMS {
            return Err(wrong(format!("it has more than {MAX_ITEMS} files or expectations")));
        }
        let files = self.files.iter().map(|path| InputFile::read(folder, path));
        let files = files.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let places: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        if places.len() < files.len() {
            return Err(wrong("two of its files have one path in the working folder".to_owned()));
        }
        Ok(Case {
            id,
            prompt: self.prompt,
            expected_output: self.expected_output,
            assertions,
            files,
        })
    }
}

impl WrittenAssertion {
    fn checked(self) -> Result<Assertion, String> {
        let WrittenCheck { kind, name, value, path } = match self {
            Self::Statement(text) if text.trim().is_empty() => {
                return Err("an expectation is empty".to_owned());
            }
            Self::Statement(text) => return Ok(Assertion { text, check: CaseCheck::Model }),
            Self::Check(check) => check,
        };
        let place = path.as_deref().unwrap_or("the answer").to_owned();
        let (default, check) = match kind.as_str() {
            "contains" => {
                (format!("{place} contains `{value}`"), CaseCheck::Contains { value, path })
            }
            "not_contains" => (
                format!("{place} does not contain `{value}`"),
                CaseCheck::NotContains { value, path },
            ),
            "regex" => (format!("{place} matches `{value}`"), CaseCheck::Regex { value, path }),
            "file_exists" => (format!("the file {value} exists"), CaseCheck::FileExists { value }),
            "python" => ("a check in Python passes".to_owned(), CaseCheck::Python { value }),
            _ => {
                return Err(format!(
                    "`{kind}` is not a type: contains, not_contains, regex, file_exists or python"
                ));
            }
        };
        Ok(Assertion { text: name.unwrap_or(default), check })
    }
}

impl InputFile {
    /// Reads a file by its path in the skill. `evals/files/a/b.csv` is `a/b.csv` in the working folder.
    fn read(folder: &Path, path: &str) -> Result<Self, String> {
        let whole = Path::new(path);
        let is_inside = whole.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || path.is_empty() || path.contains(['\\', '%', '?', '#']) {
            return Err(format!("`{path}` is not a path below the skill"));
        }
        let below = whole.strip_prefix("evals").unwrap_or(whole);
        let below = below.strip_prefix("files").unwrap_or(below);
        let place = below.to_str().filter(|place| !place.is_empty());
        let place = place.ok_or_else(|| format!("`{path}` is not a file"))?.to_owned();
        let content = read_up_to(&folder.join(whole), MAX_INPUT).map_err(|e| e.to_string())?;
        Ok(Self { path: place, content })
    }
}

fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let mut content = Vec::new();
    let file = File::open(path).map_err(|fault| named(&fault))?;
    file.take(most.saturating_add(1)).read_to_end(&mut content).map_err(|fault| named(&fault))?;
    if u64::try_from(content.len()).is_ok_and(|size| size > most) {
        let most = most >> 20;
        return Err(Failed::usage(format!("{}: it has more than {most} MiB", path.display())));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(cases: &serde_json::Value) -> Result<Vec<Case>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("evals/files/data")).unwrap();
        std::fs::write(folder.path().join("evals/files/data/a.csv"), "x\n1\n").unwrap();
        let text = json!({"skill_name": "notes", "evals": cases}).to_string();
        std::fs::write(folder.path().join(PATH), text).unwrap();
        let file = CaseFile::read(folder.path()).map_err(|failed| failed.to_string())?;
        file.chosen(&[]).map_err(|failed| failed.to_string())
    }

    #[test]
    fn cases_are_read_in_both_of_their_forms() {
        let cases = read(&json!([
            {"id": 1, "prompt": "Do.", "expected_output": "Done", "files": ["evals/files/data/a.csv"]},
            {"id": "two", "prompt": "Do.", "expectations": ["It is right"], "assertions": [
                {"type": "contains", "value": "x", "name": "has x"},
                {"type": "regex", "value": "x+", "path": "out.txt"},
                {"type": "python", "code": "1 == 1"}]},
        ]));
        let cases = cases.unwrap();
        assert_eq!(cases[0].files[0].path, "data/a.csv");
        assert_eq!(cases[0].assertions[0].text, "The result is as expected: Done");
        let texts: Vec<&str> = cases[1].assertions.iter().map(|each| each.text.as_str()).collect();
        assert_eq!(
            texts,
            ["It is right", "has x", "out.txt matches `x+`", "a check in Python passes"]
        );
    }

    #[test]
    fn cases_that_are_wrong_are_refused_with_their_id_and_reason() {
        let case = |members: serde_json::Value| {
            let mut case = json!({"id": 7, "prompt": "Do.", "expected_output": "Done"});
            case.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            read(&json!([case])).unwrap_err()
        };
        for (members, reason) in [
            (json!({"prompt": " "}), "case 7: `prompt` is empty"),
            (json!({"expected_output": null}), "case 7: it needs `expectations`"),
            (json!({"id": "../x"}), "`../x` is not an id"),
            (json!({"files": ["../x"]}), "case 7: `../x` is not a path below the skill"),
            (json!({"files": ["evals/files/no"]}), "evals/files/no: No such file"),
            (json!({"assertions": [{"type": "magic", "value": "x"}]}), "`magic` is not a type"),
            (json!({"assertions": [" "]}), "case 7: an expectation is empty"),
            (json!({"files": vec!["evals/files/data/a.csv"; 2]}), "two of its files have one path"),
        ] {
            let said = case(members);
            assert!(said.contains(reason), "{said}");
        }
        assert!(read(&json!([])).unwrap_err().contains("1 to 1000 cases"));
        let twice = json!({"id": 1, "prompt": "Do.", "expected_output": "Done"});
        assert!(read(&json!([twice, twice])).unwrap_err().contains("two cases have the id `1`"));
    }
}
