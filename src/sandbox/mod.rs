//! Runs one Python program in a fresh WebAssembly instance and reports how it ended.
//!
//! Knows nothing of manifests, JSON-RPC or processes: it gets a complete
//! [`RunSpec`](crate::job::RunSpec), and a guest's requests go to a
//! [`Host`](crate::job::host::Host).
//!
//! INVARIANT(fresh): no byte written by one run is readable by another. Memory returns to its
//! image (see [`memory`]); everything else is created for each run.

mod attached;
pub mod clock_and_random;
pub mod codecs;
mod config;
mod error;
pub mod host_call;
mod loaded;
pub mod memory;
pub mod preview1;
mod profile;
pub mod run;
pub mod vfs;
mod warm_up;

pub use crate::sandbox::attached::image::ImageSpec;
pub use crate::sandbox::attached::library::Library;
pub use crate::sandbox::config::SandboxConfig;
pub use crate::sandbox::error::SandboxError;
pub use crate::sandbox::loaded::Sandbox;
pub use crate::sandbox::run::code::CodeSpec;
pub use crate::sandbox::run::execute::Finished;
pub use crate::sandbox::warm_up::{Preset, WarmUp, Warmed, warm_up};
