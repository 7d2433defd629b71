//! The scheduler that all tasks of a pool share: the state behind a lock.
//!
//! The state makes the decisions. This file carries them out: it sends a worker to the run that
//! waits for it, ends an unwanted worker, and notifies the watchers of the pool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::config::PoolConfig;
use crate::error::DispatchError;
use crate::report::{Counters, PoolReport, WorkerStatus};
use crate::scheduler::assignment::{Phase, SchedulerState};
use crate::scheduler::claim::{
    Admission, Claim, Closing, GuestKey, OutOfTime, QueueBounds, RunRefusal, Ticket,
};
use crate::scheduler::growth::Capacity;
use crate::scheduler::status::{PoolDemand, PoolStatus};
use crate::worker::handle::Worker;
use crate::worker::id::WorkerId;
use crate::worker::process::Process;
use crate::worker::start_failure::StartFailure;
use wardian_formats::job::attachment::AttachmentKey;
use wardian_formats::job::message::{GuestNumber, WorkerReport};
use wardian_vocabulary::ids::TenantId;

/// The answer to a waiting run.
pub(crate) type Granted = Result<Worker, DispatchError>;

/// The way to answer a waiting run.
pub(crate) type Grant = oneshot::Sender<Granted>;

/// The shared state of a pool.
#[derive(Debug)]
pub(crate) struct Scheduler {
    shared: Mutex<Shared>,
    status: watch::Sender<PoolStatus>,
    /// True while runs wait for a worker.
    crowded: watch::Sender<bool>,
    demand: watch::Sender<PoolDemand>,
    /// The reason why no worker can start, while there is none.
    hopeless: watch::Sender<Option<Arc<StartFailure>>>,
    /// Runs the tasks that stop abandoned runs.
    pub runtime: Handle,
    /// How long a run may wait for a worker.
    pub queue_wait: Duration,
    /// How long the first run of a tenant without a run in progress may wait for one.
    pub first_wait: Duration,
    /// How long a worker may take to stop a run that was cancelled. A worker that has not stopped
    /// by then is killed.
    pub(crate) grace: Duration,
    /// The number of the next guest that may be kept.
    next_guest: AtomicU64,
    /// True if the memory of workers that keep guests is bounded.
    measures_guests: bool,
}

#[derive(Debug)]
struct Shared {
    state: SchedulerState<Worker, Grant>,
    /// The workers of [`SchedulerState::records`].
    registered: BTreeMap<WorkerId, Registration>,
    failure: Option<Arc<StartFailure>>,
    /// The number of starts in a row that failed for a lasting reason.
    lasting_failures: usize,
}

/// The number of failed starts in a row after which nobody waits for a worker any more. One may be
/// the fault of that process alone.
const HOPELESS: usize = 2;

/// The parts of a worker that are needed while a run has it.
#[derive(Debug)]
struct Registration {
    process: Arc<Process>,
    report: Arc<WorkerReport>,
}

impl Scheduler {
    pub(crate) fn new(config: &PoolConfig, runtime: Handle) -> Self {
        let PoolConfig { queue, memory, queue_wait, first_wait, grace, .. } = *config;
        let bounds = QueueBounds { waiting: queue, memory };
        let state = SchedulerState::new(Capacity::of(config), bounds);
        let registered = BTreeMap::new();
        let shared = Mutex::new(Shared { state, registered, failure: None, lasting_failures: 0 });
        Self {
            shared,
            status: watch::Sender::default(),
            crowded: watch::Sender::default(),
            demand: watch::Sender::default(),
            hopeless: watch::Sender::default(),
            runtime,
            queue_wait,
            first_wait,
            grace,
            next_guest: AtomicU64::new(1),
            measures_guests: config.held_memory.is_some(),
        }
    }

    /// A number for a guest that may be kept. No other one of the pool has it.
    pub(crate) fn next_guest(&self) -> GuestNumber {
        GuestNumber(self.next_guest.fetch_add(1, Ordering::Relaxed))
    }

    /// Decides about a new run. If the run has to wait, `grant` gets the answer.
    pub(crate) fn admit(
        &self,
        claim: &Claim,
        wanted: &[AttachmentKey],
        grant: Grant,
    ) -> Admission<Worker, Grant> {
        let (admission, has_freed) = self.change(|shared| {
            let before = shared.state.counters.guests_given_up;
            let admission = shared.state.admit(claim, |one| one.has_all(wanted), grant, now());
            (admission, shared.state.counters.guests_given_up > before)
        });
        self.serve_after(admission, has_freed)
    }

