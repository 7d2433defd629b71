//! Runs that continue without their caller.

pub(crate) mod aftermath;
pub(crate) mod detach;
pub(crate) mod detach_policy;
pub(crate) mod placed_end;
pub(crate) mod settle;
