//! What a program may call beyond the tools of its caller: tools of the operator's servers, and skills.
//!
//! A skill that a program executes is a run of its own: with its own permissions, secrets and packages, in a
//! sandbox of its own, for the same tenant. The program waits for it as for any tool, without a worker unless the
//! native stack of the interpreter has to be kept.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::timeout_at;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::asking::server_call::ExecutedSkill;
use crate::sessions::reproducible::session_seed::SessionSeed;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::methods::execution::{
    ExecuteSkillParams, FileResult, RunResult, RunStatus,
};
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_formats::skill::manifest::tool_pattern::ToolGlob;
use wardian_skills::registry::RegistryError;
use wardian_stores::blobs::BlobPart;
use wardian_stores::tenants::Right;
use wardian_tools::{OfferedTool, RunTools};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, Digest, RunId};
use wardian_vocabulary::units::ByteCount;

/// The tool that executes skills.
pub(crate) const EXECUTE_SKILL: &str = "execute_skill";

/// The module of the guest: code that calls tools names it.
const MODULE: &str = "tools";

/// Most runs within each other: a program, a skill that it executes, and one that this executes.
const MAX_NESTING: u8 = 3;

/// Most skills that one call of a program executes.
const MAX_EXECUTED: u32 = 100;

/// Longest output of a skill that a program gets: as of other tools.
const MAX_WHOLE: ByteCount = ByteCount::mebibytes(1);

const DESCRIPTION: &str =
    "Executes a skill in a sandbox of its own, with the permissions and packages of the skill.";

/// Shows what `tools.call("execute_skill", ...)` takes. A call has no other members.
const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"Name of the skill; `@` and a version may follow."},"args":{"type":"object","description":"Its arguments."},"input_blobs":{"type":"array","description":"Blobs beside those in the arguments."},"timeout_ms":{"type":"integer"}},"required":["name"],"additionalProperties":false}"#;

/// What a program may call beyond the tools of its caller.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrantedTools {
    /// Tools of the operator's servers; `None` if no server has some for it.
    pub(crate) servers: Option<Arc<RunTools>>,
    /// Skills; `None` if it may execute none.
    pub(crate) skills: Option<Arc<RunSkills>>,
    /// True if nobody can approve calls: those that need an approval fail.
    pub(crate) asks_nobody: bool,
}

impl GrantedTools {
    /// The same, where nobody can approve calls, if `asks_nobody`.
    pub(crate) fn asking(self, asks_nobody: bool) -> Self {
        Self { asks_nobody, ..self }
    }

    /// What a cell with this code has of it. One of a reproducible session has it only if its code names it: the
    /// program would be told of all tools, and its state follow from what servers offer.
    pub(crate) fn of_cell(self, seed: Option<&SessionSeed>, code: &str) -> Self {
        if seed.is_none() || names_tools(code) { self } else { Self::default() }
    }

    /// True if the program may call nothing beyond the tools of its caller.
    pub(crate) const fn is_empty(&self) -> bool {
        self.servers.is_none() && self.skills.is_none()
    }
}

/// True if a program has the name of the module in it, as a word. Where it comes together in another way, a call
/// with `tools` or in a session can have them.
pub(crate) fn names_tools(code: &str) -> bool {
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    code.match_indices(MODULE).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        let after =
            code.get(at.saturating_add(MODULE.len())..).and_then(|text| text.chars().next());
        !before.is_some_and(is_of_name) && !after.is_some_and(is_of_name)
    })
}

/// The skills that a program may execute, and how often it has.
#[derive(Debug)]
pub(crate) struct RunSkills {
    patterns: Vec<ToolGlob>,
    executed: AtomicU32,
}

impl RunSkills {
    /// The skills with such names for a program of this caller; `None` if it may execute none.
    pub(crate) fn of(caller: &Caller, patterns: &[ToolGlob]) -> Option<Arc<Self>> {
        let may_execute = caller.nesting.saturating_add(1) < MAX_NESTING
            && caller.rights.contains(Right::Execute)
            && !patterns.is_empty();
        may_execute
            .then(|| Arc::new(Self { patterns: patterns.to_vec(), executed: AtomicU32::default() }))
    }

    /// The tool that executes them.
    pub(crate) fn offered() -> Option<OfferedTool> {
        Some(OfferedTool {
            name: EXECUTE_SKILL.to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: RawValue::from_string(SCHEMA.to_owned()).ok()?,
            output_schema: None,
            needs_approval: false,
            digest: Digest::of(SCHEMA.as_bytes()),
        })
    }

    fn includes(&self, name: &str) -> bool {
        let own = name.split(['@', '#']).next().unwrap_or_default();
        self.patterns.iter().any(|pattern| pattern.matches(own))
    }
}

/// The members of a result that a program gets.
#[derive(Serialize)]
struct SkillValue<'a> {
    output: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    output_blobs: &'a [BlobId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [FileResult],
    #[serde(skip_serializing_if = "str::is_empty")]
    logs_preview: &'a str,
    run_id: &'a RunId,
}

