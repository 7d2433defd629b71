//! The scheduler's decisions: the worker of each run, the waiting runs, and the workers to retire.
//!
//! The state is plain data: it has no lock, no clock, no task and no process. Each method changes
//! the state and returns a decision, which the caller carries out. Methods that need the time are
//! told it. `W` is an idle worker, and `G` is the way to grant one to a waiting run; the state stores
//! both and uses neither.
//!
//! # Owners
//!
//! A worker belongs to the owner of its first run. A run gets an idle worker of its owner, or a
//! fresh one, which belongs to nobody yet. If only workers of others are idle, the least recently
//! used of them that keeps no guest is given up, and the run is *promised* the next fresh worker: its turn is settled,
//! and it waits for a process to start. A few workers are kept fresh ahead of time, so that runs of
//! new owners rarely wait.
//!
//! INVARIANT(admission): never more runs begin than [`Growth::may_start`] allows, never more run
//! than [`Capacity::most`], and never more wait than the queue holds.
//! INVARIANT(kept-promises): there are at least as many fresh workers, idle or about to be started,
//! as runs that are promised one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use crate::isolation::WorkerOwner;
use crate::report::Counters;
use crate::scheduler::claim::{
    Admission, Claim, Closing, Offered, OutOfTime, Pending, QueueBounds, RunRefusal, Ticket,
    WorkerUse,
};
use crate::scheduler::growth::{Capacity, Growth};
use crate::scheduler::held::{HeldGuests, KeepsGuests};
use crate::scheduler::idle::IdleWorkers;
use crate::scheduler::queue::fair_queue::FairQueue;
use crate::scheduler::queue::tenant_account::Candidate;
use crate::scheduler::roster::{Roster, WorkerRecord};
use crate::worker::id::WorkerId;
use wardian_vocabulary::ids::TenantId;

/// The steps of a pool's end, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    Open,
    /// No run is admitted. Runs that were admitted continue.
    Draining,
    /// Every process is killed.
    Closed,
}

/// Idle and busy workers, and the runs that wait for one.
#[derive(Debug)]
pub(crate) struct SchedulerState<W, G> {
    pub(super) phase: Phase,
    pub(super) growth: Growth,
    pub(super) idle: IdleWorkers<W>,
    pub(super) queue: FairQueue<Pending<G>>,
    /// Guests that are kept. What becomes of them is decided in `holding.rs`.
    pub(super) held: HeldGuests<W>,
    /// Turns that waited when their guest was lost, and that the caller has not told yet.
    pub(super) lost: Vec<G>,
    /// Runs whose turn is settled, and that get the next fresh workers.
    pub(super) promised: VecDeque<(Ticket, Pending<G>)>,
    pub(super) roster: Roster<W>,
    pub counters: Counters,
}

impl<W: KeepsGuests, G> SchedulerState<W, G> {
    /// A pool without workers that admits runs within the bounds of `queue`.
    pub(crate) fn new(capacity: Capacity, queue: QueueBounds) -> Self {
        Self {
            phase: Phase::Open,
            growth: Growth::new(capacity),
            idle: IdleWorkers::new(),
            queue: FairQueue::new(queue),
            held: HeldGuests::new(),
            lost: Vec::new(),
            promised: VecDeque::new(),
            roster: Roster::new(),
            counters: Counters::default(),
        }
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) const fn capacity(&self) -> Capacity {
        self.growth.capacity
    }

