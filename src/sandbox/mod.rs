//! Runs one Python program in a fresh WebAssembly instance and reports how it ended.
//!
//! Knows nothing of tenants, manifests, JSON-RPC or processes: it is handed a [`RunSpec`] with
//! every decision already made, and whatever the guest wants from outside goes to a [`Host`].
//!
//! INVARIANT(fresh): no byte written by one run is readable by another. Memory returns to its
//! image (see [`memory`]); everything else is made anew for each run.

pub mod ambient;
pub mod capture;
pub mod codecs;
pub mod deadline;
pub mod desk;
pub mod door;
pub mod memory;
pub mod preview1;
pub mod vfs;

mod attachments;
mod code;
mod ending;
mod file_request;
mod gallery;
mod guest;
#[cfg(test)]
mod hostile_door_tests;
mod image;
mod job_text;
mod keep;
mod library;
mod run;
mod warm;
mod watchdog;

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::clock::Clock;
use crate::engine::EngineError;
use crate::engine::code::compile::Variant;
use crate::ids::{BlobId, Digest};
use crate::job::RunSpec;
use crate::job::message::{PackedFile, Payload};
use crate::sandbox::ambient::AmbientMode;
use crate::sandbox::attachments::Attachments;
use crate::sandbox::code::LoadedCode;
use crate::sandbox::gallery::Gallery;
use crate::sandbox::image::LoadedImage;
use crate::sandbox::memory::{DirtyPages, MemoryError, SlotRules, Verify};
use crate::sandbox::vfs::immutable::TreeError;
use crate::sandbox::vfs::{Errno, MountError};
use crate::sandbox::watchdog::Watchdog;
use crate::units::ByteCount;

pub use crate::sandbox::code::CodeSpec;
pub use crate::sandbox::door::{Host, IsCancelled};
pub use crate::sandbox::image::ImageSpec;
pub use crate::sandbox::library::Library;
pub use crate::sandbox::run::Finished;
pub use crate::sandbox::warm::{Preset, WarmUp, Warmed, warm_up};

