//! The reasons why a run was not begun.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::scheduler::claim::RunRefusal;
use crate::worker::start_failure::StartFailure;
use wardian_formats::job::frame::FrameError;
use wardian_vocabulary::error::ErrorKind;

/// The reason why a run was not begun.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// Too many runs are waiting, or this one has waited too long.
    #[error("every worker is busy and too many runs are waiting")]
    Overloaded {
        /// The time in which the waiting runs are worked off.
        retry_after: Duration,
    },
    /// The run has waited too long for workers that do not start. A later one may start.
    #[error("no worker has started")]
    NoneStarted {
        /// The time after which another one is tried.
        retry_after: Duration,
        /// The reason why the last one did not start.
        #[source]
        failure: Arc<StartFailure>,
    },
    /// The tenant has as many runs in progress and waiting as it may have.
    #[error("the tenant has reached its limit of runs in progress and waiting")]
    TenantBusy {
        /// The time in which its waiting runs are worked off.
        retry_after: Duration,
    },
    /// The tenant has used up its time of workers.
    #[error("the tenant has used up the time allowed for its runs")]
    TimeUsed {
        /// The time after which a part of it is there again.
        retry_after: Duration,
    },
    /// The run may use more memory than all runs together.
    #[error("the run could need more memory than this server has for runs; ask for less")]
    TooMuchMemory,
    /// The pool is closing.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The program or its arguments are too large for a worker.
    #[error("the program and its arguments are too large")]
    TooLarge(#[source] FrameError),
    /// The guest that a turn is for is not there any more: its last turn has ended it, it was given up,
    /// or its worker was lost or replaced. The turn was not begun, or has changed nothing outside of it.
    #[error("the guest was lost")]
    GuestLost,
    /// The guest cannot be made from these packs: one is damaged or missing, or belongs to another image
    /// or order. The turn was not begun, and the guest is gone.
    #[error("the guest cannot be resumed: {reason}")]
    NotResumed {
        /// What a worker says, at most
        /// [`MAX_MESSAGE`](wardian_formats::job::outcome::MAX_MESSAGE) bytes.
        reason: String,
    },
    /// The host of the run has not let it begin.
    #[error("the run was withdrawn before it began")]
    Withdrawn,
    /// Workers cannot be reached.
    #[error("the run could not be sent to a worker")]
    NoWorker,
    /// The operating system refuses a memory file for a worker.
    #[error("the run could not be sent to a worker")]
    Share(#[source] io::Error),
    /// Workers do not start.
    #[error("no worker can be started")]
    Start(#[source] Arc<StartFailure>),
    /// The operating system refuses a resource that the pool needs, such as a thread.
    #[error("the pool of workers cannot be opened")]
    Open(#[source] io::Error),
}

impl DispatchError {
    /// The kind of error that the caller sees.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Overloaded { .. } | Self::NoneStarted { .. } | Self::ShuttingDown => {
                ErrorKind::Overloaded
            }
            Self::TenantBusy { .. } | Self::TimeUsed { .. } => ErrorKind::RateLimited,
            Self::TooLarge(_) | Self::TooMuchMemory => ErrorKind::TooLarge,
            Self::GuestLost
            | Self::NotResumed { .. }
            | Self::Withdrawn
            | Self::NoWorker
            | Self::Share(_)
            | Self::Start(_)
            | Self::Open(_) => ErrorKind::Internal,
        }
    }
    /// The delay after which a retry can succeed, if it is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Overloaded { retry_after }
            | Self::NoneStarted { retry_after, .. }
            | Self::TenantBusy { retry_after }
            | Self::TimeUsed { retry_after } => Some(*retry_after),
            _ => None,
        }
    }
}

impl From<RunRefusal> for DispatchError {
    fn from(refusal: RunRefusal) -> Self {
        match refusal {
            RunRefusal::Full { retry_after } => Self::Overloaded { retry_after },
            RunRefusal::TenantFull { retry_after } => Self::TenantBusy { retry_after },
            RunRefusal::TimeUsed { retry_after } => Self::TimeUsed { retry_after },
            RunRefusal::NeverFits => Self::TooMuchMemory,
        }
    }
}
