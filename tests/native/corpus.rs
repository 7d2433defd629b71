//! The programs, and what each has to answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::compare::{Refusal, same_text, same_value};
use crate::support::repository;

/// One program of the corpus.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    source: String,
    expected: Expected,
}

/// How a program has to end.
#[derive(Debug)]
pub(crate) enum Expected {
    /// As natively.
    Answer {
        /// Everything that it prints.
        logs: String,
        /// What `main` returns, or the value of a script's last expression.
        end: End,
    },
    /// Native Python could do this and a sandbox cannot, or neither can.
    Refused(Refusal),
}

/// The value or the error with which a program ends.
#[derive(Debug)]
pub(crate) enum End {
    Value(Value),
    /// A value that natively goes nowhere.
    AnyValue,
    Error {
        class: String,
        message: String,
    },
}

impl Program {
    /// All programs, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let mut programs = Vec::new();
        for group in entries(&repository("tests/native/programs")) {
            let group_name = group.file_name().unwrap().to_str().unwrap().to_owned();
            let answers = repository("tests/native/answers").join(format!("{group_name}.json"));
            let answers: BTreeMap<String, Value> =
                serde_json::from_str(&fs::read_to_string(&answers).unwrap()).unwrap();
            for file in entries(&group) {
                let source = fs::read_to_string(&file).unwrap();
                let stem = file.file_stem().unwrap().to_str().unwrap();
                let name = format!("{group_name}/{stem}");
                let expected = Expected::of(&name, &source, answers.get(stem));
                programs.push(Self { name, source, expected });
            }
        }
        programs
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) const fn expected(&self) -> &Expected {
        &self.expected
    }
}

impl Expected {
    /// What the first line of a program says, or what was recorded.
    fn of(name: &str, source: &str, answer: Option<&Value>) -> Self {
        if let Some(refusal) = source.lines().next().unwrap().strip_prefix("# refused:") {
            return Self::Refused(Refusal::parse(refusal));
        }
        let answer = answer.unwrap_or_else(|| panic!("{name} has no answer: record its group"));
        Self::recorded(answer, source)
    }

    fn recorded(answer: &Value, source: &str) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let end = match answer.get("error") {
            Some(error) => {
                End::Error { class: text(&error["type"]), message: text(&error["message"]) }
            }
            // A script that calls its own `main` natively drops the value, which is the answer here.
            None if source.starts_with("# script") && source.contains("def main(") => End::AnyValue,
            None => End::Value(answer["value"].clone()),
        };
        Self::Answer { logs: text(&answer["logs"]), end }
    }

    /// Says how `result` differs from what is expected.
    pub(crate) fn compare(&self, result: &Value) -> Result<(), String> {
        match self {
            Self::Refused(refusal) => refusal.compare(result),
            Self::Answer { logs, end } => {
                same_end(end, result)?;
                same_text(logs, result["logs_preview"].as_str().unwrap())
                    .map_err(|difference| format!("the log: {difference}"))
            }
        }
    }
}

fn same_end(end: &End, result: &Value) -> Result<(), String> {
    match (end, result["status"].as_str().unwrap()) {
        (End::AnyValue, "completed") => Ok(()),
        (End::AnyValue, _) => Err(format!("fine natively, {:.500} here", result["error"])),
        // A last value that JSON cannot express is shown in a form of our own.
        (End::Value(value), "completed") if value.get("not json").is_some() => Ok(()),
        (End::Value(value), "completed") => {
            let wrapped = match value {
                Value::Null | Value::Object(_) => value.clone(),
                other => serde_json::json!({ "result": other }),
            };
            same_value(&wrapped, &result["output"])
        }
        (End::Error { class, message }, "failed") => {
            let error = &result["error"];
            let found = (error["type"].as_str().unwrap(), error["message"].as_str().unwrap());
            if found.0 != class {
                return Err(format!("{class} natively, {} here: {}", found.0, found.1));
            }
            // Advice may follow the message, and a `KeyError` may show its key without quotes.
            let bare = message.trim_matches('\'');
            if found.1.contains(bare) {
                return Ok(());
            }
            Err(format!("`{message}` natively, `{}` here", found.1))
        }
        (End::Value(value), _) => {
            Err(format!("{value:.200} natively, {:.500} here", result["error"]))
        }
        (End::Error { class, message }, _) => {
            Err(format!("{class}: {message} natively, {:.300} here", result["output"]))
        }
    }
}

/// The entries of a folder that are Python files or folders, in the order of their names.
fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() || path.extension().is_some_and(|ending| ending == "py"))
        .collect();
    entries.sort();
    entries
}