/// Why the sandbox itself failed. After any of these the process must not run further guests.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// Memory could not be had or restored.
    #[error("the sandbox's memory failed")]
    Memory(#[from] MemoryError),
    /// wasmtime refused the engine's code.
    #[error("the engine's code cannot be used")]
    Engine(#[source] wasmtime::Error),
    /// The engine's code cannot be loaded.
    #[error(transparent)]
    Load(#[from] EngineError),
    /// Files could not be mounted.
    #[error("files cannot be mounted")]
    Mount(#[from] MountError),
    /// The open files of an image cannot be opened in a run.
    #[error("the open files of an image cannot be opened again")]
    Descriptors(#[source] Errno),
    /// A skill's files make no folder.
    #[error("a skill's files make no folder")]
    Skill(#[source] TreeError),
    /// An attachment is shorter than it says.
    #[error("an attachment is shorter than it says")]
    Attachment,
    /// A run mounts something that was not attached, or begins as an image that was not, or
    /// needs code that was not loaded.
    #[error("a run needs something that this sandbox does not have")]
    NotAttached,
    /// A job cannot be written down.
    #[error("a job cannot be written down")]
    Job(#[source] serde_json::Error),
    /// The interpreter could not be warmed up.
    #[error("the interpreter could not be warmed up: {reason}")]
    WarmUp {
        /// What it said.
        reason: String,
    },
    /// The engine's memory is not that of the release which the host's addresses are for.
    #[error(
        "the engine's memory does not have at address {address} what is to be replaced there: the \
         address is for another release of the engine"
    )]
    Unexpected {
        /// The address.
        address: u32,
    },
    /// The operating system refused a thread or a file.
    #[error("the operating system refused to {what}")]
    System {
        /// What was asked for, as the end of a sentence.
        what: &'static str,
        /// Its answer.
        #[source]
        cause: io::Error,
    },
}

/// How a sandbox treats memory, and what its guests see of time and chance.
#[derive(Debug, Clone, Copy)]
pub struct SandboxConfig {
    /// Private memory that a slot may keep between runs.
    pub keep: ByteCount,
    /// Private memory that the slots of images may keep that do not run, all together.
    pub keep_idle: ByteCount,
    /// Whether every reset is compared with the image.
    pub verify: Verify,
    /// Where time and randomness come from.
    pub ambient: AmbientMode,
    /// The time of day of live runs.
    pub clock: Clock,
}

impl Default for SandboxConfig {
    /// Keeps as much as a program touches that draws a chart, and trusts the tests.
    fn default() -> Self {
        Self {
            keep: ByteCount::mebibytes(32),
            keep_idle: ByteCount::mebibytes(32),
            verify: Verify::Never,
            ambient: AmbientMode::Live,
            clock: Clock::System,
        }
    }
}

/// Loaded code and attached images, ready to run one guest at a time.
#[derive(Debug)]
pub struct Sandbox {
    config: SandboxConfig,
    library: Library,
    codes: Vec<LoadedCode>,
    images: Gallery,
    attachments: Attachments,
    slots: Arc<SlotRules>,
    watchdog: Option<Watchdog>,
}

impl Sandbox {
    /// A sandbox without code and images. Opens what it needs of `/proc`.
    #[must_use]
    pub fn new(library: Library, config: SandboxConfig) -> Self {
        let slots = SlotRules::new(config.keep.as_usize(), config.verify, DirtyPages::best());
        Self {
            config,
            library,
            codes: Vec::new(),
            images: Gallery::default(),
            attachments: Attachments::default(),
            slots,
            watchdog: None,
        }
    }

    /// Loads code; takes some 10 ms. Must happen before the process locks itself down.
    ///
    /// # Errors
    ///
    /// The code is not for this engine.
    pub fn add_code(&mut self, spec: CodeSpec) -> Result<(), SandboxError> {
        self.codes.push(LoadedCode::load(spec)?);
        Ok(())
    }

    /// Starts the watchdog's thread. Nothing runs before.
    ///
    /// # Errors
    ///
    /// The operating system refuses the thread.
    pub fn start(&mut self) -> Result<(), SandboxError> {
        let refused = |cause| SandboxError::System { what: "start the watchdog", cause };
        self.watchdog = Some(Watchdog::spawn().map_err(refused)?);
        Ok(())
    }

    /// The code that there is.
    pub fn variants(&self) -> impl Iterator<Item = Variant> {
        self.codes.iter().map(LoadedCode::variant)
    }

    /// How private pages are found, for reports.
    #[must_use]
    pub fn reset_method(&self) -> &'static str {
        self.slots.dirty().name()
    }

    /// Descriptors that must stay open for the life of the sandbox, as far as they are open now.
    #[must_use]
    pub fn kept_descriptors(&self) -> Vec<RawFd> {
        let mut kept = self.library.descriptors();
        kept.extend(self.slots.dirty().file().map(std::os::fd::AsRawFd::as_raw_fd));
        kept
    }

    /// Keeps an image that runs can begin as until it is detached. Costs a mapping, no memory.
    ///
    /// # Errors
    ///
    /// The memory is not sealed or is no image.
    pub fn attach_image(&mut self, digest: Digest, spec: ImageSpec) -> Result<(), SandboxError> {
        self.images.add(digest, LoadedImage::load(spec, &self.slots)?);
        Ok(())
    }

    /// Forgets an image; unknown ones are no error.
    pub fn detach_image(&mut self, digest: &Digest) {
        self.images.remove(digest);
    }

    /// Keeps a skill's files until they are detached.
    ///
    /// # Errors
    ///
    /// A file lies outside of the payload, or the paths make no folder.
    pub fn attach_skill(
        &mut self,
        digest: Digest,
        files: Vec<PackedFile>,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        self.attachments.attach_skill(digest, files, payload)
    }

    /// Keeps a blob's content until it is detached.
    ///
    /// # Errors
    ///
    /// The payload is shorter than it says.
    pub fn attach_blob(&mut self, id: BlobId, payload: Payload) -> Result<(), SandboxError> {
        self.attachments.attach_blob(id, payload)
    }

    /// Forgets a skill; unknown ones are no error.
    pub fn detach_skill(&mut self, digest: &Digest) {
        self.attachments.detach_skill(digest);
    }

    /// Forgets a blob; unknown ones are no error.
    pub fn detach_blob(&mut self, id: &BlobId) {
        self.attachments.detach_blob(id);
    }

    /// The code that has these checks.
    fn code(&self, variant: Variant) -> Option<&LoadedCode> {
        self.codes.iter().find(|code| code.variant() == variant)
    }

    /// Says whether the memory of the runs so far has returned to its images. Ask when the last
    /// [`Finished`] has been dropped; costs no system call.
    ///
    /// # Errors
    ///
    /// A slot could not be reset: no further guest may run in this process.
    pub fn check(&self) -> Result<(), SandboxError> {
        self.slots.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Runs one program to its end.
    ///
    /// The guest's memory returns to its image when the result is dropped, so the caller can
    /// answer first.
    ///
    /// # Errors
    ///
    /// Only faults of the sandbox: a guest that misbehaves is an outcome.
    pub fn run(&mut self, spec: &RunSpec, host: Box<dyn Host>) -> Result<Finished, SandboxError> {
        run::run(self, spec, host)
    }
}
