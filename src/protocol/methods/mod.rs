//! Parameters and results of the eight methods.

pub mod blobs;
pub mod bootstrap;
pub mod discovery;
pub mod execution;
