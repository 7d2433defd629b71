//! The scheduler's decisions about guests that are kept between turns.
//!
//! A guest is opened by a run. At the end of this first turn its worker may keep it, beside others of the
//! same owner, and each further turn takes its place in the queue like a run, except that it needs its
//! guest's worker and no further memory. Between two turns a guest does not count as a run: nobody is
//! charged for it, and nothing waits for it. Its worker is idle and serves other runs of its owner.
//!
//! These rules bound what guests cost others. A worker that serves only one owner, or can keep no further
//! guest, is replaced by another one. The guest that was used longest ago is closed for a further one and
//! for a run that lacks its memory; one that holds a cell is closed for no other one. A turn whose worker has another run gives its guest up as soon as it
//! could begin elsewhere, because its caller can make the guest once more in an idle worker.
//!
//! A worker that holds a cell serves nobody else, so its other guests are closed.
//!
//! INVARIANT(guest-memory): the memory of a guest stays admitted until it is closed, given up or lost,
//! and is freed at that moment. That of a guest whose worker is busy is freed when the worker comes back.
//! INVARIANT(bounded-guests): no more guests than [`HeldBounds`] allow are between two turns.
//! INVARIANT(whole-turns): a guest is given up between two turns. While the next one waits, it is given up
//! only if that turn can begin at once in another worker, or if its own worker is replaced or holds a cell.
//! INVARIANT(runs-before-guests): no run waits only for memory of guests that may be given up.
//!
//! [`HeldBounds`]: crate::scheduler::growth::HeldBounds

use std::cmp::Reverse;
use std::time::Instant;

use crate::isolation::WorkerOwner;
use crate::scheduler::assignment::{Phase, SchedulerState};
use crate::scheduler::claim::{Admission, Claim, GuestKey, Pending, Ticket, WorkerUse};
use crate::scheduler::held::{FormerGuest, KeepsGuests, QueuedTurn};
use crate::worker::id::WorkerId;
use wardian_formats::job::message::GuestNumber;

/// Guests of a worker that are few: another one for their owner would cost more memory than they take.
const FEW_GUESTS: usize = 8;

impl<W: KeepsGuests, G> SchedulerState<W, G> {
    /// The number of guests that workers keep, in a turn or between two.
    pub(crate) fn guests(&self) -> usize {
        self.held.len()
    }

    /// The number of guests so far that were closed, given up or lost.
    pub(crate) const fn gone_guests(&self) -> u64 {
        self.held.gone()
    }

    /// The number of guests that this worker keeps.
    pub(crate) fn guests_of(&self, id: WorkerId) -> usize {
        self.held.count_of(id)
    }

    /// True if the guest is between two turns.
    pub(crate) fn holds(&self, key: GuestKey) -> bool {
        self.held.is_between_turns(key)
    }

    /// Decides about a turn of a guest that is kept. Its claim is for no memory. Returns `None` if the
    /// guest is lost.
    pub(crate) fn admit_turn(
        &mut self,
        claim: &Claim,
        key: GuestKey,
        grant: G,
        now: Instant,
    ) -> Option<Admission<W, G>> {
        if !self.holds(key) {
            return None;
        }
        if self.phase != Phase::Open {
            return Some(Admission::ShuttingDown);
        }
        let pending = Pending { grant, owner: claim.owner.clone(), purpose: WorkerUse::Turn(key) };
        let admission = self.offer(claim, pending, |_| false, now);
        if let Admission::Queued { ticket, .. } = admission {
            let turn = QueuedTurn { tenant: claim.tenant.clone(), ticket };
            self.held.queue_turn(key.number, turn);
        }
        self.note_guests();
        Some(admission)
    }

    /// Gives up the guest of a turn that waits for a worker that has another run, if the turn could begin
    /// in another worker now. The turn is lost, and its caller can have it there. Returns true if that is so.
    pub(crate) fn free_waiting_turn(&mut self, claim: &Claim, key: GuestKey) -> bool {
        let waits = self.held.awaits(key.number) && !self.held.is_at_hand(key.worker);
        let own = self.queue.runs_of(&claim.tenant);
        let may_start = own < claim.limits.running && self.growth.may_start(self.running(), own);
        if !waits || !may_start || !self.has_worker_for(claim) {
            return false;
        }
        self.end_guest(key.number);
        self.count_given_up_guest(true);
        self.note_guests();
        true
    }

