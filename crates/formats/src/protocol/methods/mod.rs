//! Parameters and results of the eight methods.

pub mod asking;
pub mod blob_members;
pub mod blobs;
pub mod bootstrap;
pub mod cells;
pub mod discovery;
pub mod execution;
pub mod input_blob;
pub mod limit_bounds;
pub mod requested_limits;
pub mod run_answers;
pub mod scripts;
