//! Who works, who rests, and who waits for a worker.
//!
//! INVARIANT(admission): never more runs at once than the pool is for, never more waiting than
//! the queue holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::dispatch::attachments::Key;
use crate::dispatch::keeper::StartFailure;
use crate::dispatch::lease::Lease;
use crate::dispatch::process::Process;
use crate::dispatch::queue::{Entry, FairQueue};
use crate::dispatch::report::{Counters, PoolReport, WorkerStatus};
use crate::dispatch::worker::{Worker, WorkerId};
use crate::dispatch::{DispatchError, PoolConfig};
use crate::ids::TenantId;
use crate::job::message::WorkerReport;

/// The shared state of a pool.
#[derive(Debug)]
pub(super) struct Roster {
    state: Mutex<State>,
    vitals: watch::Sender<Vitals>,
    runtime: Handle,
    runs: usize,
    queue_wait: Duration,
    /// How long a worker may take to stop a run that was cancelled. One that has not stopped by then
    /// is killed.
    grace: Duration,
}

/// What others may wait for.
#[derive(Debug, Clone, Default)]
pub(super) struct Vitals {
    pub(super) phase: Phase,
    /// Workers that are ready, resting or running.
    pub(super) alive: usize,
    /// Runs and those who wait.
    pub(super) engaged: usize,
    /// Why the last worker that should have started did not; none once one has.
    pub(super) failure: Option<Arc<StartFailure>>,
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    #[default]
    Open,
    /// No new runs.
    Draining,
    /// No runs at all.
    Closed,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// The one that worked last is the last: its memory is warm.
    resting: Vec<Worker>,
    running: usize,
    queue: FairQueue<Waiter>,
    cards: BTreeMap<WorkerId, Card>,
    failure: Option<Arc<StartFailure>>,
    next_id: u64,
    next_ticket: u64,
    counters: Counters,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    grant: oneshot::Sender<Result<Lease, DispatchError>>,
}

/// What is known of a worker wherever it is.
#[derive(Debug)]
struct Card {
    process: Arc<Process>,
    report: Arc<WorkerReport>,
    runs: u64,
    /// True if it was started in a way that is given up.
    is_outdated: bool,
}

impl Roster {
    pub(super) fn new(config: &PoolConfig, runtime: Handle) -> Self {
        let PoolConfig { workers, queue, queue_wait, grace, .. } = *config;
        let state = State {
            phase: Phase::Open,
            resting: Vec::new(),
            running: 0,
            queue: FairQueue::new(queue),
            cards: BTreeMap::new(),
            failure: None,
            next_id: 1,
            next_ticket: 0,
            counters: Counters::default(),
        };
        let vitals = watch::Sender::new(Vitals::default());
        Self { state: Mutex::new(state), vitals, runtime, runs: workers.max(1), queue_wait, grace }
    }

    /// A worker for a run of `tenant`, if possible one that has all of `wanted` already.
    ///
    /// Cancellation: the place in the queue is given up.
    pub(super) async fn lease(
        self: &Arc<Self>,
        tenant: &TenantId,
        wanted: &[Key],
    ) -> Result<Lease, DispatchError> {
        let queued = match self.lease_now_or_queue(tenant, wanted)? {
            Ok(lease) => return Ok(lease),
            Err(queued) => queued,
        };
        let mut queued = queued;
        match timeout(self.queue_wait, &mut queued.granted).await {
            Ok(Ok(granted)) => granted,
            Ok(Err(_)) => Err(DispatchError::ShuttingDown),
            Err(_elapsed) => {
                self.change(|state| {
                    state.counters.overloaded = state.counters.overloaded.saturating_add(1);
                });
                Err(DispatchError::Overloaded)
            }
        }
    }

