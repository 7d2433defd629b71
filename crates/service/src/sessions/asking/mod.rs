//! Cells that ask their callers for something, and go on with the answers.

mod answering;
pub(crate) mod asked;
pub(crate) mod called_tools;
pub(crate) mod cell_call;
pub(crate) mod open_run;
pub(crate) mod open_runs;
