//! The Python that a turn runs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use wardian_vocabulary::ids::SkillName;

/// The Python to run.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Source text that came with the request.
    Code {
        /// The text of the module.
        source: String,
        /// File name for tracebacks, such as `main.py`.
        file_name: String,
    },
    /// A mounted skill: its entrypoint, or one of its scripts.
    Skill {
        /// The name of one of [`Setup::skills`](crate::job::Setup::skills).
        name: SkillName,
        /// The script; without it the entrypoint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<Box<ScriptCall>>,
    },
}

/// The call of a script as a command line has it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// Path of a Python file below the skill's folder.
    pub path: String,
    /// The words behind it.
    pub argv: Vec<String>,
    /// The text on its standard input; nothing without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Environment variables that its caller sets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl Program {
    /// The script, if it is one.
    #[must_use]
    pub fn script(&self) -> Option<&ScriptCall> {
        match self {
            Self::Code { .. } => None,
            Self::Skill { script, .. } => script.as_deref(),
        }
    }

    /// Bytes of the texts that came with the call, besides its arguments.
    #[must_use]
    pub fn text_size(&self) -> usize {
        match self {
            Self::Code { source, .. } => source.len(),
            Self::Skill { script, .. } => script.as_ref().map_or(0, |script| script.text_size()),
        }
    }
}

impl ScriptCall {
    /// The call of a script without arguments.
    #[must_use]
    pub fn of_path(path: String) -> Self {
        Self { path, argv: Vec::new(), stdin: None, env: BTreeMap::new() }
    }

    /// Bytes of its texts.
    #[must_use]
    pub fn text_size(&self) -> usize {
        let words = self.argv.iter().map(String::len);
        let variables = self.env.iter().map(|(name, value)| name.len().saturating_add(value.len()));
        let stdin = self.stdin.as_ref().map_or(0, String::len);
        words.chain(variables).fold(self.path.len().saturating_add(stdin), usize::saturating_add)
    }

    /// The call in one line, as a shell shows it. What is typed on standard input is not in it.
    #[must_use]
    pub fn command_line(&self) -> String {
        let words = std::iter::once(&self.path).chain(&self.argv);
        words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a shell would need it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@+%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Prints the kind of program and never its source, which must not reach a log.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { file_name, .. } => {
                f.debug_struct("Code").field("file_name", file_name).finish_non_exhaustive()
            }
            Self::Skill { name, script } => {
                f.debug_struct("Skill").field("name", name).field("script", script).finish()
            }
        }
    }
}

/// Prints the path alone: arguments, input and environment must not reach a log.
impl fmt::Debug for ScriptCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptCall").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> ScriptCall {
        ScriptCall {
            argv: vec!["in file.pdf".into(), "it's".into(), String::new(), "--n=3".into()],
            stdin: Some("SECRET".into()),
            env: BTreeMap::from([("MODE".into(), "SECRET".into())]),
            ..ScriptCall::of_path("scripts/fill.py".into())
        }
    }

    #[test]
    fn a_script_is_shown_as_a_command() {
        let line = r#"scripts/fill.py 'in file.pdf' 'it'\''s' '' --n=3"#;
        assert_eq!(call().command_line(), line);
        assert_eq!(call().text_size(), 15 + 11 + 4 + 5 + 6 + 10);
    }

    #[test]
    fn a_program_of_a_skill_without_a_script_is_written_as_it_always_was() {
        let name = SkillName::parse("acme.a").unwrap();
        let program = Program::Skill { name: name.clone(), script: None };
        let text = r#"{"skill":{"name":"acme.a"}}"#;
        assert_eq!(serde_json::to_string(&program).unwrap(), text);
        let read: Program = serde_json::from_str(text).unwrap();
        assert!(read.script().is_none());
        let program = Program::Skill { name, script: Some(Box::new(call())) };
        let read: Program =
            serde_json::from_str(&serde_json::to_string(&program).unwrap()).unwrap();
        assert_eq!(read.script(), Some(&call()));
    }

    #[test]
    fn scripts_print_no_texts_for_logs() {
        let name = SkillName::parse("acme.a").unwrap();
        let program = Program::Skill { name, script: Some(Box::new(call())) };
        let text = format!("{program:?}");
        assert!(text.contains("scripts/fill.py") && !text.contains("SECRET"), "{text}");
    }
}