    fn lease_now_or_queue(
        self: &Arc<Self>,
        tenant: &TenantId,
        wanted: &[Key],
    ) -> Result<Result<Lease, Queued>, DispatchError> {
        let (grant, granted) = oneshot::channel();
        let entered = self.change(|state| {
            if state.phase != Phase::Open {
                return Err(DispatchError::ShuttingDown);
            }
            if state.queue.is_empty()
                && state.running < self.runs
                && let Some(worker) = state.choose(wanted)
            {
                return Ok(Entered::Served(worker));
            }
            let ticket = state.next_ticket;
            state.next_ticket = ticket.saturating_add(1);
            match state.queue.push(tenant, Waiter { ticket, grant }) {
                Entry::Waits => Ok(Entered::Queued { ticket, displaced: None }),
                Entry::Displaces(waiter) => {
                    state.counters.overloaded = state.counters.overloaded.saturating_add(1);
                    Ok(Entered::Queued { ticket, displaced: Some(waiter) })
                }
                Entry::NoRoom(_) => {
                    state.counters.overloaded = state.counters.overloaded.saturating_add(1);
                    Err(DispatchError::Overloaded)
                }
            }
        })?;
        match entered {
            Entered::Served(worker) => Ok(Ok(Lease::new(worker, Arc::clone(self)))),
            Entered::Queued { ticket, displaced } => {
                if let Some(waiter) = displaced {
                    // If nobody waits there any more, nobody needs to be told.
                    waiter.grant.send(Err(DispatchError::Overloaded)).ok();
                }
                let roster = Arc::clone(self);
                Ok(Err(Queued { roster, tenant: tenant.clone(), ticket, granted }))
            }
        }
    }

    /// Lets those who wait have the workers that rest.
    pub(super) fn settle(self: &Arc<Self>) {
        while let Some((waiter, worker)) = self.change(|state| state.pair_up(self.runs)) {
            let lease = Lease::new(worker, Arc::clone(self));
            if let Err(Ok(lease)) = waiter.grant.send(Ok(lease)) {
                // Nobody waits there any more.
                if let Some(worker) = lease.dismantle() {
                    self.rest(worker);
                }
            }
        }
    }

    /// Takes a worker back that was leased.
    pub(super) fn rest(&self, worker: Worker) {
        let unwanted = self.change(|state| {
            state.running = state.running.saturating_sub(1);
            state.admit(worker)
        });
        drop(unwanted);
    }

    /// Frees the place of a worker that is lost.
    pub(super) fn vacate(self: &Arc<Self>) {
        self.change(|state| state.running = state.running.saturating_sub(1));
        self.settle();
    }

    /// Ends a run that nobody waits for any more.
    pub(super) fn wind_down(self: &Arc<Self>, mut worker: Worker) {
        let roster = Arc::clone(self);
        self.runtime.spawn(async move {
            let stopped = timeout(roster.grace, worker.settle()).await;
            if matches!(stopped, Ok(Ok(()))) {
                roster.rest(worker);
                roster.settle();
            } else {
                drop(worker);
                roster.vacate();
            }
        });
    }

    /// Number for the next worker.
    pub(super) fn number(&self) -> WorkerId {
        self.change(|state| {
            let id = state.next_id;
            state.next_id = id.saturating_add(1);
            WorkerId(id)
        })
    }

    /// Adds a worker that is ready.
    pub(super) fn join(self: &Arc<Self>, worker: Worker) {
        let card = Card {
            process: Arc::clone(&worker.process),
            report: Arc::clone(&worker.report),
            runs: 0,
            is_outdated: false,
        };
        let unwanted = self.change(|state| {
            state.failure = None;
            state.cards.insert(worker.id, card);
            state.counters.started = state.counters.started.saturating_add(1);
            state.admit(worker)
        });
        drop(unwanted);
        self.settle();
    }

    /// Removes a worker whose process has ended. Returns how many runs it was given.
    pub(super) fn leave(&self, id: WorkerId) -> u64 {
        let (card, worker) = self.change(|state| {
            let card = state.cards.remove(&id);
            let at = state.resting.iter().position(|worker| worker.id == id);
            (card, at.map(|at| state.resting.remove(at)))
        });
        drop(worker);
        card.map_or(0, |card| card.runs)
    }

    /// Has every worker that is there now replaced when it has no run.
    pub(super) fn outdate(&self) {
        self.change(|state| state.cards.values_mut().for_each(|card| card.is_outdated = true));
    }

    /// Ends one of the resting workers that are to be replaced. Returns how many are left of
    /// those, resting or not.
    pub(super) fn retire_one(&self) -> usize {
        let (retired, left) = self.change(|state| {
            let cards = &state.cards;
            let outdated = |id| cards.get(id).is_some_and(|card| card.is_outdated);
            let at = state.resting.iter().position(|worker| outdated(&worker.id));
            let left = cards.values().filter(|card| card.is_outdated).count();
            (at.map(|at| state.resting.remove(at)), left)
        });
        drop(retired);
        left
    }

    /// Notes that a worker did not start.
    pub(super) fn note_failure(&self, failure: StartFailure) {
        self.change(|state| state.failure = Some(Arc::new(failure)));
    }

