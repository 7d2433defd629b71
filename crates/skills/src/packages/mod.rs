//! Packages that skills name in `code/requirements.txt`: the lock, the wheels, and the layers that
//! runs mount.
//!
//! - [`requirements`]: reads `requirements.txt`.
//! - [`resolve`]: lets pip choose versions, for the platform of guests. Only on an author's command.
//! - [`lock`]: reads and writes `pylock.toml` (PEP 751).
//! - [`pip`]: runs pip, and reads its words.
//! - [`fetch`]: gets the locked wheels, from a registry through pip, or from a folder.
//! - [`wheel`]: unpacks a wheel that may be hostile.
//! - [`layer`] and [`store`]: what wheels unpack to, as one file on the disk.
//! - [`needs`]: what a skill needs before it can run; [`SkillLists`]: where its files say so.
//!
//! Nothing is resolved or fetched for a run. Knows nothing of runs and workers.

pub mod batteries;
mod explain;
pub mod fetch;
pub mod guest;
pub mod layer;
pub mod lock;
pub mod needs;
pub mod pip;
pub mod requirements;
pub mod resolve;
pub mod resolve_error;
mod script_lists;
pub mod store;
pub mod wheel;

pub use crate::packages::guest::GuestPlatform;
pub use crate::packages::needs::{NeedsError, SkillNeeds};
pub use crate::packages::script_lists::{ListError, SkillLists};
pub use crate::packages::store::{LayerStore, OpenLayer, StoreError};

/// The file of a skill that lists the packages that it needs.
pub const REQUIREMENTS_FILE: &str = "code/requirements.txt";

/// The file of a skill that locks them.
pub const LOCK_FILE: &str = "code/pylock.toml";
