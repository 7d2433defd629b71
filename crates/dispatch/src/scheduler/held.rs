//! The guests that workers keep between turns, in the order of their last use, and the workers that keep
//! them.
//!
//! INVARIANT(guest-of-its-own): a turn of a guest gets the worker that keeps this guest, and whoever has
//! the key of a guest that is gone reaches no other one. A worker that holds a cell is handed out for the
//! next turn of this cell's guest and for nothing else.

use std::collections::BTreeMap;

use crate::scheduler::claim::{GuestKey, Ticket};
use crate::worker::id::WorkerId;
use wardian_formats::job::message::GuestNumber;
use wardian_vocabulary::ids::TenantId;

/// A worker that can keep guests.
pub(crate) trait KeepsGuests {
    /// Has the worker drop a guest. It must not be in a turn. This waits for nothing.
    fn close_guest(&mut self, guest: GuestNumber);

    /// True if this guest is open.
    fn keeps(&self, guest: GuestNumber) -> bool;

    /// True if it keeps more for its guests than it may, or has more of their memory mapped.
    fn is_crowded(&self) -> bool;

    /// True if it would be crowded with a further guest that is like the largest one.
    fn is_full(&self) -> bool;

    /// True if a cell is held, so that the worker can serve nobody else.
    fn holds_cell(&self) -> bool;
}

/// The kept guests of a pool.
#[derive(Debug)]
pub(crate) struct HeldGuests<W> {
    guests: BTreeMap<GuestNumber, Guest>,
    /// The workers that keep guests.
    keepers: BTreeMap<WorkerId, Keeper<W>>,
    /// Counts the ends of turns.
    uses: u64,
    /// The number of guests between two turns, and of those whose next turn waits.
    between: usize,
    awaiting: usize,
    /// Counts guests that have no further turn.
    gone: u64,
}

#[derive(Debug)]
struct Guest {
    worker: WorkerId,
    /// The memory that was admitted for it.
    memory: u64,
    /// The memory that it is thought to take.
    taken: u64,
    /// The number of the end of its last turn.
    used: u64,
    state: GuestState,
}

#[derive(Debug)]
enum GuestState {
    /// A run has its worker.
    InTurn,
    /// It is between two turns.
    Rests,
    /// It is between two turns, and the next one waits in the queue.
    Awaits(QueuedTurn),
    /// It is between two turns and will have no further one. It is closed as soon as its worker comes back
    /// from what it does for others.
    Doomed,
}

/// A worker that keeps guests.
#[derive(Debug)]
struct Keeper<W> {
    /// The number of its guests, and of those that are doomed.
    guests: usize,
    doomed: usize,
    /// The memory of those that rest.
    resting: u64,
    /// The guest that has a turn.
    in_turn: Option<GuestNumber>,
    /// True while a run or a turn has the worker.
    is_busy: bool,
    /// True if the worker was full when it came back, and has closed no guest since.
    is_full: bool,
    /// The worker, while it holds a cell. Otherwise it is idle or busy.
    reserved: Option<W>,
    /// The memory that its process took at the end of the last turn, without guests that were closed since.
    taken: u64,
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
    pub worker: WorkerId,
    pub memory: u64,
    /// Its worker, if it was reserved for the guest.
    pub(crate) reserved: Option<W>,
    /// Its turn, if one was waiting.
    pub(crate) turn: Option<QueuedTurn>,
}

impl<W> HeldGuests<W> {
    pub(crate) const fn new() -> Self {
        let keepers = BTreeMap::new();
        Self { guests: BTreeMap::new(), keepers, uses: 0, between: 0, awaiting: 0, gone: 0 }
    }

    /// The number of guests, in a turn or between two.
    pub(crate) fn len(&self) -> usize {
        self.guests.len()
    }

    /// The number of guests between two turns.
    pub(crate) const fn between_turns(&self) -> usize {
        self.between
    }

    /// The number of guests so far that were closed, given up or lost.
    pub(crate) const fn gone(&self) -> u64 {
        self.gone
    }