    /// Changes the counters.
    pub(super) fn count(&self, change: impl FnOnce(&mut Counters)) {
        self.change(|state| change(&mut state.counters));
    }

    /// Lets no new run in.
    pub(super) fn drain(&self) {
        self.change(|state| state.phase = state.phase.max(Phase::Draining));
    }

    /// Ends everything: who waits is told, and every process is killed.
    pub(super) fn close(&self) {
        let (waiters, resting) = self.change(|state| {
            state.phase = Phase::Closed;
            let waiters: Vec<Waiter> = std::iter::from_fn(|| state.queue.pop()).collect();
            for card in state.cards.values() {
                card.process.kill();
            }
            (waiters, std::mem::take(&mut state.resting))
        });
        drop(resting);
        for waiter in waiters {
            waiter.grant.send(Err(DispatchError::ShuttingDown)).ok();
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    pub(super) fn watch(&self) -> watch::Receiver<Vitals> {
        self.vitals.subscribe()
    }

    pub(super) fn report(&self) -> PoolReport {
        let state = self.state.lock();
        let status = |(id, card): (&WorkerId, &Card)| WorkerStatus {
            id: *id,
            process: card.process.id,
            is_resting: state.resting.iter().any(|worker| worker.id == *id),
            runs: card.runs,
            report: Arc::clone(&card.report),
        };
        PoolReport {
            workers: state.cards.iter().map(status).collect(),
            running: state.running,
            queued: state.queue.len(),
            counters: state.counters,
        }
    }

    /// Changes the state, and tells those who watch if it concerns them.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        let (phase, alive) = (state.phase, state.cards.len());
        let engaged = state.running.saturating_add(state.queue.len());
        self.vitals.send_if_modified(|vitals| {
            let same_failure = match (&vitals.failure, &state.failure) {
                (Some(old), Some(new)) => Arc::ptr_eq(old, new),
                (old, new) => old.is_none() == new.is_none(),
            };
            let is_same = same_failure
                && (vitals.phase, vitals.alive, vitals.engaged) == (phase, alive, engaged);
            if !is_same {
                *vitals = Vitals { phase, alive, engaged, failure: state.failure.clone() };
            }
            !is_same
        });
        result
    }
}

impl State {
    /// A resting worker for a run that starts now.
    fn choose(&mut self, wanted: &[Key]) -> Option<Worker> {
        let best = self.resting.iter().rposition(|worker| worker.has_all(wanted));
        let worker = match best {
            Some(at) => self.resting.remove(at),
            None => self.resting.pop()?,
        };
        self.engage(&worker);
        Some(worker)
    }

    fn pair_up(&mut self, runs: usize) -> Option<(Waiter, Worker)> {
        if self.running >= runs || self.queue.is_empty() {
            return None;
        }
        let worker = self.resting.pop()?;
        let Some(waiter) = self.queue.pop() else {
            self.resting.push(worker);
            return None;
        };
        self.engage(&worker);
        Some((waiter, worker))
    }

    fn engage(&mut self, worker: &Worker) {
        self.running = self.running.saturating_add(1);
        if let Some(card) = self.cards.get_mut(&worker.id) {
            card.runs = card.runs.saturating_add(1);
        }
    }

    /// Lets a worker rest; gives it back if it is not wanted any more.
    fn admit(&mut self, worker: Worker) -> Option<Worker> {
        let is_wanted = self.cards.get(&worker.id).is_some_and(|card| !card.is_outdated);
        if self.phase == Phase::Closed || !is_wanted {
            return Some(worker);
        }
        self.resting.push(worker);
        None
    }
}

#[expect(clippy::large_enum_variant, reason = "it is taken apart at once; a box would cost more")]
enum Entered {
    Served(Worker),
    Queued { ticket: u64, displaced: Option<Waiter> },
}

/// A place in the queue, given up when dropped.
#[derive(Debug)]
struct Queued {
    roster: Arc<Roster>,
    tenant: TenantId,
    ticket: u64,
    granted: oneshot::Receiver<Result<Lease, DispatchError>>,
}

impl Drop for Queued {
    /// A lease that was granted meanwhile is dropped with the receiver, and gives itself back.
    fn drop(&mut self) {
        let waiter = self.roster.change(|state| {
            state.queue.remove(&self.tenant, |waiter| waiter.ticket == self.ticket)
        });
        drop(waiter);
    }
}
