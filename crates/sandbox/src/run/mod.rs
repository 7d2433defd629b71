//! One run from its order to its end: the guest, its deadline, its output, and its failure.

pub mod capture;
pub mod code;
pub mod deadline;
pub mod ending;
pub(crate) mod file_turn;
pub mod guest;
pub(crate) mod interrupter;
pub(crate) mod job_text;
pub mod meter;
pub(crate) mod profiling;
pub(crate) mod signal_words;
pub mod stopwatch;
pub(crate) mod timer;
pub mod turn;
