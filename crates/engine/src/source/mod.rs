//! The source of the engine: the pinned digests, and the download.

pub mod fetch;
pub mod native_choice;
pub mod native_lock;
pub(crate) mod native_wheels;
pub mod pin;
pub mod pinned_file;
mod wheel_tags;
