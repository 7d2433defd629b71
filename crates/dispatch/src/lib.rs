//! The gateway's pool of workers: chooses the next run and its worker, and replaces workers that
//! break.
//!
//! This module knows nothing of skills' manifests, JSON-RPC or the storage of blobs. It gets
//! complete jobs, and passes the requests of guests to a [`RunHost`].
//!
//! | folder        | purpose                                                                    |
//! | ------------- | -------------------------------------------------------------------------- |
//! | `worker/`     | one worker: its socket, one run on it, the checks of everything it sends   |
//! | `scheduler/`  | assigns workers to runs, queues runs; leases                               |
//! | `supervisor/` | processes: starting them, logging their errors, replacing them             |
//! | `execution.rs` | one run or turn, from its place in the queue to its end                   |
//! | `held_guest.rs` | a guest that is kept from turn to turn                                   |
//! | `packs.rs`    | the state of a guest on its way to a worker and back                       |
//! | `file_content.rs` | the content of a file on its way to a guest                            |
//! | `interrupter.rs` | the interruption of its turn                                            |
//! | `pool.rs`     | puts all of it together                                                    |
//!
//! Each uses only those above it. A run is one future: it leases a worker, exchanges
//! messages with the worker over its socket, and gives the lease back, without further tasks or
//! threads. Besides the runs, the pool has one supervisor for each of its workers, which starts a
//! new worker when the old one has ended.
//!
//! INVARIANT(one-run-one-crash): the loss of a worker fails exactly one run, which ends as
//! `SandboxCrash`. A run that a worker has begun is never repeated. Guests that the worker keeps between two
//! turns are lost with it, and can be resumed in others.
//! INVARIANT(back-to-size): a lost worker is replaced at once. A worker that cannot start is tried
//! again, after pauses.

mod config;
mod content;
mod error;
mod execution;
mod file_content;
mod held_guest;
mod interrupter;
mod isolation;
mod packs;
mod pool;
mod report;
mod run_host;
mod scheduler;
mod supervisor;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;
use std::time::Duration;

pub use crate::config::{MOST_HELD_BY_ONE, PoolConfig};
pub use crate::content::{BlobSource, SkillContent};
pub use crate::error::DispatchError;
pub use crate::file_content::{FileDraft, SealedContent};
pub use crate::held_guest::HeldGuest;
pub use crate::interrupter::TurnInterrupter;
pub use crate::isolation::Isolation;
#[cfg(test)]
pub(crate) use crate::isolation::WorkerOwner;
pub use crate::packs::{CheckedPack, NotParked, PackContent};
pub use crate::pool::{Pool, memory_of};
pub use crate::report::{Counters, PoolReport};
pub use crate::run_host::{RunHost, RunStage};
pub use crate::supervisor::cgroups::WorkerCgroups;
pub use crate::supervisor::spawner::WorkerCommand;
pub use crate::worker::attachments::AttachmentLimits;
pub use crate::worker::id::WorkerId;
pub use crate::worker::payload::CheckedPayload;
pub use crate::worker::turn::outcome_check::check_outcome;

use wardian_formats::job::attachment::AttachmentKey;
use wardian_formats::job::host::HostTime;
use wardian_formats::job::image::ImageContent;
use wardian_formats::job::layer::LayerContent;
use wardian_formats::job::outcome::RunOutcome;
use wardian_formats::job::{Setup, Turn};

/// A run: a guest, and its only turn.
#[derive(Debug)]
pub struct Job {
    /// The guest.
    pub guest: GuestSpec,
    /// What it runs.
    pub turn: Box<Turn>,
}

/// The order for a guest, with the content of its attachments.
#[derive(Debug)]
pub struct GuestSpec {
    /// The order for the worker.
    pub setup: Box<Setup>,
    /// The content of [`Setup::image`].
    pub image: Arc<ImageContent>,
    /// The content of all of [`Setup::skills`].
    pub skills: Vec<Arc<SkillContent>>,
    /// The content of all of [`Setup::layers`], bytecode included.
    pub layers: Vec<LayerContent>,
    /// The content of all of [`Setup::blobs`].
    pub blobs: Vec<BlobSource>,
}

impl GuestSpec {
    /// Everything that a worker has to have before it can make the guest.
    pub(crate) fn attachments(&self) -> Vec<AttachmentKey> {
        let skills = self.skills.iter().map(|skill| skill.key());
        let blobs = self.blobs.iter().map(BlobSource::key);
        let layers = self.layers.iter().map(LayerContent::key);
        skills.chain(layers).chain(blobs).chain([self.image.key()]).collect()
    }
}

/// The end of a run.
#[derive(Debug)]
pub struct FinishedRun {
    /// The outcome.
    pub outcome: RunOutcome,
    /// JSON text of the returned value, unchecked and not read yet; `None` if the run did not
    /// complete or returned nothing.
    pub output: Option<CheckedPayload>,
    /// The worker that had it.
    pub worker: WorkerId,
    /// How long it waited for a worker.
    pub queued: Duration,
    /// How long the gateway worked for its requests.
    pub host_time: HostTime,
    /// True if the worker was lost during the run, whatever the outcome says.
    pub is_worker_lost: bool,
    /// True if the guest is kept for another turn. False for a run, and for a turn that has ended its
    /// guest or after which there was no place for it.
    pub is_guest_kept: bool,
    /// True if the turn was interrupted and its cell waits for its caller without having seen that. Whoever goes
    /// on with it has to tell it.
    pub is_interrupt_left: bool,
    /// The state after a turn of a [`HeldGuest`] that [saves it](Turn::saves_state) and left its guest whole,
    /// or why there is none. A guest whose state could not be saved is not kept. `None` after anything else.
    pub pack: Option<Result<CheckedPack, NotParked>>,
}
