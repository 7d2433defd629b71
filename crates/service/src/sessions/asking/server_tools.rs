//! The tools of the operator's servers, and skills, in runs: which a program may call, and its calls, which the gateway
//! makes while the cell waits.
//!
//! INVARIANT(called-by-the-gateway): a guest has neither the place nor the credentials of a server. It names a tool
//! that it was told of, and gets an answer.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::asking::begun_calls::BegunCalls;
use crate::sessions::asking::called_tools::{CalledTools, bytes_of};
use crate::sessions::asking::granted::{
    EXECUTE_SKILL, GrantedTools, RunSkills, execute, names_tools,
};
use crate::sessions::asking::open_run::Signal;
use crate::sessions::asking::server_call::{BegunCall, ExecutedSkill, ServerCall, ServerReply};
use crate::sessions::cell_parts::CellParts;
use crate::sessions::held::late_answers::until_over;
use crate::sessions::setup::setup_of;
use wardian_formats::protocol::methods::asking::ToolDeclaration;
use wardian_formats::protocol::methods::execution::{
    ExecuteSkillParams, ReproducibleParam, RunCodeParams,
};
use wardian_sessions::StoredSession;
use wardian_stores::records::ToolCallEnd;
use wardian_telemetry::traces::{OpenSpan, SpanName};
use wardian_tools::{OfferedTools, RunTools, ToolApproval, ToolCallOrder, ToolError, ToolGrants};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Longest wait of a call for the tools of servers, before its program begins.
const LONGEST_LISTING: Duration = Duration::from_secs(10);

/// Longest time in which servers list their tools before any program needs them.
const LONGEST_PREPARATION: Duration = Duration::from_secs(60);

/// Copies of what servers offer, for the program and for the checks of its calls.
const COPIES: usize = 4;

