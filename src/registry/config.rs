//! The sources of skills, and the limits for reading them.

use std::path::PathBuf;

use crate::registry::cursor::CursorKey;
use crate::registry::folders::scan::MAX_FOLDERS;

/// The sources of skills.
#[derive(Debug, Clone)]
pub struct RegistryConfig {
    /// Folders of skill folders; earlier ones win.
    pub roots: Vec<PathBuf>,
    /// Bounds of what is looked at.
    pub watching: Watching,
    /// True if [`Registry::follow`](crate::registry::Registry::follow) will be called. Folders are
    /// then watched from their first look on, so that no change after it is missed.
    pub is_followed: bool,
    /// The key that seals cursors.
    pub cursor_key: CursorKey,
}

/// A skill that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its files: paths and contents.
    pub files: &'static [(&'static str, &'static [u8])],
}

/// Bounds of what is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    /// Most folders of one root; more are left out, with a warning.
    pub max_folders: usize,
    /// Most folders of which the kernel tells changes; others are looked at again and again. With
    /// 0 the kernel is not asked.
    pub max_watches: usize,
}

impl Default for Watching {
    fn default() -> Self {
        Self { max_folders: MAX_FOLDERS, max_watches: 262_144 }
    }
}
