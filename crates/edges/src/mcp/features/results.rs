//! What a tool answers: the result as text for models and as an object for programs.
//!
//! INVARIANT(no-forgery): every byte that comes from a guest stands inside a JSON string or an object
//! that was checked, so no output can become a message, a member of one, or an event.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::mcp::features::links::links_of_kept;
use crate::mcp::wire::exchange::{LayFault, McpExchange};
use crate::net::respond::Failure;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_vocabulary::ids::BlobId;

/// The beginning of a run's result that was kept, if the run has failed.
const FAILED: &str = "{\"status\":\"failed\"";

/// The answer with the result of a call.
pub(crate) fn answer(
    exchange: &McpExchange,
    result: &MethodResult,
) -> Result<CallToolResult, LayFault> {
    let json = exchange.json(result)?;
    let text = match result {
        // Models read it as it is.
        MethodResult::LoadSkillsProtocolGuide(guide) => exchange.text(&guide.content)?,
        _ => exchange.text(std::str::from_utf8(&json).unwrap_or_default())?,
    };
    let mut answer = CallToolResult::success(vec![ContentBlock::text(text)]);
    answer.structured_content = Some(Value::Object(exchange.object(&json)?));
    answer.is_error = Some(has_failed(result));
    Ok(answer)
}

/// The answer with a value that is written as a JSON object, to a call that has succeeded.
pub(crate) fn plain_answer(
    exchange: &McpExchange,
    value: &impl Serialize,
) -> Result<CallToolResult, LayFault> {
    let json = exchange.json(value)?;
    let text = exchange.text(std::str::from_utf8(&json).unwrap_or_default())?;
    let mut answer = CallToolResult::success(vec![ContentBlock::text(text)]);
    answer.structured_content = Some(Value::Object(exchange.object(&json)?));
    Ok(answer)
}

/// The answer with the result of a run that was kept, as the text of its JSON.
pub(crate) fn kept_answer(
    exchange: &McpExchange,
    result: &RawValue,
) -> Result<CallToolResult, LayFault> {
    let json = exchange.json(&result)?;
    let text = exchange.text(result.get())?;
    let mut answer = CallToolResult::success(vec![ContentBlock::text(text)]);
    answer.structured_content = Some(Value::Object(exchange.object(&json)?));
    answer.is_error = Some(result.get().starts_with(FAILED));
    answer.content.extend(links_of_kept(result));
    Ok(answer)
}

fn has_failed(result: &MethodResult) -> bool {
    match result {
        MethodResult::Run(run) => run.status == RunStatus::Failed,
        MethodResult::Repeated(kept) => kept.get().starts_with(FAILED),
        _ => false,
    }
}

/// The blobs that a run has stored.
pub(crate) fn blobs_of(result: &MethodResult) -> &[BlobId] {
    match result {
        MethodResult::Run(run) => &run.output_blobs,
        _ => &[],
    }
}

/// The answer to a call that was refused. It says what `/rpc` would say.
pub(crate) fn refusal(failure: Failure) -> CallToolResult {
    let body = *failure.body;
    let mut answer = CallToolResult::error(vec![ContentBlock::text(body.message)]);
    if let Ok(Value::Object(mut detail)) = serde_json::to_value(&body.data) {
        detail.insert("code".to_owned(), body.code.into());
        let named = [("wardian/error".to_owned(), Value::Object(detail))];
        answer.meta = serde_json::from_value(named.into_iter().collect()).ok();
    }
    answer
}
