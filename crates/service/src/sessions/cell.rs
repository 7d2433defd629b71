//! One cell: a run whose guest is that of a session.
//!
//! INVARIANT(last-checkpoint-is-truth): the state after a cell is in the store before the caller has the
//! answer. A guest that a worker keeps only saves the way from there.

use std::mem::take;
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::record::document::DocumentedRun;
use crate::run::result::answered::{Answered, REPEATED};
use crate::runs::active::{ActiveRun, StopReason};
use crate::sessions::asking::asked::{self, AskedCell};
use crate::sessions::asking::called_tools::{CalledTools, KnownTools};
use crate::sessions::asking::server_call::ServerCall;
use crate::sessions::earlier_parts::LeftCell;
use crate::sessions::held::going_on::{go_on, hold, wait_lost};
use crate::sessions::held::places::HeldPlace;
use crate::sessions::held_cells::{CellFacts, HeldCell, TakenCell};
use crate::sessions::reproducible::cell_record::{CellDraft, KeptRun};
use crate::sessions::reproducible::journal::CellJournal;
use crate::sessions::room::{RunningCell, SessionRoom};
use crate::sessions::setup::contents_of;
use crate::sessions::turns::begun_host::BegunHost;
use crate::sessions::turns::end_turn::{keep, leave, too_long};
use crate::sessions::turns::not_begun::{NotBegun, not_resumed};
use crate::sessions::turns::seen_requests::SeenRequests;
use wardian_dispatch::{
    CheckedPack, DispatchError, FinishedRun, GuestSpec, HeldGuest, Job, Pool, RunHost,
};
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::protocol::methods::asking::AskedRequest;
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_formats::provenance::{DocumentBlob, SessionInputs, Toolchain};
use wardian_sessions::{Continuation, SessionTurn, SessionsError};
use wardian_vocabulary::ids::{Digest, RunId};
use wardian_vocabulary::units::ByteCount;

/// Why a cell has no end of its own.
const STOPPED: &str = "it was stopped, or its caller has gone away";

/// The turn of a cell.
#[derive(Debug)]
pub(crate) enum CellTurn {
    /// It begins, or goes on in the state that it was parked in.
    Own(Box<SessionTurn>),
    /// It goes on in the middle of a call.
    Held(Box<TakenCell>),
}

impl CellTurn {
    /// What is known of the cell.
    pub(crate) fn facts(&self) -> CellFacts {
        match self {
            Self::Own(turn) => CellFacts::of(turn),
            Self::Held(taken) => taken.facts().clone(),
        }
    }

    /// Whether a cell that was parked has gone on; `None` for one that is held.
    pub(crate) fn continuation(&self) -> Option<Continuation> {
        match self {
            Self::Own(turn) => Some(turn.continuation()),
            Self::Held(_) => None,
        }
    }
}

/// A cell that has its turn, and what its guest has in common with the cells before.
#[derive(Debug)]
pub(crate) struct PlannedCell {
    pub(crate) facts: CellFacts,
    pub(crate) turn: CellTurn,
    /// The image that the session began as.
    pub(crate) image: Digest,
    /// The layers that the session began with.
    pub(crate) layers: Vec<Digest>,
    /// The tools that it may call.
    pub(crate) tools: CalledTools,
    /// The answers with which it goes on, if it has waited.
    pub(crate) answers: Option<JsonText>,
    /// True if its value is displayed whatever it is.
    pub(crate) shows_value: bool,
    /// What its session must follow from, if it repeats another one.
    pub(crate) expected: Option<Box<SessionInputs>>,
    /// True if it is a whole program, as that of a run.
    pub(crate) is_program: bool,
    /// True if its caller hears what it asks, and may answer at once.
    pub(crate) is_heard: bool,
    /// The result of its earlier parts, if it has waited.
    pub(crate) earlier: Option<String>,
    /// What has decided it so far, if it has waited and its session is reproducible.
    pub(crate) journal: Option<Box<CellJournal>>,
    /// What it has asked so far, if it has waited.
    pub(crate) seen: SeenRequests,
    /// The blobs with the names that they had, if it repeats another cell.
    pub(crate) recorded_blobs: Option<Vec<DocumentBlob>>,
    /// What its document names, if it is a run that begins and leaves one.
    pub(crate) documented: Option<Box<DocumentedRun>>,
    /// The run that the cell is, once it is granted.
    pub(crate) run: Option<Arc<ActiveRun>>,
}

/// A cell in progress, without what the worker is told of it.
struct RunningTurn {
    turn: SessionTurn,
    tools: KnownTools,
    /// True if its guest has nothing left to confirm.
    is_reseeded: bool,
    draft: Option<Box<CellDraft>>,
    earlier: Option<String>,
    /// What it has asked before.
    seen: SeenRequests,
    /// True if it was begun a second time.
    is_repeated: bool,
    /// Its right to wait in the middle of a call, if it did.
    place: Option<HeldPlace>,
}

