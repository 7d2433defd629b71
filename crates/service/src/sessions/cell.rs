//! One cell: a run whose guest is that of a session.
//!
//! INVARIANT(last-checkpoint-is-truth): the state after a cell is in the store before the caller has the
//! answer. A guest that a worker keeps only saves the way from there.

use std::sync::Arc;

use tracing::{debug, warn};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::result::answered::Answered;
use crate::runs::active::ActiveRun;
use crate::sessions::room::SessionRoom;
use wardian_dispatch::{
    DispatchError, FinishedRun, GuestSpec, HeldGuest, Job, ParkedGuest, Pool, RunHost,
};
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::protocol::methods::execution::{CellFate, SessionResult};
use wardian_sessions::{CellEnd, PackDescription, SessionTurn, SessionsError};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId};

/// A cell that has its turn, and what its guest has in common with the cells before.
#[derive(Debug)]
pub(crate) struct PlannedCell {
    pub(crate) turn: SessionTurn,
    /// The image that the session began as.
    pub(crate) image: Digest,
    /// The layers that the session began with.
    pub(crate) layers: Vec<Digest>,
    /// The run that the cell is, once it is granted.
    pub(crate) run: Option<Arc<ActiveRun>>,
}

/// A cell that has ended on a worker and is neither kept nor rolled back yet.
#[derive(Debug)]
pub(crate) struct EndedCell {
    turn: SessionTurn,
    /// Its guest, and the state of it to keep; or why there is none to keep.
    state: Result<(HeldGuest, ParkedGuest), String>,
}

impl PlannedCell {
    /// What the worker is told of the cell.
    pub(crate) fn order(&self) -> CellOrder {
        CellOrder { number: self.turn.number(), reseed: self.turn.must_reseed() }
    }

    /// The cell as this run, which an interrupt of its session reaches.
    pub(crate) fn of_run(self, run: &Arc<ActiveRun>) -> Self {
        Self { run: Some(Arc::clone(run)), ..self }
    }

