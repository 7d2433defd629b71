//! Runs one Python program in a fresh WebAssembly instance and reports how it ended.
//!
//! Knows nothing of tenants, manifests, JSON-RPC or processes: it is handed a
//! [`RunSpec`](crate::job::RunSpec) with every decision already made, and a guest's requests go to
//! a [`Host`](crate::job::host::Host).
//!
//! INVARIANT(fresh): no byte written by one run is readable by another. Memory returns to its
//! image (see [`memory`]); everything else is made anew for each run.

mod attached;
pub mod clock_and_random;
pub mod codecs;
mod config;
mod error;
pub mod host_call;
mod loaded;
pub mod memory;
pub mod preview1;
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
