//! The sources of skills, and the limits for reading them.

use std::path::PathBuf;

use crate::registry::cursor::CursorKey;
use crate::registry::folders::scan::MAX_FOLDERS;

/// The sources of skills.
#[derive(Debug, Clone)]
pub struct RegistryConfig {
    /// Folders of skill folders. If two have the same skill, the earlier one wins.
    pub roots: Vec<PathBuf>,
    /// Limits of watching.
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

/// Limits of watching.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    /// Most skill folders of one root. Further ones are ignored, with a warning.
    pub max_folders: usize,
    /// Most folders with a kernel watch (inotify). Others are polled. With 0 all are polled.
    pub max_watches: usize,
}

impl Default for Watching {
    fn default() -> Self {
        Self { max_folders: MAX_FOLDERS, max_watches: 262_144 }
    }
}