    /// The error for a session that cannot go on, for this reason.
    pub(crate) fn unusable(&self, reason: &str) -> ServiceError {
        match self.turn.head() {
            Some(head) => {
                let (checkpoint, reason) = (head.id.clone(), reason.to_owned());
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
        (pool, room): (&Pool, &SessionRoom),
        caller: &Caller,
        job: Job,
        host: &mut impl RunHost,
    ) -> Result<(FinishedRun, EndedCell), ServiceError> {
        let Self { turn, run, .. } = self;
        let _running = run.map(|run| room.note_running(turn.session().clone(), run));
        let Job { guest: spec, turn: order } = job;
        let head = turn.head().map(|head| head.id.clone());
        let kept = head.as_ref().and_then(|head| room.guests().take(turn.session(), head));
        let mut spec = Some(spec);
        let begun = match kept {
            Some(mut guest) => match guest.turn(&order, host).await {
                Ok(finished) => Some((finished, guest)),
                Err(DispatchError::GuestLost) => None,
                Err(refused) => return Err(refused.into()),
            },
            None => None,
        };
        let (mut finished, guest) = match (begun, spec.take()) {
            (Some(begun), _) => begun,
            (None, Some(spec)) => {
                let mut guest = guest_at(&turn, pool, caller, spec).await?;
                let finished = guest.turn(&order, host).await;
                (finished.map_err(|error| not_resumed(error, head.as_ref()))?, guest)
            }
            (None, None) => return Err(DispatchError::GuestLost.into()),
        };
        let state = state_to_keep(&mut finished, turn.must_reseed()).map(|parked| (guest, parked));
        Ok((finished, EndedCell { turn, state }))
    }
}

impl EndedCell {
    /// Keeps the state after the cell, or leaves the session where it was, and says so in the answer.
    pub(crate) async fn settle(
        self,
        room: &SessionRoom,
        caller: &Caller,
        mut answered: Answered,
    ) -> Answered {
        let Self { turn, state } = self;
        let (session, cell) = (turn.session().clone(), turn.number());
        let head = turn.head().map(|head| head.id.clone());
        let result = serde_json::to_string(&answered.result).ok();
        let end = CellEnd { result, fuel: answered.result.fuel };
        let kept = match state {
            Ok((guest, parked)) => keep(turn, caller, parked, end).await.map(|at| (guest, at)),
            Err(reason) => {
                if let Err(cause) = turn.roll_back(end).await {
                    warn_of(&session, &cause);
                }
                Err(reason)
            }
        };
        answered.result.session = Some(match kept {
            Ok((guest, checkpoint)) => {
                room.guests().put(session.clone(), checkpoint.clone(), guest);
                let state = CellFate::Kept;
                SessionResult {
                    id: session,
                    cell,
                    checkpoint: Some(checkpoint),
                    state,
                    reason: None,
                }
            }
            Err(reason) => rolled_back((session, cell), head, reason),
        });
        answered
    }
}

/// What an answer says of a cell that left no trace.
pub(crate) fn rolled_back(
    (id, cell): (SessionId, u32),
    checkpoint: Option<CheckpointId>,
    reason: String,
) -> SessionResult {
    SessionResult { id, cell, checkpoint, state: CellFate::RolledBack, reason: Some(reason) }
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
    Ok(pool.resume(spec, packs.into_iter().map(|pack| pack.bytes).collect()))
}

/// The error for a guest that could not be made of its checkpoint.
fn not_resumed(error: DispatchError, head: Option<&CheckpointId>) -> ServiceError {
    match (error, head) {
        (DispatchError::NotResumed { reason }, Some(checkpoint)) => {
            ServiceError::StateUnusable { checkpoint: checkpoint.clone(), reason }
        }
        (error, _) => error.into(),
    }
}

/// The state that a cell has left, or why it is not kept.
fn state_to_keep(finished: &mut FinishedRun, must_reseed: bool) -> Result<ParkedGuest, String> {
    let parked = finished.parked.take();
    if let Err(failure) = &finished.outcome.end
        && !finished.is_guest_kept
    {
        return Err(failure.to_string());
    }
    let is_reseeded = finished.outcome.cell.as_ref().is_some_and(|cell| cell.reseeded);
    if must_reseed && !is_reseeded {
        return Err("the interpreter did not confirm that its randomness was renewed".to_owned());
    }
    match parked {
        Some(Ok(parked)) => Ok(parked),
        Some(Err(reason)) => Err(reason),
        None => Err("the state of the interpreter could not be read".to_owned()),
    }
}

/// Commits the state after a cell, and returns its checkpoint, or why that is not possible.
async fn keep(
    turn: SessionTurn,
    caller: &Caller,
    parked: ParkedGuest,
    end: CellEnd,
) -> Result<CheckpointId, String> {
    let ParkedGuest { facts, content } = parked;
    let session = turn.session().clone();
    let size = content.size();
    if let Err(no_room) = caller.memory.reserve(size) {
        return Err(no_room.to_string());
    }
    let read = caller.memory.on_thread(move || content.into_bytes()).await;
    let Ok(Ok(bytes)) = read else {
        return Err("the state of the interpreter could not be read".to_owned());
    };
    let before = turn.head().map(|head| head.pack.description.sequence);
    let sequence = match (facts.base, before) {
        (Some(_), Some(before)) => before.saturating_add(1),
        _ => 0,
    };
    let description = PackDescription { sequence, base: facts.base, digest: facts.digest, size };
    turn.commit(description, bytes, end).await.map_err(|cause| {
        if matches!(cause, SessionsError::Store { .. } | SessionsError::DiskFull(_)) {
            warn_of(&session, &cause);
        }
        cause.to_string()
    })
}

fn warn_of(session: &SessionId, cause: &SessionsError) {
    warn!(session.id = %session, "a cell could not be ended: {}", CauseChain(cause));
}
