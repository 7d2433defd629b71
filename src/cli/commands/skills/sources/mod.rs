//! `wardian skills add`, `remove`, `outdated` and `update`: skills of others, pinned and undone.

mod add;
pub(crate) mod args;
mod candidate;
mod candidate_signature;
mod files;
mod installable;
mod place;
mod plan;
mod reach;
mod remove;
mod update;
mod wants;

pub(crate) use crate::cli::commands::skills::sources::add::add;
pub(super) use crate::cli::commands::skills::sources::installable::{
    ensure_installable, ensure_version_in_files,
};
pub(super) use crate::cli::commands::skills::sources::reach::{Reach, SourceOrder, of_source};
pub(crate) use crate::cli::commands::skills::sources::remove::remove;
pub(crate) use crate::cli::commands::skills::sources::update::{outdated, update};
