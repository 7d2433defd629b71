//! The pool itself: starts keepers, and takes jobs to workers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::warn;

use crate::dispatch::attachments::{AttachmentLimits, Key};
use crate::dispatch::channel::ChannelError;
use crate::dispatch::exchange::{self, Broken};
use crate::dispatch::keeper::Keeper;
use crate::dispatch::process::{Nursery, WorkerCommand};
use crate::dispatch::report::PoolReport;
use crate::dispatch::roster::{Phase, Roster};
use crate::dispatch::worker::{AttachError, WorkerId};
use crate::dispatch::{DispatchError, Door, Finished, Job};
use crate::error::CauseChain;
use crate::job::frame;
use crate::job::message::Order;
use crate::job::outcome::{LeftFiles, Logs, RunFailure, RunOutcome, RunUsage};

/// How many workers a run may try that have broken before it could begin, besides those that may
/// all have died while they were resting.
const ATTEMPTS: usize = 3;

/// How long a worker that was retired has to be gone before its successor is waited for.
const BETWEEN_RETIREMENTS: Duration = Duration::from_millis(20);

/// How long processes that were killed may take to be gone.
const LAST_RITES: Duration = Duration::from_secs(5);

/// Set by operators.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// How to start a worker.
    pub command: WorkerCommand,
    /// Runs at once. One for each core is right: a guest is busy all the time.
    pub workers: usize,
    /// Workers beyond those, ready to take the place of one that was lost. Each costs memory.
    /// Default 1.
    pub spares: usize,
    /// Runs that may wait for a worker, of all tenants together. Default 256.
    pub queue: usize,
    /// How long a run may wait for a worker. Default 30 s.
    pub queue_wait: Duration,
    /// How long a worker may take to become ready. Default 60 s: the first one may have to read
    /// the engine from a slow disk.
    pub startup_timeout: Duration,
    /// How long after its wall-clock limit, or after its caller has gone away, a run may take to end
    /// before its worker is killed. Default 1 s.
    pub grace: Duration,
    /// What each worker keeps between runs.
    pub attachments: AttachmentLimits,
    /// Longest message of a worker, in bytes. Default: what the largest log needs that can be
    /// configured.
    pub max_message: usize,
}

impl PoolConfig {
    /// The defaults for `workers` workers that are started by `command`.
    #[must_use]
    pub fn new(command: WorkerCommand, workers: usize) -> Self {
        Self {
            command,
            workers,
            spares: 1,
            queue: 256,
            queue_wait: Duration::from_secs(30),
            startup_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(1),
            attachments: AttachmentLimits::default(),
            max_message: frame::MESSAGE_MAX,
        }
    }
}

/// Worker processes that run jobs. Dropping it kills them all.
#[derive(Debug)]
pub struct Pool {
    roster: Arc<Roster>,
    keepers: Mutex<JoinSet<()>>,
    /// Belongs to the keepers: with the last of them every worker ends.
    nursery: Weak<Nursery>,
    size: usize,
    grace: Duration,
}

impl Pool {
    /// Begins to start workers, within the runtime of the caller. Runs can come at once; they
    /// wait for the first worker.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread or the signal that tells of a child's end.
    pub fn start(config: PoolConfig) -> Result<Self, DispatchError> {
        let (runs, runtime) = (config.workers.max(1), Handle::current());
        let roster = Arc::new(Roster::new(&config, runtime));
        let nursery = Arc::new(Nursery::open(config.command).map_err(DispatchError::Open)?);
        let keeper = Keeper {
            roster: Arc::clone(&roster),
            nursery: Arc::clone(&nursery),
            startup_timeout: config.startup_timeout,
            attachments: config.attachments,
            max_message: config.max_message,
        };
        let size = runs.saturating_add(config.spares);
        let mut keepers = JoinSet::new();
        for _ in 0..size {
            let deaths = signal(SignalKind::child()).map_err(DispatchError::Open)?;
            keepers.spawn(keeper.clone().keep(deaths));
        }
        let keepers = Mutex::new(keepers);
        let nursery = Arc::downgrade(&nursery);
        Ok(Self { roster, keepers, nursery, size, grace: config.grace })
    }

    /// Waits until all workers are ready.
    ///
    /// # Errors
    ///
    /// One of them did not start: the reason is for the operator.
    pub async fn ready(&self) -> Result<(), DispatchError> {
        let mut vitals = self.roster.watch();
        let decided = vitals.wait_for(|vitals| {
            vitals.alive >= self.size || vitals.failure.is_some() || vitals.phase != Phase::Open
        });
        match decided.await {
            Ok(vitals) if vitals.phase == Phase::Open => {
                vitals.failure.clone().map_or(Ok(()), |failure| Err(DispatchError::Start(failure)))
            }
            Ok(_) | Err(_) => Err(DispatchError::ShuttingDown),
        }
    }

