//! Cells that ask their callers for something, or tools of the operator's servers, and go on with the answers.

mod answering;
pub(crate) mod asked;
pub(crate) mod begun_calls;
pub(crate) mod called_tools;
pub(crate) mod cell_call;
pub(crate) mod decision;
pub(crate) mod granted;
pub(crate) mod open_run;
pub(crate) mod open_runs;
mod rounds;
pub(crate) mod server_call;
mod server_tools;
