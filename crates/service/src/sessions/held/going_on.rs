//! How cells begin to wait in the middle of a call, and go on.

use tracing::warn;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::earlier_parts::rolled_back;
use crate::sessions::held_cells::{CellFacts, HeldCell, TakenCell};
use crate::sessions::room::{RunningCell, SessionRoom};
use wardian_dispatch::{DispatchError, FinishedRun, RunHost};
use wardian_formats::job::Turn;
use wardian_formats::protocol::methods::cells::{CellFate, SessionResult};
use wardian_sessions::{Continuation, SessionTurn, SessionsError};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// Keeps a cell that waits in the middle of a call. If that is not possible, its guest is closed, and its
/// turn is returned with the reason. From now on its session has its whole time again.
pub(crate) async fn hold(
    room: &SessionRoom,
    caller: &Caller,
    mut cell: HeldCell,
) -> Option<(SessionTurn, String)> {
    let store = match room.store() {
        Ok(store) => store,
        Err(none) => return Some((cell.turn, none.to_string())),
    };
    let bytes = cell.bytes();
    match room.places().take(cell.turn.owner(), (&caller.memory, bytes), cell.place.take()) {
        Ok(place) => cell.place = Some(place),
        Err(none) => return Some((cell.turn, none.to_string())),
    }
    let session = cell.turn.session().clone();
    if let Err(cause) = store.note_use(&session).await {
        // It may end before its time.
        warn!(session.id = %session, "its use could not be noted: {}", CauseChain(&cause));
    }
    let refused = room.held().hold(session, cell, store.longest_wait());
    room.holds.notify_waiters();
    Some((refused?.turn, "its session has ended".to_owned()))
}

/// Lets a cell go on in the middle of a call. One that has not gone on waits on, unless its guest is lost.
pub(crate) async fn go_on(
    taken: &mut TakenCell,
    running: Option<&RunningCell<'_>>,
    order: &Turn,
    host: &mut impl RunHost,
) -> Result<FinishedRun, ServiceError> {
    let lost = wait_lost(taken.facts());
    let Some(guest) = taken.guest() else { return Err(lost) };
    running.into_iter().for_each(|running| running.can_interrupt(guest));
    match guest.turn(order, host).await {
        Err(DispatchError::GuestLost) => {
            taken.note_lost();
            Err(lost)
        }
        finished => Ok(finished?),
    }
}

impl SessionRoom {
    /// What the answer says of a cell that was stopped before its end, for this reason. One that has not gone on can be
    /// answered once more.
    pub(crate) fn stopped(
        &self,
        (session, cell): (SessionId, u32),
        head: Option<CheckpointId>,
        (continuation, reason): (Option<Continuation>, String),
    ) -> SessionResult {
        let waits_on = continuation.map_or_else(
            || self.held().number_of(&session) == Some(cell),
            |continuation| !continuation.has_happened(),
        );
        let left = rolled_back((session, cell), head, reason);
        let state = if waits_on { CellFate::Waiting } else { left.state };
        SessionResult { state, ..left }
    }
}

/// The error for a cell whose guest was lost while it waited.
pub(crate) fn wait_lost(CellFacts { session, number, .. }: &CellFacts) -> ServiceError {
    SessionsError::WaitLost { session: session.clone(), cell: *number }.into()
}