    /// Runs a job: waits for a worker, gives it what it needs, answers the guest's requests
    /// through `door`, and returns how it ended.
    ///
    /// Cancellation: the run is stopped wherever it stands, and its place is free for the next one
    /// within a fraction of a second. It costs a worker only if its guest does not stop within the
    /// grace.
    ///
    /// # Errors
    ///
    /// The run was not begun.
    pub async fn run(&self, job: &Job, door: &mut impl Door) -> Result<Finished, DispatchError> {
        let order = frame::encode_order(&Order::Run(&job.spec));
        let order = Arc::new(order.map_err(DispatchError::TooLarge)?);
        let skills = job.skills.iter().map(|skill| Key::Skill(skill.digest()));
        let blobs = job.blobs.iter().map(|blob| Key::Blob(blob.id.clone()));
        let image = Key::Image(job.image.digest());
        let wanted: Vec<Key> = skills.chain(blobs).chain([image]).collect();

        let mut queued = Duration::ZERO;
        for _ in 0..self.size.saturating_add(ATTEMPTS) {
            let asked = Instant::now();
            let mut lease = self.roster.lease(&job.spec.tenant, &wanted).await?;
            queued = queued.saturating_add(asked.elapsed());
            let begun = Instant::now();
            let Some(worker) = lease.begin() else { continue };
            match exchange::perform(worker, job, &order, door, self.grace).await {
                Ok(ran) => {
                    // First of all: a caller that leaves now must not cost a worker that is done.
                    lease.end();
                    let is_crash = matches!(ran.outcome.end, Err(RunFailure::SandboxCrash { .. }));
                    self.roster.count(|counters| {
                        let counter = &mut counters.finished;
                        *counter = counter.saturating_add(1);
                        let crashes = u64::from(is_crash);
                        counters.crashed = counters.crashed.saturating_add(crashes);
                    });
                    return Ok(Finished { outcome: ran.outcome, output: ran.output, queued });
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
                    let failure = self.explain(&broken, job, lease.worker_id());
                    lease.discard();
                    if !may_repeat {
                        let outcome = without_worker(failure, begun.elapsed());
                        return Ok(Finished { outcome, output: None, queued });
                    }
                }
            }
        }
        Err(DispatchError::NoWorker)
    }

    /// Starts workers in another way from now on, and replaces those that are there, one after
    /// another and none within a run. Returns when that is done.
    ///
    /// # Errors
    ///
    /// A new worker does not start: the reason is for the operator.
    pub async fn replace_workers(&self, command: WorkerCommand) -> Result<(), DispatchError> {
        self.nursery.upgrade().ok_or(DispatchError::ShuttingDown)?.change(command);
        self.roster.outdate();
        while self.roster.retire_one() > 0 {
            // Its successor first: a pool without workers serves nobody.
            sleep(BETWEEN_RETIREMENTS).await;
            self.ready().await?;
        }
        Ok(())
    }

    /// How many workers are ready and what they have done.
    #[must_use]
    pub fn report(&self) -> PoolReport {
        self.roster.report()
    }

    /// Lets no new run in, gives those that are in until `patience` is over, and ends all workers.
    /// Runs that have not ended by then end as `Cancelled`.
    pub async fn shut_down(&self, patience: Duration) {
        self.roster.drain();
        let mut vitals = self.roster.watch();
        // Either way is fine: nothing is left to wait for, or no time.
        timeout(patience, vitals.wait_for(|vitals| vitals.engaged == 0)).await.ok();
        self.roster.close();
        let mut keepers = std::mem::take(&mut *self.keepers.lock());
        let gone = async { while keepers.join_next().await.is_some() {} };
        if timeout(LAST_RITES, gone).await.is_err() {
            warn!("workers that were killed are not gone yet");
        }
    }

    fn explain(&self, broken: &Broken, job: &Job, worker: WorkerId) -> RunFailure {
        let is_closing = self.roster.phase() == Phase::Closed;
        let run = &job.spec.run_id;
        if !is_closing {
            let cause = CauseChain(broken);
            warn!(run.id = %run, worker.id = %worker, "run `{run}` lost worker {worker}: {cause}");
        }
        self.roster.count(|counters| {
            let counter = match broken {
                _ if is_closing => return,
                Broken::Late => &mut counters.overdue,
                Broken::Hostile(_) | Broken::Lost(ChannelError::Frame(_)) => {
                    &mut counters.violations
                }
                Broken::Lost(_) => &mut counters.crashed,
                Broken::NotStarted(_) | Broken::Declined => &mut counters.repeated,
            };
            *counter = counter.saturating_add(1);
        });
        match broken {
            _ if is_closing => RunFailure::Cancelled,
            Broken::Late => RunFailure::Timeout { limit: job.spec.limits.wall_time },
            Broken::NotStarted(_) | Broken::Declined | Broken::Lost(_) | Broken::Hostile(_) => {
                let reason = "the sandbox broke and was replaced".to_owned();
                RunFailure::SandboxCrash { reason }
            }
        }
    }
}

impl Drop for Pool {
    /// Kills all workers. The keepers end by themselves when the processes are gone.
    fn drop(&mut self) {
        self.roster.close();
        self.keepers.get_mut().detach_all();
    }
}

/// The outcome of a run whose worker cannot tell it any more.
fn without_worker(failure: RunFailure, wall_time: Duration) -> RunOutcome {
    RunOutcome {
        end: Err(failure),
        logs: Logs::default(),
        files: LeftFiles::default(),
        usage: RunUsage { wall_time, ..RunUsage::default() },
    }
}
