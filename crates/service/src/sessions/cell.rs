//! One cell: a run whose guest is that of a session.
//!
//! INVARIANT(last-checkpoint-is-truth): the state after a cell is in the store before the caller has the
//! answer. A guest that a worker keeps only saves the way from there.

use std::io;
use std::sync::Arc;

use tracing::{debug, warn};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::result::answered::Answered;
use crate::runs::active::ActiveRun;
use crate::sessions::room::SessionRoom;
use wardian_dispatch::{
    CheckedPack, DispatchError, FinishedRun, GuestSpec, HeldGuest, Job, PackContent, Pool, RunHost,
};
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_sessions::{CellEnd, PackDescription, SessionTurn, SessionsError};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Bytes of a pack beyond which it is asked how long its whole chain is.
const LARGE_PACK: u64 = 4 << 20;

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
    /// Its guest if a worker has it, and its state to keep; or why there is none to keep.
    state: Result<(Option<HeldGuest>, CheckedPack), String>,
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
        let session = turn.session();
        let running = run.map(|run| room.note_running(session.clone(), run));
        let Job { guest: spec, turn: order } = job;
        let head = turn.head().map(|head| &head.id);
        let kept = head.and_then(|head| room.guests().take(session, head));
        if let Some(mut guest) = kept {
            running.iter().for_each(|running| running.can_interrupt(&guest));
            match guest.turn(&order, host).await {
                Err(DispatchError::GuestLost) => {}
                begun => return Ok(Self::ended(turn, begun?, guest)),
            }
        }
        let mut guest = guest_at(&turn, pool, caller, spec).await?;
        running.iter().for_each(|running| running.can_interrupt(&guest));
        let begun = guest.turn(&order, host).await;
        let finished = begun.map_err(|error| not_resumed(error, head))?;
        drop(running);
        Ok(Self::ended(turn, finished, guest))
    }

    fn ended(
        turn: SessionTurn,
        mut finished: FinishedRun,
        guest: HeldGuest,
    ) -> (FinishedRun, EndedCell) {
        let state = state_to_keep(&mut finished, turn.must_reseed());
        let guest = finished.is_guest_kept.then_some(guest);
        (finished, EndedCell { turn, state: state.map(|pack| (guest, pack)) })
    }
}

impl EndedCell {
    /// Keeps the state after the cell, or leaves the session where it was, and says so in the answer.
    /// Packs of more than `most` bytes together are not kept: nobody could read them again.
    pub(crate) async fn settle(
        self,
        (room, most): (&SessionRoom, ByteCount),
        mut answered: Answered,
    ) -> Answered {
        let Self { turn, state } = self;
        let (session, cell) = (turn.session().clone(), turn.number());
        let head = turn.head().map(|head| head.id.clone());
        let result = serde_json::to_string(&answered.result).ok();
        let end = CellEnd { result, fuel: answered.result.fuel };
        let kept = match state {
            Ok((guest, pack)) => match too_long(&turn, &pack, most).await {
                None => keep(turn, pack, end).await.map(|at| (guest, at)),
                Some(reason) => Err(leave(turn, end, reason).await),
            },
            Err(reason) => Err(leave(turn, end, reason).await),
        };
        answered.result.session = Some(match kept {
            Ok((guest, checkpoint)) => {
                if let Some(guest) = guest {
                    room.guests().put(session.clone(), checkpoint.clone(), guest);
                }
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
    // Large packs are copied to memory files.
    let contents = caller.memory.on_thread(move || {
        packs.into_iter().map(|pack| PackContent::new(pack.bytes)).collect::<io::Result<Vec<_>>>()
    });
    let contents = contents.await.map_err(ServiceError::Interrupted)?;
    Ok(pool.resume(spec, contents.map_err(ServiceError::Unreadable)?))
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
fn state_to_keep(finished: &mut FinishedRun, must_reseed: bool) -> Result<CheckedPack, String> {
    let is_reseeded = finished.outcome.cell.as_ref().is_some_and(|cell| cell.reseeded);
    match finished.pack.take() {
        Some(Ok(_)) if must_reseed && !is_reseeded => {
            Err("the interpreter did not confirm that its randomness was renewed".to_owned())
        }
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

/// Commits the state after a cell, and returns its checkpoint, or why that is not possible.
async fn keep(turn: SessionTurn, pack: CheckedPack, end: CellEnd) -> Result<CheckpointId, String> {
    let CheckedPack { facts, bytes } = pack;
    let session = turn.session().clone();
    let before = turn.head().map(|head| head.pack.description.sequence);
    let sequence = match (facts.base, before) {
        (Some(_), Some(before)) => before.saturating_add(1),
        _ => 0,
    };
    let (base, digest, size) = (facts.base, facts.digest, facts.size);
    let description = PackDescription { sequence, base, digest, size };
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