    /// Decides about a turn of a guest that is kept, as [`Self::admit`]. Returns `None` if the guest is
    /// lost.
    pub(crate) fn admit_turn(
        &self,
        claim: &Claim,
        guest: GuestKey,
        grant: Grant,
    ) -> Option<Admission<Worker, Grant>> {
        let admit = |shared: &mut Shared| shared.state.admit_turn(claim, guest, grant, now());
        Some(self.serve_after(self.change(admit)?, false))
    }

    /// Gives up the guest of a turn that waits, if the turn can begin in another worker than its guest's.
    pub(crate) fn free_waiting_turn(&self, claim: &Claim, guest: GuestKey) {
        if self.change(|shared| shared.state.free_waiting_turn(claim, guest)) {
            self.serve_queue();
        }
    }

    /// Serves others after the admission of a run, if guests were given up for it or it has taken the place
    /// of another one, which may have been promised memory.
    fn serve_after(
        &self,
        admission: Admission<Worker, Grant>,
        has_freed: bool,
    ) -> Admission<Worker, Grant> {
        if has_freed || matches!(admission, Admission::Queued { displaced: Some(_), .. }) {
            self.serve_queue();
        }
        admission
    }

    /// Ends a turn whose guest its worker is to keep, and which may be the first one. Returns the key of
    /// the guest if it is kept.
    pub(crate) fn hold(
        &self,
        ticket: Ticket,
        (guest, number): (Option<GuestKey>, GuestNumber),
        worker: Worker,
        cpu_time: Option<Duration>,
    ) -> Option<GuestKey> {
        let taken = self.measures_guests.then(|| worker.process.private_memory()).flatten();
        let (refused, unwanted, kept) = self.change(|shared| {
            let state = &mut shared.state;
            let key = guest.unwrap_or_else(|| state.keep_guest(ticket, number, worker.id));
            if let Some(taken) = taken {
                state.note_taken(key, taken);
            }
            let refused = state.end_run(ticket, cpu_time, now());
            let unwanted = state.give_back(worker.id, worker);
            (refused, unwanted, state.holds(key).then_some(key))
        });
        refuse(refused);
        drop(unwanted);
        self.serve_queue();
        kept
    }

    /// True if a guest is between two turns.
    pub(crate) fn keeps_guest(&self, guest: GuestKey) -> bool {
        self.shared.lock().state.holds(guest)
    }

    /// Closes a guest, if it is between two turns.
    pub(crate) fn close_guest(&self, guest: GuestKey) {
        self.change(|shared| shared.state.close_guest(guest));
        self.serve_queue();
    }

    /// Returns the refusal that a run would get now.
    pub(crate) fn refuse_early(&self, claim: &Claim) -> Option<RunRefusal> {
        self.change(|shared| shared.state.refuse_early(claim, now()))
    }

    /// True if the run is the next of a tenant without a run in progress, and there are workers that
    /// it can wait for or it has one already.
    pub(crate) fn may_wait_on(&self, tenant: &TenantId, ticket: Ticket, has_worker: bool) -> bool {
        let state = &self.shared.lock().state;
        (has_worker || state.alive() > 0) && state.is_first(tenant, ticket)
    }

    /// Ends the wait of a run.
    pub(crate) fn abandon(&self, tenant: &TenantId, ticket: Ticket) {
        if self.change(|shared| shared.state.abandon(tenant, ticket)).is_some() {
            // Other runs may have waited for the memory that this one was promised.
            self.serve_queue();
        }
    }

    /// Ends a run, charges its tenant for the processor time if it counts, and takes the worker back
    /// for the next run; a guest that is open in it is kept.
    pub(crate) fn give_back(&self, ticket: Ticket, worker: Worker, cpu_time: Option<Duration>) {
        self.take_back(ticket, worker, cpu_time);
        self.serve_queue();
    }

    /// Ends a run whose worker cannot be used again, and kills the worker.
    pub(crate) fn lose(&self, ticket: Ticket, worker: Worker, cpu_time: Option<Duration>) {
        let id = worker.id;
        drop(worker);
        refuse(self.change(|shared| {
            drop(shared.state.forget_guests_of(id));
            shared.state.end_run(ticket, cpu_time, now())
        }));
        self.serve_queue();
    }

    /// The time in which the runs that wait are worked off.
    pub(crate) fn drain_time(&self) -> Duration {
        self.shared.lock().state.drain_time()
    }

