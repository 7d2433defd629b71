//! The reasons why a run was not begun.

use std::io;
use std::sync::Arc;

use crate::dispatch::worker::start_failure::StartFailure;
use crate::error::ErrorKind;
use crate::job::frame::FrameError;

/// The reason why a run was not begun.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// Too many runs are waiting, or this one has waited too long.
    #[error("every worker is busy and too many runs are waiting")]
    Overloaded,
    /// The pool is closing.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The program or its arguments are too large for a worker.
    #[error("the program and its arguments are too large")]
    TooLarge(#[source] FrameError),
    /// Workers cannot be reached.
    #[error("no worker could be given the run")]
    NoWorker,
    /// The operating system refuses a memory file for a worker.
    #[error("no worker could be given the run")]
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
            Self::Overloaded | Self::ShuttingDown => ErrorKind::Overloaded,
            Self::TooLarge(_) => ErrorKind::TooLarge,
            Self::NoWorker | Self::Share(_) | Self::Start(_) | Self::Open(_) => ErrorKind::Internal,
        }
    }
}
