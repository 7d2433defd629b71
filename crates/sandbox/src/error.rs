//! Failures of the sandbox itself.

use std::io;

use crate::memory::MemoryError;
use crate::session::PackError;
use crate::vfs::tree::immutable::TreeError;
use crate::vfs::{Errno, MountError};
use wardian_engine::EngineError;

/// The reason why the sandbox itself failed. After any of these but [`Self::Pack`], the process must
/// not run further guests.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Memory could not be allocated or restored.
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
    #[error("the open files of an image cannot be reopened")]
    Descriptors(#[source] Errno),
    /// A skill's files make no folder.
    #[error("a skill's files do not form a directory tree")]
    Skill(#[source] TreeError),
    /// An attachment is shorter than its stated size.
    #[error("an attachment is shorter than its stated size")]
    Attachment,
    /// A run needs a skill, blob or image that was not attached, or code that was not loaded.
    #[error("a run needs something that this sandbox does not have")]
    NotAttached,
    /// A turn has a limit on fuel and its guest's code does not count it, or the other way round.
    #[error("a turn's limit on fuel does not fit its guest's code")]
    Fuel,
    /// A turn for a guest that was closed, or that a turn before did not leave whole.
    #[error("the guest cannot have another turn")]
    Over,
    /// A guest cannot be parked, or cannot be resumed from these packs.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A job cannot be written as JSON.
    #[error("a job cannot be written as JSON")]
    Job(#[source] serde_json::Error),
    /// The interpreter could not be warmed up.
    #[error("the interpreter could not be warmed up: {reason}")]
    WarmUp {
        /// Its message.
        reason: String,
    },
    /// The engine's memory is of another release than the host's addresses.
    #[error(
        "the engine's memory does not have the expected bytes at address {address}: the address \
        belongs to another release of the engine"
    )]
    Unexpected {
        /// The address.
        address: u32,
    },
    /// The operating system refused a thread or a file.
    #[error("the operating system refused to {what}")]
    System {
        /// The request, as the end of a sentence.
        what: &'static str,
        /// Its answer.
        #[source]
        cause: io::Error,
    },
}
