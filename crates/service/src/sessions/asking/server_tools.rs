//! The tools of the operator's servers in runs: which a program may call, and its calls, which the gateway makes
//! while the cell waits.
//!
//! INVARIANT(called-by-the-gateway): a guest has neither the place nor the credentials of a server. It names a tool
//! that it was told of, and gets an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::asking::begun_calls::BegunCalls;
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::asking::open_run::Signal;
use crate::sessions::asking::server_call::{BegunCall, ServerCall, ServerReply};
use crate::sessions::cell_parts::CellParts;
use crate::sessions::setup::setup_of;
use wardian_formats::protocol::methods::asking::ToolDeclaration;
use wardian_formats::protocol::methods::execution::{
    ExecuteSkillParams, ReproducibleParam, RunCodeParams,
};
use wardian_sessions::StoredSession;
use wardian_tools::{RunTools, ToolCallOrder, ToolError, ToolGrants};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::units::ByteCount;

/// Longest wait of a call for the tools of servers, before its program begins.
const LONGEST_LISTING: Duration = Duration::from_secs(10);

/// Copies of what servers offer, for the program and for the checks of its calls.
const COPIES: usize = 4;

/// Most bytes of all answers of one round. Further ones are errors.
const MAX_ROUND_ANSWERS: usize = 16 << 20;

/// The module of the guest: code that calls tools names it.
const MODULE: &str = "tools";

/// The end of the calls that a cell waits for.
pub(super) enum ServersAsked {
    /// All have an answer. The memory of the answers is charged.
    Replies(Vec<ServerReply>, Vec<CallMemory>),
    /// The session of the cell was interrupted.
    Interrupt,
    /// The cell does not wait any more.
    Over,
}

impl Service {
    /// True if the code of this call without `tools` names tools of servers that it may call, and nothing that the
    /// call asks for excludes them.
    pub(crate) fn has_servers_of_code(&self, caller: &Caller, params: &RunCodeParams) -> bool {
        let excluded = params.detach
            || params.idempotency_key.is_some()
            || is_reproducible(params.reproducible);
        !excluded
            && names_tools(&params.code)
            && self.sessions().is_open()
            && self.server_tools(caller, ToolGrants::Code).is_some()
    }

    /// True if the skill of this call without `tools` may call tools of servers, and nothing that the call asks for
    /// excludes them.
    pub(crate) fn has_servers_of_skill(
        &self,
        caller: &Caller,
        params: &ExecuteSkillParams,
    ) -> bool {
        let excluded = params.detach
            || params.idempotency_key.is_some()
            || is_reproducible(params.reproducible);
        let named = (params.name.as_str(), params.version.as_deref());
        !excluded
            && self.sessions().is_open()
            && self.servers_of_skill(caller, named).is_ok_and(|servers| servers.is_some())
    }

    /// The tools of servers that a skill of this name may call.
    pub(in crate::sessions) fn servers_of_skill(
        &self,
        caller: &Caller,
        (name, version): (&str, Option<&str>),
    ) -> Result<Option<Arc<RunTools>>, ServiceError> {
        let seen = self.find_skill(caller, name, version)?;
        let patterns = seen.snapshot.manifest().permissions.tools.clone();
        Ok(self.server_tools(caller, ToolGrants::Skill(patterns)))
    }

    /// The tools of servers that the cells of a session may call. A reproducible one has nobody to ask.
    pub(in crate::sessions) fn servers_of(
        &self,
        caller: &Caller,
        session: &StoredSession,
    ) -> Result<Option<Arc<RunTools>>, ServiceError> {
        let setup = setup_of(session)?;
        if setup.reproducible.is_some() {
            return Ok(None);
        }
        match setup.skills.first().filter(|_| setup.runs_skill) {
            Some(skill) => self.servers_of_skill(caller, (skill, None)),
            None => Ok(self.server_tools(caller, ToolGrants::Code)),
        }
    }

    /// The tools of servers for a run with these grants; `None` if no server has some for it.
    pub(in crate::sessions) fn server_tools(
        &self,
        caller: &Caller,
        grants: ToolGrants,
    ) -> Option<Arc<RunTools>> {
        let tools = self.execution.tools.open(caller.tenant.clone(), grants);
        tools.may_have_some().then(|| Arc::new(tools))
    }

    /// The tools that a program may call: those that its call declares, and those of servers.
    ///
    /// # Errors
    ///
    /// Those of [`CalledTools::with_offered`], or there is no memory for what servers offer.
    pub(in crate::sessions) async fn called_tools(
        &self,
        caller: &Caller,
        declared: Option<&[ToolDeclaration]>,
        servers: Option<&Arc<RunTools>>,
    ) -> Result<CalledTools, ServiceError> {
        let Some(servers) = servers else {
            return match declared {
                Some(declared) => CalledTools::with_offered(declared, Vec::new()),
                None => Ok(CalledTools::default()),
            };
        };
        let now = Instant::now();
        let until = now.checked_add(LONGEST_LISTING).unwrap_or(now);
        let offered = Box::pin(servers.offered(until, &caller.memory)).await;
        let bytes = offered.tools.iter().map(|tool| {
            let texts = [tool.name.len(), tool.description.len(), tool.input_schema.get().len()];
            texts.into_iter().fold(0, usize::saturating_add)
        });
        let bytes = bytes.fold(0, usize::saturating_add).saturating_mul(COPIES);
        caller.memory.reserve(ByteCount::from(bytes))?;
        CalledTools::with_offered(declared.unwrap_or_default(), offered.tools)
    }

