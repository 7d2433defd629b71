//! One run from its order to its end: the guest, its deadline, its output, and its failure.

pub mod capture;
pub(crate) mod code;
pub mod deadline;
pub(crate) mod ending;
pub(crate) mod execute;
pub(crate) mod guest;
pub(crate) mod interrupter;
pub(crate) mod interval_timer;
pub(crate) mod job_text;
pub(crate) mod meter;
pub(crate) mod profiling;
pub(crate) mod timer;
pub(crate) mod watchdog;
