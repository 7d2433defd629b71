//! A guest that is kept from turn to turn.

use wardian_formats::job::message::GuestNumber;
use wardian_formats::job::{SetupLimits, Turn};
use wardian_vocabulary::units::ByteCount;

use crate::error::DispatchError;
use crate::execution::TurnExecution;
use crate::interrupter::TurnInterrupter;
use crate::packs::{PackContent, UnreadPacks};
use crate::scheduler::claim::{Claim, GuestKey};
use crate::{FinishedRun, GuestSpec, RunHost, SealedContent};

/// A guest that has one turn after another, and keeps its state between them.
///
/// It is opened, or resumed from its packs, by its first turn, which is admitted like a run and may be
/// given to another worker if the first one breaks before it begins. From then on a worker keeps the guest,
/// perhaps beside others of its owner: its memory stays admitted, and nothing else of it counts as a run
/// until the next turn. That turn waits for its place among the runs, and until its worker has no other run.
///
/// A guest that is kept can be lost between two turns: for a further one if there are
/// [`most_held`](crate::PoolConfig::most_held) or its worker has as many as it may, for a run that lacks its
/// memory, because its worker holds a cell of another one, with its worker, or at the end of the pool. It is
/// also lost if its worker is busy when the next turn could begin in another one. Then the next turn fails with
/// [`DispatchError::GuestLost`]: it was not begun, or its worker ended at once and had asked nothing of the
/// host, so that nothing outside of the guest has changed.
/// None is lost in the middle of a turn, unless its worker breaks or its caller leaves.
///
/// After a turn that [saves it](Turn::saves_state) and has left the guest whole, the result has the guest's
/// [state](FinishedRun::pack), from which [`Pool::resume`](crate::Pool::resume) makes other guests. Each
/// state after the first one continues the one before, up to
/// [`MOST_IN_CHAIN`](wardian_formats::job::session::checkpoint::MOST_IN_CHAIN).
///
/// Dropping it closes it. The memory serves others from then on.
#[derive(Debug)]
pub struct HeldGuest {
    execution: TurnExecution,
    claim: Claim,
    number: GuestNumber,
    limits: SetupLimits,
    interrupter: TurnInterrupter,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It has had no turn.
    New(Box<GuestSpec>),
    /// It has had no turn, and goes on from these packs.
    Parked(Box<GuestSpec>, UnreadPacks),
    /// A worker has kept it at the end of its last turn.
    Kept(GuestKey),
    /// It was not kept at the end of its last turn.
    Gone,
}

impl HeldGuest {
    pub(crate) fn new(execution: TurnExecution, guest: GuestSpec, claim: Claim) -> Self {
        let (number, limits) = (execution.next_guest(), guest.setup.limits);
        let claim = Claim { opens_guest: true, ..claim };
        let (interrupter, state) = (TurnInterrupter::new(), State::New(Box::new(guest)));
        Self { execution, claim, number, limits, interrupter, state }
    }

    pub(crate) fn resumed(
        execution: TurnExecution,
        (guest, packs): (GuestSpec, Vec<PackContent>),
        claim: Claim,
    ) -> Self {
        let (number, limits) = (execution.next_guest(), guest.setup.limits);
        let claim = Claim { opens_guest: true, ..claim };
        let state = State::Parked(Box::new(guest), UnreadPacks::new(packs));
        let interrupter = TurnInterrupter::new();
        Self { execution, claim, number, limits, interrupter, state }
    }

    /// A handle to interrupt the turns of this guest, while they borrow it.
    #[must_use]
    pub fn interrupter(&self) -> TurnInterrupter {
        self.interrupter.clone()
    }

    /// True if a worker keeps the guest, between two turns. It may be lost at any time.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self.state, State::Kept(key) if self.execution.keeps(key))
    }

    /// Waits until no worker keeps the guest between two turns any more.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let key = if let State::Kept(key) = self.state { Some(key) } else { None };
        let execution = self.execution.clone();
        async move {
            if let Some(key) = key {
                execution.wait_for_loss(key).await;
            }
        }
    }

    /// Runs a turn to its end, and answers the guest's requests through `host`. The result says whether
    /// the guest is kept for another one.
    ///
    /// Cancellation: while the turn waits, its place is given up and the guest is as before. Later, the
    /// turn is stopped and the guest closed; a guest whose first turn it was is opened or resumed anew by
    /// the next one, unless its packs were read and released already: then it is lost.
    ///
    /// # Errors
    ///
    /// The turn was not begun. Unless the guest is lost or cannot be resumed, it is as before.
    pub async fn turn(
        &mut self,
        turn: &Turn,
        host: &mut impl RunHost,
    ) -> Result<FinishedRun, DispatchError> {
        self.turn_with(turn, None, host).await
    }

    /// As [`Self::turn`], for one that writes a file with this content.
    ///
    /// # Errors
    ///
    /// As [`Self::turn`].
    pub async fn turn_with(
        &mut self,
        turn: &Turn,
        content: Option<&SealedContent>,
        host: &mut impl RunHost,
    ) -> Result<FinishedRun, DispatchError> {
        let (execution, claim) = (&self.execution, &self.claim);
        let in_progress = self.interrupter.begin_turn();
        let order = (turn, content, in_progress.interruption());
        let ended = match &self.state {
            State::New(guest) => {
                execution.first_turn((self.number, guest.as_ref(), None), order, claim, host).await
            }
            State::Parked(guest, packs) => {
                let begun_as = (self.number, guest.as_ref(), Some(packs));
                execution.first_turn(begun_as, order, claim, host).await
            }
            State::Kept(key) => execution.next_turn((*key, self.limits), order, claim, host).await,
            State::Gone => Err(DispatchError::GuestLost),
        };
        let was_interrupted = in_progress.end();
        if matches!(ended, Err(DispatchError::NotResumed { .. })) {
            self.state = State::Gone;
        }
        let (mut finished, key) = ended?;
        let cell = finished.outcome.cell.as_ref().filter(|cell| !cell.requests.is_empty());
        finished.is_interrupt_left = was_interrupted && cell.is_some_and(|cell| !cell.interrupted);
        // The memory that the first turn was admitted with is that of all turns.
        self.claim.memory = ByteCount::default();
        self.state = key.map_or(State::Gone, State::Kept);
        Ok(finished)
    }

    /// Closes the guest, as dropping it does.
    pub fn close(self) {}
}

impl Drop for HeldGuest {
    fn drop(&mut self) {
        if let State::Kept(key) = self.state {
            self.execution.close(key);
        }
    }
}
