//! One cell: a run whose guest is that of a session.
//!
//! INVARIANT(last-checkpoint-is-truth): the state after a cell is in the store before the caller has the
//! answer. A guest that a worker keeps only saves the way from there.

use std::collections::BTreeSet;
use std::io;
use std::mem::take;
use std::sync::Arc;

use tracing::{debug, warn};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::result::answered::Answered;
use crate::runs::active::ActiveRun;
use crate::sessions::asked::{self, AskedCell, CalledTools};
use crate::sessions::earlier_parts::EarlierParts;
use crate::sessions::held_cells::HeldCell;
use crate::sessions::reproducible::cell_record::{CellDraft, KeptRun, with_record};
use crate::sessions::reproducible::session_seed::SessionSeed;
use crate::sessions::room::SessionRoom;
use wardian_dispatch::{
    CheckedPack, DispatchError, FinishedRun, GuestSpec, HeldGuest, Job, PackContent, Pool, RunHost,
};
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_formats::protocol::methods::execution::{RunError, RunResult, RunStatus};
use wardian_formats::provenance::{SessionInputs, Toolchain};
use wardian_sessions::{CellEnd, PackDescription, SessionTurn, SessionsError};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Bytes of a pack beyond which it is asked how long its whole chain is.
const LARGE_PACK: u64 = 4 << 20;

/// Why a cell of a reproducible session cannot wait.
const ASKS_NOBODY: &str =
    "a reproducible session has nobody to ask: `input()` and tools do not work in it";

/// A cell that has its turn, and what its guest has in common with the cells before.
#[derive(Debug)]
pub(crate) struct PlannedCell {
    pub(crate) turn: SessionTurn,
    /// The image that the session began as.
    pub(crate) image: Digest,
    /// The layers that the session began with.
    pub(crate) layers: Vec<Digest>,
    /// The tools that it may call.
    pub(crate) tools: CalledTools,
    /// The answers with which it goes on, if it has waited.
    pub(crate) answers: Option<JsonText>,
    /// Its guest, if that was held while it waited in the middle of a call.
    pub(crate) held: Option<HeldGuest>,
    /// True if its guest has confirmed before all that it was ordered to.
    pub(crate) is_reseeded: bool,
    /// What its session follows from, if that is reproducible.
    pub(crate) seed: Option<SessionSeed>,
    /// True if its value is displayed whatever it is.
    pub(crate) shows_value: bool,
    /// What its session must follow from, if it repeats another one.
    pub(crate) expected: Option<Box<SessionInputs>>,
    /// The result of its earlier parts, if it has waited.
    pub(crate) earlier: Option<String>,
    /// The run that the cell is, once it is granted.
    pub(crate) run: Option<Arc<ActiveRun>>,
}

/// A cell in progress, without what the worker is told of it.
struct RunningTurn {
    turn: SessionTurn,
    tools: BTreeSet<String>,
    /// True if its guest has nothing left to confirm.
    is_reseeded: bool,
    draft: Option<Box<CellDraft>>,
    earlier: Option<String>,
}

/// A cell that has ended on a worker and is neither kept nor rolled back yet.
#[derive(Debug)]
pub(crate) struct EndedCell {
    turn: SessionTurn,
    /// What it asks of its caller, if it has not ended but waits.
    requests: CallerRequests,
    /// The names of the tools that it may call.
    tools: BTreeSet<String>,
    /// True if its guest has nothing left to confirm.
    is_reseeded: bool,
    /// What has decided it, if its session is reproducible.
    draft: Option<Box<CellDraft>>,
    /// The result of its earlier parts, if it has waited.
    earlier: Option<String>,
    /// Its state to keep, or why there is none.
    state: Result<LeftState, String>,
}

/// The state that a cell has left.
#[derive(Debug)]
enum LeftState {
    /// Its pack, and its guest if a worker has it.
    Packed(Option<HeldGuest>, CheckedPack),
    /// Its guest, which is in the middle of a call.
    Held(HeldGuest),
}

impl PlannedCell {
    /// What the worker is told of the cell. The answers are in it, and here no more.
    pub(crate) fn order(&mut self) -> CellOrder {
        let (tools, answers) = (self.tools.declared.take(), self.answers.take());
        let order = CellOrder::new(self.turn.number(), self.must_reseed());
        CellOrder { tools, answers, shows_value: self.shows_value, ..order }
    }

    /// True if its guest draws other random numbers than before. A reproducible one goes on with the same,
    /// also if its state was continued before: by a cell that was rolled back, or by another session.
    fn must_reseed(&self) -> bool {
        match &self.seed {
            Some(seed) => seed.must_reseed(self.turn.head().map(|head| &head.id)),
            None => self.turn.must_reseed(),
        }
    }

