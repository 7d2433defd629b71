//! Makes sessions, and carries out the cells that calls of `run_code` ask for.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tracing::debug;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::input_blobs::open_inputs;
use crate::run::prepare::label::RunLabel;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::Bytecode;
use crate::run::result::left_files;
use crate::service::Service;
use crate::sessions::asked::CalledTools;
use crate::sessions::cell::{CellTurn, PlannedCell};
use crate::sessions::earlier_parts::rolled_back;
use crate::sessions::observed::{SessionEvent, SessionObserver};
use crate::sessions::room::SessionRoom;
use crate::sessions::setup::SessionSetup;
use crate::sessions::views::{checkpoint_id, session_id, wait_of};
use wardian_formats::job::Program;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::cells::{CellFate, SessionOrderParam};
use wardian_formats::protocol::methods::execution::{
    KeepFilesParam, RequestedLimits, RunCodeParams, RunResult, RunStatus,
};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{Sessions, SessionsError, StoredSession, TurnRequest};
use wardian_stores::tenants::Right;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::ids::{Digest, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The id that stands for a session that does not exist yet.
pub(super) const NEW: &str = "new";

/// Shortest time after which a session can end by itself, in milliseconds.
const SHORTEST_LIFE: u64 = 100;

/// Longest label of a session, in characters.
const MAX_LABEL: usize = 200;

/// A session to make, as a caller sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NewSessionOrder {
    /// A text for people.
    pub label: Option<String>,
    /// Skills to mount, as sent.
    pub mount_skills: Vec<String>,
    /// Blobs to mount, as sent.
    pub input_blobs: Vec<InputBlob>,
    /// The limits of its cells that last: memory, workspace, and the fuel of cells that name none.
    pub limits: RequestedLimits,
    /// How long it is kept after its last use, in milliseconds, if that is less than the server's setting.
    pub idle_ms: Option<u64>,
    /// How long it is kept after its creation, in milliseconds, if that is less than the server's setting.
    pub max_age_ms: Option<u64>,
}

/// The parts of a call that its cell has for itself.
pub(super) struct CellParts {
    code: String,
    pub(super) limits: RequestedLimits,
    keep_files: Option<KeepFilesParam>,
    strict_output: bool,
    label: Option<RunLabel>,
    listener: Option<LogListener>,
    pub(super) tools: CalledTools,
    pub(super) answers: Option<JsonText>,
    /// The result of its earlier parts, if it has waited.
    pub(super) earlier: Option<String>,
}

impl CellParts {
    /// The parts of a call that only interrupts a cell.
    pub(super) fn of_interrupt() -> Self {
        Self {
            code: String::new(),
            limits: RequestedLimits::default(),
            keep_files: None,
            strict_output: false,
            label: None,
            listener: None,
            tools: CalledTools::default(),
            answers: None,
            earlier: None,
        }
    }

    /// The parts of a call, without its answers.
    pub(super) fn of(
        params: &mut RunCodeParams,
        listener: Option<LogListener>,
    ) -> Result<Self, ServiceError> {
        Ok(Self {
            limits: params.limits(),
            code: std::mem::take(&mut params.code),
            keep_files: params.keep_files.take(),
            strict_output: params.strict_output,
            label: params.label.clone().map(RunLabel::parse).transpose()?,
            listener,
            tools: CalledTools::default(),
            answers: None,
            earlier: None,
        })
    }
}

impl Service {
    /// Makes a session whose first cell has not come yet.
    pub(crate) async fn begin_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> Result<StoredSession, ServiceError> {
        ensure_has(caller, Right::Code)?;
        let NewSessionOrder { label, mount_skills, input_blobs, limits, idle_ms, max_age_ms } =
            order;
        if let Some(label) = label.as_ref().filter(|label| label.chars().count() > MAX_LABEL) {
            let expected = format!("a text of at most {MAX_LABEL} characters");
            return Err(
                ParamsError::wrong("label", expected, label.chars().count().to_string()).into()
            );
        }
        refuse_what_cells_set(&limits)?;
        for (name, time) in [("idle_ms", idle_ms), ("max_age_ms", max_age_ms)] {
            if let Some(time) = time.filter(|time| *time < SHORTEST_LIFE) {
                let expected = format!("at least {SHORTEST_LIFE}");
                return Err(ParamsError::wrong(name, expected, time.to_string()).into());
            }
        }
        let limits = self.policy.limits.for_caller(caller.limits).resolve(&limits)?;
        let planned = self.plan_guest(caller, String::new(), &mount_skills, &input_blobs, limits);
        let planned = planned.await?;
        self.ensure_blobs_fit(caller, &planned).await?;
        let ends = [idle_ms, max_age_ms].map(|time| time.map(Duration::from_millis));
        self.add_session(caller, (&planned, input_blobs), label, ends).await
    }

