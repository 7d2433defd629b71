//! Reads the operator's skill folders, within limits, and finds changes since the last reading.

pub(crate) mod folder_check;
pub mod handle;
pub(crate) mod notices;
pub mod roots;
pub mod scan;
pub mod snapshot;
pub mod trust;
pub mod walk;
