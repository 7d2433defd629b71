//! The sandbox as the worker's main loop sees it, and what a worker is started with.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd, RawFd};

use serde::{Deserialize, Serialize};

use crate::engine::compile::Variant;
use crate::engine::library::mpl_data;
use crate::ids::{BlobId, Digest};
use crate::job::RunSpec;
use crate::job::message::{PackedFile, Payload, Refusal};
use crate::sandbox::memory::Verify;
use crate::sandbox::vfs::ImageDescriptors;
use crate::sandbox::{Finished, Host, ImageSpec, Library, Sandbox, SandboxConfig};
use crate::units::ByteCount;
use crate::worker::host::{ChannelHost, GuestHost as _};
use crate::worker::runner::{Abilities, Ended, Runner, RunnerError};

/// What a worker is started with. Files are numbers of descriptors that it inherits, checked by
/// the gateway: a worker opens nothing by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSetup {
    /// The interpreter's library.
    pub library: RawFd,
    /// The images, the base image first.
    pub images: Vec<ImageSetup>,
    /// Private memory that a slot may keep between runs.
    pub keep: ByteCount,
    /// Whether to compare the whole memory with its image after every run.
    pub is_paranoid: bool,
    /// User to become if started as root.
    pub uid: u32,
    /// Group to become if started as root.
    pub gid: u32,
    /// Whether to refuse to run guests where a wall of the lock-down is missing.
    pub requires_lockdown: bool,
}

/// An image that a worker loads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSetup {
    /// Its name.
    pub name: String,
    /// Which checks its code has.
    pub variant: Variant,
    /// Its native code.
    pub native: RawFd,
    /// Its sealed memory.
    pub memory: RawFd,
    /// Files that are open in it.
    pub descriptors: ImageDescriptors,
    /// Pages that the module declares.
    pub declared_pages: usize,
}

/// A [`Runner`] of Python.
#[derive(Debug)]
pub struct PythonRunner {
    sandbox: Sandbox,
}

impl PythonRunner {
    /// Loads the engine and its images.
    ///
    /// # Errors
    ///
    /// A descriptor is not what it should be, or the engine's code does not fit.
    pub fn load(setup: &WorkerSetup) -> Result<Self, RunnerError> {
        let archive = File::from(inherited(setup.library)?);
        let data = mpl_data(&archive)?;
        let library = Library::new(archive, data)?;
        let verify = if setup.is_paranoid { Verify::Always } else { Verify::Never };
        let config = SandboxConfig { keep: setup.keep, verify, ..SandboxConfig::default() };
        let mut sandbox = Sandbox::new(library, config);
        for image in &setup.images {
            sandbox.add_image(ImageSpec {
                name: image.name.clone(),
                variant: image.variant,
                native: File::from(inherited(image.native)?),
                memory: inherited(image.memory)?,
                descriptors: image.descriptors.clone(),
                declared_pages: image.declared_pages,
            })?;
        }
        Ok(Self { sandbox })
    }
}

/// A descriptor of our own for one that was inherited. The inherited ones are closed with
/// everything else that is not needed.
fn inherited(descriptor: RawFd) -> Result<OwnedFd, RunnerError> {
    let path = format!("/proc/self/fd/{descriptor}");
    Ok(File::open(path)?.as_fd().try_clone_to_owned()?)
}

impl Runner for PythonRunner {
    fn abilities(&self) -> Abilities {
        let images = self.sandbox.image_names().map(|(name, variant)| format!("{name} {variant}"));
        let reset = self.sandbox.reset_method().to_owned();
        Abilities { images: images.collect(), reset }
    }

    fn kept_descriptors(&self) -> Vec<RawFd> {
        self.sandbox.kept_descriptors()
    }

    fn start(&mut self) -> Result<(), RunnerError> {
        Ok(self.sandbox.start()?)
    }

    fn attach_skill(
        &mut self,
        digest: Digest,
        files: Vec<PackedFile>,
        content: Payload,
    ) -> Result<(), RunnerError> {
        Ok(self.sandbox.attach_skill(digest, files, content)?)
    }

    fn attach_blob(&mut self, id: BlobId, content: Payload) -> Result<(), RunnerError> {
        Ok(self.sandbox.attach_blob(id, content)?)
    }

    fn detach_skill(&mut self, digest: &Digest) {
        self.sandbox.detach_skill(digest);
    }

    fn detach_blob(&mut self, id: &BlobId) {
        self.sandbox.detach_blob(id);
    }

    fn run(&mut self, spec: &RunSpec, host: ChannelHost) -> Result<Ended, RunnerError> {
        let mut finished: Finished = self.sandbox.run(spec, Box::new(Gateway(host)))?;
        let output = finished.outcome.end.is_ok().then(|| std::mem::take(&mut finished.output));
        Ok(Ended { outcome: finished.outcome.clone(), output, remains: Box::new(finished) })
    }
}

/// The gateway as a guest's host.
struct Gateway(ChannelHost);

impl Host for Gateway {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        self.0.write_blob(kind, content)
    }

    fn is_cancelled(&mut self) -> bool {
        self.0.is_cancelled()
    }
}
