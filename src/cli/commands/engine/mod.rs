//! `wardian engine`: the interpreter in its cache, and what `wardian doctor` says of it.

mod build;
mod command;
mod diagnosis;

pub(crate) use crate::cli::commands::engine::command::engine;
pub(super) use crate::cli::commands::engine::diagnosis::diagnosis;