    /// Makes the calls of tools of servers that a cell waits for, all at once, and waits for their answers.
    ///
    /// Cancellation: servers may execute the calls all the same. They are noted as cut off.
    pub(super) async fn ask_servers(
        &self,
        caller: &Caller,
        (session, next): (&StoredSession, &CellParts),
        calls: Vec<ServerCall>,
        until: Instant,
    ) -> ServersAsked {
        let room = self.sessions();
        let place = (caller, &session.id);
        let mut begun = BegunCalls::of(room.observer(), place, &calls);
        let asking = replies_of(caller, next.servers.as_ref(), calls, until, &mut begun);
        select! {
            biased;
            signal = room.open_runs().signal_to(&session.id, &caller.tenant) => match signal {
                Some(Signal::Interrupt) => ServersAsked::Interrupt,
                Some(Signal::Over) | None => ServersAsked::Over,
            },
            () = room.held().lost(&session.id) => ServersAsked::Over,
            (replies, charged) = asking => ServersAsked::Replies(replies, charged),
        }
    }
}

/// Makes calls of tools, all at once. Each has an answer when this is done.
async fn replies_of(
    caller: &Caller,
    servers: Option<&Arc<RunTools>>,
    calls: Vec<ServerCall>,
    until: Instant,
    begun: &mut BegunCalls<'_>,
) -> (Vec<ServerReply>, Vec<CallMemory>) {
    let mut tasks = JoinSet::new();
    for call in calls {
        let (servers, memory) = (servers.map(Arc::clone), caller.memory.of_call());
        let task = async move {
            let reply = Box::pin(reply_to(servers.as_deref(), &call, until, &memory)).await;
            (reply, memory)
        };
        tasks.spawn(task.in_current_span());
    }
    let (mut replies, mut charged, mut room) = (Vec::new(), Vec::new(), MAX_ROUND_ANSWERS);
    while let Some(ended) = tasks.join_next().await {
        // A task that has failed has no answer.
        let Ok((mut reply, memory)) = ended else { continue };
        match room.checked_sub(reply.bytes()) {
            Some(rest) => room = rest,
            None => reply
                .drop_output("the answers of all tools together are larger than this server takes"),
        }
        begun.end(&reply);
        replies.push(reply);
        charged.push(memory);
    }
    replies.append(&mut begun.cut_off());
    (replies, charged)
}

/// Makes a call, and charges its answer to `memory`.
async fn reply_to(
    servers: Option<&RunTools>,
    request: &ServerCall,
    until: Instant,
    memory: &CallMemory,
) -> ServerReply {
    let ServerCall { listed, call, .. } = request;
    let order = ToolCallOrder {
        tool: &call.name,
        arguments: call.arguments.raw(),
        listed: Some(*listed),
        approval: None,
        deadline: until,
    };
    let called = match servers {
        Some(servers) => Box::pin(servers.call(order, memory)).await,
        // The operator has taken the server away.
        None => Err(ToolError::Unknown { tool: call.name.clone() }),
    };
    let called = called.and_then(|answer| {
        let bytes = answer.value.get().len().saturating_mul(COPIES);
        let charged = memory.reserve(ByteCount::from(bytes));
        charged.map_err(|_full| ToolError::TooLarge { tool: call.name.clone() })?;
        Ok(answer)
    });
    ServerReply::of(&BegunCall::of(request), called)
}

/// True if a program has the name of the module in it, as a word. Where it comes together in another way, a call
/// with `tools` or in a session can have them.
fn names_tools(code: &str) -> bool {
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    code.match_indices(MODULE).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after =
            code.get(at.saturating_add(MODULE.len())..).and_then(|text| text.chars().next());
        !before.is_some_and(is_of_name) && !after.is_some_and(is_of_name)
    })
}

fn is_reproducible(asked: Option<ReproducibleParam>) -> bool {
    asked.is_some_and(|asked| asked != ReproducibleParam::Flag(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_names_the_module_as_a_word() {
        for code in
            ["from tools import crm", "import tools", "import runtime.tools as t", "x=tools.call"]
        {
            assert!(names_tools(code), "{code}");
        }
        for code in
            ["", "import itertools", "from functools import wraps", "toolset", "tools_of = 1"]
        {
            assert!(!names_tools(code), "{code}");
        }
    }
}
