//! A run while it is executed.

pub(crate) mod execution;
pub(crate) mod host;
pub(crate) mod log_stream;
pub(crate) mod pipeline;
pub(crate) mod run_trace;