    /// What decides the cell, if its session is reproducible.
    ///
    /// # Errors
    ///
    /// It repeats a cell of another session, and something else would decide it.
    fn draft(
        &self,
        job: &Job,
        toolchain: &Toolchain,
    ) -> Result<Option<Box<CellDraft>>, ServiceError> {
        let head = self.turn.head().map(|head| &head.id);
        let draft = CellDraft::of(job, head, toolchain);
        let found = draft.as_ref().and_then(CellDraft::session);
        if let Some((expected, found)) = self.expected.as_ref().zip(found)
            && let Some(other) = expected.difference(found)?
        {
            return Err(ServiceError::OtherInputs(other));
        }
        Ok(draft.map(Box::new))
    }

    /// The cell as this run, which an interrupt of its session reaches.
    pub(crate) fn of_run(self, run: &Arc<ActiveRun>) -> Self {
        Self { run: Some(Arc::clone(run)), ..self }
    }

    /// The error for a session that cannot go on, for this reason.
    pub(crate) fn unusable(&self, reason: &str) -> ServiceError {
        match self.turn.state() {
            Some(state) => {
                let (checkpoint, reason) = (state.id.checkpoint.clone(), reason.to_owned());
                ServiceError::StateUnusable { checkpoint, reason }
            }
            None => SessionsError::NotFound { session: self.turn.session().clone() }.into(),
        }
    }

    /// Runs the cell in the guest that a worker keeps of the session, or in one that is made of its last
    /// checkpoint.
    ///
    /// # Errors
    ///
    /// The cell was not begun.
    pub(crate) async fn run(
        self,
        (pool, room, toolchain): (&Pool, &SessionRoom, &Toolchain),
        caller: &Caller,
        job: Job,
        host: &mut impl RunHost,
    ) -> Result<(FinishedRun, EndedCell), ServiceError> {
        let draft = self.draft(&job, toolchain)?;
        let is_reseeded = self.is_reseeded || !self.must_reseed();
        let Self { turn, run, tools, held, earlier, .. } = self;
        let mut cell = RunningTurn { turn, tools: tools.names, is_reseeded, draft, earlier };
        // From here on its state may be continued, also if nobody waits for the end.
        cell.turn.set_continued(true);
        let done = Self::run_begun(&cell, run, held, (pool, room), caller, job, host).await;
        match done {
            Ok((finished, guest)) => Ok(Self::ended(cell, finished, guest)),
            Err(NotBegun { error, is_lost }) => {
                cell.turn.set_continued(is_lost);
                Err(error)
            }
        }
    }

    /// Runs the cell in a guest, and returns its end with the guest.
    async fn run_begun(
        RunningTurn { turn, .. }: &RunningTurn,
        run: Option<Arc<ActiveRun>>,
        held: Option<HeldGuest>,
        (pool, room): (&Pool, &SessionRoom),
        caller: &Caller,
        job: Job,
        host: &mut impl RunHost,
    ) -> Result<(FinishedRun, HeldGuest), NotBegun> {
        let session = turn.session();
        let running = run.map(|run| room.note_running(session.clone(), run));
        let Job { guest: spec, turn: order } = job;
        if let Some(mut guest) = held {
            running.iter().for_each(|running| running.can_interrupt(&guest));
            let finished = match guest.turn(&order, host).await {
                Err(DispatchError::GuestLost) => {
                    let (session, cell) = (session.clone(), turn.number());
                    let error = SessionsError::WaitLost { session, cell }.into();
                    return Err(NotBegun { error, is_lost: true });
                }
                // What it has parked before was continued.
                begun => {
                    begun.map_err(|error| NotBegun { is_lost: true, ..not_resumed(error, None) })?
                }
            };
            return Ok((finished, guest));
        }
        let head = turn.state().map(|state| &state.id.checkpoint);
        let kept = head.and_then(|head| room.guests().take(session, head));
        if let Some(mut guest) = kept {
            running.iter().for_each(|running| running.can_interrupt(&guest));
            match guest.turn(&order, host).await {
                Err(DispatchError::GuestLost) => {}
                begun => {
                    let finished = begun.map_err(|error| not_resumed(error, head))?;
                    return Ok((finished, guest));
                }
            }
        }
        let mut guest = guest_at(turn, pool, caller, spec).await?;
        running.iter().for_each(|running| running.can_interrupt(&guest));
        let begun = guest.turn(&order, host).await;
        let finished = begun.map_err(|error| not_resumed(error, head))?;
        Ok((finished, guest))
    }