    /// Runs that have a worker, or are promised one.
    pub(crate) fn running(&self) -> usize {
        self.queue.running()
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The workers that have been added and not removed, by number.
    pub(crate) const fn records(&self) -> &BTreeMap<WorkerId, WorkerRecord> {
        self.roster.records()
    }

    /// The number of workers that are there and serve whoever comes: those that are set apart because of
    /// their guests are left out, as far as they are replaced.
    pub(crate) fn alive(&self) -> usize {
        self.roster.alive().saturating_sub(self.growth.keepers())
    }

    /// The number of workers that there should be, idle, busy or about to be started.
    fn wanted(&self) -> usize {
        self.growth.workers(self.running())
    }

    /// The number of workers that nobody starts yet.
    pub(crate) fn vacancies(&self) -> usize {
        self.wanted().saturating_sub(self.roster.coming())
    }

    /// Takes over the start of a worker, if one is wanted. It ends with [`Self::add_worker`] or
    /// [`Self::end_start`].
    pub(crate) fn begin_start(&mut self) -> bool {
        let is_wanted = self.vacancies() > 0;
        if is_wanted {
            self.roster.begin_start();
        }
        is_wanted
    }

    /// Notes that a worker did not start.
    pub(crate) const fn end_start(&mut self) {
        self.roster.end_start();
    }

    /// True if it matters which runs wait, or which workers are not needed any more.
    pub(crate) fn needs_watch(&self) -> bool {
        self.growth.needs_watch(self.running())
    }

    /// The workers that have a run.
    pub(crate) fn busy(&self) -> impl Iterator<Item = (WorkerId, Ticket)> {
        self.roster.busy()
    }

    /// Notes which runs wait, and gives up workers that were not needed for a while.
    pub(crate) fn note_waiting(&mut self, mut waits: BTreeSet<Ticket>, now: Instant) {
        let busy: BTreeSet<Ticket> = self.busy().map(|(_, ticket)| ticket).collect();
        waits.retain(|ticket| busy.contains(ticket));
        self.growth.note_waiting(waits);
        if self.phase == Phase::Open && self.growth.shrink(self.running(), now) {
            self.keep_fresh();
            self.give_up_surplus();
        }
    }

    pub(crate) fn is_idle(&self, id: WorkerId) -> bool {
        self.idle.has(id)
    }

    /// Decides about a new run. It gets an idle worker of its owner for which `fits` holds, if there
    /// is one, otherwise the one of its owner that was used last, and otherwise a fresh one.
    pub(crate) fn admit(
        &mut self,
        claim: &Claim,
        fits: impl Fn(&W) -> bool,
        grant: G,
        now: Instant,
    ) -> Admission<W, G> {
        if self.phase != Phase::Open {
            return Admission::ShuttingDown;
        }
        if self.has_worker_for(claim) {
            self.make_room_for(claim);
        }
        self.offer(claim, Pending::new(grant, claim), fits, now)
    }

    /// Offers a run to the queue. It starts only if those that are before it have no worker either.
    pub(super) fn offer(
        &mut self,
        claim: &Claim,
        pending: Pending<G>,
        fits: impl Fn(&W) -> bool,
        now: Instant,
    ) -> Admission<W, G> {
        let (before, own) = (self.running(), self.queue.runs_of(&claim.tenant));
        let (growth, idle, held, serves) =
            (&self.growth, &self.idle, &self.held, self.serves_anybody());
        let may_start = |one: Candidate<'_, Pending<G>>| {
            has_worker(&one.run.item, idle, held, serves) && growth.may_start(before, one.own)
        };
        match self.queue.offer(claim, pending, may_start, now) {
            Offered::Starts(ticket, pending) => {
                self.growth.note_start(ticket, before, own, now);
                match self.take_worker(&pending, fits) {
                    Some((id, worker)) => {
                        self.note_run(id, pending.owner, ticket);
                        Admission::Granted(ticket, worker)
                    }
                    None => {
                        self.promise(ticket, pending);
                        Admission::Queued { ticket, displaced: None }
                    }
                }
            }
            Offered::Waits { ticket, displaced } => {
                if displaced.is_some() {
                    self.count_overloaded();
                }
                let displaced = displaced.map(|pending| self.withdraw(pending));
                Admission::Queued { ticket, displaced }
            }
            Offered::Refused(refusal, _) => {
                self.count_refused(refusal);
                Admission::Refused(refusal)
            }
        }
    }

    /// Returns the refusal that a run would get now. It is counted.
    pub(crate) fn refuse_early(&mut self, claim: &Claim, now: Instant) -> Option<RunRefusal> {
        let own = self.queue.runs_of(&claim.tenant);
        let has_room = self.has_worker_for(claim) && self.growth.may_start(self.running(), own);
        let refusal = self.queue.refusal_of(claim, has_room, now)?;
        self.count_refused(refusal);
        Some(refusal)
    }