    /// Keeps the guest that a run in progress has opened under this number. The run is ended next, and its
    /// worker given back.
    pub(crate) fn keep_guest(
        &mut self,
        opened: Ticket,
        number: GuestNumber,
        worker: WorkerId,
    ) -> GuestKey {
        let key = GuestKey { worker, number };
        let memory = self.queue.keep_memory(opened);
        self.held.open(key, memory);
        self.note_guests();
        key
    }

    /// Notes the memory that a worker takes at the end of a turn of this guest.
    pub(crate) fn note_taken(&mut self, key: GuestKey, taken: u64) {
        self.held.note_taken(key.number, taken);
    }

    /// Closes a guest that is between two turns, because nobody needs it any more.
    pub(crate) fn close_guest(&mut self, key: GuestKey) {
        if self.holds(key) {
            self.end_guest(key.number);
            self.note_guests();
            self.give_up_surplus();
        }
    }

    /// Forgets all guests of a worker: its process ends, or has ended. Returns the worker if it was
    /// reserved for one of them.
    pub(crate) fn forget_guests_of(&mut self, id: WorkerId) -> Option<W> {
        let mut worker = None;
        for number in self.held.guests_of(id) {
            worker = self.forget_guest(number).and_then(|(_, reserved)| reserved).or(worker);
        }
        self.note_guests();
        worker
    }

    /// The turns that waited when their guests were lost, since the last call.
    pub(crate) fn take_lost(&mut self) -> Vec<G> {
        std::mem::take(&mut self.lost)
    }

    /// Ends the turn of a worker that has come back, and closes those of its guests that it may not keep.
    pub(super) fn rest_guests(&mut self, id: WorkerId, worker: &mut W) -> Option<GuestNumber> {
        let ended = self.held.end_turn(id);
        let gone = ended.filter(|number| !worker.keeps(*number));
        gone.into_iter().for_each(|number| drop(self.forget_guest(number)));
        let close = |state: &mut Self, worker: &mut W, number| {
            worker.close_guest(number);
            state.forget_guest(number);
        };
        for number in self.held.doomed_of(id) {
            close(self, worker, number);
        }
        if let Some(ended) = ended.filter(|one| self.phase != Phase::Open && worker.keeps(*one)) {
            // It will have no further turn, and waiting runs can have its worker.
            close(self, worker, ended);
        }
        if worker.holds_cell() {
            for other in self.held.guests_of(id).into_iter().filter(|one| Some(*one) != ended) {
                close(self, worker, other);
                self.count_given_up_guest(true);
            }
        }
        let most = self.growth.capacity.held.of_one;
        while self.held.count_of(id) > most || worker.is_crowded() {
            let Some((stalest, _)) = self.held.stalest(|of| of == id) else { break };
            close(self, worker, stalest);
            // Of the guest itself the end of its turn tells.
            self.count_given_up_guest(Some(stalest) != ended);
        }
        self.held.take_back(id, worker.is_full());
        ended
    }

    /// Gives up guests as far as all workers together keep too many. `ended` has just had a turn.
    pub(super) fn bound_guests(&mut self, ended: Option<GuestNumber>) {
        let bounds = self.growth.capacity.held;
        while self.held.between_turns() > bounds.guests {
            let Some(surplus) = self.surplus(|_| true, ended) else { break };
            self.end_guest(surplus);
            self.count_given_up_guest(Some(surplus) != ended);
        }
        while bounds.memory.is_some_and(|most| self.held.taken_memory() > most) {
            let at_hand = self.surplus(|id| self.held.is_at_hand(id), ended);
            let Some(surplus) = at_hand else { break };
            self.end_guest(surplus);
            self.count_given_up_guest(Some(surplus) != ended);
        }
        while self.keepers_at_hand() > bounds.keepers {
            let is_spare = |id| {
                self.is_set_apart(id)
                    && self.held.is_at_hand(id)
                    && !self.held.has_queued_turn_of(id)
            };
            let Some(surplus) = self.surplus(is_spare, ended) else { break };
            let worker = self.held.worker_of(surplus);
            for number in worker.map(|id| self.held.guests_of(id)).unwrap_or_default() {
                self.end_guest(number);
                self.count_given_up_guest(Some(number) != ended);
            }
        }
        self.note_guests();
    }

