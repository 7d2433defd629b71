//! Connections: their number, and the time-outs of each step of an exchange.

pub(crate) mod limit;
pub(crate) mod repoll;
pub(crate) mod timeouts;
