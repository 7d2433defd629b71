//! Calls of tools: the eight methods, `session`, skills as tools of their own, and those of code mode.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ErrorData, InputResponses};
use rmcp::service::RequestContext;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::mcp::features::code_mode::{self, CodeTool};
use crate::mcp::features::links::links_of;
use crate::mcp::features::progress::{PreparationTold, WAITING, tell};
use crate::mcp::features::results::{answer, blobs_of, refusal};
use crate::mcp::features::skills::skill_tools::{skill_of, tool_of};
use crate::mcp::features::tools::SESSION_TOOL;
use crate::mcp::features::{elicited, images, session_tool, tasks};
use crate::mcp::state::{McpState, internal};
use crate::mcp::wire::exchange::{McpExchange, ToolOrder};
use crate::net::respond::Failure;
use wardian_formats::protocol::members::Sort;
use wardian_formats::protocol::methods::execution::ExecuteSkillParams;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::tools::find_tool;
use wardian_formats::protocol::{CallError, MethodCall, MethodResult};
use wardian_service::{Caller, Gate, LogListener, Preparation, Transfers as _, log_stream};
use wardian_vocabulary::error::ErrorKind;

/// Arguments up to this size, in bytes, are checked on the event loop: that takes less time than a
/// switch of threads.
const CHECKED_AT_ONCE: usize = 64 << 10;

/// The longest time for which a call waits until the engine is prepared. Clients give up after 60 s.
const PATIENCE: Duration = Duration::from_secs(45);

/// Calls a tool. If its client gives up or leaves, the call is cancelled.
///
/// With `answers`, it is a repeated call: the state that it was answered with, and what the user has said.
pub(crate) async fn call_tool(
    state: &McpState,
    answers: Option<(String, InputResponses)>,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let order = exchange.take_order().ok_or_else(|| internal("the call was not cut out"))?;
    let (cancelled, given_up) = (context.ct.clone(), Arc::clone(&exchange));
    tokio::select! {
        biased;
        answer = Box::pin(perform(state, &exchange, (order, answers), context)) => answer,
        () = cancelled.cancelled() => Err(was_cancelled()),
        () = given_up.given_up() => Err(was_cancelled()),
    }
}

fn was_cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

async fn perform(
    state: &McpState,
    exchange: &McpExchange,
    (order, answers): (ToolOrder, Option<(String, InputResponses)>),
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if order.tool == SESSION_TOOL.name && state.has_session_tool() {
        return Ok(session_tool::call(state, exchange, order.arguments.as_deref()).await.into());
    }
    let code_tool = state.code_tool(&order.tool);
    let call = parsed(state, order, &exchange.caller).await?;
    let call = call.map_err(|error| Failure::new(error.body(), 200));
    let call = call.map(|mut call| {
        if let (MethodCall::RunCode(params), Some(_)) = (&mut call, code_tool) {
            // Code mode has no other way to answer.
            params.asks_nobody = !elicited::can_ask(&context);
        }
        call
    });
    let call = match answers {
        Some((session, answers)) => call.map(|call| elicited::answered(call, session, answers)),
        None => call,
    };
    let call = match call {
        Ok(call) => with_files(state, exchange, call).await,
        Err(refused) => Err(refused),
    };
    let local = state.local.as_ref();
    let advice = local.zip(call.as_ref().ok()).and_then(|(local, call)| local.unlisted(call));
    let result = match Box::pin(execute(state, exchange, call, &context)).await {
        Ok(result) => result,
        Err(mut failure) if failure.body.data.kind == "invalid_params" => {
            failure.body.message.push_str(advice.as_deref().unwrap_or_default());
            return Ok(refusal(failure).into());
        }
        Err(failure) => return Ok(refusal(failure).into()),
    };
    if let MethodResult::Detached(run) = &result
        && context.client_capabilities().is_some_and(|known| known.supports_tasks())
    {
        return Ok(tasks::begun(run).into());
    }
    match elicited::asked(exchange, &result, &context) {
        Ok(Some(asked)) => return Ok(asked.into()),
        Ok(None) => {}
        Err(fault) => return Ok(refusal(fault.into_failure(&exchange.caller)).into()),
    }
    let answered = match code_tool {
        Some(tool) => {
            code_mode::answer(exchange, tool, &result, &unlisted(state, exchange, tool).await)
        }
        None => answer(exchange, &result),
    };
    let answer: CallToolResult = match answered {
        Ok(answer) => answer,
        Err(fault) => return Ok(refusal(fault.into_failure(&exchange.caller)).into()),
    };
    let answer = with_images(state, exchange, answer, &result).await;
    Ok(with_saved(state, exchange, answer, &result).await.into())
}

/// The servers that list no tools, where a search should have found them.
async fn unlisted(
    state: &McpState,
    exchange: &McpExchange,
    tool: CodeTool,
) -> Vec<(String, String)> {
    match state.edge.readiness.methods() {
        Some(methods) if tool == CodeTool::Search => {
            Box::pin(methods.unlisted_servers(&exchange.caller)).await
        }
        _ => Vec::new(),
    }
}