    /// True if a turn of one of them waits in the queue.
    pub(crate) const fn has_queued_turns(&self) -> bool {
        self.awaiting > 0
    }

    /// True if this worker keeps a guest.
    pub(crate) fn has_worker(&self, worker: WorkerId) -> bool {
        self.keepers.contains_key(&worker)
    }

    /// The number of guests that this worker keeps.
    pub(crate) fn count_of(&self, worker: WorkerId) -> usize {
        self.keepers.get(&worker).map_or(0, |keeper| keeper.guests)
    }

    /// True if this worker can keep no further guest: it keeps so many, or has no room for their memory.
    pub(crate) fn is_full(&self, worker: WorkerId, most: usize) -> bool {
        let is_full = |keeper: &Keeper<W>| keeper.is_full || keeper.guests >= most;
        self.keepers.get(&worker).is_some_and(is_full)
    }

    /// The workers that keep guests.
    pub(crate) fn workers(&self) -> Vec<WorkerId> {
        self.keepers.keys().copied().collect()
    }

    /// True if this worker keeps guests and no run or turn has it.
    pub(crate) fn is_at_hand(&self, worker: WorkerId) -> bool {
        self.keepers.get(&worker).is_some_and(|keeper| !keeper.is_busy)
    }

    /// True if this worker holds a cell between two turns.
    pub(crate) fn is_reserved(&self, worker: WorkerId) -> bool {
        self.keepers.get(&worker).is_some_and(|keeper| keeper.reserved.is_some())
    }

    /// True if a turn of a guest of this worker waits in the queue.
    pub(crate) fn has_queued_turn_of(&self, worker: WorkerId) -> bool {
        self.guests.values().any(|guest| guest.worker == worker && guest.awaits())
    }

    /// True if the next turn of this guest waits in the queue.
    pub(crate) fn awaits(&self, number: GuestNumber) -> bool {
        self.guests.get(&number).is_some_and(Guest::awaits)
    }

    /// True if this guest is between two turns.
    pub(crate) fn is_between_turns(&self, key: GuestKey) -> bool {
        let guest = self.guests.get(&key.number).filter(|guest| guest.worker == key.worker);
        guest.is_some_and(Guest::is_between_turns)
    }

    /// The worker of a guest.
    pub(crate) fn worker_of(&self, number: GuestNumber) -> Option<WorkerId> {
        self.guests.get(&number).map(|guest| guest.worker)
    }

    /// The memory of the guests that may be given up and whose memory is free then: those between two turns
    /// of which none waits, in workers that can close them.
    pub(crate) fn spare_memory(&self) -> u64 {
        let at_hand = self.keepers.values().filter(|keeper| !keeper.is_busy);
        at_hand.fold(0, |sum, keeper| sum.saturating_add(keeper.resting))
    }

    /// The memory that all workers that keep guests were last seen to take.
    pub(crate) fn taken_memory(&self) -> u64 {
        self.keepers.values().fold(0, |sum, keeper| sum.saturating_add(keeper.taken))
    }

    /// Adds a guest whose first turn is in progress.
    pub(crate) fn open(&mut self, key: GuestKey, memory: u64) {
        let GuestKey { worker, number } = key;
        let guest = Guest { worker, memory, taken: 0, used: 0, state: GuestState::InTurn };
        self.guests.insert(number, guest);
        let keeper = self.keepers.entry(worker).or_insert_with(Keeper::new);
        keeper.guests = keeper.guests.saturating_add(1);
        (keeper.in_turn, keeper.is_busy) = (Some(number), true);
    }

    /// Notes that a run has this worker.
    pub(crate) fn lend(&mut self, worker: WorkerId) {
        if let Some(keeper) = self.keepers.get_mut(&worker) {
            keeper.is_busy = true;
        }
    }

    /// Notes that no run has this worker any more, and whether it is full.
    pub(crate) fn take_back(&mut self, worker: WorkerId, is_full: bool) {
        if let Some(keeper) = self.keepers.get_mut(&worker) {
            (keeper.is_busy, keeper.is_full) = (false, is_full);
        }
    }

