//! The engine.
pub mod abi;
pub mod compile;
pub mod hollow;

use std::error::Error;

/// Why the engine cannot be prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// wasmtime refuses something.
    #[error("{problem}")]
    Native {
        /// What.
        problem: &'static str,
        /// Why.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}
