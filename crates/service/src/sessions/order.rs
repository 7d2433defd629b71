//! Makes sessions, and carries out the cells that calls of `run_code` ask for.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::select;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::input_blobs::open_inputs;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::Bytecode;
use crate::run::result::answered::Answered;
use crate::service::Service;
use crate::sessions::asking::begun_calls::EndedInTurn;
use crate::sessions::asking::open_runs::OpenedRun;
use crate::sessions::cell::{CellTurn, PlannedCell};
use crate::sessions::cell_parts::CellParts;
use crate::sessions::reproducible::session_seed::{SessionSeed, SessionSeedParam};
use crate::sessions::setup::{
    SessionSetup, is_of_run, limits_of_cell, limits_of_session, refuse_other_program,
    refuse_other_seed, refuse_what_cells_have_not, refuse_what_cells_set,
    refuse_what_first_cells_set, setup_of,
};
use crate::sessions::turns::unknown_session::UnknownSession;
use crate::sessions::views::{checkpoint_id, session_id, wait_of};
use wardian_formats::job::Program;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::cells::{CellFate, SessionOrderParam};
use wardian_formats::protocol::methods::execution::{RequestedLimits, RunCodeParams, RunResult};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_sessions::{StoredSession, TurnRequest};
use wardian_stores::tenants::Right;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{Digest, SessionId};

/// The id that stands for a session that does not exist yet.
pub(super) const NEW: &str = "new";

/// Shortest time after which a session can end by itself, in milliseconds.
const SHORTEST_LIFE: u64 = 100;

/// Longest label of a session, in characters.
const MAX_LABEL: usize = 200;

/// The lives of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionKind {
    /// It lasts until its caller closes it, or it expires.
    Lasting,
    /// It ends with the run that waits for its caller in it.
    OfRun,
}

/// What a new session is made of: the plan of its guest, its blobs, its seed, and how long it lives.
pub(super) type MadeSession<'a> = (&'a Planned, Vec<InputBlob>, Option<SessionSeed>, SessionKind);

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
    /// Whether it is reproducible, and from what.
    pub reproducible: Option<SessionSeedParam>,
    /// How long it is kept after its last use, in milliseconds, if that is less than the server's setting.
    pub idle_ms: Option<u64>,
    /// How long it is kept after its creation, in milliseconds, if that is less than the server's setting.
    pub max_age_ms: Option<u64>,
}

impl Service {
    /// Makes a session whose first cell has not come yet.
    pub(crate) async fn begin_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> Result<(StoredSession, UnknownSession), ServiceError> {
        ensure_has(caller, Right::Code)?;
        let NewSessionOrder { label, mount_skills, input_blobs, limits, .. } = order;
        let NewSessionOrder { reproducible, idle_ms, max_age_ms, .. } = order;
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
        let seed = SessionSeed::of_order(reproducible)?;
        let limits = limits_of_session(&self.policy.limits, caller, &limits, seed.as_ref())?;
        let mounts = (mount_skills.as_slice(), input_blobs.as_slice());
        let planned = self.plan_guest(caller, String::new(), mounts, (limits, seed.as_ref()));
        let planned = planned.await?;
        // With blobs that do not exist, or have no room in the workspace, each cell would be refused.
        let (blobs, files) = (planned.blobs.clone(), &self.discovery().blobs().files);
        let blobs = (blobs, planned.placed.clone());
        open_inputs(files, caller, blobs, &planned.limits.split().0, None).await?;
        let ends = [idle_ms, max_age_ms].map(|time| time.map(Duration::from_millis));
        let made = (&planned, input_blobs, seed, SessionKind::Lasting);
        self.add_session(caller, made, label, ends).await
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
        let seed = SessionSeed::of_call(params.reproducible)?;
        if params.abandon || params.answers.is_some() {
            refuse_other_seed(seed.as_ref())?;
            return Box::pin(self.go_on_or_end(caller, params, order, listener)).await;
        }
        let store = self.sessions().store()?;
        let label = params.label.clone();
        let opened = self.open_run(caller, params.tools.as_deref(), listener.as_ref());
        let mut parts = CellParts::of(&mut params, self.policy.limits.keep_files, listener)?;
        parts.open = opened.as_ref().map(OpenedRun::run);
        let (skills, blobs) = (&params.mount_skills, &params.input_blobs);
        let tools = params.tools.as_deref();
        // The caller learns the id of a new session from the answer alone.
        let (session, planned, unknown) = match order.id.as_deref().filter(|id| *id != NEW) {
            None => {
                let granted = self.granted_to_code(caller).asking(params.asks_nobody);
                parts.granted = granted.of_cell(seed.as_ref(), &parts.code);
                parts.tools = self.called_tools(caller, tools, &parts.granted).await?;
                let policy = &self.policy.limits;
                let limits = limits_of_session(policy, caller, &parts.limits, seed.as_ref())?;
                let (code, mounts) = (parts.code.clone(), (skills.as_slice(), blobs.as_slice()));
                let limits = (limits, seed.as_ref());
                let planned = self.plan_guest(caller, code, mounts, limits).await?;
                let setup = (&planned, blobs.clone(), seed, SessionKind::Lasting);
                let (made, unknown) = self.add_session(caller, setup, label, [None, None]).await?;
                (made, planned, Some(unknown))
            }
            Some(id) => {
                refuse_what_first_cells_set(skills, blobs)?;
                refuse_other_seed(seed.as_ref())?;
                let session = store.find(&caller.tenant, &session_id(id)?).await?;
                refuse_other_program(&session)?;
                let own = setup_of(&session)?.reproducible;
                let granted = self.granted_to(caller, &session)?.asking(params.asks_nobody);
                parts.granted = granted.of_cell(own.as_ref(), &parts.code);
                parts.tools = self.called_tools(caller, tools, &parts.granted).await?;
                let planned = self.plan_next(caller, &session, &parts).await?;
                (session, planned, None)
            }
        };
        let begun = async {
            let turn = self.turn_of(caller, &session.id, &order, parts.code.clone()).await?;
            let next = parts.next_part();
            let answered = self.run_planned_cell(caller, (&session, planned), parts, turn).await?;
            self.go_on_here(caller, &session, &next, answered).await
        };
        let answered = Box::pin(begun).await;
        if let (Ok(_), Some(unknown)) = (&answered, unknown) {
            unknown.keep();
        }
        self.close_after(caller, &session, &order, answered?).await
    }