/// Most bytes of all answers of one round. Further ones are errors.
const MAX_ROUND_ANSWERS: usize = 16 << 20;

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
    /// True if the code of this call without `tools` names what it may call beyond them, and nothing that the call
    /// asks for excludes that.
    pub(crate) fn is_code_granted_tools(&self, caller: &Caller, params: &RunCodeParams) -> bool {
        let excluded =
            params.detach || params.idempotency_key.is_some() || takes_kept(params.reproducible);
        !excluded
            && names_tools(&params.code)
            && self.sessions().is_open()
            && !self.granted_to_code(caller).is_empty()
    }

    /// True if the skill of this call without `tools` may call something beyond them, and nothing that the call
    /// asks for excludes that.
    pub(crate) fn is_skill_granted_tools(
        &self,
        caller: &Caller,
        params: &ExecuteSkillParams,
    ) -> bool {
        let excluded =
            params.detach || params.idempotency_key.is_some() || takes_kept(params.reproducible);
        let named = (params.name.as_str(), params.version.as_deref());
        !excluded
            && self.sessions().is_open()
            && self.granted_to_skill(caller, named).is_ok_and(|granted| !granted.is_empty())
    }

    /// What code of a call may call, as the operator says.
    pub(in crate::sessions) fn granted_to_code(&self, caller: &Caller) -> GrantedTools {
        let servers = self.server_tools(caller, ToolGrants::Code);
        GrantedTools {
            servers,
            skills: RunSkills::of(caller, &self.policy.skills_of_code),
            asks_nobody: false,
        }
    }

    /// What a skill of this name may call, as its manifest says.
    pub(in crate::sessions) fn granted_to_skill(
        &self,
        caller: &Caller,
        (name, version): (&str, Option<&str>),
    ) -> Result<GrantedTools, ServiceError> {
        let seen = self.find_skill(caller, name, version)?;
        let permissions = &seen.snapshot.manifest().permissions;
        let servers = self.server_tools(caller, ToolGrants::Skill(permissions.tools.clone()));
        let skills = RunSkills::of(caller, &permissions.skills);
        Ok(GrantedTools { servers, skills, asks_nobody: false })
    }

    /// What the cells of a session may call.
    pub(in crate::sessions) fn granted_to(
        &self,
        caller: &Caller,
        session: &StoredSession,
    ) -> Result<GrantedTools, ServiceError> {
        let setup = setup_of(session)?;
        match setup.skills.first().filter(|_| setup.runs_skill) {
            Some(skill) => self.granted_to_skill(caller, (skill, None)),
            None => Ok(self.granted_to_code(caller)),
        }
    }

    /// The tools of servers for a run with these grants; `None` if no server has some for it.
    fn server_tools(&self, caller: &Caller, grants: ToolGrants) -> Option<Arc<RunTools>> {
        let tools = self.execution.tools.open(caller.tenant.clone(), grants);
        tools.may_have_some().then(|| Arc::new(tools))
    }

    /// Asks the servers whose tools code of the local user may call for them, so that its first program does not wait
    /// for them. Programs that serve are started.
    pub async fn prepare_tools(&self) {
        let tools = self.execution.tools.open(TenantId::local(), ToolGrants::Code);
        let now = Instant::now();
        let until = now.checked_add(LONGEST_PREPARATION).unwrap_or(now);
        offered(&tools, until, &CallMemory::unlimited()).await;
    }

    /// The servers that list no tools now although code of a call may use some, each with the reason. It is for the
    /// operator.
    pub(crate) async fn unlisted_servers(&self, caller: &Caller) -> Vec<(String, String)> {
        let Some(servers) = self.server_tools(caller, ToolGrants::Code) else { return Vec::new() };
        let now = Instant::now();
        let until = now.checked_add(LONGEST_LISTING).unwrap_or(now);
        offered(&servers, until, &caller.memory).await.unavailable
    }

    /// The tools that a program may call: those that its call declares, and what it is granted.
    ///
    /// # Errors
    ///
    /// Those of [`CalledTools::with_offered`], or there is no memory for what servers offer.
    pub(in crate::sessions) async fn called_tools(
        &self,
        caller: &Caller,
        declared: Option<&[ToolDeclaration]>,
        granted: &GrantedTools,
    ) -> Result<CalledTools, ServiceError> {
        if granted.is_empty() {
            return match declared {
                Some(declared) => CalledTools::with_offered(declared, Vec::new(), None),
                None => Ok(CalledTools::default()),
            };
        }
        let mut listed = Vec::new();
        if let Some(servers) = &granted.servers {
            let now = Instant::now();
            let until = now.checked_add(LONGEST_LISTING).unwrap_or(now);
            listed = offered(servers, until, &caller.memory).await.tools;
            if granted.asks_nobody {
                // The call itself is refused then.
                listed.iter_mut().for_each(|tool| tool.needs_approval = false);
            }
        }
        let bytes = listed.iter().map(bytes_of);
        let bytes = bytes.fold(0, usize::saturating_add).saturating_mul(COPIES);
        caller.memory.reserve(ByteCount::from(bytes))?;
        let skills = granted.skills.as_ref().and_then(|_| RunSkills::offered());
        CalledTools::with_offered(declared.unwrap_or_default(), listed, skills)
    }

    /// Makes the calls of tools of servers that a cell waits for, all at once, and waits for their answers.
    ///
    /// Cancellation: servers may execute the calls all the same. They are noted as cut off.
    pub(super) async fn ask_servers(
        &self,
        caller: &Caller,
        (session, next): (&StoredSession, &CellParts),
        (calls, cell): (Vec<ServerCall>, Option<u32>),
        until: Instant,
    ) -> Result<ServersAsked, ServiceError> {
        let (room, id) = (self.sessions(), &session.id);
        let (store, is_held) = (room.store()?, room.held().number_of(id).is_some());
        let place = (caller, id);
        let mut begun = BegunCalls::of(room.observer(), place, &calls);
        let itself = self.itself.upgrade().ok_or(ServiceError::Stopping)?;
        let asking = replies_of(&itself, (caller, &next.granted), calls, until, &mut begun);
        Ok(select! {
            biased;
            signal = room.open_runs().signal_to(id, &caller.tenant) => match signal {
                Some(Signal::Interrupt) => ServersAsked::Interrupt,
                Some(Signal::Over) | None => ServersAsked::Over,
            },
            () = room.held().lost(id) => ServersAsked::Over,
            () = until_over(store, &caller.tenant, id, cell), if !is_held => ServersAsked::Over,
            (replies, charged) = asking => ServersAsked::Replies(replies, charged),
        })
    }
}

