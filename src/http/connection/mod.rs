//! One connection: how many there are, and how long each step may take.

pub(crate) mod limit;
pub(crate) mod repoll;
pub(crate) mod timeouts;
