//! The sandbox as a [`Runner`], and the setup of a worker.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd, RawFd};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::host::ChannelHost;
use crate::runner::{Abilities, Runner, RunnerError};
use wardian_engine::code::compile::CodeOptions;
use wardian_engine::library::mpl_data;
use wardian_engine::{CStack, HeapPlace, RandomPlace, SignalPlaces};
use wardian_formats::job::attachment::{AttachedContent, Attachment, AttachmentKey};
use wardian_formats::job::message::Payload;
use wardian_formats::job::session::files::FilesOrder;
use wardian_formats::job::{Setup, Turn};
use wardian_sandbox::memory::{PayloadBytes, Verify};
use wardian_sandbox::{
    CodeSpec, ImageSpec, Library, OpenGuest, Pack, PackError, Sandbox, SandboxConfig, SandboxError,
    Stopwatch, TurnEnd,
};
use wardian_vocabulary::units::ByteCount;

/// The setup of a worker. Files are numbers of inherited descriptors that the gateway has checked,
/// so a worker opens no file by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSetup {
    /// The interpreter's library.
    pub library: RawFd,
    /// The engine's code. Images are attached later: mapping their memory needs no privileges.
    pub code: Vec<CodeSetup>,
    /// Pages that the engine's module declares.
    pub declared_pages: usize,
    /// The place of the engine's C stack, which checkpoints leave out.
    pub c_stack: CStack,
    /// The words by which the engine's interpreter is told of signals.
    pub signals: SignalPlaces,
    /// Where the engine's C library notes its free memory, which checkpoints leave out.
    pub heap: HeapPlace,
    /// Where SQLite notes the state of its random numbers.
    pub sqlite: RandomPlace,
    /// Private memory that a slot may keep between runs.
    pub keep: ByteCount,
    /// Private memory that the slots of idle images may keep.
    pub keep_idle: ByteCount,
    /// True if the whole memory is compared with its image after every run.
    pub is_paranoid: bool,
    /// User to become if started as root.
    pub uid: u32,
    /// Group to become if started as root.
    pub gid: u32,
    /// Private memory of the process.
    pub memory: ByteCount,
    /// Addresses of the process.
    pub addresses: ByteCount,
    /// Largest memory file.
    pub file_size: ByteCount,
    /// True if no guest runs when a wall of the lock-down is missing.
    pub requires_lockdown: bool,
}

/// Code that a worker loads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeSetup {
    /// The choices that the code was compiled with.
    pub options: CodeOptions,
    /// The native code.
    pub native: RawFd,
}

/// A [`Runner`] of Python.
#[derive(Debug)]
pub struct PythonRunner {
    sandbox: Sandbox,
}

impl PythonRunner {
    /// Loads the engine.
    ///
    /// # Errors
    ///
    /// A descriptor is not what it should be, or the engine's code does not fit.
    pub fn load(setup: &WorkerSetup) -> Result<Self, RunnerError> {
        let archive = File::from(inherited(setup.library)?);
        let data = mpl_data(&archive)?;
        let library = Library::new(archive, data)?;
        let verify = if setup.is_paranoid { Verify::Always } else { Verify::Never };
        let config = SandboxConfig {
            keep: setup.keep,
            keep_idle: setup.keep_idle,
            verify,
            c_stack: Some(setup.c_stack),
            heap: Some(setup.heap),
            sqlite: Some(setup.sqlite),
            ..SandboxConfig::default()
        };
        let mut sandbox = Sandbox::new(library, config);
        for code in &setup.code {
            sandbox.add_code(CodeSpec {
                options: code.options,
                native: File::from(inherited(code.native)?),
                declared_pages: setup.declared_pages,
                signals: setup.signals,
            })?;
        }
        Ok(Self { sandbox })
    }
}