    /// Grants an idle worker to a run that is promised one, or to the run whose turn it is.
    pub(crate) fn grant_next(&mut self, now: Instant) -> Option<(Ticket, G, W)> {
        if let Some(granted) = self.keep_a_promise(now) {
            return Some(granted);
        }
        loop {
            let (before, serves) = (self.running(), self.serves_anybody());
            if !serves && self.idle.is_empty() && !self.held.has_queued_turns() {
                return None;
            }
            let (growth, idle, held) = (&self.growth, &self.idle, &self.held);
            let may_start = |one: Candidate<'_, Pending<G>>| {
                has_worker(&one.run.item, idle, held, serves) && growth.may_start(before, one.own)
            };
            let Some((ticket, pending, own)) = self.queue.pop_if(now, may_start) else {
                let has_guests = self.held.len() > 0;
                let missing = has_guests.then(|| self.queue.memory_for_next(now, may_start))?;
                if self.make_room(missing?) {
                    continue;
                }
                return None;
            };
            self.growth.note_start(ticket, before, own, now);
            let Some((id, worker)) = self.take_worker(&pending, |_| false) else {
                self.promise(ticket, pending);
                continue;
            };
            self.note_run(id, pending.owner, ticket);
            return Some((ticket, pending.grant, worker));
        }
    }

    pub(crate) fn is_first(&self, tenant: &TenantId, ticket: Ticket) -> bool {
        self.queue.accounts.get(tenant).is_some_and(|account| account.is_first(ticket))
    }

    /// Ends the wait of a run. Returns its grant if it was still waiting.
    pub(crate) fn abandon(&mut self, tenant: &TenantId, ticket: Ticket) -> Option<G> {
        let place = self.promised.iter().position(|(promised, _)| *promised == ticket);
        let pending = match place.and_then(|at| self.promised.remove(at)) {
            Some((_, pending)) => {
                self.queue.withdraw(ticket);
                Some(pending)
            }
            None => self.queue.remove(tenant, ticket),
        };
        pending.map(|pending| self.withdraw(pending))
    }

    /// Ends a run, whose processor time is reported if it counts against a quota. Returns the
    /// waiting runs that are refused.
    pub(crate) fn end_run(
        &mut self,
        ticket: Ticket,
        cpu_time: Option<Duration>,
        now: Instant,
    ) -> OutOfTime<G> {
        self.growth.forget(ticket);
        if let Some(taken) = cpu_time {
            self.queue.charge_cpu(ticket, taken, now);
        }
        let OutOfTime { runs, retry_after } = self.queue.end(ticket, now);
        let count = u64::try_from(runs.len()).unwrap_or(u64::MAX);
        self.counters.limited = self.counters.limited.saturating_add(count);
        let runs = runs.into_iter().map(|pending| self.withdraw(pending)).collect();
        OutOfTime { runs, retry_after }
    }

    /// Takes a worker back that has no run any more. It becomes idle, unless it holds a cell. Returns
    /// it if it is outdated or removed, or if the pool is closed; its guests are lost then.
    pub(crate) fn give_back(&mut self, id: WorkerId, mut worker: W) -> Option<W> {
        let record = self.roster.note_rest(id).filter(|_| self.phase != Phase::Closed);
        let Some(owner) = record.map(|record| record.owner.clone()) else {
            drop(self.forget_guests_of(id));
            return Some(worker);
        };
        let ended = self.rest_guests(id, &mut worker);
        let idle = if worker.holds_cell() { self.held.reserve(id, worker) } else { Some(worker) };
        if let Some(worker) = idle {
            self.idle.push(id, owner, worker);
        }
        self.bound_guests(ended);
        self.keep_fresh();
        self.give_up_surplus();
        None
    }

    /// The time in which the runs that wait are worked off.
    pub(crate) fn drain_time(&self) -> Duration {
        self.queue.drain_time()
    }

    /// The number of the next worker.
    pub(crate) const fn next_worker_id(&mut self) -> WorkerId {
        self.roster.next_id()
    }

    /// Adds a worker that is ready. Returns the worker if it must end.
    pub(crate) fn add_worker(&mut self, id: WorkerId, worker: W) -> Option<W> {
        self.end_start();
        self.roster.add(id);
        self.counters.started = self.counters.started.saturating_add(1);
        // It may have been wanted only when its start began. Then it is given up.
        self.give_back(id, worker)
    }

    /// Removes a worker whose process has ended. Returns its record, and the worker if it had no run.
    pub(crate) fn remove_worker(&mut self, id: WorkerId) -> (Option<WorkerRecord>, Option<W>) {
        let former = self.forget_guests_of(id);
        (self.roster.remove(id), self.idle.remove(id).or(former))
    }

    /// The workers that were given up since the last call. The caller ends them.
    pub(crate) fn take_given_up(&mut self) -> Vec<W> {
        self.roster.take_given_up()
    }

    /// Marks every worker to be replaced when it is idle.
    pub(crate) fn outdate_workers(&mut self) {
        self.roster.outdate_all();
    }

    /// Admits no new run.
    pub(crate) fn drain(&mut self) {
        self.phase = self.phase.max(Phase::Draining);
    }

    /// Closes the pool. Returns the waiting runs and the idle workers.
    pub(crate) fn close(&mut self) -> Closing<W, G> {
        self.phase = Phase::Closed;
        let mut waiting = Vec::new();
        for (ticket, pending) in std::mem::take(&mut self.promised) {
            self.queue.withdraw(ticket);
            waiting.push(pending.grant);
        }
        waiting.extend(self.queue.close().into_iter().map(|pending| pending.grant));
        let mut idle = self.idle.take_all();
        idle.extend(self.take_reserved());
        Closing { waiting, idle }
    }

    /// Counts a refused run.
    pub(crate) const fn count_overloaded(&mut self) {
        self.counters.overloaded = self.counters.overloaded.saturating_add(1);
    }

    fn count_refused(&mut self, refusal: RunRefusal) {
        match refusal {
            RunRefusal::Full { .. } => self.count_overloaded(),
            RunRefusal::TenantFull { .. } | RunRefusal::TimeUsed { .. } | RunRefusal::NeverFits => {
                self.counters.limited = self.counters.limited.saturating_add(1);
            }
        }
    }

    /// True if there is a worker for a run: an idle one can serve it or can be given up for it, or one
    /// is started for it because all cores have runs.
    /// Otherwise the run waits in the queue, so that the fair order is decided as late as possible.
    pub(super) fn has_worker_for(&self, claim: &Claim) -> bool {
        self.serves_anybody() || self.idle.has_of(&claim.owner)
    }

    /// True if there is a worker for a run of anybody.
    pub(super) fn serves_anybody(&self) -> bool {
        let has_fresh = self.idle.fresh() > self.promised.len();
        let has_owned = || self.idle.has_owned(|id| !self.held.has_worker(id));
        has_fresh || has_owned() || self.growth.is_at_cores(self.running())
    }

    /// The number of fresh workers, idle or about to be started, that no run is promised. It is
    /// negative while idle workers of others are in the way.
    fn unpromised(&self) -> i64 {
        let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let starting = signed(self.wanted()).saturating_sub(signed(self.roster.alive()));
        let promised = signed(self.promised.len());
        starting.saturating_add(signed(self.idle.fresh())).saturating_sub(promised)
    }

    /// Promises a run the next fresh worker.
    fn promise(&mut self, ticket: Ticket, pending: Pending<G>) {
        while self.unpromised() <= 0 && self.give_up_stalest() {}
        self.counters.awaited = self.counters.awaited.saturating_add(1);
        self.promised.push_back((ticket, pending));
    }

    /// Grants a worker to the first run that is promised one and can have one now.
    fn keep_a_promise(&mut self, now: Instant) -> Option<(Ticket, G, W)> {
        let has_fresh = self.idle.fresh() > 0;
        let mut promised = self.promised.iter();
        let at = promised.position(|(_, run)| has_fresh || self.idle.has_of(&run.owner))?;
        let (ticket, pending) = self.promised.remove(at)?;
        let own = self.idle.take_of(&pending.owner, |_, _| Some(0));
        let (id, worker) = own.or_else(|| self.idle.take_fresh(|_| true))?;
        self.queue.begin(ticket, now);
        self.note_run(id, pending.owner, ticket);
        Some((ticket, pending.grant, worker))
    }

    /// Notes that a worker was given a run of `owner`, to whom it belongs from now on.
    fn note_run(&mut self, id: WorkerId, owner: WorkerOwner, ticket: Ticket) {
        self.roster.note_run(id, owner, ticket);
        self.held.lend(id);
        self.note_guests();
        self.keep_fresh();
    }

    /// Gives up workers of others until enough are fresh or about to be.
    fn keep_fresh(&mut self) {
        let fresh = i64::try_from(self.growth.capacity.fresh).unwrap_or(i64::MAX);
        while self.phase == Phase::Open && self.unpromised() < fresh && self.give_up_stalest() {}
    }

    /// Gives up idle workers while there are more than there should be. Those that keep guests stay.
    pub(super) fn give_up_surplus(&mut self) {
        while self.phase == Phase::Open && self.roster.alive() > self.wanted() {
            let is_free = self.idle.fresh() > self.promised.len();
            let surplus = match self.idle.take_stalest(|id| !self.held.has_worker(id)) {
                None if is_free => self.idle.take_fresh(|_| true),
                stalest => stalest,
            };
            let Some((id, worker)) = surplus else { return };
            self.roster.give_up(id, worker);
        }
    }

    /// Gives up the least recently used idle worker of any owner that keeps no guest. Another one replaces
    /// it.
    fn give_up_stalest(&mut self) -> bool {
        let stalest = self.idle.take_stalest(|id| !self.held.has_worker(id));
        let Some((id, worker)) = stalest else { return false };
        self.roster.give_up(id, worker);
        self.counters.given_up = self.counters.given_up.saturating_add(1);
        true
    }
}

/// True if there may be a worker for a run that waits. `serves_anybody` says so of runs of anybody.
fn has_worker<W, G>(
    run: &Pending<G>,
    idle: &IdleWorkers<W>,
    held: &HeldGuests<W>,
    serves_anybody: bool,
) -> bool {
    match run.purpose {
        WorkerUse::Turn(key) => held.is_at_hand(key.worker),
        WorkerUse::Run | WorkerUse::Guest => serves_anybody || idle.has_of(&run.owner),
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod owner_tests;
#[cfg(test)]
#[path = "assignment_tests.rs"]
mod tests;
