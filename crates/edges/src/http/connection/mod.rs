//! Connections: the limit on their number, and the time-outs.

mod alarm;
pub(super) mod limit;
pub(crate) mod phased_body;
pub(crate) mod repoll;
pub(crate) mod timeouts;
pub(crate) mod write_timeouts;
