//! The gateway's pool of workers: which run is next, which worker it gets, and what happens when a
//! worker breaks.
//!
//! This module knows nothing of skills' manifests, JSON-RPC or the storage of blobs. It gets
//! complete jobs, and asks a [`RunHost`] when a guest wants something.
//!
//! | room          | purpose                                                                    |
//! | ------------- | -------------------------------------------------------------------------- |
//! | `worker/`     | one worker: its socket, one run on it, the checks of everything it sends   |
//! | `scheduler/`  | which run gets which worker, which runs wait; leases                       |
//! | `supervisor/` | processes: starting them, logging their errors, replacing them             |
//! | `pool.rs`     | puts the three together                                                    |
//!
//! Each room uses only those above it. A run is one future: it leases a worker, speaks with the
//! worker over its socket, and gives the lease back. No task or thread stands in between. Beside
//! the runs, one supervisor for each place in the pool replaces the worker that has ended.
//!
//! INVARIANT(one-run-one-crash): a worker that is lost takes exactly one run with it, which ends
//! as `SandboxCrash`. A run that a worker has begun is never repeated.
//! INVARIANT(back-to-size): a worker that is lost is replaced at once. A worker that cannot start
//! is tried again, after pauses.

mod config;
mod content;
mod error;
mod pool;
mod report;
mod scheduler;
mod supervisor;
#[cfg(test)]
mod tests;
mod worker;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use crate::dispatch::config::PoolConfig;
pub use crate::dispatch::content::{BlobSource, SkillContent};
pub use crate::dispatch::error::DispatchError;
pub use crate::dispatch::pool::Pool;
pub use crate::dispatch::report::{Counters, PoolReport, WorkerStatus};
pub use crate::dispatch::supervisor::spawner::WorkerCommand;
pub use crate::dispatch::worker::attachments::AttachmentLimits;
pub use crate::dispatch::worker::id::WorkerId;
pub use crate::dispatch::worker::outcome_check::{ImplausibleOutcome, check_outcome};
pub use crate::dispatch::worker::payload::{CheckedPayload, PayloadError};
pub use crate::dispatch::worker::start_failure::StartFailure;

use crate::ids::BlobId;
use crate::job::RunSpec;
use crate::job::host::HostTime;
use crate::job::image::ImageContent;
use crate::job::message::Refusal;
use crate::job::outcome::{LogChunk, RunOutcome};
use crate::units::ByteCount;

/// A run with everything that it brings.
#[derive(Debug)]
pub struct Job {
    /// The order for the worker.
    pub spec: Box<RunSpec>,
    /// The content of [`RunSpec::image`].
    pub image: Arc<ImageContent>,
    /// The content of all of [`RunSpec::skills`].
    pub skills: Vec<Arc<SkillContent>>,
    /// The content of all of [`RunSpec::blobs`].
    pub blobs: Vec<BlobSource>,
}

/// The host of one run, as the gateway answers for it.
///
/// The time of an answer is accounted by the kind of the request: see
/// [`RequestKind`](crate::job::host::RequestKind). An answer that comes too late is dropped, and
/// the guest sees a `TimeoutError`.
pub trait RunHost: Send {
    /// Stores a blob. The kind and the content are the guest's and unchecked.
    ///
    /// # Errors
    ///
    /// The refusal; the guest sees it as an exception.
    fn write_blob(
        &mut self,
        kind: &str,
        content: CheckedPayload,
    ) -> impl Future<Output = Result<BlobId, Refusal>> + Send;

    /// Waits until an output of this size may be read. The worker makes no other output meanwhile:
    /// outputs that nobody reads would fill the memory.
    fn make_room(&mut self, output: ByteCount) -> impl Future<Output = ()> + Send {
        let _no_bound = output;
        std::future::ready(())
    }

    /// Hears what the program prints, if the run asks for that. The text is the guest's.
    fn hear(&mut self, printed: LogChunk) {
        drop(printed);
    }
}

/// The end of a run.
#[derive(Debug)]
pub struct FinishedRun {
    /// The outcome.
    pub outcome: RunOutcome,
    /// JSON text of the returned value, as the guest made it, to be read when there is memory for
    /// it; none if it did not complete or returned nothing.
    pub output: Option<CheckedPayload>,
    /// How long it waited for a worker.
    pub queued: Duration,
    /// How long the gateway worked for its requests.
    pub host_time: HostTime,
}
