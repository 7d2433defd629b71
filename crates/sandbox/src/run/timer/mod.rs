//! A guest's timer: what it asks for, and when it strikes.

pub(crate) mod interval_timer;
pub(crate) mod run_timer;
