//! Connections: the limit on their number, the check of request framing, and the time-outs.

pub(crate) mod head;
pub(crate) mod limit;
pub(crate) mod repoll;
pub(crate) mod timeouts;
