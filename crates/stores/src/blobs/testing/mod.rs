//! A second store of blobs, for tests: in memory, with the suspension points of a store that is
//! reached over a network. It passes the same contract tests as the local one.

mod id_keys;
mod memory_blobs;
mod memory_files;
mod memory_objects;

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod place_tests;
#[cfg(test)]
mod remote_tests;

pub use crate::blobs::testing::id_keys::{DerivedIdKeys, MemoryIdKeys};
pub use crate::blobs::testing::memory_blobs::MemoryBlobs;
pub use crate::blobs::testing::memory_files::MemoryFiles;
pub use crate::blobs::testing::memory_objects::{MemoryObjects, ObjectFault};