    /// The guest to give up among those in whose worker `is_wanted` holds: the stalest one, but no cell for
    /// one that has just begun to wait.
    fn surplus(
        &self,
        is_wanted: impl Fn(WorkerId) -> bool,
        ended: Option<GuestNumber>,
    ) -> Option<GuestNumber> {
        let (stalest, _) = self.held.stalest(&is_wanted)?;
        let holds_cell = |number: GuestNumber| {
            let worker = self.held.worker_of(number).filter(|id| self.held.is_reserved(*id));
            worker.is_some_and(&is_wanted)
        };
        let newest = ended.filter(|ended| holds_cell(stalest) && holds_cell(*ended));
        Some(newest.unwrap_or(stalest))
    }

    /// Takes out the worker for a run: that of its guest if one is kept, otherwise an idle one of its
    /// owner, or a fresh one. Fresh workers that are promised are left.
    ///
    /// A guest that is to be kept goes to a worker that keeps others already and has room for it, but as
    /// soon as these are not few, those of one owner are spread over as many workers as can compute at once.
    /// A run leaves workers with guests to their turns, if it can have another one.
    pub(super) fn take_worker(
        &mut self,
        run: &Pending<G>,
        fits: impl Fn(&W) -> bool,
    ) -> Option<(WorkerId, W)> {
        let is_for_guest = match run.purpose {
            WorkerUse::Turn(key) => {
                let reserved = self.held.begin_turn(key.number);
                let worker = reserved.or_else(|| self.idle.remove(key.worker))?;
                return Some((key.worker, worker));
            }
            WorkerUse::Guest => true,
            WorkerUse::Run => false,
        };
        let is_spread = is_for_guest && self.keepers_of(&run.owner) >= self.growth.capacity.cores;
        let (held, most) = (&self.held, self.growth.capacity.held.of_one);
        let few = if is_spread { most } else { FEW_GUESTS.min(most) };
        let is_shared = run.owner == WorkerOwner::Everyone;
        let is_welcome = |id| match is_for_guest {
            true => !held.is_full(id, few),
            false => !(is_shared && held.has_worker(id)),
        };
        let rank = |id, worker: &W| {
            (held.has_worker(id) == is_for_guest, Reverse(held.count_of(id)), fits(worker))
        };
        let own = self.idle.take_of(&run.owner, |id, one| is_welcome(id).then(|| rank(id, one)));
        let fresh = || self.promised.is_empty().then(|| self.idle.take_fresh(&fits)).flatten();
        if let Some(found) = own.or_else(fresh) {
            return Some(found);
        }
        let has_room = |id| !is_for_guest || !held.is_full(id, most);
        self.idle.take_of(&run.owner, |id, one| Some((has_room(id), rank(id, one))))
    }

    /// Gives up guests for a run that would begin if it had the memory.
    pub(super) fn make_room_for(&mut self, claim: &Claim) {
        let own = self.queue.runs_of(&claim.tenant);
        let missing = self.queue.missing_memory(claim.memory.as_u64());
        let may_start = || self.growth.may_start(self.running(), own);
        if missing > 0 && own < claim.limits.running && may_start() {
            self.make_room(missing);
        }
    }

    /// Gives up the guests that were used longest ago until so much memory is free. Gives up none, and
    /// returns false, if all of them have less.
    pub(super) fn make_room(&mut self, missing: u64) -> bool {
        if self.held.spare_memory() < missing {
            return false;
        }
        let mut freed: u64 = 0;
        while freed < missing {
            let at_hand = self.held.stalest(|id| self.held.is_at_hand(id));
            let Some((number, memory)) = at_hand else { break };
            freed = freed.saturating_add(memory);
            self.end_guest(number);
            self.count_given_up_guest(true);
        }
        self.note_guests();
        freed >= missing
    }

