//! The parts of a blob: kind, content, hash and trailer.

pub(crate) mod digest;
pub mod kind;
pub mod preview;
pub(crate) mod trailer;