    fn ended(
        RunningTurn { turn, tools, is_reseeded, draft, earlier }: RunningTurn,
        mut finished: FinishedRun,
        guest: HeldGuest,
    ) -> (FinishedRun, EndedCell) {
        let requests = finished.outcome.cell.as_mut().map(|cell| take(&mut cell.requests));
        let requests = requests.unwrap_or_default();
        let cell = finished.outcome.cell.as_ref();
        let is_reseeded = is_reseeded || cell.is_some_and(|cell| cell.reseeded);
        let is_held = cell.is_some_and(|cell| cell.is_held);
        let guest = finished.is_guest_kept.then_some(guest);
        let state = match (is_held, guest) {
            (true, Some(guest)) => Ok(LeftState::Held(guest)),
            (true, None) => {
                Err("no worker could keep the interpreter while the cell waits in a function"
                    .to_owned())
            }
            (false, guest) => {
                state_to_keep(&mut finished).map(|pack| LeftState::Packed(guest, pack))
            }
        };
        let unconfirmed = "the interpreter did not confirm that its randomness was renewed";
        let state = state
            .and_then(|state| if is_reseeded { Ok(state) } else { Err(unconfirmed.to_owned()) });
        let state = match (&draft, requests.is_empty()) {
            (Some(_), false) => Err(ASKS_NOBODY.to_owned()),
            _ => state,
        };
        (finished, EndedCell { turn, requests, tools, is_reseeded, draft, earlier, state })
    }
}

impl EndedCell {
    /// Keeps the state after the cell, or that in which it waits; or leaves the session where it was. Says so
    /// in the answer. Packs of more than `most` bytes together are not kept: nobody could read them again.
    pub(crate) async fn settle(
        self,
        (room, most): (&SessionRoom, ByteCount),
        mut answered: Answered,
    ) -> Answered {
        let Self { turn, requests, tools, is_reseeded, draft, earlier, state } = self;
        let (session, cell) = (turn.session().clone(), turn.number());
        let head = turn.head().map(|head| head.id.clone());
        let waits = !requests.is_empty();
        let asked = if waits { AskedCell::of(&requests, &tools).map(Some) } else { Ok(None) };
        let state = asked.and_then(|asked| Ok((state?, asked)));
        if waits && state.is_ok() {
            let requests = asked::shown(cell, requests);
            answered.result.status = RunStatus::Waiting;
            answered.result.summary = asked::summary_of(&requests);
            answered.result.requests = requests;
        }
        let noted = noted_of(draft, &state, &answered);
        let state_digest = noted.as_ref().map(|run| run.run.ending.state_digest);
        let end = end_of(&answered.result, earlier.as_deref(), noted.as_ref());
        let kept = match state {
            Ok((LeftState::Packed(guest, pack), asked)) => match too_long(&turn, &pack, most).await
            {
                None => keep(turn, pack, (end, asked)).await.map(|at| {
                    if let Some(guest) = guest {
                        room.guests().put(session.clone(), at.clone(), guest);
                    }
                    Some(at)
                }),
                Some(reason) => Err(leave(turn, end, reason).await),
            },
            Ok((LeftState::Held(guest), asked)) => {
                let asked = asked.unwrap_or_default();
                let (number, result) = (cell, end.result);
                let waiting = HeldCell { turn, guest, is_reseeded, number, asked, result };
                room.hold(session.clone(), waiting).map(|()| None)
            }
            Err(reason) => Err(leave(turn, end, reason).await),
        };
        answered.result.session = Some(match kept {
            Ok(at) => {
                let (state, checkpoint) =
                    if waits { (CellFate::Waiting, head) } else { (CellFate::Kept, at) };
                SessionResult { id: session, cell, checkpoint, state, reason: None, state_digest }
            }
            Err(reason) => {
                if waits {
                    give_up(&mut answered.result, &reason);
                }
                rolled_back((session, cell), head, reason)
            }
        });
        answered
    }
}

/// The end of a cell as it is kept, with what its earlier parts have shown.
fn end_of(result: &RunResult, earlier: Option<&str>, noted: Option<&KeptRun>) -> CellEnd {
    let text = EarlierParts::of(earlier).followed_by(result);
    let text = match noted {
        Some(run) => with_record(result, text.as_deref(), run),
        None => text,
    };
    CellEnd { result: text, fuel: result.fuel }
}

/// What is noted of a cell of a reproducible session whose state can be kept.
fn noted_of(
    draft: Option<Box<CellDraft>>,
    state: &Result<(LeftState, Option<AskedCell>), String>,
    answered: &Answered,
) -> Option<KeptRun> {
    let Ok((LeftState::Packed(_, pack), None)) = state else { return None };
    draft?.ended(answered, pack.facts.root).ok()
}

/// Lets a run fail that would wait, and cannot go on.
fn give_up(result: &mut RunResult, reason: &str) {
    result.status = RunStatus::Failed;
    reason.clone_into(&mut result.summary);
    result.requests.clear();
    let error_type = "SandboxCrash".to_owned();
    result.error = Some(RunError { error_type, message: reason.to_owned(), traceback: None });
}

