//! Errors of making images.

use wardian_engine::EngineError;
use wardian_sandbox::SandboxError;

/// Errors of making images.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The cache or the engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The interpreter could not be warmed up, or memory is short.
    #[error("the image `{name}` cannot be built")]
    Sandbox {
        /// The name of the image.
        name: String,
        /// The reason.
        #[source]
        cause: SandboxError,
    },
    /// The image would have batteries, and they are not on this machine.
    #[error(
        "the image `{name}` has batteries, which are not on this machine: `wardian engine install` \
         fetches them"
    )]
    NoBatteries {
        /// The name of the image.
        name: String,
    },
    /// The cache could not be read or written.
    #[error("the image `{name}` cannot be kept in the cache")]
    Storage {
        /// The name of the image.
        name: String,
        /// The reason.
        #[source]
        cause: std::io::Error,
    },
}
