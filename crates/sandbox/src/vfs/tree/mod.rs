//! What a guest's paths lead to: nodes, mounts, devices, and the bytes of files.

pub mod content;
pub(crate) mod device;
pub(crate) mod devices;
pub mod immutable;
pub mod mount;
pub(crate) mod node;
pub(crate) mod quota;
pub(crate) mod storage;
