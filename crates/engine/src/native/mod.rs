//! Merges native modules of Python packages into the engine's module.
//!
//! The result is one module, so polls, metering, images and checks see nothing new. A native module is
//! position-independent (`dylink.0`, as in wheels for Emscripten and those of `scripts/build-native`) and gets
//! the next free addresses and slots. What it imports is found by name: functions of the C API and of the C library in the engine's name
//! section, data in a [table of addresses](DataAddresses), and what the engine lacks in *shims*, a module of
//! small functions that is merged first. The engine's own functions are copied as bytes, never decoded.
//!
//! INVARIANT(known-parts): everything that the merge does not know is refused: other imports, passive
//! segments, variables, functions of another type, start functions that do more than clear memory.

mod addresses;
mod code;
mod engine_module;
mod error;
mod linking;
mod merge;
#[cfg(test)]
mod merged_code_tests;
mod merging;
mod output;
mod set;
mod side;

pub use crate::native::addresses::DataAddresses;
pub use crate::native::error::{MergeError, SideFault};
pub use crate::native::merge::{NativeModule, NativeRole, merge};
pub use crate::native::set::{
    MergedModule, MergedNumbers, NativeSet, PinnedModule, SourceDistribution, UNKNOWN_LICENCE,
};