/// Tells a fault of packs, after which the sandbox can go on, from others.
fn refusal<T>(end: Result<T, SandboxError>) -> Result<Result<T, PackError>, RunnerError> {
    match end {
        Ok(done) => Ok(Ok(done)),
        Err(SandboxError::Pack(refused)) => Ok(Err(refused)),
        Err(fault) => Err(fault.into()),
    }
}

/// A new descriptor for an inherited one. The lock-down closes the inherited descriptors with all
/// others that are not needed.
fn inherited(descriptor: RawFd) -> Result<OwnedFd, RunnerError> {
    let path = format!("/proc/self/fd/{descriptor}");
    Ok(File::open(path)?.as_fd().try_clone_to_owned()?)
}

impl Runner for PythonRunner {
    type Guest = OpenGuest;

    fn abilities(&self) -> Abilities {
        let code = self.sandbox.variants().map(|variant| variant.to_string()).collect();
        Abilities { code, reset: self.sandbox.reset_method().to_owned() }
    }

    fn kept_descriptors(&self) -> Vec<RawFd> {
        self.sandbox.kept_descriptors()
    }

    fn enter_process(&mut self) {
        self.sandbox.enter_process();
    }

    fn start(&mut self) -> Result<(), RunnerError> {
        Ok(self.sandbox.start()?)
    }

    fn attach(&mut self, attachment: Attachment, content: Payload) -> Result<(), RunnerError> {
        let key = attachment.key();
        match attachment.content {
            AttachedContent::Skill { files, .. } => {
                self.sandbox.attach_skill(key, files, content)?;
            }
            AttachedContent::Blob { .. } => self.sandbox.attach_blob(key, content)?,
            AttachedContent::Layer { .. } => self.sandbox.attach_layer(key, content)?,
            AttachedContent::Image { open_files, .. } => {
                let descriptors = serde_json::from_str(open_files.get())?;
                // An image consists of pages that processes share, so it must be a file.
                let Payload::Shared(memory, _) = content else {
                    return Err(SandboxError::Attachment.into());
                };
                self.sandbox.attach_image(key, ImageSpec { memory, descriptors })?;
            }
        }
        Ok(())
    }

    fn detach(&mut self, key: &AttachmentKey) {
        self.sandbox.detach(key);
    }

    fn open(&mut self, setup: Arc<Setup>) -> Result<OpenGuest, RunnerError> {
        Ok(self.sandbox.open(setup)?)
    }

    fn resume(
        &mut self,
        setup: Arc<Setup>,
        packs: Vec<Payload>,
    ) -> Result<Result<OpenGuest, PackError>, RunnerError> {
        let packs: Result<Vec<_>, _> = packs.into_iter().map(PayloadBytes::open).collect();
        let packs = packs?;
        let packs: Vec<&[u8]> = packs.iter().map(AsRef::as_ref).collect();
        refusal(self.sandbox.resume(setup, &packs))
    }

    fn checkpoint(
        &mut self,
        guest: &mut OpenGuest,
    ) -> Result<Result<Pack, PackError>, RunnerError> {
        refusal(self.sandbox.checkpoint(guest))
    }

    fn turn(
        &mut self,
        guest: &mut OpenGuest,
        turn: &Turn,
        host: ChannelHost,
        watch: Stopwatch,
    ) -> Result<TurnEnd, RunnerError> {
        Ok(self.sandbox.turn(guest, turn, Box::new(host), watch)?)
    }

    fn files(
        &mut self,
        guest: &mut OpenGuest,
        (order, content): (&FilesOrder, Payload),
        mut host: ChannelHost,
        watch: Stopwatch,
    ) -> Result<TurnEnd, RunnerError> {
        let content = PayloadBytes::open(content)?;
        Ok(self.sandbox.files(guest, (order, content.as_ref()), &mut host, watch)?)
    }

    fn close(&mut self, guest: OpenGuest) -> Result<(), RunnerError> {
        Ok(self.sandbox.close(guest)?)
    }
}
