//! One run or turn: from its place in the queue over its worker to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::error::DispatchError;
use crate::interrupter::TurnInterruption;
use crate::packs::UnreadPacks;
use crate::scheduler::assignment::Phase;
use crate::scheduler::claim::{Claim, GuestKey};
use crate::scheduler::lease::Lease;
use crate::scheduler::shared::Scheduler;
use crate::worker::channel::WorkerChannelError;
use crate::worker::handle::AttachError;
use crate::worker::id::WorkerId;
use crate::worker::process::Process;
use crate::worker::turn::exchange::{self, Broken, TurnOrder};
use crate::worker::turn::run_clock::Patience;
use crate::{FinishedRun, GuestSpec, Job, RunHost, RunStage, SealedContent};
use wardian_formats::job::frame;
use wardian_formats::job::host::HostTime;
use wardian_formats::job::message::{GuestNumber, Order};
use wardian_formats::job::outcome::{
    Conversions, LeftFiles, Logs, RunFailure, RunOutcome, RunUsage,
};
use wardian_formats::job::session::checkpoint::{ChainError, MOST_IN_CHAIN};
use wardian_formats::job::{SetupLimits, Turn};
use wardian_vocabulary::cgroup::MemoryShortage;
use wardian_vocabulary::error::CauseChain;

/// The number of workers that may break before a run begins until the run is given up. The size of
/// the pool is added, since every worker may also have died while it was idle.
const ATTEMPTS: usize = 3;

/// The end of a run or turn, and the key of its guest if it is kept.
pub(crate) type Ended = (FinishedRun, Option<GuestKey>);

/// A turn, the content of the file that it writes, and its interruption.
pub(crate) type TurnToRun<'a> = (&'a Turn, Option<&'a SealedContent>, TurnInterruption);

/// Carries out runs and turns.
#[derive(Debug, Clone)]
pub(crate) struct TurnExecution {
    scheduler: Arc<Scheduler>,
    patience: Patience,
    attempts: usize,
}

impl TurnExecution {
    pub(crate) fn new(scheduler: Arc<Scheduler>, patience: Patience) -> Self {
        let attempts = scheduler.capacity().least_workers().saturating_add(ATTEMPTS);
        Self { scheduler, patience, attempts }
    }