    /// Takes out one worker without a run that is to be replaced. Returns it, and how many workers are still
    /// to be replaced, this one included. Its guests are given up, unless the turn of one waits.
    pub(crate) fn retire_one(&mut self) -> (Option<W>, usize) {
        let may_retire = |id| self.roster.is_outdated(id) && !self.held.has_queued_turn_of(id);
        let idle = self.idle.take_if(may_retire);
        let reserved = || {
            let is_it = |id| self.held.is_reserved(id) && self.roster.is_outdated(id);
            self.held.stalest(is_it).and_then(|(number, _)| self.held.worker_of(number))
        };
        let id = idle.as_ref().map(|(id, _)| *id).or_else(reserved);
        let Some(id) = id else { return (None, self.roster.outdated()) };
        for _ in 0..self.held.count_of(id) {
            self.count_given_up_guest(true);
        }
        let worker = self.forget_guests_of(id).or_else(|| idle.map(|(_, worker)| worker));
        self.roster.note_leaving(id);
        (worker, self.roster.outdated())
    }

    /// Forgets all guests. Returns the workers that were reserved for them.
    pub(super) fn take_reserved(&mut self) -> Vec<W> {
        self.held.workers().into_iter().filter_map(|id| self.forget_guests_of(id)).collect()
    }

    /// The grant of a run that has left the queue and will not begin.
    pub(super) fn withdraw(&mut self, pending: Pending<G>) -> G {
        if let Some(key) = pending.guest() {
            self.held.withdraw_turn(key.number);
            self.bound_guests(None);
        }
        pending.grant
    }

    /// Notes how many workers are set apart, and what guests could free.
    pub(super) fn note_guests(&mut self) {
        let workers = self.held.workers();
        let set_apart = workers.into_iter().filter(|id| self.is_set_apart(*id)).count();
        self.growth.note_keepers(set_apart);
        self.queue.note_spare_memory(self.held.spare_memory());
    }

    /// True if a worker does not serve whoever comes, because of the guests that it keeps: it has one
    /// owner, holds a cell, or can keep no further guest.
    fn is_set_apart(&self, id: WorkerId) -> bool {
        let owner = self.roster.records().get(&id).and_then(|record| record.owner.as_ref());
        let is_full = self.held.is_full(id, self.growth.capacity.held.of_one);
        owner != Some(&WorkerOwner::Everyone) || self.held.is_reserved(id) || is_full
    }

    /// The number of workers of this owner that keep guests.
    fn keepers_of(&self, owner: &WorkerOwner) -> usize {
        let is_it = |id: &WorkerId| {
            self.roster.records().get(id).and_then(|record| record.owner.as_ref()) == Some(owner)
        };
        self.held.workers().iter().filter(|id| is_it(id)).count()
    }

    fn keepers_at_hand(&self) -> usize {
        let is_it = |id: &WorkerId| self.is_set_apart(*id) && self.held.is_at_hand(*id);
        self.held.workers().iter().filter(|id| is_it(id)).count()
    }

    /// Ends a guest between two turns: at once, or when its worker comes back. If its next turn waits, that
    /// is lost.
    fn end_guest(&mut self, number: GuestNumber) {
        let Some(id) = self.held.worker_of(number) else { return };
        if !self.held.is_at_hand(id) {
            let turn = self.held.doom(number);
            self.lose_turn(turn);
            return;
        }
        let Some((former, reserved)) = self.forget_guest(number) else { return };
        match reserved {
            Some(mut worker) => {
                worker.close_guest(number);
                let owner = self.roster.records().get(&former).and_then(|one| one.owner.clone());
                self.idle.push(former, owner, worker);
            }
            None => {
                if let Some(worker) = self.idle.get_mut(id) {
                    worker.close_guest(number);
                }
            }
        }
    }

    /// Forgets a guest. Returns the number of its worker, and the worker if it was reserved for it.
    fn forget_guest(&mut self, number: GuestNumber) -> Option<(WorkerId, Option<W>)> {
        let FormerGuest { worker, memory, reserved, turn } = self.held.remove(number)?;
        self.queue.free_memory(memory);
        self.lose_turn(turn);
        Some((worker, reserved))
    }

    fn lose_turn(&mut self, turn: Option<QueuedTurn>) {
        let pending =
            turn.and_then(|QueuedTurn { tenant, ticket }| self.queue.remove(&tenant, ticket));
        self.lost.extend(pending.map(|pending| pending.grant));
    }

    fn count_given_up_guest(&mut self, counts: bool) {
        let count = &mut self.counters.guests_given_up;
        *count = count.saturating_add(u64::from(counts));
    }
}

#[cfg(test)]
#[path = "holding_tests.rs"]
mod tests;
