//! A conversation with a model, in no vendor's form.

use serde_json::Value;
use serde_json::value::RawValue;

/// Most tokens of one answer.
pub(super) const MAX_ANSWER_TOKENS: u32 = 8_192;

/// A tool that the model may call.
#[derive(Debug, Clone)]
pub(super) struct ModelTool {
    pub(super) name: String,
    pub(super) description: String,
    /// JSON Schema of its arguments.
    pub(super) parameters: Value,
}

/// A message.
#[derive(Debug)]
pub(super) enum ModelMessage {
    User(String),
    /// What the model said, in the vendor's form: it is sent back as it came.
    Model(Box<RawValue>),
    Results(Vec<ToolResult>),
}

/// A call that the model asks for.
#[derive(Debug, Clone)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Result<Value, MalformedArguments>,
}

/// Arguments of a call that are not JSON.
#[derive(Debug, Clone)]
pub(super) struct MalformedArguments {
    /// What the model wrote.
    pub(super) text: String,
    pub(super) fault: String,
}

/// The result of a call.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// What a model is asked.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) messages: &'a [ModelMessage],
    pub(super) tools: &'a [ModelTool],
    /// Most tokens of the answer.
    pub(super) max_answer: u32,
}

/// What a model answers.
#[derive(Debug)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) raw: Box<RawValue>,
    /// Tokens that were read and written; `None` if the endpoint does not count them.
    pub(super) tokens: Option<u64>,
    /// True if the answer was cut at the most tokens of an answer.
    pub(super) is_cut: bool,
}
