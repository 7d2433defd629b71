//! The pool: starts supervisors, and gives jobs to workers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use crate::config::PoolConfig;
use crate::error::DispatchError;
use crate::isolation::Isolation;
use crate::report::PoolReport;
use crate::scheduler::assignment::Phase;
use crate::scheduler::claim::Claim;
use crate::scheduler::growth::Capacity;
use crate::scheduler::lease::Lease;
use crate::scheduler::shared::Scheduler;
use crate::scheduler::watch::watch_runs;
use crate::supervisor::spawner::{WorkerCommand, WorkerSpawner};
use crate::supervisor::supervise::Supervisor;
use crate::worker::channel::WorkerChannelError;
use crate::worker::exchange::{self, Broken, Ran};
use crate::worker::handle::AttachError;
use crate::worker::id::WorkerId;
use crate::worker::process::Process;
use crate::worker::run_clock::Patience;
use crate::{FinishedRun, Job, RunHost, RunStage};
use wardian_formats::job::frame;
use wardian_formats::job::host::HostTime;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Order;
use wardian_formats::job::outcome::{
    Conversions, LeftFiles, Logs, RunFailure, RunOutcome, RunUsage,
};
use wardian_vocabulary::cgroup::MemoryShortage;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::TenantPolicy;
use wardian_vocabulary::units::ByteCount;

/// The number of workers that may break before a run begins until the run is given up. The size of
/// the pool is added, since every worker may also have died while it was idle.
const ATTEMPTS: usize = 3;

/// Pause between the retirement of a worker and the wait for its successor.
const BETWEEN_RETIREMENTS: Duration = Duration::from_millis(20);

/// The time that killed processes have to end.
const END_OF_PROCESSES: Duration = Duration::from_secs(5);

/// Worker processes that run jobs. Dropping it kills them all.
#[derive(Debug)]
pub struct Pool {
    scheduler: Arc<Scheduler>,
    supervisors: Mutex<JoinSet<()>>,
    /// Belongs to the supervisors: with the last of them every worker ends.
    spawner: Weak<WorkerSpawner>,
    /// Closed when no process is left.
    processes: watch::Receiver<()>,
    tenants: TenantPolicy,
    isolation: Isolation,
    capacity: Capacity,
    patience: Patience,
}

impl Pool {
    /// Begins to start workers, within the runtime of the caller. Runs are accepted at once and
    /// wait for the first worker.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread or the signal that tells of a child's end.
    pub fn start(config: PoolConfig) -> Result<Self, DispatchError> {
        let scheduler = Arc::new(Scheduler::new(&config, Handle::current()));
        let capacity = scheduler.capacity();
        let (open, processes) = watch::channel(());
        let spawner = WorkerSpawner::open(config.command, config.cgroups, open)
            .map_err(DispatchError::Open)?;
        let spawner = Arc::new(spawner);
        let supervisor = Supervisor {
            scheduler: Arc::clone(&scheduler),
            spawner: Arc::clone(&spawner),
            startup_timeout: config.startup_timeout,
            attachments: config.attachments,
            max_message: config.max_message,
        };
        let mut supervisors = JoinSet::new();
        supervisors.spawn(watch_runs(Arc::clone(&scheduler)));
        for _ in 0..capacity.most_workers() {
            let deaths = signal(SignalKind::child()).map_err(DispatchError::Open)?;
            supervisors.spawn(supervisor.clone().keep(deaths));
        }
        let supervisors = Mutex::new(supervisors);
        let spawner = Arc::downgrade(&spawner);
        let patience = Patience { grace: config.grace, host_time: config.host_time };
        let (tenants, isolation) = (config.tenants, config.isolation);
        Ok(Self {
            scheduler,
            supervisors,
            spawner,
            processes,
            tenants,
            isolation,
            capacity,
            patience,
        })
    }

    /// Waits until all workers are ready.
    ///
    /// # Errors
    ///
    /// One of them did not start: the reason is for the operator.
    pub async fn ready(&self) -> Result<(), DispatchError> {
        let mut status = self.scheduler.watch();
        let decided = status.wait_for(|status| {
            status.alive >= self.size() || status.failure.is_some() || status.phase != Phase::Open
        });
        match decided.await {
            Ok(status) if status.phase == Phase::Open => {
                status.failure.clone().map_or(Ok(()), |failure| Err(DispatchError::Start(failure)))
            }
            Ok(_) | Err(_) => Err(DispatchError::ShuttingDown),
        }
    }

