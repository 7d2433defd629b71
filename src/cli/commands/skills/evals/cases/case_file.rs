//! `evals/evals.json` of a skill: the format of the Agent Skills guide and of its skill for creating skills.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::failed::Failed;

/// The file, by its path in a skill.
pub(crate) const PATH: &str = "evals/evals.json";

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
pub(crate) struct CaseFile {
    pub(crate) skill_name: Option<String>,
    cases: Vec<Case>,
}

/// With the skill or without it, by the names that `benchmark.json` has for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Configuration {
    With,
    Without,
}

impl Configuration {
    pub(crate) const BOTH: [Self; 2] = [Self::With, Self::Without];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::With => "with_skill",
            Self::Without => "without_skill",
        }
    }
}

/// A task for a model, and what its solution has to be like.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_output: Option<String>,
    pub(crate) assertions: Vec<Assertion>,
    pub(crate) files: Vec<InputFile>,
}

/// A file that the model finds in its working folder.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InputFile {
    /// Its path there.
    pub(crate) path: String,
    #[serde(skip)]
    pub(crate) content: Vec<u8>,
}

/// Something that has to be true of a solution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Assertion {
    /// What the reports say.
    pub(crate) text: String,
    pub(crate) check: CaseCheck,
}

/// How it is found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaseCheck {
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

/// A case as the file has it.
struct WrittenCase {
    id: String,
    prompt: String,
    expected_output: Option<String>,
    files: Vec<String>,
    assertions: Vec<Value>,
}

impl CaseFile {
    /// Reads the cases of the skill in `folder`, and the files that they bring along.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failed> {
        let path = folder.join(PATH);
        let text = read_up_to(&path, MAX_FILE)?;
        let named = |problem: String| Failed::usage(format!("{}: {problem}", path.display()));
        let written: Value = serde_json::from_slice(&text)
            .map_err(|fault| named(format!("it is not JSON: {fault}")))?;
        let (skill_name, evals) = parts_of(written).map_err(|problem| named(problem.to_owned()))?;
        if evals.is_empty() || evals.len() > MAX_CASES {
            return Err(named(format!("it has to have 1 to {MAX_CASES} cases in `evals`")));
        }
        let mut ids = BTreeSet::new();
        let mut cases = Vec::new();
        for (number, case) in (1..).zip(evals) {
            let case = WrittenCase::read(number, &case).map_err(named)?;
            let case = case.checked(folder).map_err(named)?;
            if !ids.insert(case.id.clone()) {
                return Err(named(format!("two cases have the id `{}`", case.id)));
            }
            cases.push(case);
        }
        Ok(Self { skill_name, cases })
    }

    /// The cases with these ids, or all.
    pub(crate) fn chosen(&self, ids: &[String]) -> Result<Vec<Case>, Failed> {
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

/// The name of the skill, and the cases. Some files are the list of cases alone.
fn parts_of(written: Value) -> Result<(Option<String>, Vec<Value>), &'static str> {
    let mut members = match written {
        Value::Array(evals) => return Ok((None, evals)),
        Value::Object(members) => members,
        _ => return Err("it has to be an object with the cases in `evals`, or a list of cases"),
    };
    let skill_name = members.get("skill_name").and_then(Value::as_str).map(str::to_owned);
    match members.remove("evals") {
        Some(Value::Array(evals)) => Ok((skill_name, evals)),
        Some(_) => Err("`evals` has to be a list of cases"),
        None => Err("`evals`, the list of cases, is missing"),
    }
}

/// True for what can name a case, and a folder.
fn is_id(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=64).contains(&text.len()) && !text.starts_with('.') && text.chars().all(is_plain)
}

