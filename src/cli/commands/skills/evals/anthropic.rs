//! Messages: the interface of Anthropic.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::commands::skills::evals::conversation::{
    ModelAnswer, ModelMessage, Question, ToolCall,
};

/// The version of the interface.
pub(super) const VERSION: &str = "2023-06-01";

#[derive(Deserialize)]
struct Response {
    content: Box<RawValue>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    #[serde(other)]
    Other,
}

/// The body of a request.
pub(super) fn request(question: &Question<'_>) -> Value {
    let messages = question.messages.iter().map(|message| match message {
        ModelMessage::User(text) => json!({"role": "user", "content": text}),
        ModelMessage::Model(raw) => json!({"role": "assistant", "content": raw}),
        ModelMessage::Results(results) => {
            let blocks = results.iter().map(|result| {
                json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text, "is_error": result.is_error})
            });
            json!({"role": "user", "content": blocks.collect::<Value>()})
        }
    });
    let tools = question.tools.iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
    });
    json!({
        "model": question.model,
        "max_tokens": question.max_answer,
        "system": question.system,
        "messages": messages.collect::<Value>(),
        "tools": tools.collect::<Value>(),
    })
}

/// The answer in a response; `None` if it is not one.
pub(super) fn answer(text: &str) -> Option<ModelAnswer> {
    let response: Response = serde_json::from_str(text).ok()?;
    let blocks: Vec<Block> = serde_json::from_str(response.content.get()).ok()?;
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text: piece } => text.push_str(&piece),
            Block::ToolUse { id, name, input } => {
                calls.push(ToolCall { id, name, arguments: Ok(input) });
            }
            Block::Other => {}
        }
    }
    let tokens = response.usage.map(|usage| {
        let cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
        let all = cached.into_iter().flatten().chain([usage.input_tokens, usage.output_tokens]);
        all.fold(0, u64::saturating_add)
    });
    let is_cut = response.stop_reason.as_deref() == Some("max_tokens");
    Some(ModelAnswer { text, calls, raw: response.content, tokens, is_cut })
}
