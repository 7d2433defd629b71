//! The gateway's pool of workers: who runs next, on which worker, and what happens when a worker
//! breaks.
//!
//! Knows nothing of skills' manifests, JSON-RPC or where blobs are stored: it is handed complete
//! jobs, and asks a [`Door`] when a guest wants something.
//!
//! A run is one future. It waits for a worker, takes it, speaks with it over its socket, and
//! gives it back; there is no task or thread in between. Beside that, one keeper for each place
//! in the pool replaces what has ended.
//!
//! INVARIANT(one-run-one-crash): a worker that is lost takes exactly one run with it, which ends
//! as `SandboxCrash`. A run that a worker has begun is never repeated.
//! INVARIANT(back-to-size): a worker that is lost is replaced at once; one that cannot start is
//! tried again, after pauses.

pub mod credible;

mod attachments;
mod channel;
mod content;
mod exchange;
mod keeper;
mod lease;
mod pool;
mod process;
mod queue;
mod received;
mod report;
mod roster;
mod stderr;
#[cfg(test)]
mod tests;
mod worker;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use crate::dispatch::attachments::AttachmentLimits;
pub use crate::dispatch::content::{BlobSource, SkillContent};
pub use crate::dispatch::keeper::StartFailure;
pub use crate::dispatch::pool::{Pool, PoolConfig};
pub use crate::dispatch::process::WorkerCommand;
pub use crate::dispatch::received::{PayloadError, Received};
pub use crate::dispatch::report::{Counters, PoolReport, WorkerStatus};
pub use crate::dispatch::worker::WorkerId;

use crate::error::ErrorKind;
use crate::ids::BlobId;
use crate::job::RunSpec;
use crate::job::frame::FrameError;
use crate::job::image::ImageContent;
use crate::job::message::Refusal;
use crate::job::outcome::{LogChunk, RunOutcome};

/// A run with everything that it brings.
#[derive(Debug)]
pub struct Job {
    /// What to run.
    pub spec: Box<RunSpec>,
    /// The content of [`RunSpec::image`].
    pub image: Arc<ImageContent>,
    /// The content of all of [`RunSpec::skills`].
    pub skills: Vec<Arc<SkillContent>>,
    /// The content of all of [`RunSpec::blobs`].
    pub blobs: Vec<BlobSource>,
}

/// What a guest may ask of the gateway while it runs.
///
/// The time that an answer takes does not count against the worker's deadline, so it has to be
/// bounded here.
pub trait Door: Send {
    /// Stores a blob. The kind and the content are the guest's and unchecked.
    ///
    /// # Errors
    ///
    /// Why not; the guest sees it as an exception.
    fn write_blob(
        &mut self,
        kind: &str,
        content: Received,
    ) -> impl Future<Output = Result<BlobId, Refusal>> + Send;

    /// Hears what the program prints, if the run asks for that. The text is the guest's.
    fn hear(&mut self, printed: LogChunk) {
        drop(printed);
    }
}

/// The end of a run.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub outcome: RunOutcome,
    /// JSON text of the returned value, as the guest made it, to be read when there is memory for
    /// it; none if it did not complete or returned nothing.
    pub output: Option<Received>,
    /// How long it waited for a worker.
    pub queued: Duration,
}

/// Why there was no run.
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
    /// The operating system refuses what a worker should be given.
    #[error("no worker could be given the run")]
    Share(#[source] io::Error),
    /// Workers do not start.
    #[error("no worker can be started")]
    Start(#[source] Arc<StartFailure>),
    /// The operating system refuses what the pool itself needs.
    #[error("the pool of workers cannot be opened")]
    Open(#[source] io::Error),
}

impl DispatchError {
    /// What the caller can do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Overloaded | Self::ShuttingDown => ErrorKind::Overloaded,
            Self::TooLarge(_) => ErrorKind::TooLarge,
            Self::NoWorker | Self::Share(_) | Self::Start(_) | Self::Open(_) => ErrorKind::Internal,
        }
    }
}
