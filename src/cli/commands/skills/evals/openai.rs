//! Chat completions: the interface of OpenAI, and of most servers of models.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cli::commands::skills::evals::conversation::{
    MalformedArguments, ModelAnswer, ModelMessage, Question, ToolCall,
};

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Box<RawValue>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

#[derive(Deserialize)]
struct Spoken {
    content: Option<String>,
    tool_calls: Option<Vec<SpokenCall>>,
}

#[derive(Deserialize)]
struct SpokenCall {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: Value,
}

/// The body of a request. Older servers call the limit of an answer `max_tokens`.
pub(super) fn request(question: &Question<'_>, is_older: bool) -> Value {
    let mut messages = vec![json!({"role": "system", "content": question.system})];
    for message in question.messages {
        match message {
            ModelMessage::User(text) => messages.push(json!({"role": "user", "content": text})),
            ModelMessage::Model(raw) => messages.push(json!(raw)),
            ModelMessage::Results(results) => messages.extend(results.iter().map(
                |result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text}),
            )),
        }
    }
    let limit = if is_older { "max_tokens" } else { "max_completion_tokens" };
    let mut body = json!({"model": question.model, "messages": messages});
    if let Some(members) = body.as_object_mut() {
        members.insert(limit.to_owned(), question.max_answer.into());
        if !question.tools.is_empty() {
            let tools = question.tools.iter().map(|tool| {
                let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
                json!({"type": "function", "function": function})
            });
            members.insert("tools".to_owned(), tools.collect());
        }
    }
    body
}

/// The answer in a response; `None` if it is not one.
pub(super) fn answer(text: &str) -> Option<ModelAnswer> {
    let completion: Completion = serde_json::from_str(text).ok()?;
    let choice = completion.choices.into_iter().next()?;
    let spoken: Spoken = serde_json::from_str(choice.message.get()).ok()?;
    let calls = spoken.tool_calls.unwrap_or_default().into_iter().map(|call| {
        // The arguments are a text; some servers send the object itself.
        let arguments = match call.function.arguments {
            Value::String(text) if text.trim().is_empty() => Ok(json!({})),
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(arguments) => Ok(arguments),
                Err(fault) => Err(MalformedArguments { text, fault: fault.to_string() }),
            },
            other => Ok(other),
        };
        ToolCall { id: call.id, name: call.function.name, arguments }
    });
    let tokens = |usage: Usage| usage.prompt_tokens.saturating_add(usage.completion_tokens);
    Some(ModelAnswer {
        text: spoken.content.unwrap_or_default(),
        calls: calls.collect(),
        raw: choice.message,
        tokens: completion.usage.map(tokens),
        is_cut: choice.finish_reason.as_deref() == Some("length"),
    })
}
