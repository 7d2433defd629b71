//! The content that a worker keeps for later runs: images, skills, blobs, the library.

pub(crate) mod contents;
pub(crate) mod file_part;
pub(crate) mod image;
pub(crate) mod images;
pub(crate) mod layer;
pub(crate) mod library;