    /// The size of the pool.
    pub(crate) fn capacity(&self) -> Capacity {
        self.shared.lock().state.capacity()
    }

    /// The number of the next worker.
    pub(crate) fn next_worker_id(&self) -> WorkerId {
        self.change(|shared| shared.state.next_worker_id())
    }

    /// Waits until a worker is to be started, which the caller does then. Returns false if the pool
    /// closes.
    pub(crate) async fn begin_start(&self) -> bool {
        let mut demand = self.demand();
        loop {
            if self.phase() == Phase::Closed {
                return false;
            }
            if self.try_begin_start() {
                return true;
            }
            let is_wanted =
                |demand: &PoolDemand| demand.has_vacancy || demand.phase == Phase::Closed;
            // The sender lives as long as `self`, so an error cannot happen here.
            demand.wait_for(is_wanted).await.ok();
        }
    }

    /// Notes that a worker did not start.
    pub(crate) fn end_start(&self) {
        self.change(|shared| shared.state.end_start());
    }

    /// True if it matters which runs wait.
    pub(crate) fn needs_watch(&self) -> bool {
        let shared = self.shared.lock();
        shared.state.phase() != Phase::Closed && shared.state.needs_watch()
    }

    /// The runs in progress, and the processes of their workers.
    pub(crate) fn busy(&self) -> Vec<(Ticket, u32)> {
        let shared = self.shared.lock();
        let process = |id: &WorkerId| Some(shared.registered.get(id)?.process.id);
        shared.state.busy().filter_map(|(id, ticket)| Some((ticket, process(&id)?))).collect()
    }

    /// Notes which runs wait, and begins others in their place.
    pub(crate) fn note_waiting(&self, waits: BTreeSet<Ticket>) {
        self.change(|shared| shared.state.note_waiting(waits, now()));
        self.serve_queue();
    }

    /// Takes over the start of a worker if one is wanted at this moment.
    pub(crate) fn try_begin_start(&self) -> bool {
        self.change(|shared| shared.state.begin_start())
    }

    /// Adds a worker that is ready.
    pub(crate) fn add_worker(&self, worker: Worker) {
        let registration = Registration {
            process: Arc::clone(&worker.process),
            report: Arc::clone(&worker.report),
        };
        let unwanted = self.change(|shared| {
            (shared.failure, shared.lasting_failures) = (None, 0);
            shared.registered.insert(worker.id, registration);
            shared.state.add_worker(worker.id, worker)
        });
        drop(unwanted);
        self.serve_queue();
    }

    /// Removes a worker whose process has ended. Returns the number of runs that it was given, and
    /// whether it was given up.
    pub(crate) fn remove_worker(&self, id: WorkerId) -> (u64, bool) {
        let (record, worker) = self.change(|shared| {
            shared.registered.remove(&id);
            shared.state.remove_worker(id)
        });
        drop(worker);
        // One that is to take its place is not an idle worker of others any more.
        self.serve_queue();
        record.map_or((0, false), |record| (record.runs, record.is_leaving))
    }

    /// Marks every worker to be replaced when it has no run.
    pub(crate) fn outdate_workers(&self) {
        self.change(|shared| shared.state.outdate_workers());
    }

    /// Ends one idle worker that is to be replaced. Returns how many workers are still to be
    /// replaced, idle or busy.
    pub(crate) fn retire_one(&self) -> usize {
        let (retired, left) = self.change(|shared| shared.state.retire_one());
        drop(retired);
        left
    }

    /// Records that a worker did not start.
    pub(crate) fn record_start_failure(&self, failure: StartFailure) {
        self.change(|shared| {
            let is_lasting = failure.is_lasting();
            let before = if is_lasting { shared.lasting_failures } else { 0 };
            shared.lasting_failures = before.saturating_add(usize::from(is_lasting));
            shared.failure = Some(Arc::new(failure));
        });
    }

    /// The reason why the last worker did not start, while there is none.
    pub(crate) fn failure_without_workers(&self) -> Option<Arc<StartFailure>> {
        let shared = self.shared.lock();
        shared.failure.clone().filter(|_| shared.state.alive() == 0)
    }

    /// Waits until it is known that no worker can start. Returns the reason.
    pub(crate) async fn hopelessness(&self) -> Arc<StartFailure> {
        let mut hopeless = self.hopeless.subscribe();
        loop {
            let found = hopeless.wait_for(Option::is_some).await;
            if let Some(failure) = found.ok().and_then(|found| found.clone()) {
                return failure;
            }
        }
    }