/// Executes a skill for a program of this caller, until this time at the latest.
///
/// The result is boxed here, since a skill may execute others.
///
/// Cancellation: the run of the skill is stopped.
pub(crate) fn execute(
    service: Arc<Service>,
    caller: Caller,
    skills: Arc<RunSkills>,
    arguments: JsonText,
    until: Instant,
) -> Pin<Box<dyn Future<Output = ExecutedSkill> + Send>> {
    Box::pin(async move {
        let caller = Caller { nesting: caller.nesting.saturating_add(1), ..caller };
        let params = match params_of(&service, &caller, &skills, &arguments) {
            Ok(params) => params,
            Err(refused) => return refused,
        };
        let executed = Box::pin(service.execute_skill(&caller, params, None));
        match timeout_at(until.into(), executed).await {
            Err(_late) => ExecutedSkill {
                run: None,
                value: Err("the skill was stopped: it has taken too long".to_owned()),
                is_refused: false,
            },
            Ok(Err(error)) => ExecutedSkill {
                // What may have been executed is no refusal.
                is_refused: !matches!(error, ServiceError::AfterRun(_)),
                ..ExecutedSkill::refused(&CauseChain(&error))
            },
            Ok(Ok(MethodResult::Run(run))) => ended(&service, &caller, *run).await,
            Ok(Ok(_)) => ExecutedSkill::refused(&"the skill has no result"),
        }
    })
}

/// The call of a skill, if the program may make it.
fn params_of(
    service: &Service,
    caller: &Caller,
    skills: &RunSkills,
    arguments: &JsonText,
) -> Result<ExecuteSkillParams, ExecutedSkill> {
    let parsed = MethodCall::parse(EXECUTE_SKILL, Some(arguments.raw()));
    let parsed = parsed.map_err(|error| ExecutedSkill::refused(&error))?;
    let MethodCall::ExecuteSkill(params) = parsed else {
        return Err(ExecutedSkill::refused(&"it is the call of something else"));
    };
    ensure_has(caller, Right::Execute).map_err(|error| ExecutedSkill::refused(&error))?;
    // What may not be executed is answered like what does not exist.
    let unknown = || ExecutedSkill::refused(&format!("no skill is called `{}`", params.name));
    if !skills.includes(&params.name) {
        return Err(unknown());
    }
    match service.find_skill(caller, &params.name, params.version.as_deref()) {
        Ok(_) => {}
        Err(ServiceError::Registry(RegistryError::SkillNotFound { .. })) => return Err(unknown()),
        Err(error) => return Err(ExecutedSkill::refused(&CauseChain(&error))),
    }
    if skills.executed.fetch_add(1, Ordering::AcqRel) >= MAX_EXECUTED {
        let reason = format!("the run has used up its {MAX_EXECUTED} executions of skills");
        return Err(ExecutedSkill::refused(&reason));
    }
    Ok(params)
}

/// The whole output of a skill in whose result this stands in its place.
async fn whole_output(
    service: &Service,
    caller: &Caller,
    stand_in: &RawValue,
) -> Result<Option<Box<RawValue>>, String> {
    let lost = |reason: &str| format!("the output of the skill {reason}");
    let stored: StoredOutput =
        serde_json::from_str(stand_in.get()).map_err(|_other_form| lost("is somewhere else"))?;
    let id = stored.blob_id;
    if stored.size_bytes > MAX_WHOLE.as_u64() {
        return Err(lost(&format!("has {} bytes, and is the blob {id}", stored.size_bytes)));
    }
    let reserved = caller.memory.reserve(ByteCount::bytes(stored.size_bytes.saturating_mul(3)));
    reserved.map_err(|full| lost(&format!("is the blob {id}: {full}")))?;
    let blobs = &service.discovery().blobs().store;
    let window = blobs.read(&caller.tenant, &id, BlobPart::Head, MAX_WHOLE).await;
    let text = window.ok().and_then(|window| String::from_utf8(window.bytes).ok());
    let whole = text.and_then(|text| RawValue::from_string(text).ok());
    whole.map(Some).ok_or_else(|| lost(&format!("is the blob {id}, which cannot be read")))
}

/// What stands in the place of a long output, as far as it is read here.
#[derive(Deserialize)]
struct StoredOutput {
    blob_id: BlobId,
    size_bytes: u64,
}

/// What a program gets of the result of a skill.
async fn ended(service: &Service, caller: &Caller, run: RunResult) -> ExecutedSkill {
    let RunResult { run_id, status, output, error, output_truncated, .. } = &run;
    let whole = match output.as_deref().filter(|_| *output_truncated) {
        Some(stand_in) => whole_output(service, caller, stand_in).await,
        None => Ok(None),
    };
    let value = match status {
        RunStatus::Completed => {
            let whole = match &whole {
                Ok(whole) => whole.as_deref(),
                Err(reason) => {
                    let (run, value) = (Some(run_id.clone()), Err(reason.clone()));
                    return ExecutedSkill { run, value, is_refused: false };
                }
            };
            let value = SkillValue {
                output: whole.or(output.as_deref()),
                output_blobs: &run.output_blobs,
                files: &run.files,
                logs_preview: &run.logs_preview,
                run_id,
            };
            to_raw_value(&value).map(JsonText::new).map_err(|error| error.to_string())
        }
        RunStatus::Waiting => {
            if let Some(session) = &run.session {
                // It expires otherwise.
                service.sessions().close(caller, session.id.as_str()).await.ok();
            }
            Err("the skill waits for its caller, which a program cannot answer".to_owned())
        }
        RunStatus::Failed => match error {
            Some(error) => Err(format!("{}: {}", error.error_type, error.message)),
            None => Err(run.summary.clone()),
        },
    };
    ExecutedSkill { run: Some(run_id.clone()), value, is_refused: false }
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