/// A cell that has ended on a worker and is neither kept nor rolled back yet.
#[derive(Debug)]
pub(crate) struct EndedCell {
    turn: SessionTurn,
    /// What it asks of its caller, if it has not ended but waits.
    requests: CallerRequests,
    /// The tools that it may call.
    tools: KnownTools,
    /// True if its guest has nothing left to confirm.
    is_reseeded: bool,
    /// What has decided it, if its session is reproducible.
    draft: Option<Box<CellDraft>>,
    /// The result of its earlier parts, if it has waited.
    earlier: Option<String>,
    /// What it has asked before.
    seen: SeenRequests,
    /// True if it was begun a second time.
    is_repeated: bool,
    /// Its state to keep, or why there is none.
    state: Result<LeftState, String>,
}

/// The state that a cell has left.
#[derive(Debug)]
enum LeftState {
    /// Its pack, and its guest if a worker has it.
    Packed(Option<HeldGuest>, CheckedPack),
    /// Its guest, which is in the middle of a call.
    Held(HeldGuest, Option<HeldPlace>),
}

impl PlannedCell {
    /// What the worker is told of the cell. The answers are in it, and here no more.
    pub(crate) fn order(&mut self) -> CellOrder {
        let (tools, answers) = (self.tools.declared.take(), self.answers.take());
        let CellFacts { number, must_reseed: reseed, .. } = self.facts;
        let Self { shows_value, is_program: program, is_heard, .. } = *self;
        CellOrder { number, reseed, tools, answers, shows_value, program, is_heard }
    }

    /// What decides the cell, if its session is reproducible.
    ///
    /// # Errors
    ///
    /// It repeats a cell of another session, and something else would decide it.
    fn draft(
        &mut self,
        job: &Job,
        toolchain: &Toolchain,
    ) -> Result<Option<Box<CellDraft>>, ServiceError> {
        let journal = (self.journal.take().map(|journal| *journal), self.documented.take());
        let draft = CellDraft::of(job, self.facts.head.as_ref(), toolchain, journal);
        let draft = draft.map_err(ServiceError::Unserialisable)?;
        let found = draft.as_ref().and_then(CellDraft::session);
        if let Some((expected, found)) = self.expected.as_ref().zip(found)
            && let Some(other) = expected.difference(found)?
        {
            return Err(ServiceError::OtherInputs(other));
        }
        Ok(draft.map(Box::new))
    }

    /// The cell as this run, which an interrupt of its session reaches, and which may leave a document.
    pub(crate) fn of_run(
        self,
        run: &Arc<ActiveRun>,
        documented: Option<Box<DocumentedRun>>,
    ) -> Self {
        Self { run: Some(Arc::clone(run)), documented, ..self }
    }

    /// True if it is a whole program, as that of a run, and begins.
    pub(crate) const fn begins_program(&self) -> bool {
        self.is_program && self.answers.is_none()
    }

    /// The error for a session that cannot go on, for this reason.
    pub(crate) fn unusable(&self, reason: &str) -> ServiceError {
        match self.facts.state.clone() {
            Some(checkpoint) => {
                ServiceError::StateUnusable { checkpoint, reason: reason.to_owned() }
            }
            None => SessionsError::NotFound { session: self.facts.session.clone() }.into(),
        }
    }

    /// Runs the cell in the guest that a worker keeps of the session, or in one that is made of its last
    /// checkpoint.
    ///
    /// # Errors
    ///
    /// The cell was not begun.
    pub(crate) async fn run(
        mut self,
        (pool, room, toolchain): (&Pool, &SessionRoom, &Toolchain),
        caller: &Caller,
        job: Job,
        host: &mut impl RunHost,
    ) -> Result<(FinishedRun, EndedCell), ServiceError> {
        let draft = self.draft(&job, toolchain)?;
        let Self { facts, turn, run, tools, earlier, seen, .. } = self;
        let running = run.map(|run| room.note_running(facts.session.clone(), run));
        let turn = match turn {
            CellTurn::Own(turn) => *turn,
            CellTurn::Held(mut taken) => {
                let finished = go_on(&mut taken, running.as_ref(), &job.turn, host).await?;
                let Some(HeldCell { turn, guest, is_reseeded, place, .. }) = taken.into_cell()
                else {
                    return Err(wait_lost(&facts));
                };
                let mut cell = RunningTurn {
                    turn,
                    tools: tools.known,
                    is_reseeded,
                    draft,
                    earlier,
                    seen,
                    is_repeated: false,
                    place,
                };
                cell.note_reason(&job.turn.id, STOPPED);
                room.note_left_interrupt(&facts.session, &finished);
                return Ok(Self::ended(cell, finished, guest));
            }
        };
        let mut cell = RunningTurn {
            turn,
            tools: tools.known,
            is_reseeded: !facts.must_reseed,
            draft,
            earlier,
            seen,
            is_repeated: false,
            place: None,
        };
        cell.note_reason(&job.turn.id, STOPPED);
        let (run, continuation) = (job.turn.id.clone(), cell.turn.continuation());
        // From its beginning on its state may be continued, also if nobody waits for the end.
        let mut host = BegunHost::of(continuation.clone(), host);
        match Self::run_begun(&cell, running, (pool, room), caller, job, &mut host).await {
            Ok((finished, guest)) => {
                cell.is_repeated = host.is_repeated();
                room.note_left_interrupt(&facts.session, &finished);
                Ok(Self::ended(cell, finished, guest))
            }
            Err(NotBegun { error, is_lost }) => {
                continuation.note(is_lost);
                cell.note_reason(&run, &error.to_string());
                Err(error)
            }
        }
    }

