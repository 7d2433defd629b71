//! Checkpoints: the state of a guest between two turns as bytes, and a guest from such bytes.
//!
//! Between two turns a guest is its memory, its files and its clocks. The native stack is empty, the
//! stack pointer is back at its start, and everything else of a turn begins anew with the next one.
//! [`Sandbox::checkpoint`](crate::Sandbox::checkpoint) makes a pack of it,
//! [`Sandbox::resume`](crate::Sandbox::resume) a guest from a chain of packs, on another slot or in
//! another process. The format is described in [`pack`].
//!
//! INVARIANT(parked-unchanged): a guest that was parked and resumed goes on as one that was not: it has
//! the same memory to the byte, the same files and descriptors, and its monotonic clock has not counted
//! the time in between.

mod checkpoint;
mod clocks;
mod error;
mod examine;
mod files;
mod free_heap;
mod pack;
mod pages;
mod parking;
mod resume;
mod state;

#[cfg(test)]
mod tests;

pub use crate::session::error::PackError;
pub use crate::session::examine::{ExaminedFiles, examine, examine_files};
pub use crate::session::pack::head::Pack;
pub(crate) use crate::session::parking::Parking;
