//! What a guest does with paths and descriptors.

pub(crate) mod change;
pub(crate) mod duplicate;
pub(crate) mod harvest;
pub(crate) mod host_files;
pub(crate) mod image;
pub(crate) mod listing;
pub(crate) mod open;
pub(crate) mod rename;
pub(crate) mod stat;
pub(crate) mod transfer;
