//! The size of a pool: how many runs are in progress at once, and how many workers there are for
//! them.
//!
//! A run that computes has a core. A run that waits, for a server of the network or in a sleep, needs
//! none, and another run takes its place. Where tenants are kept apart, one without a run in progress
//! waits for no run of others either: a few of such runs begin beyond the cores, and share them. A
//! worker that keeps guests and serves no other owner, or no further guest, is replaced by another one.
//! Workers are started for all of these, and end when they were not needed for a while.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::config::PoolConfig;
use crate::isolation::Isolation;
use crate::scheduler::claim::Ticket;
use wardian_vocabulary::units::ByteCount;

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
    /// The guests that workers may keep between turns.
    pub held: HeldBounds,
}

/// The bounds of guests that are kept between turns. None are kept by default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HeldBounds {
    /// The guests of all workers.
    pub(crate) guests: usize,
    /// The guests of one worker.
    pub(crate) of_one: usize,
    /// The memory that the guests of one worker may have mapped.
    pub(crate) mapped: Option<u64>,
    /// Workers that may be set apart at once because of their guests. Each is replaced.
    pub(crate) keepers: usize,
    /// The memory that workers with guests may take.
    pub(crate) memory: Option<u64>,
}

/// The most workers that are set apart because of their guests.
const MOST_KEEPERS: usize = 32;

/// The most workers that are kept without an owner. A new tenant takes one at once, and another one
/// is started meanwhile.
const FRESH: usize = 2;

impl Capacity {
    pub(crate) fn of(config: &PoolConfig) -> Self {
        let PoolConfig { workers: cores, most_runs: most, spares, most_held: guests, .. } = *config;
        let (of_one, keepers) = (config.most_held_by_one.min(guests), guests.min(MOST_KEEPERS));
        let held = HeldBounds {
            guests,
            of_one,
            mapped: config.mapped_by_one.map(ByteCount::as_u64),
            keepers,
            memory: config.held_memory.map(ByteCount::as_u64),
        };
        let (fresh, newcomers) = match config.isolation {
            Isolation::Shared => (0, 0),
            Isolation::Process => (spares.min(FRESH), cores.div_ceil(2)),
        };
        Self { cores, most, spares, fresh, newcomers, held }
    }

    /// The fewest workers, idle, busy or about to be started.
    pub(crate) const fn least_workers(&self) -> usize {
        self.cores.saturating_add(self.spares)
    }

    /// The most workers.
    pub(crate) const fn most_workers(&self) -> usize {
        self.most.saturating_add(self.spares).saturating_add(self.held.keepers)
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
    /// Simultaneous runs.
    runs: Peak,
    /// Workers that are set apart because of the guests that they keep, as far as they are replaced.
    keepers: usize,
    /// The same, lately.
    kept: Peak,
}

/// The highest of some numbers that were seen lately.
#[derive(Debug, Default)]
struct Peak {
    height: usize,
    /// When it was reached last; none if nobody has looked since.
    at: Option<Instant>,
}

impl Peak {
    fn note(&mut self, number: usize, at: Option<Instant>) {
        if number >= self.height {
            *self = Self { height: number, at };
        }
    }

    /// Forgets a height that was not reached for a while. Returns true if that is so.
    fn shrink(&mut self, number: usize, now: Instant) -> bool {
        let at = *self.at.get_or_insert(now);
        if number >= self.height {
            self.at = Some(now);
            return false;
        }
        let is_over = now.saturating_duration_since(at) >= LINGER;
        if is_over {
            *self = Self { height: number, at: Some(now) };
        }
        is_over
    }
}

impl Growth {
    pub(crate) fn new(capacity: Capacity) -> Self {
        let cores = capacity.cores.max(1);
        let most = capacity.most.max(cores);
        let newcomers = capacity.newcomers.min(most.saturating_sub(cores));
        let capacity = Capacity { cores, most, newcomers, ..capacity };
        let (waits, newcomers) = (BTreeSet::new(), BTreeSet::new());
        let (runs, kept) = (Peak::default(), Peak::default());
        Self { capacity, waits, newcomers, runs, keepers: 0, kept }
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
        let runs = running.max(self.runs.height).clamp(self.capacity.cores, self.capacity.most);
        runs.saturating_add(self.capacity.spares).saturating_add(self.kept.height)
    }

    /// Notes the start of a run alongside `before` others, `own` of which are of its tenant.
    pub(crate) fn note_start(&mut self, ticket: Ticket, before: usize, own: usize, now: Instant) {
        if own == 0 && !self.has_core(before) {
            self.newcomers.insert(ticket);
        }
        self.runs.note(before.saturating_add(1), Some(now));
    }

    /// Notes how many workers are set apart because of their guests. Those with a turn in progress are
    /// counted too: it would be in vain to end a worker for as long as the turn takes.
    pub(crate) fn note_keepers(&mut self, keepers: usize) {
        let keepers = keepers.min(self.capacity.held.keepers);
        // It may have been at its height for long, until now.
        self.kept.note(self.keepers.max(keepers), None);
        self.keepers = keepers;
    }

    /// The number of workers that are set apart, as far as they are replaced.
    pub(crate) const fn keepers(&self) -> usize {
        self.keepers
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
        let needs_fewer = [self.runs.shrink(running, now), self.kept.shrink(self.keepers, now)];
        needs_fewer.contains(&true)
    }

    /// True if it matters which runs wait, or which workers are not needed any more.
    pub(crate) fn needs_watch(&self, running: usize) -> bool {
        let Capacity { cores, most, .. } = self.capacity;
        let has_waits = most > cores && (running >= cores || self.runs.height > cores);
        has_waits || self.kept.height > self.keepers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: Capacity = Capacity {
        cores: 2,
        most: 6,
        spares: 1,
        fresh: 0,
        newcomers: 0,
        held: HeldBounds::default(),
    };

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
