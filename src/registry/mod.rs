//! The skills of this server: folders on disk, read into snapshots, found and listed.
//!
//! ```text
//! <root>/acme.sales.report/          one version of a skill
//! <root>/acme.sales.report@1.0.0/    others beside it
//! ```
//!
//! The manifest decides what a skill is called; its folder's name must agree. Hidden files and
//! `__pycache__` are left out. A folder that is no good never hides another. Earlier roots win,
//! and what is built in wins over all.
//!
//! Changes on disk are picked up without a restart by [`Registry::refresh`]. Whoever holds an
//! [`Index`] or a [`Snapshot`] is not affected: both never change. A root that cannot be read
//! for a while keeps the skills that it had.

pub mod cursor;
pub mod index;
pub mod snapshot;

mod changes;
mod error;
mod folder_check;
mod scan;
mod walk;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::registry::changes::{log_changes, log_unreadable};
use crate::registry::cursor::CursorKey;
use crate::registry::error::{AtPath, Faults};
use crate::registry::index::Index;
use crate::registry::scan::Root;
use crate::registry::snapshot::{Snapshot, of_built_in};
use parking_lot::{Mutex, RwLock};

pub use crate::registry::error::RegistryError;
pub use crate::registry::folder_check::{FolderCheck, check_folder};
pub use crate::registry::walk::{MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_TOTAL};

/// Where skills come from.
#[derive(Debug, Clone)]
pub struct RegistryConfig {
    /// Folders of skill folders; earlier ones win.
    pub roots: Vec<PathBuf>,
    /// Shortest time between two looks at the disk. Default 1 s.
    pub refresh_interval: Duration,
    /// What cursors are sealed with.
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

/// All skills, now and later.
#[derive(Debug)]
pub struct Registry {
    interval: Duration,
    current: RwLock<Arc<Index>>,
    disk: Mutex<Disk>,
}

/// What only the one who looks at the disk touches.
#[derive(Debug)]
struct Disk {
    built_in: Vec<Arc<Snapshot>>,
    roots: Vec<Root>,
    /// Which roots could not be read when they were last looked at.
    unreadable: Vec<bool>,
    key: CursorKey,
    last_look: Instant,
}

impl Registry {
    /// Reads all skills.
    ///
    /// # Errors
    ///
    /// A root that cannot be read, or a built-in skill that is no good. Bad skills in a root are
    /// no error: see [`Index::rejected`].
    pub fn open(config: RegistryConfig, built_in: &[BuiltIn]) -> Result<Self, RegistryError> {
        let built_in = built_in.iter().map(built_in_snapshot).collect::<Result<Vec<_>, _>>()?;
        let mut roots = Vec::with_capacity(config.roots.len());
        for path in config.roots {
            let mut root = Root::new(path.clone());
            root.refresh().map_err(|cause| RegistryError::Root(AtPath { path, cause }))?;
            roots.push(root);
        }
        let index = Arc::new(Index::build(&built_in, &roots, config.cursor_key.clone()));
        log_changes(None, &index);
        let unreadable = vec![false; roots.len()];
        let (key, last_look) = (config.cursor_key, Instant::now());
        let disk = Mutex::new(Disk { built_in, roots, unreadable, key, last_look });
        Ok(Self { interval: config.refresh_interval, current: RwLock::new(index), disk })
    }

    /// All skills as they were at the last look. Never waits for a disk.
    #[must_use]
    pub fn current(&self) -> Arc<Index> {
        Arc::clone(&self.current.read())
    }

    /// True if [`refresh`](Self::refresh) would read the disk now. So a call in between need not
    /// move to a thread that may wait.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.disk.try_lock().is_some_and(|disk| disk.last_look.elapsed() >= self.interval)
    }

    /// All skills as they are now, give or take the refresh interval.
    ///
    /// Reads the disk, so it does not belong on a thread that others wait for. If somebody else
    /// is reading it already, answers with what is known.
    pub fn refresh(&self) -> Arc<Index> {
        let Some(mut disk) = self.disk.try_lock() else { return self.current() };
        if disk.last_look.elapsed() >= self.interval {
            if disk.look() {
                let index = Index::build(&disk.built_in, &disk.roots, disk.key.clone());
                let index = Arc::new(index);
                let before = std::mem::replace(&mut *self.current.write(), Arc::clone(&index));
                log_changes(Some(&before), &index);
            }
            disk.last_look = Instant::now();
        }
        self.current()
    }
}

impl Disk {
    /// Looks at all roots. Returns whether anything changed.
    fn look(&mut self) -> bool {
        let mut has_changed = false;
        for ((number, root), unreadable) in (1..).zip(&mut self.roots).zip(&mut self.unreadable) {
            match root.refresh() {
                Ok(changed) => {
                    has_changed |= changed;
                    *unreadable = false;
                }
                // Said once, not at every look.
                Err(cause) if !*unreadable => {
                    *unreadable = true;
                    log_unreadable(number, &cause);
                }
                Err(_) => {}
            }
        }
        has_changed
    }
}

fn built_in_snapshot(skill: &BuiltIn) -> Result<Arc<Snapshot>, RegistryError> {
    let reading = of_built_in(skill.name, skill.files);
    reading.snapshot.ok_or_else(|| {
        let lines: Vec<_> = reading.diagnostics.iter().map(ToString::to_string).collect();
        RegistryError::BuiltIn { name: skill.name, cause: Faults(lines.join("; ")) }
    })
}
