//! The source of the engine: the pinned digests, and the download.

pub mod fetch;
pub mod pin;
