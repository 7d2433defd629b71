//! The size of a pool: how many runs are in progress at once, and how many workers there are for
//! them.
//!
//! A run that computes has a core. A run that waits, for a server of the network or in a sleep, needs
//! none, and another run takes its place. Where tenants are kept apart, one without a run in progress
//! waits for no run of others either: a few of such runs begin beyond the cores, and share them.
//! Workers are started for both, and end when they were not needed for a while.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::scheduler::claim::Ticket;

/// How long workers are kept that are not needed any more. Programs that wait often come in bursts.
const LINGER: Duration = Duration::from_secs(10);

/// The size of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    /// Runs that compute at once.
    pub cores: usize,
    /// Runs at once, with those that wait.
    pub most: usize,
    /// Workers beyond those that runs have.
    pub spares: usize,
    /// Workers that are kept without an owner while fewer runs than workers need one.
    pub fresh: usize,
    /// Runs that may begin beyond the cores because their tenant has no other one. As much of `most`
    /// is kept for them.
    pub(crate) newcomers: usize,
}

impl Capacity {
    /// The fewest workers, idle, busy or about to be started.
    pub(crate) const fn least_workers(&self) -> usize {
        self.cores.saturating_add(self.spares)
    }

    /// The most workers.
    pub(crate) const fn most_workers(&self) -> usize {
        self.most.saturating_add(self.spares)
    }
}

/// The present size of a pool.
#[derive(Debug)]
pub(crate) struct Growth {
    pub capacity: Capacity,
    /// The runs in progress that wait.
    waits: BTreeSet<Ticket>,
    /// The runs in progress that began as those of newcomers.
    newcomers: BTreeSet<Ticket>,
    /// The peak number of simultaneous runs lately, and its time.
    reach: usize,
    reached: Option<Instant>,
}

impl Growth {
    pub(crate) fn new(capacity: Capacity) -> Self {
        let cores = capacity.cores.max(1);
        let most = capacity.most.max(cores);
        let newcomers = capacity.newcomers.min(most.saturating_sub(cores));
        let capacity = Capacity { cores, most, newcomers, ..capacity };
        let (waits, newcomers) = (BTreeSet::new(), BTreeSet::new());
        Self { capacity, waits, newcomers, reach: 0, reached: None }
    }

    /// True if one more run may start alongside `running` others, `own` of which are of its tenant.
    pub(crate) fn may_start(&self, running: usize, own: usize) -> bool {
        let left = self.capacity.newcomers.saturating_sub(self.newcomers.len());
        if own == 0 && left > 0 {
            return running < self.capacity.most;
        }
        self.has_core(running) && running.saturating_add(left) < self.capacity.most
    }

    /// True if fewer runs compute than there are cores, those of newcomers left out.
    fn has_core(&self, running: usize) -> bool {
        let others = self.waits.union(&self.newcomers).count();
        running.saturating_sub(others) < self.capacity.cores
    }

    /// True if as many runs are in progress as there are cores: for one more a worker is started.
    pub(crate) const fn is_at_cores(&self, running: usize) -> bool {
        running >= self.capacity.cores
    }

    /// The number of workers, idle, busy or about to be started.
    pub(crate) fn workers(&self, running: usize) -> usize {
        let runs = running.max(self.reach).clamp(self.capacity.cores, self.capacity.most);
        runs.saturating_add(self.capacity.spares)
    }

    /// Notes the start of a run alongside `before` others, `own` of which are of its tenant.
    pub(crate) fn note_start(&mut self, ticket: Ticket, before: usize, own: usize, now: Instant) {
        if own == 0 && !self.has_core(before) {
            self.newcomers.insert(ticket);
        }
        let running = before.saturating_add(1);
        if running >= self.reach {
            self.reach = running;
            self.reached = Some(now);
        }
    }