/// What servers offer to a run. The compiler does not look into this future: it is nested too deeply.
fn offered<'a>(
    tools: &'a RunTools,
    until: Instant,
    memory: &'a CallMemory,
) -> Pin<Box<dyn Future<Output = OfferedTools> + Send + 'a>> {
    Box::pin(tools.offered(until, memory))
}

/// The span of a wait for tools of this kind. It ends as cancelled unless it is said to end otherwise.
pub(super) fn span_of_tool(caller: &Caller, kind: &'static str) -> OpenSpan {
    let mut span = caller.trace.begin(SpanName::of("tool"));
    span.set("wardian.tool.kind", kind);
    span.fail("cancelled");
    span
}

/// Makes calls of tools, all at once. Each has an answer when this is done.
async fn replies_of(
    service: &Arc<Service>,
    (caller, granted): (&Caller, &GrantedTools),
    calls: Vec<ServerCall>,
    until: Instant,
    begun: &mut BegunCalls<'_>,
) -> (Vec<ServerReply>, Vec<CallMemory>) {
    let mut tasks = JoinSet::new();
    for call in calls {
        let memory = caller.memory.of_call();
        let skills = granted.skills.clone().filter(|_| call.call.name == EXECUTE_SKILL);
        let servers = granted.servers.clone();
        let (service, caller) = (Arc::clone(service), caller.clone());
        let kind = if skills.is_some() { "skill" } else { "server" };
        let mut span = span_of_tool(&caller, kind);
        let task = async move {
            let reply = match skills {
                Some(skills) => {
                    let arguments = call.call.arguments.clone();
                    let trace = span.scope().clone();
                    let child = Caller { memory: memory.of_call(), trace, ..caller };
                    let executed = execute(service, child, skills, arguments, until).await;
                    reply_of_skill(&call, executed, &memory)
                }
                None => Box::pin(reply_to(servers.as_deref(), &call, until, &memory)).await,
            };
            match reply.recorded.end {
                ToolCallEnd::Answered => span.succeed(),
                end => span.fail(end.name()),
            }
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

/// The answer of a skill, which is charged to `memory`.
fn reply_of_skill(call: &ServerCall, executed: ExecutedSkill, memory: &CallMemory) -> ServerReply {
    let begun = BegunCall::of(call);
    let bytes = executed.value.as_ref().map_or(0, |value| value.as_str().len());
    let mut reply = ServerReply::of_skill(&begun, executed);
    if memory.reserve(ByteCount::from(bytes.saturating_mul(COPIES))).is_err() {
        reply.drop_output("the result of the skill is larger than this server takes");
    }
    reply
}

/// Makes a call, and charges its answer to `memory`.
async fn reply_to(
    servers: Option<&RunTools>,
    request: &ServerCall,
    until: Instant,
    memory: &CallMemory,
) -> ServerReply {
    let ServerCall { listed, call, approved_by, .. } = request;
    let approval = ToolApproval::new(&call.name, call.arguments.raw());
    let order = ToolCallOrder {
        tool: &call.name,
        arguments: call.arguments.raw(),
        listed: Some(*listed),
        approval: approved_by.as_ref().map(|_by| &approval),
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

/// True if a call takes the result of an earlier run, and no tool may be called for it.
const fn takes_kept(asked: Option<ReproducibleParam>) -> bool {
    matches!(asked, Some(ReproducibleParam::Inputs { cache: true, .. }))
}
