//! Runs one Python program in a fresh WebAssembly instance and reports how it ended.
//!
//! Knows nothing of tenants, manifests, JSON-RPC or processes: it is handed a [`RunSpec`] with
//! every decision already made, and whatever the guest wants from outside goes to a [`Host`].
//!
//! INVARIANT(fresh): no byte written by one run is readable by another. Memory returns to its
//! image (see [`memory`]); everything else is made anew for each run.

pub mod ambient;
pub mod capture;
pub mod deadline;
pub mod door;
pub mod memory;
pub mod preview1;
pub mod vfs;

mod attachments;
mod ending;
mod guest;
mod image;
mod job_text;
mod library;
mod run;
mod warm;
mod watchdog;

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use crate::clock::Clock;
use crate::engine::EngineError;
use crate::engine::compile::Variant;
use crate::ids::{BlobId, Digest};
use crate::job::RunSpec;
use crate::job::message::{PackedFile, Payload};
use crate::sandbox::ambient::AmbientMode;
use crate::sandbox::attachments::Attachments;
use crate::sandbox::image::LoadedImage;
use crate::sandbox::memory::{DirtyPages, MemoryError, Verify};
use crate::sandbox::vfs::immutable::TreeError;
use crate::sandbox::vfs::{Errno, MountError};
use crate::sandbox::watchdog::Watchdog;
use crate::units::ByteCount;

pub use crate::sandbox::door::Host;
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
    /// A run mounts something that was not attached, or names an image that is not there.
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
    /// Whether every reset is compared with the image.
    pub verify: Verify,
    /// Where time and randomness come from.
    pub ambient: AmbientMode,
    /// The time of day of live runs.
    pub clock: Clock,
}

impl Default for SandboxConfig {
    /// Keeps as much as a usual pandas program touches, and trusts the tests.
    fn default() -> Self {
        Self {
            keep: ByteCount::mebibytes(16),
            verify: Verify::Never,
            ambient: AmbientMode::Live,
            clock: Clock::System,
        }
    }
}

/// Loaded code and images, ready to run one guest at a time.
#[derive(Debug)]
pub struct Sandbox {
    config: SandboxConfig,
    library: Library,
    images: Vec<LoadedImage>,
    attachments: Attachments,
    dirty: Arc<DirtyPages>,
    watchdog: Option<Watchdog>,
}

impl Sandbox {
    /// A sandbox without images. Opens what it needs of `/proc`.
    #[must_use]
    pub fn new(library: Library, config: SandboxConfig) -> Self {
        Self {
            config,
            library,
            images: Vec::new(),
            attachments: Attachments::default(),
            dirty: Arc::new(DirtyPages::best()),
            watchdog: None,
        }
    }

    /// Loads an image with its code; takes some 10 ms. The first one is the base image.
    ///
    /// # Errors
    ///
    /// The image is not sealed or the code is not for this engine.
    pub fn add_image(&mut self, spec: ImageSpec) -> Result<(), SandboxError> {
        let image = LoadedImage::load(spec, &self.config, &self.dirty)?;
        self.images.push(image);
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

    /// Names of the images, the base image first.
    pub fn image_names(&self) -> impl Iterator<Item = (&str, Variant)> {
        self.images.iter().map(|image| (image.name(), image.variant()))
    }

    /// How private pages are found, for reports.
    #[must_use]
    pub fn reset_method(&self) -> &'static str {
        self.dirty.name()
    }

    /// Descriptors that must stay open for the life of the sandbox.
    #[must_use]
    pub fn kept_descriptors(&self) -> Vec<RawFd> {
        let mut kept = self.library.descriptors();
        kept.extend(self.images.iter().map(LoadedImage::descriptor));
        kept.extend(self.dirty.file().map(std::os::fd::AsRawFd::as_raw_fd));
        kept
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

    /// The first image whose code has these checks.
    fn image(&self, variant: Variant) -> Option<&LoadedImage> {
        self.images.iter().find(|image| image.variant() == variant)
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
