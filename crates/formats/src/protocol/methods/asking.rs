//! What a cell asks of its caller: the tools that a call declares, the requests in its result, and the
//! answers in a later call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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

/// The answer to a request of a cell: an output or an error. Without either the output is `null`, which is no answer
/// to a request for an approval.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerParam {
    /// The id of the request, as sent.
    pub id: String,
    /// What the tool has returned, as JSON, or the line of text. For an approval `true`, `false`, or
    /// `{"arguments": {...}}`: yes, with these arguments.
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

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedKind {
    /// The call of a tool.
    Tool,
    /// A line of text that somebody types.
    Input,
    /// The approval of the call of a tool.
    Approval,
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