    /// Takes the turn of a cell that begins.
    async fn turn_of(
        &self,
        caller: &Caller,
        session: &SessionId,
        order: &SessionOrderParam,
        source: String,
    ) -> Result<CellTurn, ServiceError> {
        let turn = TurnRequest {
            source,
            if_checkpoint: order.if_checkpoint.as_deref().map(checkpoint_id).transpose()?,
            wait: wait_of(order.wait_ms),
        };
        let store = self.sessions().store()?;
        self.ensure_not_held(session).await?;
        // A cell that comes to wait meanwhile is to be answered first.
        let turn = select! {
            biased;
            waiting = self.sessions().until_held(session) => return Err(waiting.into()),
            turn = store.take_turn(&caller.tenant, session, turn) => turn?,
        };
        Ok(CellTurn::Own(Box::new(turn)))
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
        let is_short = order.keep == Some(false) || is_of_run(session);
        let is_over = is_short && !waits_on(&result);
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
            // A session may be over at its greatest age, whatever its last cell did.
            let may_have_ended = ended.state == CellFate::RolledBack || store.is_due(session);
            let has_ended = is_over
                || may_have_ended
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

    /// Runs the next cell of a session.
    pub(super) async fn run_next(
        &self,
        caller: &Caller,
        id: &SessionId,
        parts: CellParts,
    ) -> Result<Answered, ServiceError> {
        let store = self.sessions().store()?;
        let session = store.find(&caller.tenant, id).await?;
        let planned = self.plan_next(caller, &session, &parts).await?;
        let order = TurnRequest { source: parts.code.clone(), ..TurnRequest::default() };
        let turn = CellTurn::Own(Box::new(store.take_turn(&caller.tenant, id, order).await?));
        self.run_planned_cell(caller, (&session, planned), parts, turn).await
    }

    /// Runs a cell that has its turn.
    pub(super) async fn run_planned_cell(
        &self,
        caller: &Caller,
        (session, mut planned): (&StoredSession, Planned),
        mut parts: CellParts,
        turn: CellTurn,
    ) -> Result<Answered, ServiceError> {
        let SessionSetup { layers, reproducible: seed, is_run, .. } = setup_of(session)?;
        let (mut facts, continuation) = (turn.facts(), turn.continuation());
        if let Some(seed) = &seed {
            // It goes on with the same random numbers, also if its state was continued before.
            facts.must_reseed = parts.answers.is_none() && seed.must_reseed(facts.head.as_ref());
        }
        parts.go_on_as_begun(&mut planned);
        let (number, head) = (facts.number, facts.head.clone());
        let id = parts.open.as_ref().and_then(|open| open.id_of_first_part());
        self.sessions().open_runs().calls().begin_part(&session.id, &parts.call);
        let ended =
            EndedInTurn::of(self.sessions().observer(), (caller, &session.id), parts.open.clone());
        if let Some(open) = &parts.open {
            open.begin_part(number, &parts.tools.known, &caller.trace);
        }
        // The answers of servers come in parts, and those of a session that can be repeated are noted as such.
        let is_heard = parts.open.is_some() && seed.is_none() && !parts.tools.known.has_listed();
        let cell = PlannedCell {
            facts,
            turn,
            image: session.image,
            layers,
            tools: parts.tools,
            answers: parts.answers,
            shows_value: parts.shows_value,
            is_program: is_run,
            is_heard,
            expected: parts.expected,
            earlier: parts.earlier,
            journal: parts.journal,
            seen: parts.seen,
            recorded_blobs: parts.recorded.map(|recorded| recorded.blobs),
            documented: None,
            run: None,
        };
        let planned = Planned {
            id,
            is_script: parts.is_script,
            label: parts.label,
            keep_files: parts.keep_files,
            strict_output: planned.strict_output || parts.strict_output,
            listener: parts.listener,
            open: parts.open,
            tool_calls: parts.tool_calls,
            // What is noted of a cell that others can repeat has the digest of its log.
            whole_logs: seed.is_some(),
            cell: Some(cell),
            ..planned
        };
        let performed = self.perform(caller, planned).await;
        drop(ended);
        let performed =
            performed.map_err(|error| self.sessions().note_damage(caller, &session.id, error));
        let mut answered = performed?;
        if answered.result.session.is_none() {
            // It was stopped before its end.
            let place = (session.id.clone(), number);
            let reason = answered.result.summary.clone();
            answered.result.session =
                Some(self.sessions().stopped(place, head, (continuation, reason)));
        }
        Ok(answered)
    }

    /// The plan of a cell in a session that has a guest.
    pub(super) async fn plan_next(
        &self,
        caller: &Caller,
        session: &StoredSession,
        parts: &CellParts,
    ) -> Result<Planned, ServiceError> {
        let setup = setup_of(session)?;
        let limits = match &parts.recorded {
            Some(recorded) => recorded.limits,
            None => limits_of_cell(&self.policy.limits, caller, (session, &setup), parts.limits)?,
        };
        self.plan_again(caller, &setup, parts.code.clone(), limits).await
    }

    /// The plan of a run in the guest of a session that was made so.
    async fn plan_again(
        &self,
        caller: &Caller,
        setup: &SessionSetup,
        code: String,
        limits: RunLimits,
    ) -> Result<Planned, ServiceError> {
        if let Some(skill) = setup.skills.first().filter(|_| setup.runs_skill) {
            let own = (limits, setup.reproducible.as_ref());
            return self.plan_guest_of_skill(caller, skill, &setup.blobs, own).await;
        }
        let mounts = (setup.skills.as_slice(), setup.blobs.as_slice());
        self.plan_guest(caller, code, mounts, (limits, setup.reproducible.as_ref())).await
    }

    /// The plan of the guest of a session, for something that runs no program in it, and the layers that
    /// the session began with.
    pub(super) async fn plan_between(
        &self,
        caller: &Caller,
        session: &StoredSession,
    ) -> Result<(Planned, Vec<Digest>), ServiceError> {
        let setup = setup_of(session)?;
        let usual = RequestedLimits::default();
        let limits = limits_of_cell(&self.policy.limits, caller, (session, &setup), usual)?;
        let planned = self.plan_again(caller, &setup, String::new(), limits).await?;
        Ok((planned, setup.layers))
    }

    /// The plan of a run in the guest of a session.
    pub(super) async fn plan_guest(
        &self,
        caller: &Caller,
        code: String,
        (skills, blobs): (&[String], &[InputBlob]),
        (limits, seed): (RunLimits, Option<&SessionSeed>),
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
        Ok(match seed {
            Some(seed) => planned.following(seed.as_order()),
            None => planned,
        })
    }

    /// Adds a session whose cells have the guest of this plan, with these blobs.
    pub(super) async fn add_session(
        &self,
        caller: &Caller,
        (planned, blobs, seed, kind): MadeSession<'_>,
        label: Option<String>,
        [idle, max_age]: [Option<Duration>; 2],
    ) -> Result<(StoredSession, UnknownSession), ServiceError> {
        let (image, _held) = self.supplies.pin_image(caller, planned).await?;
        let layers = self.supplies.layers_for(caller, planned).await?;
        let layers: Vec<Digest> = layers.mounts.iter().map(|layer| layer.digest).collect();
        let skills = planned.skills.iter().map(|skill| {
            let mount = &skill.mount;
            format!("{}@{}#{}", mount.name, mount.version, mount.digest)
        });
        let setup = SessionSetup::of((skills.collect(), blobs, layers), &planned.limits, seed);
        let is_run = kind == SessionKind::OfRun;
        let runs_skill = matches!(planned.program, Program::Skill { .. });
        let setup = SessionSetup { is_run, runs_skill, ..setup };
        let setup = serde_json::to_string(&setup).map_err(ServiceError::Unserialisable)?;
        let order = wardian_sessions::SessionOrder { label, image, setup, idle, max_age };
        UnknownSession::make(self.sessions(), caller, order).await
    }
}

/// True if the cell of this answer waits for its caller, or waits on because it was stopped before it has gone
/// on.
pub(super) fn waits_on(result: &RunResult) -> bool {
    result.session.as_ref().is_some_and(|session| session.state == CellFate::Waiting)
}

/// True for what stands for a session that does not exist yet.
pub(crate) fn is_new_session(id: &str) -> bool {
    id == NEW
}

/// True for the error of a session that does not exist any more.
const fn is_of_ended_session(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::SessionNotFound | ErrorKind::SessionExpired)
}
