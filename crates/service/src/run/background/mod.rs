//! Runs that continue without their caller.

pub(crate) mod detach;
pub(crate) mod detach_policy;