    /// Keeps a worker that holds a cell. Returns it if it keeps no guest.
    pub(crate) fn reserve(&mut self, id: WorkerId, worker: W) -> Option<W> {
        match self.keepers.get_mut(&id) {
            Some(keeper) => keeper.reserved.replace(worker),
            None => Some(worker),
        }
    }

    /// Notes that the turn of a worker is over, or was not begun after all. Returns the guest that had it.
    pub(crate) fn end_turn(&mut self, worker: WorkerId) -> Option<GuestNumber> {
        let number = self.keepers.get_mut(&worker)?.in_turn.take()?;
        self.uses = self.uses.saturating_add(1);
        self.guests.get_mut(&number)?.used = self.uses;
        self.change(number, GuestState::Rests);
        Some(number)
    }

    /// Notes the memory that the process of a worker takes, at the end of a turn of this guest. What it has
    /// become more since the end of the turn before is memory of the guest.
    pub(crate) fn note_taken(&mut self, number: GuestNumber, now: u64) {
        let Some(guest) = self.guests.get_mut(&number) else { return };
        let Some(keeper) = self.keepers.get_mut(&guest.worker) else { return };
        let before = std::mem::replace(&mut keeper.taken, now);
        guest.taken = guest.taken.saturating_add(now).saturating_sub(before);
    }

    /// Notes that a turn waits in the queue.
    pub(crate) fn queue_turn(&mut self, number: GuestNumber, turn: QueuedTurn) {
        if self.guests.get(&number).is_some_and(Guest::rests) {
            self.change(number, GuestState::Awaits(turn));
        }
    }

    /// Notes that a waiting turn has left the queue and will not be taken.
    pub(crate) fn withdraw_turn(&mut self, number: GuestNumber) {
        if self.awaits(number) {
            self.change(number, GuestState::Rests);
        }
    }

    /// Begins a turn of a guest whose worker is at hand. Returns the worker if it is reserved.
    pub(crate) fn begin_turn(&mut self, number: GuestNumber) -> Option<W> {
        let worker = self.worker_of(number)?;
        self.change(number, GuestState::InTurn);
        let keeper = self.keepers.get_mut(&worker)?;
        (keeper.in_turn, keeper.is_busy) = (Some(number), true);
        keeper.reserved.take()
    }

    /// The guest that was used longest ago, among those that may be given up and in whose worker
    /// `is_wanted` holds, and its memory. One that holds a cell comes after all others: they cost their
    /// sessions a resume, and it costs its own the cell.
    pub(crate) fn stalest(
        &self,
        is_wanted: impl Fn(WorkerId) -> bool,
    ) -> Option<(GuestNumber, u64)> {
        let resting = self.guests.iter().filter(|(_, guest)| guest.rests());
        let wanted = resting.filter(|(_, guest)| is_wanted(guest.worker));
        let (number, guest) =
            wanted.min_by_key(|(_, guest)| (self.is_reserved(guest.worker), guest.used))?;
        Some((*number, guest.memory))
    }

    /// The guests of a worker.
    pub(crate) fn guests_of(&self, worker: WorkerId) -> Vec<GuestNumber> {
        let own = self.guests.iter().filter(|(_, guest)| guest.worker == worker);
        own.map(|(number, _)| *number).collect()
    }

    /// The guests of a worker that are to be closed when it comes back.
    pub(crate) fn doomed_of(&self, worker: WorkerId) -> Vec<GuestNumber> {
        if self.keepers.get(&worker).is_none_or(|keeper| keeper.doomed == 0) {
            return Vec::new();
        }
        let is_it =
            |guest: &Guest| guest.worker == worker && matches!(guest.state, GuestState::Doomed);
        self.guests.iter().filter(|(_, guest)| is_it(guest)).map(|(number, _)| *number).collect()
    }

