//! What a worker keeps for runs to come: images, skills, blobs, the library.

pub(crate) mod contents;
pub(crate) mod image;
pub(crate) mod images;
pub(crate) mod library;
