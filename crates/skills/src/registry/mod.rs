//! The skills of this server: folders on disk, read into snapshots, found and listed.
//!
//! ```text
//! <root>/acme.sales.report/          one version of a skill
//! <root>/acme.sales.report@1.0.0/    others next to it
//! ```
//!
//! The manifest states the skill's name, and the folder's name must agree. Hidden files and
//! `__pycache__` are left out. An invalid folder never hides another. Earlier roots win over later
//! ones, and every root wins over the built-in skills, except for the guide.
//!
//! A tenant can have its own roots. Their skills hide shared ones of the same names, for that
//! tenant alone: see [`SkillView`]. They are an index next to the shared one, so a tenant without
//! roots costs nothing.
//!
//! Changes on disk are picked up without a restart once [`Registry::follow`] was called. Code that
//! holds an [`Index`](index::Index) or a [`Snapshot`](folders::snapshot::Snapshot) is not affected:
//! both never change. A root that cannot be read for a while keeps the skills that it had.
//!
//! INVARIANT(calls-never-walk): calls read the current [`Index`](index::Index) and nothing else.
//! Only one thread reads the disk.

mod changes;
mod config;
pub mod cursor;
mod error;
pub mod folders;
mod follow;
mod follower_link;
pub mod index;
pub mod publishing;
mod queue;
mod separation;
mod skills;
mod view;
mod watches;

#[cfg(test)]
mod tests;

pub use crate::registry::config::{BuiltIn, RegistryConfig, TenantFolders, Watching};
pub use crate::registry::error::{AtPath, RegistryError};
pub use crate::registry::folders::folder_check::{FolderCheck, check_folder, check_signed_folder};
pub use crate::registry::folders::trust::{NamePattern, SkillTrust, TrustRule, signatures_in};
pub use crate::registry::folders::walk::{MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_TOTAL};
pub use crate::registry::separation::check_tenant_folders;
pub use crate::registry::skills::Registry;
pub use crate::registry::view::{SeenSkill, SkillView};