    /// Refuses blobs that do not exist or for which the workspace has no room, because each cell would
    /// be refused.
    async fn ensure_blobs_fit(
        &self,
        caller: &Caller,
        planned: &Planned,
    ) -> Result<(), ServiceError> {
        let (blobs, files) = (&planned.blobs, &self.discovery().blobs().files);
        let blobs = (blobs.clone(), planned.placed.clone());
        open_inputs(files, caller, blobs, &planned.limits.split().0, None).await.map(drop)
    }

    /// Runs code as a cell of a session. A program that fails is a result, not an error.
    ///
    /// Cancellation: the cell is stopped and leaves no trace.
    pub(crate) async fn run_cell(
        &self,
        caller: &Caller,
        mut params: RunCodeParams,
        order: SessionOrderParam,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        refuse_what_cells_have_not(&params)?;
        if params.abandon {
            return self.abandon_cell(caller, params, order).await;
        }
        if params.answers.is_some() {
            return Box::pin(self.answer_cell(caller, params, order, listener)).await;
        }
        let store = self.sessions().store()?;
        let label = params.label.clone();
        let mut parts = CellParts::of(&mut params, listener)?;
        parts.tools = CalledTools::of(params.tools.as_deref().unwrap_or_default())?;
        let (skills, blobs) = (&params.mount_skills, &params.input_blobs);
        let is_new = order.id.as_deref().is_none_or(|id| id == NEW);
        let (session, planned) = match order.id.as_deref().filter(|id| *id != NEW) {
            None => {
                let limits = self.policy.limits.for_caller(caller.limits).resolve(&parts.limits)?;
                let code = parts.code.clone();
                let planned = self.plan_guest(caller, code, skills, blobs, limits).await?;
                let setup = (&planned, blobs.clone());
                (self.add_session(caller, setup, label, [None, None]).await?, planned)
            }
            Some(id) => {
                refuse_what_first_cells_set(skills, blobs)?;
                let session = store.find(&caller.tenant, &session_id(id)?).await?;
                let planned = self.plan_next(caller, &session, &parts).await?;
                (session, planned)
            }
        };
        // The caller learns the id of a new session from the answer alone.
        let unknown =
            is_new.then(|| UnknownSession::of(self.sessions(), store, &caller.tenant, &session.id));
        let begun = async {
            let turn = TurnRequest {
                source: parts.code.clone(),
                if_checkpoint: order.if_checkpoint.as_deref().map(checkpoint_id).transpose()?,
                wait: wait_of(order.wait_ms),
            };
            self.ensure_not_held(&session.id)?;
            let turn = store.take_turn(&caller.tenant, &session.id, turn).await?;
            let turn = CellTurn::Own(Box::new(turn));
            self.run_planned_cell(caller, (&session, planned), parts, turn).await
        };
        let answered = Box::pin(begun).await;
        if let (Ok(_), Some(unknown)) = (&answered, unknown) {
            unknown.keep();
        }
        self.close_after(caller, &session, &order, answered?).await
    }

    /// Closes a session after its cell, if that was asked for, and says so in the result.
    pub(super) async fn close_after(
        &self,
        caller: &Caller,
        session: &StoredSession,
        order: &SessionOrderParam,
        mut result: RunResult,
    ) -> Result<MethodResult, ServiceError> {
        let store = self.sessions().store()?;
        // A cell that waits has not ended.
        let is_over = order.keep == Some(false) && result.status != RunStatus::Waiting;
        if is_over {
            let closed = self.sessions().close(caller, session.id.as_str()).await;
            // It may have been closed meanwhile.
            if let Err(cause) = closed
                && !is_of_ended_session(cause.kind())
            {
                return Err(cause);
            }
        }
        if let Some(ended) = result.session.as_mut() {
            let has_ended = is_over
                || ended.state == CellFate::RolledBack
                    && store
                        .find(&caller.tenant, &session.id)
                        .await
                        .is_err_and(|cause| is_of_ended_session(cause.kind()));
            if has_ended {
                (ended.checkpoint, ended.state) = (None, CellFate::Closed);
            }
        }
        Ok(MethodResult::Run(Box::new(result)))
    }