    /// Notes the runs that wait. All others compute.
    pub(crate) fn note_waiting(&mut self, waits: BTreeSet<Ticket>) {
        self.waits = waits;
    }

    /// Forgets a run that has ended.
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        self.waits.remove(&ticket);
        self.newcomers.remove(&ticket);
    }

    /// Needs fewer workers from now on if the present number was not needed for a while. Returns true
    /// if that is so.
    pub(crate) fn shrink(&mut self, running: usize, now: Instant) -> bool {
        if running >= self.reach {
            self.reached = Some(now);
            return false;
        }
        let is_over = |reached: Instant| now.saturating_duration_since(reached) >= LINGER;
        if !self.reached.is_none_or(is_over) {
            return false;
        }
        self.reach = running;
        self.reached = Some(now);
        true
    }

    /// True if it matters which runs wait, or which workers are not needed any more.
    pub(crate) fn needs_watch(&self, running: usize) -> bool {
        let Capacity { cores, most, .. } = self.capacity;
        most > cores && (running >= cores || self.reach > cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: Capacity = Capacity { cores: 2, most: 6, spares: 1, fresh: 0, newcomers: 0 };

    fn tickets(tickets: std::ops::Range<u64>) -> BTreeSet<Ticket> {
        tickets.map(Ticket).collect()
    }

    #[test]
    fn runs_that_wait_make_room_up_to_the_most() {
        let mut growth = Growth::new(CAPACITY);
        assert!(growth.may_start(1, 1) && !growth.may_start(2, 1) && !growth.may_start(2, 0));
        growth.note_waiting(tickets(0..1));
        assert!(growth.may_start(2, 1) && !growth.may_start(3, 1));
        growth.forget(Ticket(0));
        assert!(!growth.may_start(2, 1));
        growth.note_waiting(tickets(0..6));
        assert!(growth.may_start(5, 1) && !growth.may_start(6, 1) && !growth.may_start(6, 0));
    }

    #[test]
    fn newcomers_begin_beyond_the_cores_whatever_others_do() {
        let now = Instant::now();
        let mut growth = Growth::new(Capacity { newcomers: 1, ..CAPACITY });
        assert!(growth.may_start(2, 0) && !growth.may_start(2, 1));
        // Runs that waited, made room, and compute now.
        growth.note_waiting(tickets(0..5));
        assert!(growth.may_start(4, 1) && !growth.may_start(5, 1), "one place is kept");
        growth.note_waiting(BTreeSet::new());
        assert!(growth.may_start(5, 0));
        growth.note_start(Ticket(9), 5, 0, now);
        assert!(!growth.may_start(6, 0) && !growth.may_start(5, 0));
        growth.forget(Ticket(9));
        assert!(growth.may_start(5, 0));
        let fixed = Growth::new(Capacity { most: 2, newcomers: 1, ..CAPACITY });
        assert!(!fixed.may_start(2, 0), "the operator wants no more");
        let one = Growth::new(Capacity { cores: 0, most: 0, ..CAPACITY });
        assert!(one.may_start(0, 0) && !one.may_start(1, 0));
    }

    #[test]
    fn workers_follow_the_runs_and_stay_for_a_while() {
        let mut growth = Growth::new(CAPACITY);
        let start = Instant::now();
        assert_eq!(growth.workers(0), 3);
        growth.note_start(Ticket(0), 3, 1, start);
        assert_eq!((growth.workers(4), growth.workers(1)), (5, 5));
        assert!(growth.needs_watch(0));
        assert!(!growth.shrink(4, start + LINGER), "they are still needed");
        assert!(!growth.shrink(1, start + LINGER * 3 / 2));
        assert!(growth.shrink(1, start + LINGER * 2));
        assert_eq!((growth.workers(1), growth.workers(9)), (3, 7));
        assert!(!growth.shrink(1, start + LINGER * 2), "there is nothing more to give up");
        assert!(!growth.needs_watch(1) && growth.needs_watch(2));
    }
}
