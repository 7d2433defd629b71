//! What a cell asks of its caller: the tools that a call declares, the requests in its result, and the
//! answers in a later call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::cell_parameters::RUN_ANSWERS;
use crate::protocol::check::check;
use crate::protocol::params_error::ParamsError;
use crate::protocol::strict::{self, StrictError};

/// Maximum number of tools that one call declares.
pub const MAX_TOOLS: usize = 128;

/// Maximum number of answers of one call: as many as a cell asks for at once.
pub const MAX_ANSWERS: usize = 256;

/// Longest description of a tool, in characters.
pub const MAX_TOOL_DESCRIPTION: usize = 4_096;

/// Longest error of a tool, in characters.
pub const MAX_TOOL_ERROR: usize = 16_384;

/// A tool that the program may call, as its caller describes it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does, for the program's author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, which are checked before the caller has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Box<RawValue>>,
    /// The JSON Schema of its output, which is checked before the program has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
}

/// Prints the name alone.
impl fmt::Debug for ToolDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDeclaration").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The answer to a request of a cell: an output or an error. Without either the output is `null`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerParam {
    /// The id of the request, as sent.
    pub id: String,
    /// What the tool has returned, as JSON, or the line of text.
    pub output: Option<Box<RawValue>>,
    /// Why there is no output.
    pub error: Option<String>,
}

/// Prints neither output nor error: they may hold anything and must not reach a log.
impl fmt::Debug for AnswerParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerParam").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Answers to some of what a run has asked whose call goes on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunAnswers {
    /// The answers.
    pub answers: Vec<AnswerParam>,
}

impl RunAnswers {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// It is no JSON with a single meaning, or not the object that it should be.
    pub fn read(body: &[u8]) -> Result<Self, RunAnswersError> {
        let text = strict::read(body)?.text;
        let no_object = || ParamsError::wrong("answers", "a member of an object", "other JSON");
        let whole: &RawValue = serde_json::from_str(text).map_err(|_other| no_object())?;
        Ok(check(&RUN_ANSWERS, Some(whole))?.read(&RUN_ANSWERS)?)
    }
}

/// Why a body holds no answers.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunAnswersError {
    /// It is no JSON with a single meaning.
    #[error(transparent)]
    Json(#[from] StrictError),
    /// It is other JSON.
    #[error(transparent)]
    Params(#[from] ParamsError),
}

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedKind {
    /// The call of a tool.
    Tool,
    /// A line of text that somebody types.
    Input,
}

/// Something that a cell waits for.
#[derive(Clone, Serialize)]
pub struct AskedRequest {
    /// Names it in the answer, such as `c3-r1`.
    pub id: String,
    /// What it is.
    pub kind: AskedKind,
    /// The name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The arguments of the tool, as the text of a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// What the line is asked for with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// True if the line is not to be shown while it is typed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// Prints neither arguments nor prompt: they come from the program and must not reach a log.
impl fmt::Debug for AskedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskedRequest")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_body_are_read_as_those_of_a_call() {
        let body = br#"{"answers": [{"id": "c1-r1", "output": {"a": 1.0}}, {"id": "c1-r2"}]}"#;
        let read = RunAnswers::read(body).unwrap();
        assert_eq!(read.answers[0].output.as_ref().unwrap().get(), r#"{"a": 1.0}"#);
        assert!(read.answers[1].output.is_none());
        for (wrong, words) in [
            ("{}", "`answers` is missing"),
            ("[]", "must be"),
            (r#"{"answers": [{}]}"#, "`answers[0].id` is missing"),
            (r#"{"answers": [], "x": 1}"#, "unknown parameter `x`"),
            (r#"{"answers": [{"id": "a", "output": {"a": 1, "a": 2}}]}"#, "a"),
            ("{", ""),
        ] {
            let message = RunAnswers::read(wrong.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
