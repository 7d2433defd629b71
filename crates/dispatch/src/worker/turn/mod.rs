//! One turn on a worker: what it asks and how it is answered, its time, and the checks of its end.

pub(crate) mod exchange;
pub(crate) mod outcome_check;
mod requests;
pub(crate) mod run_clock;
