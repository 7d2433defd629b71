//! Errors of merging native modules into the engine's module.

use wardian_vocabulary::ids::Digest;
use wasm_encoder::reencode;

/// Errors of merging native modules into the engine's module.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The set that was built in is malformed.
    #[error("the set of native modules is malformed")]
    Set(#[source] toml::de::Error),
    /// The shims that were built in are malformed.
    #[error("the shims of native modules are malformed")]
    Shims,
    /// There are more or fewer files than modules.
    #[error("there is not one file for each native module")]
    Files,
    /// The file of a module is not the pinned one.
    #[error("the file of `{module}` is not the pinned one: its SHA-256 is {found}, not {pinned}")]
    File {
        /// The name under which the module is imported.
        module: String,
        /// The digest that it should have.
        pinned: Digest,
        /// The digest that it has.
        found: Digest,
    },
    /// A table of addresses is malformed.
    #[error("the table of addresses, line {line}: {problem}")]
    Addresses {
        /// Number of the line, from 1.
        line: usize,
        /// The problem.
        problem: &'static str,
    },
    /// The engine's module cannot be read.
    #[error("the engine's module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// The engine's module is not laid out as the merge needs it.
    #[error("the engine's module {0}")]
    Engine(&'static str),
    /// A native module cannot be merged.
    #[error("the native module `{module}` cannot be merged")]
    Side {
        /// The name under which it is imported.
        module: String,
        /// The reason.
        #[source]
        fault: SideFault,
    },
    /// The merged module is not the pinned one.
    #[error("the merged module has the SHA-256 {found}, not {pinned}")]
    Result {
        /// The digest that it should have.
        pinned: Digest,
        /// The digest that it has.
        found: Digest,
    },
    /// The merged module is not that of the operator's lock.
    #[error(
        "the merged module has the SHA-256 {found}, and the lock has {pinned}: another version of this program wrote \
         it, or it was changed by hand; `wardian engine build` writes it again"
    )]
    Locked {
        /// The digest in the lock.
        pinned: Digest,
        /// The digest that it has.
        found: Digest,
    },
}

/// The reason why a native module cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum SideFault {
    /// The bytes are not a valid module.
    #[error("it is not a valid module")]
    Malformed(#[from] wasmparser::Error),
    /// The module has something that the merge does not know.
    #[error("it has {0}")]
    Unsupported(&'static str),
    /// Something that it imports is missing, ambiguous or different.
    #[error("it imports `{name}`, {problem}")]
    Import {
        /// The name of the import.
        name: String,
        /// The problem.
        problem: &'static str,
    },
    /// Something that it exports is missing or clashes.
    #[error("its export `{name}` {problem}")]
    Export {
        /// The name of the export.
        name: String,
        /// The problem.
        problem: &'static str,
    },
    /// An instruction that cannot be written again.
    #[error("it has an instruction that cannot be encoded: {0}")]
    Instruction(String),
}

impl SideFault {
    pub(super) fn import(name: &str, problem: &'static str) -> Self {
        Self::Import { name: name.to_owned(), problem }
    }

    pub(super) fn export(name: &str, problem: &'static str) -> Self {
        Self::Export { name: name.to_owned(), problem }
    }

    pub(super) fn of(self, module: &str) -> MergeError {
        MergeError::Side { module: module.to_owned(), fault: self }
    }
}

impl From<reencode::Error<SideFault>> for SideFault {
    fn from(error: reencode::Error<Self>) -> Self {
        match error {
            reencode::Error::ParseError(cause) => Self::Malformed(cause),
            reencode::Error::UserError(fault) => fault,
            other => Self::Instruction(other.to_string()),
        }
    }
}