/// What an answer says of a cell that left no trace.
pub(crate) fn rolled_back(
    (id, cell): (SessionId, u32),
    checkpoint: Option<CheckpointId>,
    reason: String,
) -> SessionResult {
    let (state, reason) = (CellFate::RolledBack, Some(reason));
    SessionResult { id, cell, checkpoint, state, reason, state_digest: None }
}

/// A guest in the state that the session is at.
async fn guest_at(
    turn: &SessionTurn,
    pool: &Pool,
    caller: &Caller,
    spec: GuestSpec,
) -> Result<HeldGuest, ServiceError> {
    let packs = turn.packs(&caller.memory).await?;
    if packs.is_empty() {
        return Ok(pool.open(spec));
    }
    debug!(session.id = %turn.session(), "the session goes on from {} packs", packs.len());
    // Large packs are copied to memory files.
    let contents = caller.memory.on_thread(move || {
        packs.into_iter().map(|pack| PackContent::new(pack.bytes)).collect::<io::Result<Vec<_>>>()
    });
    let contents = contents.await.map_err(ServiceError::Interrupted)?;
    Ok(pool.resume(spec, contents.map_err(ServiceError::Unreadable)?))
}

/// Why a cell was not begun.
struct NotBegun {
    error: ServiceError,
    /// True if it never can be. Otherwise a cell that has waited waits on.
    is_lost: bool,
}

impl From<ServiceError> for NotBegun {
    fn from(error: ServiceError) -> Self {
        Self { error, is_lost: false }
    }
}

/// The error for a turn that was not begun, perhaps because its guest could not be made of its checkpoint.
fn not_resumed(error: DispatchError, head: Option<&CheckpointId>) -> NotBegun {
    match (error, head) {
        (DispatchError::NotResumed { reason }, Some(checkpoint)) => {
            let checkpoint = checkpoint.clone();
            NotBegun { error: ServiceError::StateUnusable { checkpoint, reason }, is_lost: true }
        }
        (error, _) => ServiceError::from(error).into(),
    }
}

/// The state that a cell has left, or why it is not kept.
fn state_to_keep(finished: &mut FinishedRun) -> Result<CheckedPack, String> {
    match finished.pack.take() {
        Some(Ok(pack)) => Ok(pack),
        Some(Err(not_parked)) => Err(not_parked.to_string()),
        None => Err(finished.outcome.end.as_ref().map_or_else(ToString::to_string, |()| {
            "the state after the cell could not be saved".to_owned()
        })),
    }
}

/// Rolls a cell back for this reason.
async fn leave(turn: SessionTurn, end: CellEnd, reason: String) -> String {
    let session = turn.session().clone();
    if let Err(cause) = turn.roll_back(end).await {
        warn_of(&session, &cause);
    }
    reason
}

/// Why a pack is not kept that would make its chain longer than `most` bytes. Chains of small packs are
/// short.
async fn too_long(turn: &SessionTurn, pack: &CheckedPack, most: ByteCount) -> Option<String> {
    let size = pack.facts.size.as_u64();
    if size <= LARGE_PACK {
        return None;
    }
    let before = match pack.facts.base {
        // If the store fails, the commit says so.
        Some(_) => turn.chain_bytes().await.unwrap_or(0),
        None => 0,
    };
    (before.saturating_add(size) > most.as_u64()).then(|| {
        format!(
            "the state after the cell takes more than the {most} that this server can restore; keep less \
             in variables and files"
        )
    })
}

/// Commits the state after a cell, or that in which it waits after it has `asked` something. Returns its
/// checkpoint, or why that is not possible.
async fn keep(
    turn: SessionTurn,
    pack: CheckedPack,
    (end, asked): (CellEnd, Option<AskedCell>),
) -> Result<CheckpointId, String> {
    let asked = asked.map(|asked| serde_json::to_string(&asked)).transpose();
    let asked = asked.map_err(|cause| cause.to_string())?;
    let CheckedPack { facts, bytes } = pack;
    let session = turn.session().clone();
    let before = turn.state().map(|state| state.description.sequence);
    let sequence = match (facts.base, before) {
        (Some(_), Some(before)) => before.saturating_add(1),
        _ => 0,
    };
    let (base, digest, size) = (facts.base, facts.digest, facts.size);
    let description = PackDescription { sequence, base, digest, size };
    let kept = match asked {
        None => turn.commit(description, bytes, end).await,
        Some(asked) => turn.park(description, bytes, end, asked).await,
    };
    kept.map_err(|cause| {
        if matches!(cause, SessionsError::Store { .. } | SessionsError::DiskFull(_)) {
            warn_of(&session, &cause);
        }
        cause.to_string()
    })
}

fn warn_of(session: &SessionId, cause: &SessionsError) {
    warn!(session.id = %session, "a cell could not be ended: {}", CauseChain(cause));
}
