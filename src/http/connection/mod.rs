//! One connection: how many there are, what of their bytes is let through, and how long each step
//! may take.

pub(crate) mod head;
pub(crate) mod limit;
pub(crate) mod repoll;
pub(crate) mod timeouts;
