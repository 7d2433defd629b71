//! The parts of a blob: kind, content, hash and trailer.

pub mod blob_id;
pub mod file_name;
pub mod kind;
pub mod preview;
pub(crate) mod trailer;
