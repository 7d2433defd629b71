//! The guide as a prompt: what a model should know of the tools before it uses them.

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptMessage,
    Role,
};
use rmcp::service::RequestContext;

use crate::mcp::state::{McpState, error_of, internal};
use crate::mcp::wire::exchange::McpExchange;
use wardian_formats::protocol::methods::bootstrap::GuideParams;
use wardian_formats::protocol::{MethodCall, MethodResult};

/// The name of the prompt.
const GUIDE: &str = "guide";

/// The one prompt.
pub(crate) fn list() -> ListPromptsResult {
    let description = "How to find, read and execute skills, run code, and pass data in blobs";
    let prompt = Prompt::new(GUIDE, Some(description), None).with_title("Guide to skills");
    ListPromptsResult::with_all_items(vec![prompt])
}

/// The text of a prompt.
pub(crate) async fn get(
    state: &McpState,
    params: &GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResult, ErrorData> {
    if params.name != GUIDE {
        return Err(ErrorData::invalid_params("the only prompt is `guide`", None));
    }
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let caller = &exchange.caller;
    let Some(methods) = state.edge.readiness.methods() else {
        return Err(error_of(state.edge.unready()));
    };
    let call = MethodCall::LoadSkillsProtocolGuide(GuideParams {});
    let called = state.edge.execute(methods, caller, Ok(call), None).await;
    let MethodResult::LoadSkillsProtocolGuide(guide) = called.map_err(error_of)? else {
        return Err(internal("the guide is missing"));
    };
    let text = exchange.text(&guide.content);
    let text = text.map_err(|fault| error_of(fault.into_failure(caller)))?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
