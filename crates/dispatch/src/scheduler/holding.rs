//! The scheduler's decisions about guests that are kept between turns.
//!
//! A guest is opened by a run. At the end of this first turn its worker may keep it, and each further
//! turn takes its place in the queue like a run, except that it needs no idle worker and no further
//! memory. Between two turns a guest does not count as a run: nobody is charged for it, and nothing waits
//! for it. Two rules bound what it costs others: another worker is started in place of the one that keeps
//! it, and the guest that was used longest ago is closed for a further one and for a run that lacks its
//! memory.
//!
//! INVARIANT(guest-memory): the memory of a guest stays admitted until it is closed, given up or lost,
//! and is freed at that moment.
//! INVARIANT(bounded-guests): no more guests than [`Capacity::held`] are between two turns.
//! INVARIANT(whole-turns): a guest is given up between two turns, and not while the next one waits.
//! INVARIANT(runs-before-guests): no run waits only for memory of guests that may be given up.
//!
//! [`Capacity::held`]: crate::scheduler::growth::Capacity::held

use std::time::Instant;

use crate::scheduler::assignment::{Phase, SchedulerState};
use crate::scheduler::claim::{Admission, Claim, Pending, Ticket};
use crate::scheduler::held::{GuestKey, QueuedTurn};
use crate::worker::id::WorkerId;

impl<W, G> SchedulerState<W, G> {
    /// The number of guests that workers keep, in a turn or between two.
    pub(crate) fn guests(&self) -> usize {
        self.held.len()
    }

    /// True if this worker keeps a guest.
    pub(crate) fn keeps_guest(&self, id: WorkerId) -> bool {
        self.held.has_worker(id)
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
        let (owner, has_idle) = (claim.owner.clone(), self.has_idle());
        let pending = Pending { grant, owner, guest: Some(key.worker) };
        let has_worker = |run: &Pending<G>| has_idle || run.guest.is_some();
        let admission = self.offer(claim, pending, |_| false, has_worker, now);
        if let Admission::Queued { ticket, .. } = admission {
            let turn = QueuedTurn { tenant: claim.tenant.clone(), ticket };
            self.held.queue_turn(key.worker, turn);
        }
        self.note_guests();
        Some(admission)
    }

    /// Keeps the guest that a run in progress has opened. The run is ended next, and its worker given
    /// back.
    pub(crate) fn keep_guest(&mut self, opened: Ticket, worker: WorkerId) -> GuestKey {
        let key = GuestKey { worker, opened };
        let memory = self.queue.keep_memory(opened);
        self.held.open(key, memory);
        self.note_guests();
        key
    }

    /// Closes a guest that is between two turns, because nobody needs it any more.
    pub(crate) fn close_guest(&mut self, key: GuestKey) {
        if self.holds(key) {
            self.begin_close(key.worker);
        }
    }

    /// Forgets the guest of a worker, if it keeps one: the guest is closed, or the worker lost. Returns
    /// the worker if no turn is in progress.
    pub(crate) fn end_guest(&mut self, id: WorkerId) -> Option<W> {
        let former = self.held.remove(id)?;
        self.queue.free_memory(former.memory);
        if let Some(QueuedTurn { tenant, ticket }) = former.turn {
            self.lost.extend(self.queue.remove(&tenant, ticket).map(|pending| pending.grant));
        }
        self.note_guests();
        former.worker
    }

    /// The workers whose guests were closed since the last call. The caller has them drop the guests,
    /// and gives them back.
    pub(crate) fn take_closing(&mut self) -> Vec<W> {
        std::mem::take(&mut self.closing)
    }

    /// True if there are such workers.
    pub(crate) const fn has_closing(&self) -> bool {
        !self.closing.is_empty()
    }

    /// The turns that waited when their guests were lost, since the last call.
    pub(crate) fn take_lost(&mut self) -> Vec<G> {
        std::mem::take(&mut self.lost)
    }

    /// Keeps a guest whose turn has ended, as far as the bound allows it.
    pub(super) fn rest_guest(&mut self, id: WorkerId, worker: W) {
        self.held.end_turn(id, worker);
        self.note_guests();
        if self.phase != Phase::Open {
            // It will have no further turn, and waiting runs can have its worker.
            self.begin_close(id);
        }
        while self.held.between_turns() > self.growth.capacity.held {
            let Some((stalest, _)) = self.held.stalest(|_| true) else { return };
            self.begin_close(stalest);
            // Of the guest itself the end of its turn tells.
            self.count_given_up_guest(stalest != id);
        }
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
            let Some((id, memory)) = self.held.stalest(|_| true) else { return false };
            freed = freed.saturating_add(memory);
            self.begin_close(id);
            self.count_given_up_guest(true);
        }
        true
    }

    /// Takes out a worker that is to be replaced and whose guest may be given up.
    pub(super) fn take_outdated_guest(&mut self) -> Option<(WorkerId, W)> {
        let (id, _) = self.held.stalest(|id| self.roster.is_outdated(id))?;
        self.count_given_up_guest(true);
        Some((id, self.end_guest(id)?))
    }

    /// Takes out the workers of all guests that have no turn in progress, and forgets all guests.
    pub(super) fn take_guests(&mut self) -> Vec<W> {
        self.held.workers().into_iter().filter_map(|id| self.end_guest(id)).collect()
    }

    /// The grant of a run that has left the queue and will not begin.
    pub(super) fn withdraw(&mut self, pending: Pending<G>) -> G {
        if let Some(id) = pending.guest {
            self.held.withdraw_turn(id);
            self.note_guests();
        }
        pending.grant
    }

    fn begin_close(&mut self, id: WorkerId) {
        let worker = self.end_guest(id);
        self.closing.extend(worker);
    }

    fn count_given_up_guest(&mut self, counts: bool) {
        let count = &mut self.counters.guests_given_up;
        *count = count.saturating_add(u64::from(counts));
    }

    fn note_guests(&mut self) {
        self.growth.note_guests(self.held.len());
        self.queue.note_spare_memory(self.held.spare_memory());
    }
}

#[cfg(test)]
#[path = "holding_tests.rs"]
mod tests;