    /// Runs the cell in a guest, and returns its end with the guest.
    async fn run_begun(
        RunningTurn { turn, .. }: &RunningTurn,
        running: Option<RunningCell<'_>>,
        (pool, room): (&Pool, &SessionRoom),
        caller: &Caller,
        job: Job,
        host: &mut BegunHost<'_, impl RunHost>,
    ) -> Result<(FinishedRun, HeldGuest), NotBegun> {
        let session = turn.session();
        let Job { guest: spec, turn: order } = job;
        let head = turn.state().map(|state| &state.id.checkpoint);
        let kept = head.and_then(|head| room.guests().take(session, head));
        if let Some(mut guest) = kept {
            running.iter().for_each(|running| running.can_interrupt(&guest));
            match guest.turn(&order, host).await {
                Err(DispatchError::GuestLost) => host.note_lost_guest(),
                begun => {
                    let finished = begun.map_err(|error| not_resumed(error, head))?;
                    return Ok((finished, guest));
                }
            }
        }
        let begun = Instant::now();
        let mut guest = guest_at(turn, pool, caller, spec).await?;
        let read = begun.elapsed();
        running.iter().for_each(|running| running.can_interrupt(&guest));
        let begun = guest.turn(&order, host).await;
        let finished = begun.map_err(|error| not_resumed(error, head))?;
        if let Some(resumed) = finished.outcome.usage.resumed.filter(|_| head.is_some()) {
            room.observer().count_resume(read.saturating_add(resumed));
        }
        Ok((finished, guest))
    }

