//! What the tools of code mode answer: text for a model, without what only programs read.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::mcp::features::code_mode::tools::CodeTool;
use crate::mcp::features::results;
use crate::mcp::wire::exchange::{LayFault, McpExchange};
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::members::{Members, Sort};
use wardian_formats::protocol::methods::asking::AskedRequest;
use wardian_formats::protocol::methods::cells::{DisplayedObject, SessionResult};
use wardian_formats::protocol::methods::execution::{
    ConvertedValue, FileResult, RunError, RunResult, RunStatus,
};

/// A result without what says nothing, and without measurements.
#[derive(Serialize)]
struct CodeAnswer<'a> {
    status: RunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "str::is_empty")]
    logs_preview: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    output_truncated: bool,
    #[serde(skip_serializing_if = "is_false")]
    logs_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RunError>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    converted: &'a [ConvertedValue],
    #[serde(skip_serializing_if = "Option::is_none")]
    converted_total: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [FileResult],
    #[serde(skip_serializing_if = "Option::is_none")]
    files_total: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    display: &'a [DisplayedObject],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    requests: &'a [AskedRequest],
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a SessionResult>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl<'a> CodeAnswer<'a> {
    fn of(run: &'a RunResult) -> Self {
        Self {
            status: run.status,
            output: run.output.as_deref(),
            logs_preview: &run.logs_preview,
            output_truncated: run.output_truncated,
            logs_truncated: run.logs_truncated,
            error: run.error.as_ref(),
            converted: &run.converted,
            converted_total: run.converted_total,
            files: &run.files,
            files_total: run.files_total,
            display: &run.display,
            requests: &run.requests,
            session: run.session.as_ref(),
        }
    }
}

/// The answer to a call of a tool. After a search it names the servers that list no tools, each with the reason.
pub(crate) fn answer(
    exchange: &McpExchange,
    tool: CodeTool,
    result: &MethodResult,
    unlisted: &[(String, String)],
) -> Result<CallToolResult, LayFault> {
    let MethodResult::Run(run) = result else { return results::answer(exchange, result) };
    let found = run.output.as_deref().filter(|_| tool == CodeTool::Search).and_then(found_in);
    let text = match found {
        Some(found) => exchange.text_of(found)?,
        None => {
            let json = exchange.json(&CodeAnswer::of(run))?;
            exchange.text(std::str::from_utf8(&json).unwrap_or_default())?
        }
    };
    let mut answer = CallToolResult::success(vec![ContentBlock::text(text)]);
    for (server, reason) in unlisted {
        let told = exchange.text(&format!("The server `{server}` lists no tools: {reason}."))?;
        answer.content.push(ContentBlock::text(told));
    }
    answer.is_error = Some(run.status == RunStatus::Failed);
    Ok(answer)
}

/// What the program of a search has found, a JSON string.
fn found_in(output: &RawValue) -> Option<&RawValue> {
    let found = Members::split(output.get())?.find("found")?;
    (Sort::of(found) == Sort::Text).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_search_has_found_is_a_text() {
        let found = |output: &str| {
            let output = RawValue::from_string(output.to_owned()).unwrap();
            found_in(&output).map(|found| found.get().to_owned())
        };
        assert_eq!(found(r#"{"found":"a\nb"}"#).as_deref(), Some(r#""a\nb""#));
        for other in [r#"{"found":1}"#, r#"{"truncated":true}"#, "null", "[]"] {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
