//! The pool: starts supervisors, and gives jobs to workers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::warn;

use crate::config::PoolConfig;
use crate::error::DispatchError;
use crate::execution::TurnExecution;
use crate::held_guest::HeldGuest;
use crate::isolation::Isolation;
use crate::packs::PackContent;
use crate::report::PoolReport;
use crate::scheduler::assignment::Phase;
use crate::scheduler::claim::Claim;
use crate::scheduler::growth::Capacity;
use crate::scheduler::shared::Scheduler;
use crate::scheduler::watch::watch_runs;
use crate::supervisor::spawner::{WorkerCommand, WorkerSpawner};
use crate::supervisor::supervise::Supervisor;
use crate::worker::turn::run_clock::Patience;
use crate::{FinishedRun, GuestSpec, Job, RunHost};
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::TenantPolicy;
use wardian_vocabulary::units::ByteCount;

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
    execution: TurnExecution,
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
        let execution = TurnExecution::new(Arc::clone(&scheduler), patience);
        let (tenants, isolation) = (config.tenants, config.isolation);
        Ok(Self {
            scheduler,
            supervisors,
            spawner,
            processes,
            tenants,
            isolation,
            capacity,
            execution,
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
        let claim = self.claim(&setup.tenant, setup.limits.held());
        self.execution.run(job, &claim, host).await
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
        self.execution.run(job, &Claim { is_own: true, owner, ..claim }, host).await
    }

    /// A guest that is to have several turns. It gets a worker with its first turn, and may be kept
    /// from then on: see [`HeldGuest`].
    #[must_use]
    pub fn open(&self, guest: GuestSpec) -> HeldGuest {
        let claim = self.claim(&guest.setup.tenant, guest.setup.limits.held());
        HeldGuest::new(self.execution.clone(), guest, claim)
    }

    /// A guest that goes on in the state that a chain of packs ends with, oldest pack first. It is as one
    /// that [`Self::open`] makes, and is resumed by its first turn: that turn fails with
    /// [`DispatchError::NotResumed`] if a worker refuses the packs.
    ///
    /// The packs are kept until a worker has read them, because one that breaks before is replaced by
    /// another one. Then they are dropped, with the account that they are charged to.
    #[must_use]
    pub fn resume(&self, guest: GuestSpec, packs: Vec<PackContent>) -> HeldGuest {
        let claim = self.claim(&guest.setup.tenant, guest.setup.limits.held());
        HeldGuest::resumed(self.execution.clone(), (guest, packs), claim)
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
            opens_guest: false,
        }
    }

    /// Starts workers with `command` from now on, and replaces the present ones, one after another
    /// and none within a run. Guests that are kept are lost. Returns when every worker is replaced.
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

    /// The number of workers, spares included, while no run waits and no guest is kept.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.capacity.least_workers()
    }

    /// The number of guests that may be in the middle of a call between two turns: of all tenants, and of
    /// one. Each of them has a worker for itself, so a part of the workers that may be set apart is left to
    /// other guests.
    #[must_use]
    pub const fn most_held_cells(&self) -> (usize, usize) {
        let keepers = self.capacity.held.keepers;
        let all = keepers.saturating_sub(keepers / 4);
        (all, all.div_ceil(2))
    }

    /// Reports the workers that are ready, and the counters.
    #[must_use]
    pub fn report(&self) -> PoolReport {
        self.scheduler.report()
    }

    /// Admits no new run, waits up to `patience` for the admitted runs, and ends all workers. Runs
    /// that have not ended by then end as `Cancelled`. Guests between two turns are lost.
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
