//! Pages: which ones of a guest's memory have changed, their hashes, and how packs describe them.

pub(crate) mod frame;
pub(crate) mod hash;
pub(crate) mod list;
pub(crate) mod memory;