    /// Runs a job: waits for a worker, attaches the job's content, answers the guest's requests
    /// through `host`, and returns the end of the run.
    ///
    /// Cancellation: the run is stopped at any stage, and its worker is free for the next run
    /// within a fraction of a second. The worker is killed only if its guest does not stop within
    /// the grace.
    ///
    /// # Errors
    ///
    /// The run was not begun.
    pub async fn run(
        &self,
        job: &Job,
        host: &mut impl RunHost,
    ) -> Result<FinishedRun, DispatchError> {
        let setup = &job.guest.setup;
        self.run_claimed(job, host, self.claim(&setup.tenant, setup.limits.held())).await
    }

    /// As [`Self::run`], for a run of the server itself, such as one whose result all tenants will
    /// use. It takes turns as a tenant of its own, whoever asked for it, and its time counts
    /// against no quota. If tenants have their own workers, it gets a worker that has never served
    /// one.
    ///
    /// # Errors
    ///
    /// The run was not begun.
    pub async fn run_own(
        &self,
        job: &Job,
        host: &mut impl RunHost,
    ) -> Result<FinishedRun, DispatchError> {
        let claim = self.claim(&TenantId::server(), job.guest.setup.limits.held());
        let owner = self.isolation.owner_for_all();
        self.run_claimed(job, host, Claim { is_own: true, owner, ..claim }).await
    }

    /// Refuses a run that would be refused now, before anything is prepared for it.
    ///
    /// # Errors
    ///
    /// The run would not be begun.
    pub fn ensure_room(&self, tenant: &TenantId, limits: &RunLimits) -> Result<(), DispatchError> {
        let refusal = self.scheduler.refuse_early(&self.claim(tenant, memory_of(limits)));
        refusal.map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    fn claim(&self, tenant: &TenantId, memory: ByteCount) -> Claim {
        Claim {
            tenant: tenant.clone(),
            limits: self.tenants.of(tenant),
            memory,
            is_own: false,
            owner: self.isolation.owner_of(tenant),
        }
    }

    async fn run_claimed(
        &self,
        job: &Job,
        host: &mut impl RunHost,
        claim: Claim,
    ) -> Result<FinishedRun, DispatchError> {
        let order = frame::encode_order(&Order::Run(&job.guest.setup, &job.turn));
        let order = Arc::new(order.map_err(DispatchError::TooLarge)?);
        let wanted = job.guest.attachments();

        let mut queued = Duration::ZERO;
        for _ in 0..self.size().saturating_add(ATTEMPTS) {
            let asked = Instant::now();
            let mut lease = Lease::acquire(&self.scheduler, &claim, &wanted, host).await?;
            queued = queued.saturating_add(asked.elapsed());
            let begun = Instant::now();
            let id = lease.worker_id();
            let Some(worker) = lease.begin() else { continue };
            let process = Arc::clone(&worker.process);
            host.note_stage(RunStage::Running);
            match exchange::perform(worker, job, &order, host, self.patience).await {
                Ok(ran) => {
                    // The run is over, so a caller that leaves meanwhile does not cost the worker.
                    if let Some(output) = &ran.output {
                        host.make_room(output.size()).await;
                    }
                    lease.end();
                    self.count_finished(&ran);
                    return Ok(with_worker(ran, id, queued));
                }
                Err(Broken::NotStarted(AttachError::Share(error))) => {
                    lease.end();
                    return Err(DispatchError::Share(error));
                }
                Err(Broken::NotStarted(AttachError::Describe(error))) => {
                    lease.end();
                    return Err(DispatchError::TooLarge(error));
                }
                Err(broken) => {
                    let may_repeat = matches!(broken, Broken::NotStarted(_) | Broken::Declined);
                    let failure = self.explain(&broken, job, id, &process);
                    lease.discard();
                    if !may_repeat {
                        let outcome = without_worker(failure, begun.elapsed());
                        let host_time = HostTime::default();
                        return Ok(FinishedRun {
                            outcome,
                            output: None,
                            worker: id,
                            queued,
                            host_time,
                            is_worker_lost: true,
                        });
                    }
                }
            }
        }
        Err(DispatchError::NoWorker)
    }

    /// Counts a run that its worker has reported.
    fn count_finished(&self, ran: &Ran) {
        let broke = u64::from(matches!(ran.outcome.end, Err(RunFailure::SandboxCrash { .. })));
        self.scheduler.count(|counters| {
            counters.finished = counters.finished.saturating_add(1);
            counters.broke_interpreter = counters.broke_interpreter.saturating_add(broke);
        });
    }

    /// Starts workers with `command` from now on, and replaces the present ones, one after another
    /// and none within a run. Returns when every worker is replaced.
    ///
    /// # Errors
    ///
    /// A new worker does not start: the reason is for the operator.
    pub async fn replace_workers(&self, command: WorkerCommand) -> Result<(), DispatchError> {
        self.spawner.upgrade().ok_or(DispatchError::ShuttingDown)?.change(command);
        self.scheduler.outdate_workers();
        while self.scheduler.retire_one() > 0 {
            // Its successor comes first: a pool without workers serves no run.
            sleep(BETWEEN_RETIREMENTS).await;
            self.ready().await?;
        }
        Ok(())
    }

    /// The number of workers, spares included, while no run waits.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.capacity.least_workers()
    }

