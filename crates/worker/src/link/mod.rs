//! The socket between a worker and its gateway, from the worker's end.

pub mod channel;
pub mod error;
pub(crate) mod outbox;
