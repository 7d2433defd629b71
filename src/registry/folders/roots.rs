//! The last known state of all roots, for the one thread that reads them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tracing::warn;

use crate::registry::changes::log_changes;
use crate::registry::config::{RegistryConfig, Watching};
use crate::registry::cursor::CursorKey;
use crate::registry::error::AtPath;
use crate::registry::error::RegistryError;
use crate::registry::folders::notices::Notices;
use crate::registry::folders::scan::{SkillRoot, Watcher};
use crate::registry::folders::snapshot::Snapshot;
use crate::registry::index::Index;
use crate::registry::shared::Shared;

/// The state of the thread that reads the disk.
#[derive(Debug)]
pub(crate) struct RootsOnDisk {
    built_in: Vec<Arc<Snapshot>>,
    pub(crate) roots: Vec<SkillRoot>,
    /// True for each root that could not be read last time.
    pub(crate) unreadable: Vec<bool>,
    key: CursorKey,
    pub(crate) watching: Watching,
    /// The kernel's notices of changes since the first reading, if wanted and available.
    pub(crate) notices: Option<Notices>,
    /// Earlier indexes that calls still hold. The last holder frees thousands of entries; this
    /// makes the thread the last holder, not a call.
    retired: Vec<Arc<Index>>,
}

impl RootsOnDisk {
    /// Reads all roots.
    pub(crate) fn open(
        config: RegistryConfig,
        built_in: Vec<Arc<Snapshot>>,
    ) -> Result<Self, RegistryError> {
        let (key, watching) = (config.cursor_key, config.watching);
        let is_watched = config.is_followed && watching.max_watches > 0;
        let notices = is_watched.then(open_notices).flatten();
        let left = AtomicUsize::new(watching.max_watches);
        let watcher = notices.as_ref().map(|notices| Watcher { notices, left: &left });
        let mut roots = Vec::with_capacity(config.roots.len());
        for path in config.roots {
            let mut root = SkillRoot::new(path.clone(), watching.max_folders);
            root.refresh(watcher).map_err(|cause| RegistryError::Root(AtPath { path, cause }))?;
            roots.push(root);
        }
        let (unreadable, retired) = (vec![false; roots.len()], Vec::new());
        Ok(Self { built_in, roots, unreadable, key, watching, notices, retired })
    }

    /// Builds the index of the current state.
    pub(crate) fn index(&self) -> Index {
        Index::build(&self.built_in, &self.roots, self.key.clone())
    }

    /// Reads all roots again. Returns true if anything changed.
    #[cfg(test)]
    pub(crate) fn look(&mut self) -> bool {
        let looked = self.roots.iter_mut().map(|root| root.refresh(None).unwrap_or(false));
        looked.fold(false, |one, other| one | other)
    }

    /// Publishes the current index to calls.
    pub(crate) fn publish(&mut self, shared: &Shared) {
        let index = Arc::new(self.index());
        let before = std::mem::replace(&mut *shared.current.write(), Arc::clone(&index));
        log_changes(Some(&before), &index);
        self.retired.push(before);
    }

    /// Frees the earlier indexes that no call holds.
    pub(crate) fn retire(&mut self) {
        self.retired.retain(|index| Arc::strong_count(index) > 1);
    }
}

fn open_notices() -> Option<Notices> {
    Notices::open()
        .inspect_err(|cause| {
            warn!("the kernel gives no notice of changes, so all skills are looked at again and again (fs.inotify.max_user_instances?): {cause}");
        })
        .ok()
}