    /// Lets a guest between two turns have no further one. Returns its turn, if one was waiting.
    pub(crate) fn doom(&mut self, number: GuestNumber) -> Option<QueuedTurn> {
        self.gone = self.gone.saturating_add(1);
        match self.change(number, GuestState::Doomed)? {
            GuestState::Awaits(turn) => Some(turn),
            GuestState::InTurn | GuestState::Rests | GuestState::Doomed => None,
        }
    }

    /// Changes the state of a guest, and the counts of such guests. Returns the state before.
    fn change(&mut self, number: GuestNumber, state: GuestState) -> Option<GuestState> {
        let guest = self.guests.get_mut(&number)?;
        let now = state.counts(guest.memory);
        let state = std::mem::replace(&mut guest.state, state);
        let before = state.counts(guest.memory);
        let after = |sum: usize, before: bool, now: bool| {
            sum.saturating_add(usize::from(now)).saturating_sub(usize::from(before))
        };
        self.between = after(self.between, before.is_between, now.is_between);
        self.awaiting = after(self.awaiting, before.awaits, now.awaits);
        if let Some(keeper) = self.keepers.get_mut(&guest.worker) {
            keeper.doomed = after(keeper.doomed, before.is_doomed, now.is_doomed);
            keeper.resting = keeper.resting.saturating_add(now.rests).saturating_sub(before.rests);
        }
        Some(state)
    }

    /// Removes a guest.
    pub(crate) fn remove(&mut self, number: GuestNumber) -> Option<FormerGuest<W>> {
        let state = self.change(number, GuestState::InTurn)?;
        let Guest { worker, memory, taken, .. } = self.guests.remove(&number)?;
        self.gone = self.gone.saturating_add(1);
        let mut reserved = None;
        if let Some(keeper) = self.keepers.get_mut(&worker) {
            keeper.guests = keeper.guests.saturating_sub(1);
            keeper.is_full = false;
            keeper.taken = keeper.taken.saturating_sub(taken);
            keeper.in_turn = keeper.in_turn.filter(|in_turn| *in_turn != number);
            if keeper.guests == 0 {
                reserved = self.keepers.remove(&worker).and_then(|keeper| keeper.reserved);
            }
        }
        let turn = match state {
            GuestState::Awaits(turn) => Some(turn),
            GuestState::InTurn | GuestState::Rests | GuestState::Doomed => None,
        };
        Some(FormerGuest { worker, memory, reserved, turn })
    }
}

impl<W> Keeper<W> {
    const fn new() -> Self {
        Self {
            guests: 0,
            doomed: 0,
            resting: 0,
            in_turn: None,
            is_busy: false,
            is_full: false,
            reserved: None,
            taken: 0,
        }
    }
}

/// What a guest counts as.
struct Counts {
    is_between: bool,
    awaits: bool,
    is_doomed: bool,
    /// Its memory, if it rests.
    rests: u64,
}

impl GuestState {
    const fn counts(&self, memory: u64) -> Counts {
        Counts {
            is_between: matches!(self, Self::Rests | Self::Awaits(_)),
            awaits: matches!(self, Self::Awaits(_)),
            is_doomed: matches!(self, Self::Doomed),
            rests: if matches!(self, Self::Rests) { memory } else { 0 },
        }
    }
}

impl Guest {
    const fn rests(&self) -> bool {
        matches!(self.state, GuestState::Rests)
    }

    const fn awaits(&self) -> bool {
        matches!(self.state, GuestState::Awaits(_))
    }

    const fn is_between_turns(&self) -> bool {
        matches!(self.state, GuestState::Rests | GuestState::Awaits(_))
    }
}

/// A worker of tests that keep no guests.
#[cfg(test)]
impl KeepsGuests for WorkerId {
    fn close_guest(&mut self, _: GuestNumber) {}

    fn keeps(&self, _: GuestNumber) -> bool {
        true
    }

    fn is_crowded(&self) -> bool {
        false
    }

    fn is_full(&self) -> bool {
        false
    }

    fn holds_cell(&self) -> bool {
        false
    }
}
