//! Looks at commands of a shell: in scripts, in programs, and in texts.

mod commands;
mod lines;
mod steps;

pub(crate) use crate::scan::shell::lines::{Shell, look_at_shell};
pub(crate) use crate::scan::shell::steps::steps_of;
