//! The ways on which messages come and go: HTTP, and the standard input and output.

pub(super) mod active;
pub(crate) mod bridged;
pub(super) mod http;
pub(super) mod lines;
pub(super) mod stdio;
