//! Runs in the background as tasks: for a client that knows the extension, a call with `detach` is
//! answered with a task, whose id is that of the run.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelTaskParams, CreateTaskResult, DetailedTask, ErrorData, GetTaskParams, GetTaskResult,
    Task, TaskPayload, TaskStatus,
};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::mcp::features::results::kept_answer;
use crate::mcp::state::{McpState, error_of, internal};
use crate::mcp::wire::exchange::McpExchange;
use wardian_formats::protocol::methods::execution::DetachedRun;
use wardian_service::{ActiveRunView, Caller, Discovery, FoundRun, Runs as _};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::clock::calendar::rfc3339;

/// How often a client should ask, in milliseconds.
const POLL_INTERVAL: u64 = 1_000;

/// The members of a run's record that its task tells.
#[derive(Deserialize)]
struct RecordOfTask<'r> {
    started_ms: u64,
    #[serde(default)]
    duration_us: u64,
    outcome: String,
    #[serde(borrow)]
    result: Option<&'r RawValue>,
}

/// The task of a run that has begun.
pub(crate) fn begun(run: &DetachedRun) -> CreateTaskResult {
    let now = rfc3339(Clock::System.now());
    let task = Task::new(run.run_id.to_string(), TaskStatus::Working, now.clone(), now);
    CreateTaskResult::new(task.with_poll_interval_ms(POLL_INTERVAL))
}

/// How far a task is, with its result once it is over.
pub(crate) async fn get(
    state: &McpState,
    params: GetTaskParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetTaskResult, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let (service, caller) = (state.service()?, &exchange.caller);
    let task = match found(state, service, caller, &params.task_id).await? {
        FoundRun::Active(view) => {
            DetailedTask::new(task_of(&view.run_id.to_string(), &view), TaskPayload::Working)
        }
        FoundRun::Ended(record) => ended(&exchange, params.task_id, &record)?,
    };
    Ok(GetTaskResult::new(task))
}

/// Cancels the run of a task. One that is over stays as it is.
pub(crate) async fn cancel(
    state: &McpState,
    params: CancelTaskParams,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let cancelled = state.service()?.runs().cancel(&exchange.caller, &params.task_id).await;
    cancelled.map(drop).map_err(|error| state.error(&exchange.caller, &error))
}

/// Finds the run of a task, for an update that no run needs.
pub(crate) async fn ensure_known(
    state: &McpState,
    id: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    found(state, state.service()?, &exchange.caller, id).await.map(drop)
}

async fn found(
    state: &McpState,
    service: &Discovery,
    caller: &Caller,
    id: &str,
) -> Result<FoundRun, ErrorData> {
    let found = service.runs().find(caller, id, Duration::ZERO).await;
    found.map_err(|error| state.error(caller, &error))
}

fn task_of(id: &str, view: &ActiveRunView) -> Task {
    let updated = rfc3339(Clock::System.now());
    let task = Task::new(id, TaskStatus::Working, moment(view.started_ms), updated);
    let message = view.progress.as_ref().map(|report| report.message.clone());
    let task = task.with_poll_interval_ms(POLL_INTERVAL);
    match message.filter(|message| !message.is_empty()) {
        Some(message) => task.with_status_message(message),
        None => task,
    }
}

fn ended(exchange: &McpExchange, id: String, record: &str) -> Result<DetailedTask, ErrorData> {
    let record: RecordOfTask<'_> =
        serde_json::from_str(record).map_err(|_fault| internal("the record cannot be read"))?;
    let end = record.started_ms.saturating_add(record.duration_us / 1_000);
    let task = Task::new(id, TaskStatus::Completed, moment(record.started_ms), moment(end));
    let payload = match (record.result, record.outcome.as_str()) {
        (_, "cancelled") => TaskPayload::Cancelled,
        (Some(result), _) => {
            let answer = kept_answer(exchange, result)
                .map_err(|fault| error_of(fault.into_failure(&exchange.caller)))?;
            // It has tokens in place of what came from the guest, so it is small.
            let result = serde_json::to_value(answer).ok();
            TaskPayload::Completed { result: object(result) }
        }
        (None, _) => {
            let error = internal("the result of the run is not kept");
            TaskPayload::Failed { error: object(serde_json::to_value(error).ok()) }
        }
    };
    Ok(DetailedTask::new(task, payload))
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn moment(milliseconds: u64) -> String {
    rfc3339(Duration::from_millis(milliseconds))
}
