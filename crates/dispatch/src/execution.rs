//! One run or turn: from its place in the queue over its worker to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::error::DispatchError;
use crate::interrupter::Interruption;
use crate::scheduler::assignment::Phase;
use crate::scheduler::claim::Claim;
use crate::scheduler::held::GuestKey;
use crate::scheduler::lease::Lease;
use crate::scheduler::shared::Scheduler;
use crate::worker::channel::WorkerChannelError;
use crate::worker::exchange::{self, Broken, TurnOrder};
use crate::worker::handle::AttachError;
use crate::worker::id::WorkerId;
use crate::worker::process::Process;
use crate::worker::run_clock::Patience;
use crate::{FinishedRun, GuestSpec, Job, RunHost, RunStage};
use wardian_formats::job::Turn;
use wardian_formats::job::frame;
use wardian_formats::job::host::HostTime;
use wardian_formats::job::message::Order;
use wardian_formats::job::outcome::{
    Conversions, LeftFiles, Logs, RunFailure, RunOutcome, RunUsage,
};
use wardian_vocabulary::cgroup::MemoryShortage;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::units::ByteCount;

/// The number of workers that may break before a run begins until the run is given up. The size of
/// the pool is added, since every worker may also have died while it was idle.
const ATTEMPTS: usize = 3;

/// The end of a run or turn, and the key of its guest if it is kept.
pub(crate) type Ended = (FinishedRun, Option<GuestKey>);

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
        let memory = guest.setup.limits.memory;
        let (leaves_guest, interruption) = (false, Interruption::never());
        let order =
            TurnOrder { guest: Some(guest), turn, memory, leaves_guest, interruption, frames };
        let (finished, _none) = self.begin(guest, &order, claim, host).await?;
        Ok(finished)
    }

    /// Runs the first turn of a guest on a worker of its owner.
    pub(crate) async fn first_turn(
        &self,
        guest: &GuestSpec,
        (turn, interruption): (&Turn, Interruption),
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<Ended, DispatchError> {
        let open = frame::encode_order(&Order::Open(&guest.setup));
        let mut frames = open.map_err(DispatchError::TooLarge)?;
        let first = frame::encode_order(&Order::Turn(turn));
        frames.extend(first.map_err(DispatchError::TooLarge)?);
        let (frames, memory) = (Arc::new(frames), guest.setup.limits.memory);
        let leaves_guest = true;
        let order =
            TurnOrder { guest: Some(guest), turn, memory, leaves_guest, interruption, frames };
        self.begin(guest, &order, claim, host).await
    }

    /// Runs a further turn of a guest that is kept and may use `memory`.
    pub(crate) async fn next_turn(
        &self,
        (guest, memory): (GuestKey, ByteCount),
        (turn, interruption): (&Turn, Interruption),
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<Ended, DispatchError> {
        let frames = frame::encode_order(&Order::Turn(turn)).map_err(DispatchError::TooLarge)?;
        let frames = Arc::new(frames);
        let leaves_guest = true;
        let order = TurnOrder { guest: None, turn, memory, leaves_guest, interruption, frames };
        let asked = Instant::now();
        let lease = Lease::acquire_turn(&self.scheduler, claim, guest, host).await?;
        let ended = self.attempt(lease, &order, asked.elapsed(), host).await?;
        ended.ok_or(DispatchError::GuestLost)
    }

    /// Closes a guest that is kept, unless it is lost.
    pub(crate) fn close(&self, guest: GuestKey) {
        self.scheduler.close_guest(guest);
    }

    /// Runs `order`, which opens a guest, on any worker of its owner that begins it.
    async fn begin(
        &self,
        guest: &GuestSpec,
        order: &TurnOrder<'_>,
        claim: &Claim,
        host: &mut impl RunHost,
    ) -> Result<Ended, DispatchError> {
        let wanted = guest.attachments();
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
        let (begun, id) = (Instant::now(), lease.worker_id());
        let Some(worker) = lease.begin() else { return Ok(None) };
        let process = Arc::clone(&worker.process);
        host.note_stage(RunStage::Running);
        match exchange::perform(worker, order, queued, host, self.patience).await {
            Ok(mut finished) => {
                // The run is over, so a caller that leaves meanwhile does not cost the worker.
                if let Some(output) = &finished.output {
                    host.make_room(output.size()).await;
                }
                let key = if finished.is_guest_kept {
                    lease.hold()
                } else {
                    lease.end();
                    None
                };
                finished.is_guest_kept = key.is_some();
                self.count_finished(&finished);
                Ok(Some((finished, key)))
            }
            Err(Broken::NotStarted(AttachError::Share(error))) => {
                lease.end();
                Err(DispatchError::Share(error))
            }
            Err(Broken::NotStarted(AttachError::Describe(error))) => {
                lease.end();
                Err(DispatchError::TooLarge(error))
            }
            Err(broken) => {
                let failure = self.explain(&broken, order, id, &process);
                lease.discard();
                if matches!(broken, Broken::NotStarted(_) | Broken::Declined) {
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
                };
                Ok(Some((finished, None)))
            }
        }
    }

    /// Counts a run that its worker has reported.
    fn count_finished(&self, finished: &FinishedRun) {
        let broke = u64::from(matches!(finished.outcome.end, Err(RunFailure::SandboxCrash { .. })));
        self.scheduler.count(|counters| {
            counters.finished = counters.finished.saturating_add(1);
            counters.broke_interpreter = counters.broke_interpreter.saturating_add(broke);
        });
    }

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
            Broken::Late => {
                RunFailure::Timeout { limit: order.turn.limits.wall_time, traceback: None }
            }
            Broken::Lost(_) if shortage == Some(MemoryShortage::OwnLimit) => {
                RunFailure::MemoryLimit { limit: order.memory, traceback: None }
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
