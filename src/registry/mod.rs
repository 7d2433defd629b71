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
//! Changes on disk are picked up without a restart once [`Registry::follow`] was called. Whoever
//! holds an [`Index`] or a [`Snapshot`] is not affected: both never change. A root that cannot be
//! read for a while keeps the skills that it had.
//!
//! INVARIANT(calls-never-walk): calls read the current [`Index`] and nothing else; one thread looks
//! at the disk.

pub mod cursor;
pub mod index;

mod changes;
mod error;
pub mod folders;
mod follow;
mod queue;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use crate::registry::changes::log_changes;
use crate::registry::cursor::CursorKey;
use crate::registry::error::Faults;
use crate::registry::folders::roots::RootsOnDisk;
use crate::registry::folders::scan::MAX_FOLDERS;
use crate::registry::folders::snapshot::{Snapshot, of_built_in};
use crate::registry::follow::Follower;
use crate::registry::index::Index;
use parking_lot::{Mutex, RwLock};
use rustix::event::{EventfdFlags, eventfd};

pub use crate::registry::error::RegistryError;
pub use crate::registry::folders::folder_check::{FolderCheck, check_folder};
pub use crate::registry::folders::walk::{MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_TOTAL};

/// Where skills come from.
#[derive(Debug, Clone)]
pub struct RegistryConfig {
    /// Folders of skill folders; earlier ones win.
    pub roots: Vec<PathBuf>,
    /// Bounds of what is looked at.
    pub watching: Watching,
    /// Whether [`Registry::follow`] will be called. Folders are then watched from their first look
    /// on, so that no change after it is missed.
    pub is_followed: bool,
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

/// All skills, now and later.
#[derive(Debug)]
pub struct Registry {
    shared: Arc<Shared>,
    /// Until a thread follows it.
    disk: Mutex<Option<RootsOnDisk>>,
    stop: Mutex<Option<Arc<OwnedFd>>>,
}

/// What calls see.
#[derive(Debug)]
pub(crate) struct Shared {
    current: RwLock<Arc<Index>>,
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
        let disk = RootsOnDisk::open(config, built_in)?;
        let index = Arc::new(disk.index());
        log_changes(None, &index);
        let shared = Arc::new(Shared { current: RwLock::new(index) });
        Ok(Self { shared, disk: Mutex::new(Some(disk)), stop: Mutex::new(None) })
    }

    /// Begins to pick up changes, in a thread that ends with the registry.
    ///
    /// # Errors
    ///
    /// The operating system refuses the thread.
    pub fn follow(&self) -> io::Result<()> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let Some(disk) = self.disk.lock().take() else { return Ok(()) };
        let (shared, stopped) = (Arc::clone(&self.shared), Arc::clone(&stop));
        *self.stop.lock() = Some(stop);
        let follow = move || Follower::new(shared, disk, stopped).run();
        thread::Builder::new().name("registry".to_owned()).spawn(follow).map(drop)
    }

    /// All skills as they were at the last look. Never waits for a disk.
    #[must_use]
    pub fn current(&self) -> Arc<Index> {
        Arc::clone(&self.shared.current.read())
    }

    /// Looks at everything now, unless a thread follows the disk.
    #[cfg(test)]
    fn refresh(&self) -> Arc<Index> {
        if let Some(disk) = self.disk.lock().as_mut()
            && disk.look()
        {
            disk.publish(&self.shared);
        }
        self.current()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.lock().take() {
            // The thread ends at its next look at its events; nobody waits for it.
            rustix::io::write(&*stop, &1_u64.to_ne_bytes()).ok();
        }
    }
}

fn built_in_snapshot(skill: &BuiltIn) -> Result<Arc<Snapshot>, RegistryError> {
    let reading = of_built_in(skill.name, skill.files);
    reading.snapshot.ok_or_else(|| {
        let lines: Vec<_> = reading.diagnostics.iter().map(ToString::to_string).collect();
        RegistryError::BuiltIn { name: skill.name, cause: Faults(lines.join("; ")) }
    })
}
