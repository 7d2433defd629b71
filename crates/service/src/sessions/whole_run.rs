//! Runs that may call tools of their caller, without a session of the caller's own.
//!
//! Such a run is the only cell of a session that is made for it. The session ends with the run, and expires
//! if nobody answers for as long as a worker would hold a cell.

use std::time::Duration;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::label::RunLabel;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::Bytecode;
use crate::run::result::left_files;
use crate::service::Service;
use crate::sessions::asking::open_runs::OpenedRun;
use crate::sessions::cell::CellTurn;
use crate::sessions::cell_parts::CellParts;
use crate::sessions::order::{SessionKind, waits_on};
use crate::sessions::reproducible::session_seed::SessionSeed;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::{
    ExecuteSkillParams, ReproducibleParam, RunCodeParams,
};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::TurnRequest;

/// The label of a session whose run has none.
const LABEL: &str = "a run with tools";

impl Service {
    /// Runs code that may call the tools of this call. If it waits for some of them, the result has the
    /// session in which the answers let it go on; else it is that of any run.
    ///
    /// Cancellation: the run is stopped, and its session closed.
    ///
    /// # Errors
    ///
    /// Those of a run, a parameter that such a run cannot have, or there is no room for a session.
    pub(crate) async fn run_with_tools(
        &self,
        caller: &Caller,
        mut params: RunCodeParams,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        let others = (params.reproducible, params.detach, params.idempotency_key.is_some());
        refuse_what_waiting_runs_have_not(others)?;
        let seed = SessionSeed::of_call(params.reproducible)?;
        let granted = self.granted_to_code(caller).asking(params.asks_nobody);
        let granted = granted.of_cell(seed.as_ref(), &params.code);
        let tools = self.called_tools(caller, params.tools.as_deref(), &granted).await?;
        let opened = self.open_run(caller, params.tools.as_deref(), listener.as_ref());
        let keep_files = self.policy.limits.keep_files;
        let parts =
            CellParts { tools, granted, ..CellParts::of(&mut params, keep_files, listener)? };
        let policy = self.policy.limits.for_caller(caller.limits);
        let limits = policy.for_reproducible(params.reproducible).resolve(&parts.limits)?;
        let mounts = (params.mount_skills.as_slice(), params.input_blobs.as_slice());
        let limits = (limits, seed.as_ref());
        let planned = self.plan_guest(caller, parts.code.clone(), mounts, limits);
        let mut planned = planned.await?;
        planned.entrypoint = params.entrypoint;
        if let Some(args) = params.args {
            planned.args = args;
        }
        self.run_whole(caller, (planned, params.input_blobs, seed), parts, opened).await
    }

    /// Executes a skill that may call the tools of this call, as [`Self::run_with_tools`].
    ///
    /// # Errors
    ///
    /// As there, or the skill has secrets.
    pub(crate) async fn execute_with_tools(
        &self,
        caller: &Caller,
        params: ExecuteSkillParams,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        let others = (params.reproducible, params.detach, params.idempotency_key.is_some());
        refuse_what_waiting_runs_have_not(others)?;
        let seed = SessionSeed::of_call(params.reproducible)?;
        let (limits, asked) = (params.limits(), params.reproducible);
        let named = (params.name.as_str(), params.version.as_deref());
        let checked = self.plan_skill(caller, named, params.args, &limits, asked).await?;
        if checked.secrets.is_some() {
            return Err(refusal_of_secrets(&params.name, params.tools.is_some()).into());
        }
        let granted = self.granted_to_skill(caller, named)?;
        let tools = self.called_tools(caller, params.tools.as_deref(), &granted).await?;
        let opened = self.open_run(caller, params.tools.as_deref(), listener.as_ref());
        let keep_files = left_files::kept(params.keep_files, self.policy.limits.keep_files);
        let parts = CellParts {
            limits,
            strict_output: params.strict_output,
            label: params.label.map(RunLabel::parse).transpose()?,
            listener,
            tools,
            granted,
            ..CellParts::of_code(String::new(), keep_files)
        };
        let blobs = blobs_of(&checked, params.input_blobs);
        let reference = checked.skills.first().map(|skill| {
            let mount = &skill.mount;
            format!("{}@{}#{}", mount.name, mount.version, mount.digest)
        });
        let reference = reference.unwrap_or(params.name);
        let limits = (checked.limits, seed.as_ref());
        let planned = self.plan_guest_of_skill(caller, &reference, &blobs, limits).await?;
        let planned = Planned { args: checked.args, ..planned };
        self.run_whole(caller, (planned, blobs, seed), parts, opened).await
    }

