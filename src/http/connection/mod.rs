//! Connections: their number, the check of their request heads, and the time-outs of each step
//! of an exchange.

pub(crate) mod head;
pub(crate) mod limit;
pub(crate) mod repoll;
pub(crate) mod timeouts;
