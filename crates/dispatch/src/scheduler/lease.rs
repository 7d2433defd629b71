//! The right to use a worker for one run, or for one turn of a guest that it keeps. It is given back
//! when it is dropped.
//!
//! INVARIANT(nothing-leaks): a [`Lease`] that is dropped at any stage of its run ends the run. Its
//! worker becomes idle, after it has stopped the run if there is one, or is killed if it is broken. A
//! guest that the run has begun to use is closed; one whose turn was not begun is kept, and so are the
//! others of its worker.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::DispatchError;
use crate::scheduler::claim::{Admission, Claim, GuestKey, Ticket};
use crate::scheduler::queued_run::QueuedRun;
use crate::scheduler::shared::{Grant, Granted, Scheduler};
use crate::worker::cpu_meter::CpuMeter;
use crate::worker::handle::Worker;
use crate::worker::id::WorkerId;
use crate::{RunHost, RunStage};
use wardian_formats::job::attachment::AttachmentKey;
use wardian_formats::job::message::GuestNumber;

/// The right to use a worker for one run or turn.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The number of the run.
    ticket: Ticket,
    worker: Option<Worker>,
    scheduler: Arc<Scheduler>,
    condition: Condition,
    /// True if the tenant has a quota of processor time, which the run counts against.
    counts_cpu: bool,
    /// Measures the run, if it counts.
    meter: Option<CpuMeter>,
    /// The guest that the worker keeps, for one of its turns.
    guest: Option<GuestKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// Between two runs.
    Idle,
    /// Within a run.
    Busy,
    /// The worker cannot be used again.
    Broken,
}

impl Lease {
    /// Waits for a worker for a run, preferably one that has all of `wanted` attached. `host` learns
    /// of the wait, and bounds it.
    ///
    /// Cancellation: the place in the queue is given up.
    pub(crate) async fn acquire(
        scheduler: &Arc<Scheduler>,
        claim: &Claim,
        wanted: &[AttachmentKey],
        host: &mut impl RunHost,
    ) -> Result<Self, DispatchError> {
        let (grant, granted) = oneshot::channel();
        let admission = scheduler.admit(claim, wanted, grant);
        Self::grant(scheduler, claim, None, (admission, granted), host).await
    }

    /// Waits for a turn of the guest's tenant, and gets the worker that keeps the guest.
    ///
    /// Cancellation: the place in the queue is given up, and the guest is kept.
    pub(crate) async fn acquire_turn(
        scheduler: &Arc<Scheduler>,
        claim: &Claim,
        guest: GuestKey,
        host: &mut impl RunHost,
    ) -> Result<Self, DispatchError> {
        let (grant, granted) = oneshot::channel();
        let admission = scheduler.admit_turn(claim, guest, grant);
        let admission = admission.ok_or(DispatchError::GuestLost)?;
        Self::grant(scheduler, claim, Some(guest), (admission, granted), host).await
    }

    async fn grant(
        scheduler: &Arc<Scheduler>,
        claim: &Claim,
        guest: Option<GuestKey>,
        (admission, granted): (Admission<Worker, Grant>, oneshot::Receiver<Granted>),
        host: &mut impl RunHost,
    ) -> Result<Self, DispatchError> {
        let (ticket, worker) = match admission {
            Admission::Granted(ticket, worker) => (ticket, worker),
            Admission::Queued { ticket, displaced } => {
                let place = (claim.clone(), ticket);
                let queued = QueuedRun::new(Arc::clone(scheduler), place, guest, granted);
                if let Some(displaced) = displaced {
                    let retry_after = scheduler.drain_time();
                    // The caller may have gone away.
                    displaced.send(Err(DispatchError::Overloaded { retry_after })).ok();
                }
                host.note_stage(RunStage::Queued);
                let longest = host.longest_wait().unwrap_or(scheduler.queue_wait);
                (ticket, queued.wait(longest, scheduler.first_wait).await?)
            }
            Admission::Refused(refusal) => return Err(refusal.into()),
            Admission::ShuttingDown => return Err(DispatchError::ShuttingDown),
        };
        let scheduler = Arc::clone(scheduler);
        let counts_cpu = claim.limits.cpu_time.is_some() && !claim.is_own;
        let (worker, condition) = (Some(worker), Condition::Idle);
        Ok(Self { ticket, worker, scheduler, condition, counts_cpu, meter: None, guest })
    }

    /// Begins the run and returns the worker. Returns `None` if the worker broke while it was idle;
    /// the lease is of no use then.
    pub(crate) fn begin(&mut self) -> Option<&mut Worker> {
        let worker = self.worker.as_mut()?;
        if worker.channel.is_quiet() {
            self.condition = Condition::Busy;
            self.meter = self.counts_cpu.then(|| CpuMeter::start(worker.process.id));
            Some(worker)
        } else {
            self.condition = Condition::Broken;
            None
        }
    }

    /// Ends the run. Its guest is closed, if it is open, and the worker can have another run.
    pub(crate) fn end(mut self) {
        let is_closed = self.worker.as_mut().is_none_or(|worker| worker.end_order().is_ok());
        self.condition = if is_closed { Condition::Idle } else { Condition::Broken };
    }

    /// Ends the turn. The worker keeps the guest of this number, which gets a key. Returns `None` if it
    /// cannot be kept: then it is closed, or ends with its worker.
    pub(crate) fn hold(mut self, number: GuestNumber) -> Option<GuestKey> {
        let (mut worker, cpu_time) = (self.worker.take()?, cpu_time(self.meter.take()));
        worker.keep_guest();
        self.scheduler.hold(self.ticket, (self.guest, number), worker, cpu_time)
    }

    /// Ends the run. The worker is killed.
    pub(crate) fn discard(mut self) {
        self.condition = Condition::Broken;
    }

    /// The worker's number.
    pub(crate) fn worker_id(&self) -> WorkerId {
        self.worker.as_ref().map_or(WorkerId(0), |worker| worker.id)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        let (ticket, meter) = (self.ticket, self.meter.take());
        match self.condition {
            Condition::Idle => self.scheduler.give_back(ticket, worker, cpu_time(meter)),
            Condition::Busy => stop_run(&self.scheduler, ticket, worker, meter),
            Condition::Broken => {
                let cpu_time = cpu_time(meter);
                self.scheduler.lose(ticket, worker, cpu_time);
            }
        }
    }
}

/// Stops an abandoned run, in a separate task.
fn stop_run(
    scheduler: &Arc<Scheduler>,
    ticket: Ticket,
    mut worker: Worker,
    meter: Option<CpuMeter>,
) {
    let scheduler = Arc::clone(scheduler);
    let runtime = scheduler.runtime.clone();
    runtime.spawn(async move {
        let stopped = timeout(scheduler.grace, worker.settle()).await;
        let cpu_time = cpu_time(meter);
        if matches!(stopped, Ok(Ok(()))) {
            scheduler.give_back(ticket, worker, cpu_time);
        } else {
            scheduler.lose(ticket, worker, cpu_time);
        }
    });
}

/// The processor time of a run that is measured.
fn cpu_time(meter: Option<CpuMeter>) -> Option<Duration> {
    meter.map(|meter| meter.read())
}
