//! Reads the operator's skill folders, within limits, and finds changes since the last reading.

pub(crate) mod folder_check;
pub(crate) mod handle;
pub(crate) mod notices;
pub(crate) mod roots;
pub(crate) mod scan;
pub mod snapshot;
pub(crate) mod walk;
