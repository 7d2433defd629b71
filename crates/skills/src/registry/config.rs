//! The sources of skills, and the limits for reading them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::registry::cursor::CursorKey;
use crate::registry::folders::scan::{MAX_FOLDERS, RootBounds};
use crate::registry::folders::trust::SkillTrust;
use crate::registry::index::MAX_SHARED;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// The sources of skills.
#[derive(Debug, Clone)]
pub struct RegistryConfig {
    /// Folders of skill folders. If two have the same skill, the earlier one wins.
    pub roots: Vec<PathBuf>,
    /// Folders with the own skills of tenants.
    pub tenants: TenantFolders,
    /// The folder with the skills that callers have published, by tenant; `None` if none are seen.
    pub published: Option<PathBuf>,
    /// Limits of watching.
    pub watching: Watching,
    /// True if [`Registry::follow`](crate::registry::Registry::follow) will be called. Folders are
    /// then watched from their first look on, so that no change after it is missed.
    pub is_followed: bool,
    /// The keys that are trusted to sign skills.
    pub trust: Arc<SkillTrust>,
    /// The key that seals cursors.
    pub cursor_key: CursorKey,
}

/// The folders with the own skills of tenants. A tenant that is not named has none, and costs
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantFolders {
    /// Folders of skill folders of each tenant; earlier ones win. A folder can be that of several
    /// tenants, and is then read once.
    pub roots: BTreeMap<TenantId, Vec<PathBuf>>,
    /// Most skill folders of one root.
    pub max_folders: usize,
    /// Maximum number of bytes of the files of all skills of one root, and of one tenant.
    pub max_size: ByteCount,
}

impl Default for TenantFolders {
    fn default() -> Self {
        let (max_folders, max_size) = (1_024, ByteCount::mebibytes(64));
        Self { roots: BTreeMap::new(), max_folders, max_size }
    }
}

impl TenantFolders {
    pub(crate) const fn bounds(&self) -> RootBounds {
        RootBounds { folders: self.max_folders, bytes: self.max_size }
    }
}

/// A skill that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its files: paths and contents.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// Limits of watching.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    /// Most skill folders of one root. Further ones are ignored, with a warning.
    pub max_folders: usize,
    /// Maximum number of folders with a kernel watch (inotify). Others are polled. With 0 all are
    /// polled.
    pub max_watches: usize,
}

impl Watching {
    /// The bounds of a root whose skills all tenants share.
    pub const fn bounds(&self) -> RootBounds {
        RootBounds { folders: self.max_folders, bytes: MAX_SHARED }
    }
}

impl Default for Watching {
    fn default() -> Self {
        Self { max_folders: MAX_FOLDERS, max_watches: 262_144 }
    }
}