    /// Reports the workers that are ready, and the counters.
    #[must_use]
    pub fn report(&self) -> PoolReport {
        self.scheduler.report()
    }

    /// Admits no new run, waits up to `patience` for the admitted runs, and ends all workers. Runs
    /// that have not ended by then end as `Cancelled`.
    pub async fn shut_down(&self, patience: Duration) {
        self.scheduler.drain();
        let mut status = self.scheduler.watch();
        // Either every run has ended, or the time is over.
        timeout(patience, status.wait_for(|status| status.engaged == 0)).await.ok();
        self.scheduler.close();
        let mut supervisors = std::mem::take(&mut *self.supervisors.lock());
        let mut processes = self.processes.clone();
        let gone = async {
            while supervisors.join_next().await.is_some() {}
            // The last supervisor has ended the thread that starts workers, and so the template.
            while processes.changed().await.is_ok() {}
        };
        if timeout(END_OF_PROCESSES, gone).await.is_err() {
            warn!("killed workers have not exited yet");
        }
    }

    /// The process of the present template.
    #[cfg(test)]
    pub fn template(&self) -> Option<u32> {
        self.spawner.upgrade()?.template()
    }

    fn explain(
        &self,
        broken: &Broken,
        job: &Job,
        worker: WorkerId,
        process: &Process,
    ) -> RunFailure {
        let is_closing = self.scheduler.phase() == Phase::Closed;
        let run = &job.turn.id;
        let shortage = process.memory_shortage();
        if !is_closing {
            let cause = CauseChain(broken);
            warn!(run.id = %run, worker.id = %worker, "run `{run}` lost worker {worker}: {cause}");
        }
        self.scheduler.count(|counters| {
            let counter = match broken {
                _ if is_closing => return,
                Broken::Late => &mut counters.overdue,
                Broken::Hostile(_) | Broken::Lost(WorkerChannelError::Frame(_)) => {
                    &mut counters.violations
                }
                Broken::Lost(_) if shortage.is_some() => &mut counters.out_of_memory,
                Broken::Lost(_) => &mut counters.crashed,
                Broken::NotStarted(_) | Broken::Declined => &mut counters.repeated,
            };
            *counter = counter.saturating_add(1);
        });
        match broken {
            _ if is_closing => RunFailure::Cancelled,
            Broken::Late => RunFailure::Timeout { limit: job.turn.limits.wall_time },
            Broken::Lost(_) if shortage == Some(MemoryShortage::OwnLimit) => {
                RunFailure::MemoryLimit { limit: job.guest.setup.limits.memory, traceback: None }
            }
            Broken::NotStarted(_) | Broken::Declined | Broken::Lost(_) | Broken::Hostile(_) => {
                let reason = match shortage {
                    Some(_) => "the machine was short of memory, and the sandbox was replaced",
                    None => "the sandbox broke and was replaced",
                };
                RunFailure::SandboxCrash { reason: reason.to_owned() }
            }
        }
    }
}

/// The end of a run that its worker has reported.
fn with_worker(ran: Ran, worker: WorkerId, queued: Duration) -> FinishedRun {
    let Ran { outcome, output, host_time } = ran;
    FinishedRun { outcome, output, worker, queued, host_time, is_worker_lost: false }
}

impl Drop for Pool {
    /// Kills all workers. The supervisors end by themselves when the processes are gone.
    fn drop(&mut self) {
        self.scheduler.close();
        self.supervisors.get_mut().detach_all();
    }
}

/// The memory that a run may use: that of its program, and the files of its workspace.
#[must_use]
pub fn memory_of(limits: &RunLimits) -> ByteCount {
    limits.split().0.held()
}

/// The outcome of a run whose worker is lost.
fn without_worker(failure: RunFailure, wall_time: Duration) -> RunOutcome {
    RunOutcome {
        end: Err(failure),
        logs: Logs::default(),
        files: LeftFiles::default(),
        blob_names: Vec::new(),
        usage: RunUsage { wall_time, ..RunUsage::default() },
        conversions: Conversions::default(),
        profile: None,
        cell: None,
    }
}
