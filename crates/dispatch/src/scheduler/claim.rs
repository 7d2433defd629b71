//! New runs and the decisions about them.

use std::time::Duration;

use crate::isolation::WorkerOwner;
use crate::worker::id::WorkerId;
use wardian_formats::job::message::GuestNumber;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::TenantLimits;
use wardian_vocabulary::units::ByteCount;

/// The number of a run. No other run of the same pool has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(crate) u64);

/// Names a guest that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GuestKey {
    /// The worker that keeps it, perhaps among others.
    pub worker: WorkerId,
    /// No other guest of the pool has it.
    pub(crate) number: GuestNumber,
}

/// A run as the queue sees it.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub tenant: TenantId,
    pub limits: TenantLimits,
    /// The memory that the run may use.
    pub memory: ByteCount,
    /// True for work of the server itself. It takes turns like any run, and counts against no quota
    /// of a tenant's time.
    pub is_own: bool,
    /// The owner of the worker that the run may have.
    pub owner: WorkerOwner,
    /// True if it opens a guest that is to be kept.
    pub(crate) opens_guest: bool,
}

/// The reason why a run is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunRefusal {
    /// The queue is full.
    Full { retry_after: Duration },
    /// The tenant has as many runs waiting as it may have.
    TenantFull { retry_after: Duration },
    /// The tenant has used up its time of workers.
    TimeUsed { retry_after: Duration },
    /// The run may use more memory than there is for all runs.
    NeverFits,
}

/// The decision of the queue about a new run.
#[derive(Debug)]
pub(crate) enum Offered<T> {
    /// The run starts now.
    Starts(Ticket, T),
    /// The run waits. The displaced run has lost its place to it.
    Waits { ticket: Ticket, displaced: Option<T> },
    /// The run is refused.
    Refused(RunRefusal, T),
}

/// The decision of a pool about a new run.
#[derive(Debug)]
pub(crate) enum Admission<W, G> {
    /// The run starts now, on this worker.
    Granted(Ticket, W),
    /// The run waits. If another waiting run has lost its place to it, that run is overloaded.
    Queued { ticket: Ticket, displaced: Option<G> },
    /// The run is refused.
    Refused(RunRefusal),
    /// The pool admits no runs any more.
    ShuttingDown,
}

/// The bounds of a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueBounds {
    /// Runs that may wait.
    pub waiting: usize,
    /// The memory that all runs in progress together may use.
    pub memory: Option<ByteCount>,
}

/// Waiting runs that are refused, because their tenant has used up its time of workers.
#[derive(Debug)]
pub(crate) struct OutOfTime<T> {
    pub runs: Vec<T>,
    pub retry_after: Duration,
}

impl<T> OutOfTime<T> {
    pub(crate) const NONE: Self = Self { runs: Vec::new(), retry_after: Duration::ZERO };
}

/// The waiting runs and idle workers of a pool that closes.
#[derive(Debug)]
pub(crate) struct Closing<W, G> {
    pub waiting: Vec<G>,
    /// The workers without a run, those that keep a guest included.
    pub idle: Vec<W>,
}

/// A run without a worker.
#[derive(Debug)]
pub(crate) struct Pending<G> {
    pub(crate) grant: G,
    pub owner: WorkerOwner,
    pub(crate) purpose: WorkerUse,
}

/// What a run needs its worker for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerUse {
    /// A guest that is closed at its end.
    Run,
    /// A guest that is to be kept.
    Guest,
    /// A turn of a guest that is kept.
    Turn(GuestKey),
}

impl<G> Pending<G> {
    /// A run that is not a turn of a guest that is kept.
    pub(super) fn new(grant: G, claim: &Claim) -> Self {
        let purpose = if claim.opens_guest { WorkerUse::Guest } else { WorkerUse::Run };
        Self { grant, owner: claim.owner.clone(), purpose }
    }

    /// The guest whose turn it is, if it is one of a guest that is kept.
    pub(super) const fn guest(&self) -> Option<GuestKey> {
        match self.purpose {
            WorkerUse::Turn(guest) => Some(guest),
            WorkerUse::Run | WorkerUse::Guest => None,
        }
    }
}
