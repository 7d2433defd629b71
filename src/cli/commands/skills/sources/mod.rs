//! `wardian skills add`, `remove`, `outdated` and `update`: skills of others, pinned and undone.

mod add;
pub(crate) mod args;
mod candidate;
mod files;
mod place;
mod plan;
mod reach;
mod remove;
mod update;
mod wants;

pub(crate) use crate::cli::commands::skills::sources::add::add;
pub(crate) use crate::cli::commands::skills::sources::remove::remove;
pub(crate) use crate::cli::commands::skills::sources::update::{outdated, update};
