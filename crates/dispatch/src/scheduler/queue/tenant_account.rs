//! The account of one tenant: its waiting runs, its runs in progress, and the time that its runs
//! took.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::scheduler::claim::Ticket;
use crate::scheduler::queue::virtual_time::VirtualTime;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{TenantLimits, TenantTime};

/// The least time that a run counts with: granting a worker costs something too.
pub(crate) const LEAST_COST: Duration = Duration::from_micros(100);

/// The time that a run is expected to take as long as none of its tenant has ended.
pub(crate) const UNKNOWN_COST: Duration = Duration::from_millis(10);

/// How often other runs may start before a run that waits for memory. After that, runs behind it
/// wait until it fits, so that small runs cannot keep a large one waiting for ever.
pub(crate) const MAX_OVERTAKEN: u32 = 32;

/// Accounts that are kept before any is forgotten.
pub(crate) const FEW_ACCOUNTS: usize = 128;

/// Accounts of tenants without runs that are kept at most.
pub(crate) const MAX_RESTING: usize = 16_384;

/// The first of the waiting runs of a tenant, or one of its waiting turns.
#[derive(Debug)]
pub(crate) struct Candidate<'queue, T> {
    /// The number of the tenant's runs in progress.
    pub(crate) own: usize,
    pub(crate) run: &'queue Waiting<T>,
}

/// The run that is next and its tenant, with the tenants whose runs it overtakes.
pub(crate) struct NextRun {
    pub tenant: TenantId,
    pub(crate) ticket: Ticket,
    pub memory: u64,
    pub(crate) overtaken: Vec<TenantId>,
}

/// The account of a tenant with runs, or of one that has lately had more than its share.
#[derive(Debug)]
pub(crate) struct Account<T> {
    pub limits: TenantLimits,
    /// The waiting runs that need memory.
    pub waiting: VecDeque<Waiting<T>>,
    /// Those that need none: turns of guests that are kept. They are in line with the others, and pass
    /// those that cannot start: runs for which they may have to make room, and turns whose worker is busy.
    pub turns: VecDeque<Waiting<T>>,
    pub running: Vec<Ticket>,
    /// The time of the runs that have ended.
    pub position: VirtualTime,
    /// The time that a run of the tenant took lately.
    pub usual: Option<Duration>,
    /// Time that counts against the quotas.
    used: TenantTime,
    pub counted: Counted,
}

/// The part of an account in the counts of all accounts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    /// The number of waiting runs.
    pub line: usize,
    /// The tenant's weight; 0 if it has no runs.
    pub weight: u64,
}

#[derive(Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) ticket: Ticket,
    pub item: T,
    /// The memory that has to be admitted for it: none for a turn of a guest that is kept.
    pub memory: u64,
    pub is_own: bool,
    /// How often the run of another tenant was started while this one did not fit into the memory.
    pub(crate) overtaken: u32,
}

#[derive(Debug)]
pub(crate) struct StartedRun {
    pub tenant: TenantId,
    pub started: Instant,
    /// The time that the run is expected to take.
    pub expected: Duration,
    pub memory: u64,
    pub is_own: bool,
}

impl<T> Clone for Candidate<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Candidate<'_, T> {}

impl<T> Account<T> {
    pub(crate) fn new() -> Self {
        Self {
            limits: TenantLimits::NONE,
            waiting: VecDeque::new(),
            turns: VecDeque::new(),
            running: Vec::new(),
            position: VirtualTime::ZERO,
            usual: None,
            used: TenantTime::default(),
            counted: Counted::default(),
        }
    }

    /// True if no run of the tenant is in progress, and this one is its next: the first of those
    /// that wait, or the only one whose turn is settled.
    pub(crate) fn is_first(&self, ticket: Ticket) -> bool {
        match self.running.as_slice() {
            [] => self.first_ticket() == Some(ticket),
            [only] => *only == ticket,
            _ => false,
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.running.is_empty() || self.line() > 0
    }

    /// The number of waiting runs.
    pub(crate) fn line(&self) -> usize {
        self.waiting.len().saturating_add(self.turns.len())
    }

    /// The ticket of the run that waits longest.
    pub(crate) fn first_ticket(&self) -> Option<Ticket> {
        self.fronts().map(|first| first.ticket).next()
    }

    /// The runs of which one may be next, in the order of their arrival: the first that needs memory, and
    /// all turns, since each waits for the worker of its guest.
    pub(crate) fn fronts(&self) -> impl Iterator<Item = &Waiting<T>> {
        let run = self.waiting.front();
        let is_before = |turn: &Waiting<T>| run.is_none_or(|run| turn.ticket < run.ticket);
        let before = self.turns.partition_point(is_before);
        self.turns.range(..before).chain(run).chain(self.turns.range(before..))
    }

    /// The ticket of the run that waits for the shortest time.
    pub(crate) fn youngest_ticket(&self) -> Option<Ticket> {
        let last = self.waiting.back().into_iter().chain(self.turns.back());
        last.map(|waiting| waiting.ticket).max()
    }

    /// Adds a waiting run.
    pub(crate) fn push(&mut self, waiting: Waiting<T>) {
        let line = if waiting.memory == 0 { &mut self.turns } else { &mut self.waiting };
        line.push_back(waiting);
    }

    /// Takes out a waiting run.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Waiting<T>> {
        let of = |line: &mut VecDeque<Waiting<T>>| {
            let at = line.iter().position(|waiting| waiting.ticket == ticket)?;
            line.remove(at)
        };
        of(&mut self.waiting).or_else(|| of(&mut self.turns))
    }

    /// Takes out all waiting runs.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Waiting<T>> + use<T> {
        let (waiting, turns) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.turns));
        waiting.into_iter().chain(turns)
    }

    /// Adds the time for which a run that has ended had a worker.
    pub(crate) fn add_run_time(&mut self, taken: Duration, now: Instant) {
        self.used.add_run_time(&self.limits, taken, now);
    }

    /// Adds processor time.
    pub(crate) fn add_cpu_time(&mut self, taken: Duration, now: Instant) {
        self.used.add_cpu_time(&self.limits, taken, now);
    }

    /// The time until the quotas of `limits` have something left, if one of them is used up. Runs in
    /// progress have had workers for `elapsed` so far; their processor time counts when they end.
    pub(crate) fn wait_for_quotas(
        &self,
        limits: &TenantLimits,
        elapsed: Duration,
        now: Instant,
    ) -> Option<Duration> {
        self.used.wait_for_quotas(limits, elapsed, now)
    }

    /// True if time that the tenant has used has not come back yet.
    pub(crate) fn owes_time(&self, now: Instant) -> bool {
        self.used.is_owed(&self.limits, now)
    }

    /// Takes out all waiting runs but those of the server itself.
    pub(crate) fn refuse_all(&mut self) -> Vec<T> {
        let (own, refused) = self.take_all().partition::<Vec<Waiting<T>>, _>(|one| one.is_own);
        own.into_iter().for_each(|waiting| self.push(waiting));
        refused.into_iter().map(|waiting| waiting.item).collect()
    }
}

/// The average of the times of runs, in which a new time has a quarter of the weight.
pub(crate) fn average(before: Option<Duration>, taken: Duration) -> Duration {
    before.map_or(taken, |before| (before.saturating_mul(3).saturating_add(taken)) / 4)
}