    /// The limits of a cell that asks for these.
    fn limits_of_cell(
        &self,
        caller: &Caller,
        session: &StoredSession,
        setup: &SessionSetup,
        requested: RequestedLimits,
    ) -> Result<RunLimits, ServiceError> {
        let rules = self.policy.limits.for_caller(caller.limits);
        let with_own = setup.limits_for(requested)?;
        // What the caller asks for is the caller's mistake; what the session has may be beyond what is
        // allowed by now.
        rules.resolve(&requested)?;
        let limits = rules.resolve(&with_own);
        let limits = limits.ok().filter(|limits| limits.fuel.is_some() == setup.fuel.is_some());
        limits.ok_or_else(|| {
            let reason = "the server's limits on memory, files or fuel have changed since the session \
                          was made";
            unusable(session, reason)
        })
    }

    /// Runs a cell that has its turn.
    pub(super) async fn run_planned_cell(
        &self,
        caller: &Caller,
        (session, planned): (&StoredSession, Planned),
        parts: CellParts,
        turn: CellTurn,
    ) -> Result<RunResult, ServiceError> {
        let (image, layers) = (session.image, setup_of(session)?.layers);
        let facts = turn.facts();
        let (number, head) = (facts.number, facts.head.clone());
        let CellParts { tools, answers, earlier, .. } = parts;
        let cell = PlannedCell { facts, turn, image, layers, tools, answers, earlier, run: None };
        let planned = Planned {
            label: parts.label,
            keep_files: left_files::kept(parts.keep_files, self.policy.limits.keep_files),
            strict_output: parts.strict_output,
            listener: parts.listener,
            cell: Some(cell),
            ..planned
        };
        let performed = self.perform(caller, planned).await;
        let performed =
            performed.map_err(|error| self.sessions().note_damage(caller, &session.id, error));
        let mut result = performed?.result;
        if result.session.is_none() {
            // It was stopped before its end.
            let reason = result.summary.clone();
            let mut left = rolled_back((session.id.clone(), number), head, reason);
            if self.sessions().held().number_of(&session.id) == Some(number) {
                // It has not gone on, and can be answered once more.
                left.state = CellFate::Waiting;
            }
            result.session = Some(left);
        }
        Ok(result)
    }

    /// The plan of a cell in a session that has a guest.
    pub(super) async fn plan_next(
        &self,
        caller: &Caller,
        session: &StoredSession,
        parts: &CellParts,
    ) -> Result<Planned, ServiceError> {
        let setup = setup_of(session)?;
        let limits = self.limits_of_cell(caller, session, &setup, parts.limits)?;
        self.plan_guest(caller, parts.code.clone(), &setup.skills, &setup.blobs, limits).await
    }

    /// The plan of the guest of a session, for something that runs no program in it, and the layers that
    /// the session began with.
    pub(super) async fn plan_between(
        &self,
        caller: &Caller,
        session: &StoredSession,
    ) -> Result<(Planned, Vec<Digest>), ServiceError> {
        let setup = setup_of(session)?;
        let limits = self.limits_of_cell(caller, session, &setup, RequestedLimits::default())?;
        let planned = self.plan_guest(caller, String::new(), &setup.skills, &setup.blobs, limits);
        Ok((planned.await?, setup.layers))
    }

    /// The plan of a run in the guest of a session.
    async fn plan_guest(
        &self,
        caller: &Caller,
        code: String,
        skills: &[String],
        blobs: &[InputBlob],
        limits: RunLimits,
    ) -> Result<Planned, ServiceError> {
        if !skills.is_empty() {
            ensure_has(caller, Right::Discover)?;
        }
        let skills = self.supplies.mounted_skills(self.discovery(), caller, skills).await?;
        let program = Program::Code { source: code, file_name: "main.py".to_owned() };
        let arguments = RawValue::from_string("{}".to_owned()).unwrap_or_default();
        let planned = Planned {
            skills,
            // Modules that are compiled between two cells would be mounted by the second one alone.
            usual_bytecode: Bytecode::Never,
            ..Planned::new(program, arguments, limits)
        };
        let planned = planned.with_blobs(blobs)?;
        planned.ensure_allowed(caller)?;
        Ok(planned)
    }

