//! Errors of embedding.

use std::io;

use wardian_engine::EngineError;
use wardian_image_builder::ImageError;
use wardian_sandbox::SandboxError;

/// The reason why a program could not be run. A program that misbehaves is an
/// [`Outcome`](crate::Outcome), not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// The engine cannot be fetched or compiled, or the cache folder cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The image cannot be made or read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The sandbox itself failed. It runs nothing afterwards; make another one.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// An earlier run broke this sandbox.
    #[error("the sandbox was broken by an earlier run: make another one")]
    Broken,
    /// A limit is out of range.
    #[error("the limit `{limit}` must be {range}")]
    Limit {
        /// The field of [`RunLimits`](crate::RunLimits).
        limit: &'static str,
        /// The values that it may have.
        range: String,
    },
    /// Fuel is limited and the engine has no code that counts it.
    #[error("a limit on fuel needs an engine that counts it: call `Engine::with_metering`")]
    NotMetered,
    /// The image of reproducible runs was asked for.
    #[error(
        "the image `reproducible` has a hash secret that everybody knows: choose packages by name, \
         or none"
    )]
    PublicSecret,
    /// The arguments of a run are not a JSON object.
    #[error("the arguments of a run must be a JSON object")]
    Arguments,
    /// The operating system refused a thread or a path.
    #[error("the operating system refused to {what}")]
    System {
        /// The request, as the end of a sentence.
        what: &'static str,
        /// Its answer.
        #[source]
        cause: io::Error,
    },
}