    /// Runs a job on a worker of its owner.
    pub(crate) async fn run(
        &self,
        job: &Job,
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<FinishedRun, DispatchError> {
        let Job { guest, turn } = job;
        let frames = frame::encode_order(&Order::Run(&guest.setup, turn));
        let frames = Arc::new(frames.map_err(DispatchError::TooLarge)?);
        let order = TurnOrder {
            guest: Some(guest),
            packs: None,
            turn,
            content: None,
            limits: guest.setup.limits,
            kept_as: None,
            interruption: TurnInterruption::never(),
            crowded: self.scheduler.crowded(),
            frames,
        };
        let (finished, _none) = self.begin(&order, claim, host).await?;
        Ok(finished)
    }

    /// A number for a guest that may be kept.
    pub(crate) fn next_guest(&self) -> GuestNumber {
        self.scheduler.next_guest()
    }

    /// Runs the first turn of a guest of this number on a worker of its owner. With packs, the guest is
    /// resumed from them.
    pub(crate) async fn first_turn(
        &self,
        (number, guest, packs): (GuestNumber, &GuestSpec, Option<&UnreadPacks>),
        (turn, content, interruption): TurnToRun<'_>,
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<Ended, DispatchError> {
        if packs.is_some_and(UnreadPacks::are_released) {
            // The turn that was to use them was left by its caller.
            return Err(DispatchError::GuestLost);
        }
        let count = packs.map_or(0, UnreadPacks::count);
        if count > MOST_IN_CHAIN {
            // More than a worker takes. It says itself what else is wrong with packs.
            let reason = ChainError::TooLong { count }.to_string();
            return Err(DispatchError::NotResumed { reason });
        }
        let setup = &guest.setup;
        let open = match packs {
            Some(_) => Order::Resume(number, setup),
            None => Order::Open(number, setup),
        };
        let mut frames = frame::encode_order(&open).map_err(DispatchError::TooLarge)?;
        let first = frame::encode_order(&Order::Turn(number, turn));
        frames.extend(first.map_err(DispatchError::TooLarge)?);
        let (limits, kept_as) = (setup.limits, Some(number));
        let (guest, frames, crowded) = (Some(guest), Arc::new(frames), self.scheduler.crowded());
        let order = TurnOrder {
            guest,
            packs,
            turn,
            content,
            limits,
            kept_as,
            interruption,
            crowded,
            frames,
        };
        self.begin(&order, claim, host).await
    }

    /// Runs a further turn of a guest that is kept and has these limits.
    pub(crate) async fn next_turn(
        &self,
        (key, limits): (GuestKey, SetupLimits),
        (turn, content, interruption): TurnToRun<'_>,
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<Ended, DispatchError> {
        let frames = frame::encode_order(&Order::Turn(key.number, turn));
        let frames = Arc::new(frames.map_err(DispatchError::TooLarge)?);
        let (guest, packs, kept_as) = (None, None, Some(key.number));
        let crowded = self.scheduler.crowded();
        let order = TurnOrder {
            guest,
            packs,
            turn,
            content,
            limits,
            kept_as,
            interruption,
            crowded,
            frames,
        };
        let asked = Instant::now();
        let lease = Lease::acquire_turn(&self.scheduler, claim, key, host).await?;
        let ended = self.attempt(lease, &order, asked.elapsed(), host).await?;
        ended.ok_or(DispatchError::GuestLost)
    }

    /// True if a guest is kept, between two turns.
    pub(crate) fn keeps(&self, guest: GuestKey) -> bool {
        self.scheduler.keeps_guest(guest)
    }

    /// Waits until a guest is not kept any more between two turns.
    pub(crate) async fn wait_for_loss(&self, guest: GuestKey) {
        let mut status = self.scheduler.watch();
        // The sender lives as long as the scheduler.
        while self.scheduler.keeps_guest(guest) && status.changed().await.is_ok() {}
    }

    /// Closes a guest that is kept, unless it is lost.
    pub(crate) fn close(&self, guest: GuestKey) {
        self.scheduler.close_guest(guest);
    }

    /// Runs `order`, which opens a guest, on any worker of its owner that begins it.
    async fn begin(
        &self,
        order: &TurnOrder<'_>,
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<Ended, DispatchError> {
        let wanted = order.guest.map(GuestSpec::attachments).unwrap_or_default();
        let mut queued = Duration::ZERO;
        for _ in 0..self.attempts {
            let asked = Instant::now();
            let lease = Lease::acquire(&self.scheduler, claim, &wanted, host).await?;
            queued = queued.saturating_add(asked.elapsed());
            if let Some(ended) = self.attempt(lease, order, queued, host).await? {
                return Ok(ended);
            }
        }
        Err(DispatchError::NoWorker)
    }

    /// Runs `order` on the worker of `lease`. Returns `None` if the worker broke before it began.
    async fn attempt(
        &self,
        mut lease: Lease,
        order: &TurnOrder<'_>,
        queued: Duration,
        host: &mut impl RunHost,
    ) -> Result<Option<Ended>, DispatchError> {
        // The lease gives the worker back as it is, if the run is not to begin, or its call is gone meanwhile.
        if !host.may_begin().await {
            return Err(DispatchError::Withdrawn);
        }
        let (begun, id) = (Instant::now(), lease.worker_id());
        let Some(worker) = lease.begin() else { return Ok(None) };
        let process = Arc::clone(&worker.process);
        host.note_stage(RunStage::Running);
        match exchange::perform(worker, order, queued, host, self.patience).await {
            Ok((finished, broken)) => {
                let lost = broken.map(|broken| self.explain(&broken, order, id, &process));
                Ok(Some(self.end(lease, order.kept_as, finished, lost.is_some())))
            }
            Err(Broken::NotStarted(AttachError::Share(error))) => {
                lease.end();
                Err(DispatchError::Share(error))
            }
            Err(Broken::NotStarted(AttachError::Describe(error))) => {
                lease.end();
                Err(DispatchError::TooLarge(error))
            }
            Err(Broken::NotResumed { reason }) => {
                lease.end();
                Err(DispatchError::NotResumed { reason })
            }
            Err(broken) => {
                let failure = self.explain(&broken, order, id, &process);
                lease.discard();
                if matches!(broken, Broken::NotStarted(_) | Broken::Declined | Broken::GoneBefore) {
                    return Ok(None);
                }
                let finished = FinishedRun {
                    outcome: without_worker(failure, begun.elapsed()),
                    output: None,
                    worker: id,
                    queued,
                    host_time: HostTime::default(),
                    is_worker_lost: true,
                    is_guest_kept: false,
                    is_interrupt_left: false,
                    pack: None,
                };
                Ok(Some((finished, None)))
            }
        }
    }

    /// Gives the worker back, or gives it up, after a run that has its outcome.
    fn end(
        &self,
        lease: Lease,
        number: Option<GuestNumber>,
        mut finished: FinishedRun,
        is_worker_lost: bool,
    ) -> Ended {
        let key = match number.filter(|_| finished.is_guest_kept) {
            _ if is_worker_lost => {
                lease.discard();
                None
            }
            Some(number) => lease.hold(number),
            None => {
                lease.end();
                None
            }
        };
        finished.is_guest_kept = key.is_some();
        self.count_finished(&finished);
        (finished, key)
    }

    /// Counts a run that its worker has reported.
    fn count_finished(&self, finished: &FinishedRun) {
        let broke = u64::from(matches!(finished.outcome.end, Err(RunFailure::SandboxCrash { .. })));
        self.scheduler.count(|counters| {
            counters.finished = counters.finished.saturating_add(1);
            counters.broke_interpreter = counters.broke_interpreter.saturating_add(broke);
        });
    }

    /// Logs and counts the loss of a worker. Returns the failure of a run that it has cost.
    fn explain(
        &self,
        broken: &Broken,
        order: &TurnOrder<'_>,
        worker: WorkerId,
        process: &Process,
    ) -> RunFailure {
        let is_closing = self.scheduler.phase() == Phase::Closed;
        let run = &order.turn.id;
        let shortage = process.memory_shortage();
        if !is_closing {
            let cause = CauseChain(broken);
            warn!(run.id = %run, worker.id = %worker, "run `{run}` lost worker {worker}: {cause}");
        }
        self.scheduler.count(|counters| {
            let counter = match broken {
                _ if is_closing => return,
                // Its worker is not lost.
                Broken::NotResumed { .. } => return,
                Broken::Late => &mut counters.overdue,
                Broken::Hostile(_) | Broken::Lost(WorkerChannelError::Frame(_)) => {
                    &mut counters.violations
                }
                Broken::Lost(_) if shortage.is_some() => &mut counters.out_of_memory,
                Broken::Lost(_) => &mut counters.crashed,
                Broken::NotStarted(_) | Broken::Declined | Broken::GoneBefore => {
                    &mut counters.repeated
                }
            };
            *counter = counter.saturating_add(1);
        });
        match broken {
            _ if is_closing => RunFailure::Cancelled,
            Broken::Late => {
                RunFailure::Timeout { limit: order.turn.limits.wall_time, traceback: None }
            }
            Broken::Lost(_) if shortage == Some(MemoryShortage::OwnLimit) => {
                RunFailure::MemoryLimit { limit: order.limits.memory, traceback: None }
            }
            Broken::NotStarted(_)
            | Broken::Declined
            | Broken::GoneBefore
            | Broken::NotResumed { .. }
            | Broken::Lost(_)
            | Broken::Hostile(_) => {
                let reason = match shortage {
                    Some(_) => "the machine was short of memory, and the sandbox was replaced",
                    None => "the sandbox broke and was replaced",
                };
                RunFailure::SandboxCrash { reason: reason.to_owned() }
            }
        }
    }
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
