//! The guests that workers keep between turns, in the order of their last use.
//!
//! INVARIANT(guest-of-its-own): a worker that keeps a guest is handed out for a turn of this guest and
//! for nothing else, until the guest is closed. Whoever has the key of a guest that is gone reaches
//! no other one.

use std::collections::BTreeMap;

use crate::scheduler::claim::Ticket;
use crate::worker::id::WorkerId;
use wardian_vocabulary::ids::TenantId;

/// Names a guest that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GuestKey {
    /// The worker that keeps it. When it is closed, the worker can keep another one.
    pub worker: WorkerId,
    /// The run that opened it. No other guest has it.
    pub(crate) opened: Ticket,
}

/// The kept guests of a pool, with the workers of those that have no turn in progress.
#[derive(Debug)]
pub(crate) struct HeldGuests<W> {
    guests: BTreeMap<WorkerId, Guest<W>>,
    /// Counts the ends of turns.
    uses: u64,
}

#[derive(Debug)]
struct Guest<W> {
    opened: Ticket,
    memory: u64,
    /// The number of the end of its last turn.
    used: u64,
    state: GuestState<W>,
}

#[derive(Debug)]
enum GuestState<W> {
    /// A run has its worker.
    InTurn,
    /// It is between two turns.
    Rests(W),
    /// It is between two turns, and the next one waits in the queue.
    Awaits(W, QueuedTurn),
}

/// The place of a waiting turn in the queue.
#[derive(Debug)]
pub(crate) struct QueuedTurn {
    pub tenant: TenantId,
    pub(crate) ticket: Ticket,
}

/// A guest that is kept no more.
#[derive(Debug)]
pub(crate) struct FormerGuest<W> {
    pub memory: u64,
    /// Its worker, unless a turn was in progress.
    pub worker: Option<W>,
    /// Its turn, if one was waiting.
    pub(crate) turn: Option<QueuedTurn>,
}

impl<W> HeldGuests<W> {
    pub(crate) const fn new() -> Self {
        Self { guests: BTreeMap::new(), uses: 0 }
    }

    /// The number of guests, in a turn or between two.
    pub(crate) fn len(&self) -> usize {
        self.guests.len()
    }

    /// The number of guests between two turns.
    pub(crate) fn between_turns(&self) -> usize {
        self.guests.values().filter(|guest| !matches!(guest.state, GuestState::InTurn)).count()
    }

    /// True if a turn of one of them waits in the queue.
    pub(crate) fn has_queued_turns(&self) -> bool {
        self.guests.values().any(|guest| matches!(guest.state, GuestState::Awaits(..)))
    }

    /// True if this worker keeps a guest.
    pub(crate) fn has_worker(&self, worker: WorkerId) -> bool {
        self.guests.contains_key(&worker)
    }

    /// True if this guest is between two turns.
    pub(crate) fn is_between_turns(&self, key: GuestKey) -> bool {
        let guest = self.guests.get(&key.worker).filter(|guest| guest.opened == key.opened);
        guest.is_some_and(|guest| !matches!(guest.state, GuestState::InTurn))
    }

    /// The memory of the guests that may be given up: those between two turns of which none waits.
    pub(crate) fn spare_memory(&self) -> u64 {
        let resting = self.guests.values().filter(|guest| guest.rests());
        resting.fold(0, |sum, guest| sum.saturating_add(guest.memory))
    }

    /// Adds a guest whose first turn is in progress.
    pub(crate) fn open(&mut self, key: GuestKey, memory: u64) {
        let GuestKey { worker, opened } = key;
        let state = GuestState::InTurn;
        self.guests.insert(worker, Guest { opened, memory, used: 0, state });
    }

    /// Notes that a turn is over, or was not begun after all.
    pub(crate) fn end_turn(&mut self, id: WorkerId, worker: W) {
        self.uses = self.uses.saturating_add(1);
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.used = self.uses;
            guest.state = GuestState::Rests(worker);
        }
    }

    /// Notes that a turn waits in the queue.
    pub(crate) fn queue_turn(&mut self, id: WorkerId, turn: QueuedTurn) {
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.change(|state| match state {
                GuestState::Rests(worker) => GuestState::Awaits(worker, turn),
                other => other,
            });
        }
    }

    /// Notes that a waiting turn has left the queue and will not be taken.
    pub(crate) fn withdraw_turn(&mut self, id: WorkerId) {
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.change(|state| match state {
                GuestState::Awaits(worker, _) => GuestState::Rests(worker),
                other => other,
            });
        }
    }

    /// Takes out the worker of a guest, for a turn.
    pub(crate) fn begin_turn(&mut self, id: WorkerId) -> Option<W> {
        let guest = self.guests.get_mut(&id)?;
        match std::mem::replace(&mut guest.state, GuestState::InTurn) {
            GuestState::InTurn => None,
            GuestState::Rests(worker) | GuestState::Awaits(worker, _) => Some(worker),
        }
    }

    /// The worker of the guest that was used longest ago, among those that may be given up and for
    /// which `is_wanted` holds. Also tells the memory of the guest.
    pub(crate) fn stalest(&self, is_wanted: impl Fn(WorkerId) -> bool) -> Option<(WorkerId, u64)> {
        let resting = self.guests.iter().filter(|(id, guest)| guest.rests() && is_wanted(**id));
        let (id, guest) = resting.min_by_key(|(_, guest)| guest.used)?;
        Some((*id, guest.memory))
    }

    /// Removes the guest of a worker.
    pub(crate) fn remove(&mut self, id: WorkerId) -> Option<FormerGuest<W>> {
        let Guest { memory, state, .. } = self.guests.remove(&id)?;
        let (worker, turn) = match state {
            GuestState::InTurn => (None, None),
            GuestState::Rests(worker) => (Some(worker), None),
            GuestState::Awaits(worker, turn) => (Some(worker), Some(turn)),
        };
        Some(FormerGuest { memory, worker, turn })
    }

    /// The workers that keep a guest.
    pub(crate) fn workers(&self) -> Vec<WorkerId> {
        self.guests.keys().copied().collect()
    }
}

impl<W> Guest<W> {
    const fn rests(&self) -> bool {
        matches!(self.state, GuestState::Rests(_))
    }

    fn change(&mut self, change: impl FnOnce(GuestState<W>) -> GuestState<W>) {
        self.state = change(std::mem::replace(&mut self.state, GuestState::InTurn));
    }
}
