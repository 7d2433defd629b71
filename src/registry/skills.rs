//! The registry of skills, and the thread that follows their changes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::{Mutex, RwLock};
use rustix::event::{EventfdFlags, eventfd};

use crate::registry::changes::log_changes;
use crate::registry::config::{BuiltIn, RegistryConfig};
use crate::registry::error::{Faults, RegistryError};
use crate::registry::folders::roots::RootsOnDisk;
use crate::registry::folders::snapshot::{Snapshot, of_built_in};
use crate::registry::follow::Follower;
use crate::registry::index::Index;
use crate::registry::shared::Shared;

/// The skills of the server.
#[derive(Debug)]
pub struct Registry {
    pub(crate) shared: Arc<Shared>,
    /// The state of the disk; `None` once the thread has it.
    pub(crate) disk: Mutex<Option<RootsOnDisk>>,
    stop: Mutex<Option<Arc<OwnedFd>>>,
}

impl Registry {
    /// Reads all skills.
    ///
    /// # Errors
    ///
    /// A root that cannot be read, or an invalid built-in skill. An invalid skill in a root is not
    /// an error: see [`Index::rejected`].
    pub fn open(config: RegistryConfig, built_in: &[BuiltIn]) -> Result<Self, RegistryError> {
        let built_in = built_in.iter().map(built_in_snapshot).collect::<Result<Vec<_>, _>>()?;
        let disk = RootsOnDisk::open(config, built_in)?;
        let index = Arc::new(disk.index());
        log_changes(None, &index);
        let shared = Arc::new(Shared {
            current: RwLock::new(index),
            is_walk_wanted: AtomicBool::new(false),
        });
        Ok(Self { shared, disk: Mutex::new(Some(disk)), stop: Mutex::new(None) })
    }

    /// Starts the thread that follows changes. It ends with the registry.
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

    /// Makes the thread that follows changes walk all folders within a second, also those that it
    /// polls seldom.
    pub fn walk_soon(&self) {
        self.shared.is_walk_wanted.store(true, Ordering::Release);
    }

    /// The current index. Never waits for a disk.
    #[must_use]
    pub fn current(&self) -> Arc<Index> {
        Arc::clone(&self.shared.current.read())
    }

    /// Reads all roots now, unless the thread follows them.
    #[cfg(test)]
    pub(crate) fn refresh(&self) -> Arc<Index> {
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
            // This wakes the thread, which then ends. The drop does not wait for it.
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