    /// Changes the counters.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        self.change(|shared| change(&mut shared.state.counters));
    }

    /// Admits no new run.
    pub(crate) fn drain(&self) {
        self.change(|shared| shared.state.drain());
    }

    /// Refuses the runs that wait and kills every process.
    pub(crate) fn close(&self) {
        let Closing { waiting, idle } = self.change(|shared| {
            for registration in shared.registered.values() {
                registration.process.kill();
            }
            shared.state.close()
        });
        drop(idle);
        for grant in waiting {
            grant.send(Err(DispatchError::ShuttingDown)).ok();
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.shared.lock().state.phase()
    }

    /// What is wanted of processes.
    pub(crate) fn demand(&self) -> watch::Receiver<PoolDemand> {
        self.demand.subscribe()
    }

    /// Whether runs wait for a worker.
    pub(crate) fn crowded(&self) -> watch::Receiver<bool> {
        self.crowded.subscribe()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<PoolStatus> {
        self.status.subscribe()
    }

    pub(crate) fn report(&self) -> PoolReport {
        let shared = self.shared.lock();
        let (state, records) = (&shared.state, shared.state.records());
        let status = |(id, registration): (&WorkerId, &Registration)| WorkerStatus {
            id: *id,
            process: registration.process.id,
            #[cfg(test)]
            is_forked: registration.process.is_forked,
            is_resting: state.is_idle(*id),
            guests: state.guests_of(*id),
            runs: records.get(id).map_or(0, |record| record.runs),
            owner: records.get(id).and_then(|record| record.owner.clone()),
            report: Arc::clone(&registration.report),
        };
        PoolReport {
            workers: shared.registered.iter().map(status).collect(),
            running: state.running(),
            queued: state.waiting(),
            guests: state.guests(),
            counters: state.counters,
        }
    }

    fn take_back(&self, ticket: Ticket, worker: Worker, cpu_time: Option<Duration>) {
        let (refused, unwanted) = self.change(|shared| {
            let refused = shared.state.end_run(ticket, cpu_time, now());
            (refused, shared.state.give_back(worker.id, worker))
        });
        refuse(refused);
        drop(unwanted);
    }

    /// Sends idle workers to the runs that wait.
    fn serve_queue(&self) {
        while let Some((ticket, grant, worker)) =
            self.change(|shared| shared.state.grant_next(now()))
        {
            if let Err(Ok(worker)) = grant.send(Ok(worker)) {
                // The caller has gone away.
                self.take_back(ticket, worker, None);
            }
        }
    }

    /// Changes the state, ends the workers that it gives up, tells the turns whose guests are lost, and
    /// notifies the watchers if the status has changed.
    fn change<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        let mut shared = self.shared.lock();
        let result = change(&mut shared);
        let (given_up, lost) = (shared.state.take_given_up(), shared.state.take_lost());
        self.tell_watchers(&shared);
        drop(shared);
        // Dropping a worker kills its process.
        drop(given_up);
        for grant in lost {
            grant.send(Err(DispatchError::GuestLost)).ok();
        }
        result
    }

    fn tell_watchers(&self, shared: &Shared) {
        let Shared { state, failure, lasting_failures, .. } = shared;
        let (phase, alive, gone) = (state.phase(), state.alive(), state.gone_guests());
        let is_hopeless = alive == 0 && *lasting_failures >= HOPELESS;
        self.hopeless.send_if_modified(|before| {
            let changes = before.is_some() != is_hopeless;
            if changes {
                *before = failure.clone().filter(|_| is_hopeless);
            }
            changes
        });
        let engaged = state.running().saturating_add(state.waiting());
        let is_crowded = state.waiting() > 0;
        self.crowded.send_if_modified(|before| std::mem::replace(before, is_crowded) != is_crowded);
        let (has_vacancy, needs_watch) = (state.vacancies() > 0, state.needs_watch());
        let demand = PoolDemand { phase, has_vacancy, needs_watch };
        self.demand.send_if_modified(|before| std::mem::replace(before, demand) != demand);
        let (failure, gone_guests) = (failure.clone(), gone);
        let now = PoolStatus { phase, alive, engaged, gone_guests, failure };
        self.status.send_if_modified(|status| status.become_this(now));
    }
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// Tells waiting runs that their tenant has used up its time.
fn refuse(refused: OutOfTime<Grant>) {
    let OutOfTime { runs, retry_after } = refused;
    for grant in runs {
        // The caller may have gone away.
        grant.send(Err(DispatchError::TimeUsed { retry_after })).ok();
    }
}