/// A member that is a text, if it is there.
fn text_in(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` has to be a text")),
    }
}

/// A member that is a list; empty if it is not there.
fn list_in<'m>(members: &'m Map<String, Value>, name: &str) -> Result<&'m [Value], String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(format!("`{name}` has to be a list")),
    }
}

impl WrittenCase {
    /// Reads the case with this number, from 1.
    fn read(number: u64, written: &Value) -> Result<Self, String> {
        let Value::Object(members) = written else {
            return Err(format!("case number {number} has to be an object with `id` and `prompt`"));
        };
        let name = members.get("name").and_then(Value::as_str).filter(|name| is_id(name));
        let id = match members.get("id") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(id)) if id.is_u64() => id.to_string(),
            None | Some(Value::Null) => name.map_or_else(|| number.to_string(), str::to_owned),
            Some(_) => {
                return Err(format!("case number {number}: `id` has to be a number or a text"));
            }
        };
        let wrong = |problem: String| format!("case {id}: {problem}");
        let prompt = text_in(members, "prompt").map_err(wrong)?;
        let prompt = prompt.ok_or_else(|| wrong("`prompt` is missing".to_owned()))?;
        let mut assertions = Vec::new();
        for name in ["expectations", "assertions"] {
            assertions.extend_from_slice(list_in(members, name).map_err(wrong)?);
        }
        let mut expected_output = text_in(members, "expected_output").map_err(wrong)?;
        // Another name for it. A list has one statement in each item.
        match members.get("expected_behavior") {
            Some(Value::Array(list)) => assertions.extend_from_slice(list),
            Some(_) if expected_output.is_none() => {
                expected_output = text_in(members, "expected_behavior").map_err(wrong)?;
            }
            _ => {}
        }
        let files = list_in(members, "files").map_err(wrong)?.iter();
        let files = files.map(|file| file.as_str().map(str::to_owned));
        let files = files.collect::<Option<Vec<_>>>();
        let files = files.ok_or_else(|| wrong("`files` has to be a list of paths".to_owned()))?;
        Ok(Self { id, prompt, expected_output, files, assertions })
    }

    fn checked(self, folder: &Path) -> Result<Case, String> {
        let id = self.id;
        if !is_id(&id) {
            return Err(format!(
                "`{id}` is not an id: a number, or up to 64 of letters, digits, `-`, `_` and `.`"
            ));
        }
        let wrong = |problem: String| format!("case {id}: {problem}");
        if self.prompt.trim().is_empty() {
            return Err(wrong("`prompt` is empty".to_owned()));
        }
        let written = self.assertions.iter().map(Assertion::read);
        let mut assertions = written.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
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

impl Assertion {
    /// Reads a statement, which is a text or an object with one, or a check.
    fn read(written: &Value) -> Result<Self, String> {
        const FORMS: &str = "an expectation has to be a text, `{\"text\": \"…\"}`, or a check with `type` and `value`";
        let members = match written {
            Value::String(text) => return Self::statement(text.clone()),
            Value::Object(members) => members,
            other => return Err(format!("{FORMS}, and not `{other}`")),
        };
        let first = |names: &[&str]| {
            names.iter().find_map(|name| text_in(members, name).transpose()).transpose()
        };
        let (name, text) = (text_in(members, "name")?, first(&["text", "description"])?);
        let Some(kind) = text_in(members, "type")? else {
            return match (name, text) {
                (Some(name), Some(text)) => Self::statement(format!("{name}: {text}")),
                (None, Some(text)) => Self::statement(text),
                _ => Err(FORMS.to_owned()),
            };
        };
        let value = first(&["value", "code", "pattern"])?;
        let value = value.ok_or_else(|| format!("the check `{kind}` needs a `value`"))?;
        let path = text_in(members, "path")?;
        Self::check(&kind, name.or(text), value, path)
    }

    fn statement(text: String) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("an expectation is empty".to_owned());
        }
        Ok(Self { text, check: CaseCheck::Model })
    }

    fn check(
        kind: &str,
        name: Option<String>,
        value: String,
        path: Option<String>,
    ) -> Result<Self, String> {
        let place = path.as_deref().unwrap_or("the answer").to_owned();
        let (default, check) = match kind {
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
        Ok(Self { text: name.unwrap_or(default), check })
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

    fn read(cases: &Value) -> Result<Vec<Case>, String> {
        read_file(&json!({"skill_name": "notes", "evals": cases}))
    }

    fn read_file(content: &Value) -> Result<Vec<Case>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("evals/files/data")).unwrap();
        std::fs::write(folder.path().join("evals/files/data/a.csv"), "x\n1\n").unwrap();
        std::fs::write(folder.path().join(PATH), content.to_string()).unwrap();
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
    fn the_forms_of_published_files_are_read() {
        let cases = read_file(&json!([
            {"name": "plain", "prompt": "Do.", "expected_behavior": "Done"},
            {"prompt": "Do.", "expected_behavior": ["It is done", {"id": 1, "text": "It is right"}],
                "assertions": [{"name": "loud", "description": "It is loud"}, {"description": "It is short"}]},
        ]))
        .unwrap();
        let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["plain", "2"]);
        assert_eq!(cases[0].expected_output.as_deref(), Some("Done"));
        let texts: Vec<&str> = cases[1].assertions.iter().map(|each| each.text.as_str()).collect();
        assert_eq!(texts, ["loud: It is loud", "It is short", "It is done", "It is right"]);
        for (content, reason) in [
            (json!(7), "it has to be an object with the cases in `evals`"),
            (json!({"cases": []}), "`evals`, the list of cases, is missing"),
            (json!({"evals": {}}), "`evals` has to be a list of cases"),
            (json!(["x"]), "case number 1 has to be an object"),
        ] {
            let said = read_file(&content).unwrap_err();
            assert!(said.contains(reason), "{said}");
        }
    }

    #[test]
    fn cases_that_are_wrong_are_refused_with_their_id_and_reason() {
        let case = |members: Value| {
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
            (json!({"assertions": [5]}), "case 7: an expectation has to be a text, `{\"text\""),
            (json!({"assertions": [{"type": "regex"}]}), "the check `regex` needs a `value`"),
            (json!({"assertions": "x"}), "case 7: `assertions` has to be a list"),
            (json!({"prompt": 1}), "case 7: `prompt` has to be a text"),
            (json!({"id": [1]}), "case number 1: `id` has to be a number or a text"),
            (json!({"files": [1]}), "case 7: `files` has to be a list of paths"),
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