    /// Adds a session whose cells have the guest of this plan, with these blobs.
    async fn add_session(
        &self,
        caller: &Caller,
        (planned, blobs): (&Planned, Vec<InputBlob>),
        label: Option<String>,
        [idle, max_age]: [Option<Duration>; 2],
    ) -> Result<StoredSession, ServiceError> {
        let image = self.supplies.image_for(caller, planned).await?;
        let (image, _held) = self.supplies.pin_image(caller, image).await?;
        let layers = self.supplies.layers_for(caller, planned).await?;
        let layers: Vec<Digest> = layers.mounts.iter().map(|layer| layer.digest).collect();
        let skills = planned.skills.iter().map(|skill| {
            let mount = &skill.mount;
            format!("{}@{}#{}", mount.name, mount.version, mount.digest)
        });
        let setup = SessionSetup::of(skills.collect(), blobs, layers, &planned.limits);
        let setup = serde_json::to_string(&setup).map_err(ServiceError::Unserialisable)?;
        let order = wardian_sessions::SessionOrder { label, image, setup, idle, max_age };
        let made = self.sessions().store()?.create(&caller.tenant, order).await?;
        self.sessions().observer().note(SessionEvent::Created, caller, made.id.as_str());
        Ok(made)
    }
}

/// A new session whose id its caller does not know yet. Dropped before the answer, it closes the session.
#[derive(Debug)]
struct UnknownSession(Option<(Sessions, SessionObserver, TenantId, SessionId)>);

impl UnknownSession {
    fn of(room: &SessionRoom, store: &Sessions, owner: &TenantId, session: &SessionId) -> Self {
        Self(Some((store.clone(), room.observer(), owner.clone(), session.clone())))
    }

    /// The answer names the session.
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for UnknownSession {
    fn drop(&mut self) {
        // Without a runtime the server is ending, and the session expires.
        if let (Some(unknown), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            let (store, observer, tenant, id) = unknown;
            runtime.spawn(async move {
                match store.close(&tenant, &id).await {
                    Ok(()) => observer.note_alone(SessionEvent::Closed, &tenant, &id),
                    Err(cause) => {
                        debug!(session.id = %id, "not closed: {}", CauseChain(&cause));
                    }
                }
            });
        }
    }
}

/// How the guest of a session is made.
fn setup_of(session: &StoredSession) -> Result<SessionSetup, ServiceError> {
    serde_json::from_str(&session.setup).map_err(|_other_version| {
        unusable(session, "it was made by another version of this server")
    })
}

/// The bytes that the workspace of a session may have.
pub(super) fn workspace_of(session: &StoredSession) -> Result<ByteCount, ServiceError> {
    Ok(ByteCount::bytes(setup_of(session)?.workspace_bytes))
}

/// True for the error of a session that does not exist any more.
const fn is_of_ended_session(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::SessionNotFound | ErrorKind::SessionExpired)
}

/// The error for a session that cannot go on here, for this reason.
pub(super) fn unusable(session: &StoredSession, reason: &str) -> ServiceError {
    match session.head.clone() {
        Some(checkpoint) => ServiceError::StateUnusable { checkpoint, reason: reason.to_owned() },
        None => SessionsError::NotFound { session: session.id.clone() }.into(),
    }
}

/// Refuses parameters that a cell cannot have.
fn refuse_what_cells_have_not(params: &RunCodeParams) -> Result<(), ServiceError> {
    let is_reproducible = params.reproducible.is_some_and(|asked| {
        asked != wardian_formats::protocol::methods::execution::ReproducibleParam::Flag(false)
    });
    for (name, is_set) in [
        ("entrypoint", params.entrypoint.is_some()),
        ("args", params.args.is_some()),
        ("reproducible", is_reproducible),
        ("detach", params.detach),
        ("idempotency_key", params.idempotency_key.is_some()),
    ] {
        if is_set {
            return Err(
                ParamsError::wrong(name, "left out in a call with `session`", "a value").into()
            );
        }
    }
    Ok(())
}

/// Refuses limits that each cell has for itself.
fn refuse_what_cells_set(limits: &RequestedLimits) -> Result<(), ServiceError> {
    for (name, limit) in
        [("limits.timeout_ms", limits.timeout_ms), ("limits.host_calls", limits.host_calls)]
    {
        if let Some(limit) = limit {
            let expected = "left out: each call in the session sets its own";
            return Err(ParamsError::wrong(name, expected, limit.to_string()).into());
        }
    }
    Ok(())
}

/// Refuses parameters that only the first cell of a session can have.
pub(super) fn refuse_what_first_cells_set(
    skills: &[String],
    blobs: &[InputBlob],
) -> Result<(), ServiceError> {
    for (name, is_empty) in [("mount_skills", skills.is_empty()), ("input_blobs", blobs.is_empty())]
    {
        if !is_empty {
            let expected = "left out: what a session mounts is decided by its first call";
            return Err(ParamsError::wrong(name, expected, "a list").into());
        }
    }
    Ok(())
}