    /// The plan of a run of a skill in the guest of its session.
    pub(super) async fn plan_guest_of_skill(
        &self,
        caller: &Caller,
        reference: &str,
        blobs: &[InputBlob],
        (limits, seed): (RunLimits, Option<&SessionSeed>),
    ) -> Result<Planned, ServiceError> {
        let seen = self.find_skill(caller, reference, None)?;
        let planned = self.plan_of(caller, &seen, None, limits).await?;
        // As for the cells of any session.
        let planned = Planned { usual_bytecode: Bytecode::Never, ..planned }.with_blobs(blobs)?;
        planned.ensure_allowed(caller)?;
        Ok(match seed {
            Some(seed) => planned.following(seed.as_order()),
            None => planned,
        })
    }

    /// Runs a program in a session of its own, with these blobs and this seed.
    async fn run_whole(
        &self,
        caller: &Caller,
        (planned, blobs, seed): (Planned, Vec<InputBlob>, Option<SessionSeed>),
        mut parts: CellParts,
        opened: Option<OpenedRun>,
    ) -> Result<MethodResult, ServiceError> {
        parts.open = opened.as_ref().map(OpenedRun::run);
        let store = self.sessions().store()?;
        let label = parts.label.as_ref().map_or(LABEL, RunLabel::as_str).to_owned();
        let made = (&planned, blobs, seed, SessionKind::OfRun);
        let idle = Some(store.longest_wait());
        // However this ends, a session that its caller does not know is closed.
        let (session, unknown) = self.add_session(caller, made, Some(label), [idle, None]).await?;
        let begun = async {
            let (source, wait) = (parts.code.clone(), Duration::ZERO);
            let turn = TurnRequest { source, if_checkpoint: None, wait };
            let turn = store.take_turn(&caller.tenant, &session.id, turn).await?;
            let turn = CellTurn::Own(Box::new(turn));
            let next = parts.next_part();
            let answered = self.run_planned_cell(caller, (&session, planned), parts, turn).await?;
            self.go_on_here(caller, &session, &next, answered).await
        };
        let mut result = Box::pin(begun).await?;
        if waits_on(&result) {
            unknown.keep();
        } else {
            result.session = None;
        }
        Ok(MethodResult::Run(Box::new(result)))
    }
}

/// All blobs of a call of a skill: those that its arguments name, and the others.
fn blobs_of(checked: &Planned, others: Vec<InputBlob>) -> Vec<InputBlob> {
    let is_named = |id: &str| {
        others.iter().any(|other| match other {
            InputBlob::Id(other) => other == id,
            InputBlob::AtPath(other) => other.blob == id,
        })
    };
    let of_arguments = checked.blobs.iter().map(ToString::to_string).filter(|id| !is_named(id));
    of_arguments.map(InputBlob::Id).collect::<Vec<_>>().into_iter().chain(others).collect()
}

/// The refusal of a skill with secrets that would wait: what stands for a secret in its memory has a meaning for one
/// run alone.
fn refusal_of_secrets(name: &str, has_tools: bool) -> ParamsError {
    if has_tools {
        let expected = "left out: a skill with secrets cannot wait for its caller";
        return ParamsError::wrong("tools", expected, "a list");
    }
    let expected = "a skill that has tools of servers or secrets, and not both: it cannot wait for a tool with \
                    secrets in its memory";
    ParamsError::wrong("name", expected, name)
}

/// Refuses parameters that a run that waits for its caller cannot have.
fn refuse_what_waiting_runs_have_not(
    (reproducible, detach, has_key): (Option<ReproducibleParam>, bool, bool),
) -> Result<(), ParamsError> {
    let takes_kept = matches!(reproducible, Some(ReproducibleParam::Inputs { cache: true, .. }));
    let set =
        [("reproducible.cache", takes_kept), ("detach", detach), ("idempotency_key", has_key)];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => {
            Err(ParamsError::wrong(name, "left out in a call with `tools`", "a value"))
        }
        None => Ok(()),
    }
}
