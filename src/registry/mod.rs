//! The skills of this server: folders on disk, read into snapshots, found and listed.
//!
//! ```text
//! <root>/acme.sales.report/          one version of a skill
//! <root>/acme.sales.report@1.0.0/    others beside it
//! ```
//!
//! The manifest decides what a skill is called; its folder's name must agree. Hidden files and
//! `__pycache__` are left out. A folder that is no good never hides another. Earlier roots win,
//! and every root wins over what is built in, except for the guide.
//!
//! Changes on disk are picked up without a restart once [`Registry::follow`] was called. Code that
//! holds an [`Index`](index::Index) or a [`Snapshot`](folders::snapshot::Snapshot) is not affected:
//! both never change. A root that cannot be read for a while keeps the skills that it had.
//!
//! INVARIANT(calls-never-walk): calls read the current [`Index`](index::Index) and nothing else;
//! one thread looks at the disk.

mod changes;
mod config;
pub mod cursor;
mod error;
pub mod folders;
mod follow;
pub mod index;
mod queue;
mod shared;
mod skills;

#[cfg(test)]
mod tests;

pub use crate::registry::config::{BuiltIn, RegistryConfig, Watching};
pub use crate::registry::error::RegistryError;
pub use crate::registry::folders::folder_check::{FolderCheck, check_folder};
pub use crate::registry::folders::walk::{MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_TOTAL};
pub use crate::registry::skills::Registry;
