//! Failures of starting a worker.

use std::io;
use std::time::Duration;

use crate::worker::channel::WorkerChannelError;

/// The reason why a worker did not become ready. It is for operators: it may name paths of this
/// machine.
#[derive(Debug, thiserror::Error)]
pub enum StartFailure {
    /// The process cannot be started or watched.
    #[error("the process cannot be started")]
    Spawn(#[source] io::Error),
    /// The process ended.
    #[error("the process exited immediately with {status}")]
    Ended {
        /// Its exit status.
        status: String,
    },
    /// The process runs and sends nothing.
    #[error("the process was not ready within {} s", limit.as_secs_f32())]
    Late {
        /// The time that it had.
        limit: Duration,
    },
    /// The worker sent the reason.
    #[error("{reason}")]
    Reported {
        /// The text from the worker.
        reason: String,
    },
    /// The worker sent the reason, for which no other one can start.
    #[error("{reason}")]
    Lasting {
        /// The text from the worker.
        reason: String,
    },
    /// Its messages cannot be read.
    #[error("the process does not follow the worker protocol")]
    Channel(#[source] WorkerChannelError),
    /// Its first message was not `Ready`.
    #[error("the first message of the process did not say that it is ready")]
    OutOfTurn,
}

impl StartFailure {
    /// True if it is in vain to try again, as long as nothing on this machine changes.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Lasting { .. } => true,
            Self::Spawn(error) => {
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
            }
            _ => false,
        }
    }
}