/// A call with blobs in the place of the user's files.
async fn with_files(
    state: &McpState,
    exchange: &McpExchange,
    call: MethodCall,
) -> Result<MethodCall, Failure> {
    match (&state.local, state.service()) {
        (Some(local), Ok(service)) => {
            local.mounted(service.transfers(), &exchange.caller, call).await
        }
        _ => Ok(call),
    }
}

/// Saves what a run has kept in the user's folder, and says so.
async fn with_saved(
    state: &McpState,
    exchange: &McpExchange,
    mut answer: CallToolResult,
    result: &MethodResult,
) -> CallToolResult {
    if let (Some(local), Ok(service)) = (&state.local, state.service())
        && let Some(told) = local.save(service.transfers(), &exchange.caller, result).await
        && let Ok(told) = exchange.text(&told)
    {
        answer.content.push(ContentBlock::text(told));
    }
    answer
}

async fn with_images(
    state: &McpState,
    exchange: &McpExchange,
    mut answer: CallToolResult,
    result: &MethodResult,
) -> CallToolResult {
    if let Ok(service) = state.service() {
        let images: Vec<ContentBlock> = images::shown(service, exchange, blobs_of(result)).await;
        answer.content.extend(images);
    }
    answer.content.extend(links_of(result));
    answer
}

/// Executes a call, and tells its client how far it is.
async fn execute(
    state: &McpState,
    exchange: &McpExchange,
    call: Result<MethodCall, Failure>,
    context: &RequestContext<RoleServer>,
) -> Result<MethodResult, Failure> {
    let Some(methods) = state.edge.readiness.methods() else { return Err(state.edge.unready()) };
    let is_run = matches!(&call, Ok(MethodCall::RunCode(_) | MethodCall::ExecuteSkill(_)));
    let caller = &exchange.caller;
    let token = context.meta.get_progress_token().filter(|_| is_run);
    let mut begun = 0.0;
    if is_run {
        begun = wait(methods, PreparationTold::new(&context.peer, token.clone())).await;
    }
    let run = |listener: Option<LogListener>| state.edge.execute(methods, caller, call, listener);
    match token {
        Some(token) => {
            let room = caller.memory.reserve(WAITING);
            room.map_err(|full| Failure::of_kind(ErrorKind::Overloaded, full.to_string()))?;
            let (listener, logs) = log_stream(WAITING);
            // The run drops the listener at its end, which ends the telling.
            tokio::join!(run(Some(listener)), tell(&context.peer, token, begun, logs)).0
        }
        None => run(None).await,
    }
}

/// Waits for the engine for a while, and tells the client how far it is. Returns the progress at which
/// the run begins. If the engine is late or has failed, the call is refused with what is known.
async fn wait(gate: &Gate, mut told: PreparationTold<'_>) -> f64 {
    let mut preparation = gate.follow();
    let waiting = async {
        while let Some(Preparation::Going { step, .. }) = preparation.next().await {
            if let Some(step) = step {
                told.tell(step).await;
            }
        }
    };
    timeout(PATIENCE, waiting).await.ok();
    told.end()
}

/// Checks the parameters of a call. Large ones are checked on another thread.
async fn parsed(
    state: &McpState,
    order: ToolOrder,
    caller: &Caller,
) -> Result<Result<MethodCall, CallError>, ErrorData> {
    let ToolOrder { tool, arguments } = order;
    let code_tool = state.code_tool(&tool);
    if code_tool.is_none() && (state.code_mode.is_some() || find_tool(&tool).is_none()) {
        return of_skill(state, caller, &tool, arguments);
    }
    let size = arguments.as_ref().map_or(0, |arguments| arguments.get().len());
    let parse = move || match code_tool {
        Some(code_tool) => code_tool.call(arguments.as_deref()),
        None => MethodCall::parse(&tool, arguments.as_deref()),
    };
    if size <= CHECKED_AT_ONCE {
        return Ok(parse());
    }
    caller
        .memory
        .on_thread(parse)
        .await
        .map_err(|_broken| internal("the arguments were not checked"))
}

/// The call of the skill that a tool executes.
fn of_skill(
    state: &McpState,
    caller: &Caller,
    tool: &str,
    arguments: Option<Box<RawValue>>,
) -> Result<Result<MethodCall, CallError>, ErrorData> {
    let skill = skill_of(tool);
    let is_tool = tool_of(&skill).is_some_and(|name| name == tool);
    let is_there = || match state.service()?.published_skill(caller, &skill) {
        Ok(skill) => Ok(skill.is_action()),
        // A caller that may not see skills learns this from the call.
        Err(error) => Ok(error.kind() == ErrorKind::Forbidden),
    };
    if !state.has_skill_tools() || !is_tool || !is_there()? {
        return Err(ErrorData::invalid_params("unknown tool", None));
    }
    let is_object = |given: &RawValue| matches!(Sort::of(given), Sort::Object | Sort::Null);
    if !arguments.as_deref().is_none_or(is_object) {
        let wrong = ParamsError::wrong("arguments", "an object", "something else");
        return Ok(Err(wrong.into()));
    }
    let arguments = arguments.filter(|given| Sort::of(given) == Sort::Object);
    Ok(Ok(MethodCall::ExecuteSkill(ExecuteSkillParams::of_skill(skill, arguments))))
}
