//! Files in packs: the tree, the bytes of files, the descriptors.

pub(crate) mod contents;
pub(crate) mod descriptors;
pub(crate) mod tree;