    fn ended(
        cell: RunningTurn,
        mut finished: FinishedRun,
        guest: HeldGuest,
    ) -> (FinishedRun, EndedCell) {
        let RunningTurn { turn, tools, is_reseeded, draft, earlier, seen, is_repeated, place } =
            cell;
        let requests = finished.outcome.cell.as_mut().map(|cell| take(&mut cell.requests));
        let requests = requests.unwrap_or_default();
        let cell = finished.outcome.cell.as_ref();
        let is_reseeded = is_reseeded || cell.is_some_and(|cell| cell.reseeded);
        let is_held = cell.is_some_and(|cell| cell.is_held);
        let guest = finished.is_guest_kept.then_some(guest);
        let state = match (is_held, guest) {
            (true, Some(guest)) => Ok(LeftState::Held(guest, place)),
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
        let ended = EndedCell {
            turn,
            requests,
            tools,
            is_reseeded,
            draft,
            earlier,
            seen,
            is_repeated,
            state,
        };
        (finished, ended)
    }
}

impl RunningTurn {
    /// Notes why the cell has no end of its own, if it gets none: what its earlier parts have shown is kept.
    fn note_reason(&mut self, run: &RunId, reason: &str) {
        let (turn, earlier) = (&mut self.turn, self.earlier.clone());
        let place = (turn.session().clone(), turn.number());
        let head = turn.head().map(|head| head.id.clone());
        let left = LeftCell { place, head, waits: false, earlier };
        let stopped = Answered::stopped(run.clone(), StopReason::Cancelled).result;
        turn.set_end_if_dropped(left.end(&left.rolled_back(stopped, reason)));
    }
}

impl EndedCell {
    /// Keeps the state after the cell, or that in which it waits; or leaves the session where it was. Says so
    /// in the answer. Packs that nobody could read again are not kept. Returns what the document of a run names that
    /// has ended, too.
    pub(crate) async fn settle(
        self,
        (room, caller): (&SessionRoom, &Caller),
        mut answered: Answered,
    ) -> (Answered, Option<Box<DocumentedRun>>) {
        // A state is read with the memory for clients, which others need too.
        let most = ByteCount::bytes(caller.memory.budget().limit().as_u64() / 2);
        let Self { turn, requests, tools, is_reseeded, mut draft, earlier, .. } = self;
        let Self { seen, is_repeated, state, .. } = self;
        let (session, cell) = (turn.session().clone(), turn.number());
        let head = turn.head().map(|head| head.id.clone());
        let waits = !requests.is_empty();
        let asked = waits.then(|| AskedCell::after(seen, &requests, &tools)).transpose();
        let mut state = asked.and_then(|asked| Ok((state?, asked)));
        note_wait(&mut state, &mut draft, (&answered, &requests));
        let ended = draft.as_mut().filter(|_| !waits).and_then(|draft| draft.journal.run());
        if let Ok((_, Some(asked))) = &state {
            note_requests(&mut answered, asked.divided(cell, requests));
        }
        if is_repeated {
            answered.result.summary.push_str(REPEATED);
        }
        let noted = noted_of(draft, &state, &answered);
        let digest = noted.as_ref().map(|run| run.run.ending.state_digest);
        let state_of = |state, checkpoint, state_digest| {
            let id = session.clone();
            Some(SessionResult { id, cell, checkpoint, state, reason: None, state_digest })
        };
        if waits {
            answered.result.session = state_of(CellFate::Waiting, head.clone(), None);
        }
        let left = LeftCell { place: (session.clone(), cell), head, waits, earlier };
        let kept = match state {
            Ok((LeftState::Packed(guest, pack), asked)) => match too_long(&turn, &pack, most).await
            {
                None => {
                    let ends = left.clone().ends(answered.result.clone(), noted.as_ref());
                    keep(turn, pack, (ends, asked)).await.map(|at| {
                        let memory = ByteCount::bytes(answered.result.memory_peak_bytes);
                        if let Some(guest) = guest {
                            room.guests().put(session.clone(), at.clone(), guest, memory);
                        }
                        Some(at)
                    })
                }
                Some(reason) => Err(leave(turn, &left, &answered.result, reason).await),
            },
            Ok((LeftState::Held(guest, place), asked)) => {
                let (number, asked) = (cell, asked.unwrap_or_default());
                let result = left.end(&answered.result).result;
                let waiting = HeldCell { turn, guest, is_reseeded, number, asked, result, place };
                match hold(room, caller, waiting).await {
                    None => Ok(None),
                    Some((turn, reason)) => Err(leave(turn, &left, &answered.result, reason).await),
                }
            }
            Err(reason) => Err(leave(turn, &left, &answered.result, reason).await),
        };
        match kept {
            Ok(_) if waits => {}
            Ok(at) => answered.result.session = state_of(CellFate::Kept, at, digest),
            Err(reason) => answered.result = left.rolled_back(answered.result, &reason),
        }
        (answered, ended)
    }
}

/// Notes in the journal of a reproducible cell what the part has left that ends with these requests, and lets the cell
/// wait with it.
fn note_wait(
    state: &mut Result<(LeftState, Option<AskedCell>), String>,
    draft: &mut Option<Box<CellDraft>>,
    (answered, requests): (&Answered, &CallerRequests),
) {
    let Ok((left, Some(asked))) = state else { return };
    let Some(CellDraft { mut journal, .. }) = draft.take().map(|draft| *draft) else { return };
    let digest = match left {
        LeftState::Packed(_, pack) => Some(pack.facts.root),
        LeftState::Held(..) => None,
    };
    journal.note_part(answered, requests, digest);
    asked.journal = Some(Box::new(journal));
}

/// Says in the answer of a cell that waits what its caller answers, and what the gateway answers itself.
fn note_requests(answered: &mut Answered, (requests, calls): (Vec<AskedRequest>, Vec<ServerCall>)) {
    answered.server_calls = calls;
    answered.result.status = RunStatus::Waiting;
    answered.result.summary = asked::summary_of(&requests);
    answered.result.requests = requests;
}

/// What is noted of a cell of a reproducible session whose state can be kept.
fn noted_of(
    draft: Option<Box<CellDraft>>,
    state: &Result<(LeftState, Option<AskedCell>), String>,
    answered: &Answered,
) -> Option<KeptRun> {
    let Ok((LeftState::Packed(_, pack), None)) = state else { return None };
    draft?.ended(answered, pack.facts.root).ok().flatten()
}

/// A guest in the state that the session is at.
async fn guest_at(
    turn: &SessionTurn,
    pool: &Pool,
    caller: &Caller,
    spec: GuestSpec,
) -> Result<HeldGuest, ServiceError> {
    let memory = caller.memory.for_states_of(&caller.tenant);
    let packs = turn.packs(&memory).await?;
    if packs.is_empty() {
        return Ok(pool.open(spec));
    }
    debug!(session.id = %turn.session(), "the session goes on from {} packs", packs.len());
    Ok(pool.resume(spec, contents_of(packs, &memory).await?))
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
