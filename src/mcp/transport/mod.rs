//! The ways on which messages come and go: HTTP, and the standard input and output.

pub(crate) mod active;
pub(crate) mod bridged;
pub(crate) mod http;
pub(crate) mod lines;
pub(crate) mod stdio;
