//! Runs one Python program in a fresh WebAssembly instance and reports how it ended.
//!
//! Knows nothing of manifests, JSON-RPC or processes: it gets a
//! [`Setup`](wardian_formats::job::Setup) and a [`Turn`](wardian_formats::job::Turn) with every
//! decision already made, and a guest's requests go to a [`Host`](wardian_formats::job::host::Host).
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
pub(crate) mod preview1;
mod profile;
pub mod run;
pub mod session;
pub mod vfs;
mod warm_up;

pub use crate::attached::image::ImageSpec;
pub use crate::attached::library::Library;
pub use crate::config::SandboxConfig;
pub use crate::error::SandboxError;
pub use crate::loaded::Sandbox;
pub use crate::memory::GUEST_STACK;
pub use crate::run::code::CodeSpec;
pub use crate::run::guest::OpenGuest;
pub use crate::run::stopwatch::Stopwatch;
pub use crate::run::turn::TurnEnd;
pub use crate::session::{Pack, PackError};
pub use crate::warm_up::{Preset, WarmUp, warm_up};
