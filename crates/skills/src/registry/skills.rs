//! The registry of skills, and the thread that follows their changes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::{Mutex, RwLock};
use rustix::event::{EventfdFlags, eventfd};

use crate::registry::changes::log_changes;
use crate::registry::config::{BuiltIn, RegistryConfig, TenantFolders};
use crate::registry::error::{Faults, RegistryError};
use crate::registry::folders::roots::RootsOnDisk;
use crate::registry::folders::snapshot::{Snapshot, of_built_in};
use crate::registry::follow::Follower;
use crate::registry::follower_link::FollowerLink;
use crate::registry::index::Index;
use crate::registry::publishing::roots_in;
use crate::registry::view::SkillView;
use wardian_vocabulary::ids::TenantId;

/// The skills of the server, and those of tenants.
#[derive(Debug)]
pub struct Registry {
    pub(crate) shared: Arc<FollowerLink>,
    /// The state of the disk; `None` once the thread has it.
    pub disk: Mutex<Option<RootsOnDisk>>,
    stop: Mutex<Option<Arc<OwnedFd>>>,
    /// The folders of tenants as they are configured.
    configured: Mutex<TenantFolders>,
    /// The tenants whose folder of published skills is among the roots.
    publishing: Mutex<BTreeSet<TenantId>>,
}

impl Registry {
    /// Reads all skills.
    ///
    /// # Errors
    ///
    /// A root that cannot be read, or an invalid built-in skill. An invalid skill in a root is not
    /// an error: see [`Index::rejected`].
    pub fn open(config: RegistryConfig, built_in: &[BuiltIn]) -> Result<Self, RegistryError> {
        let configured = Mutex::new(config.tenants.clone());
        // One that cannot be listed is logged where its skills are read.
        let publishing = config.published.as_deref().map(roots_in).and_then(Result::ok);
        let publishing = Mutex::new(publishing.unwrap_or_default().into_keys().collect());
        let built_in = built_in.iter().map(built_in_snapshot).collect::<Result<Vec<_>, _>>()?;
        let disk = RootsOnDisk::open(config, built_in)?;
        let current = disk.published();
        log_changes(None, &current.shared, None);
        for (tenant, index) in &current.tenants {
            log_changes(None, index, Some(tenant));
        }
        let shared = Arc::new(FollowerLink {
            current: RwLock::new(current),
            is_walk_wanted: AtomicBool::new(false),
            wanted: Mutex::new(None),
        });
        let (disk, stop) = (Mutex::new(Some(disk)), Mutex::new(None));
        Ok(Self { shared, disk, stop, configured, publishing })
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

    /// Replaces the folders of all tenants, which were [checked](crate::registry::check_tenant_folders).
    /// The thread that follows changes does so within seconds.
    pub fn replace_tenants(&self, folders: TenantFolders) {
        *self.configured.lock() = folders.clone();
        if let Some(disk) = self.disk.lock().as_mut() {
            disk.replace_tenants(folders, 0);
            disk.publish(&self.shared);
            return;
        }
        *self.shared.wanted.lock() = Some(folders);
    }

    /// Looks for published skills of tenants that had none so far, and for changes of the others. The
    /// thread that follows changes does so within seconds.
    pub fn look_for_published(&self, tenant: &TenantId) {
        // A tenant with folders of its own is known before it publishes anything.
        let is_known = !self.publishing.lock().insert(tenant.clone());
        if is_known && self.shared.current.read().tenants.contains_key(tenant) {
            self.walk_soon();
        } else {
            let configured = self.configured.lock().clone();
            self.replace_tenants(configured);
        }
    }

    /// The current index of the shared skills. Never waits for a disk.
    #[must_use]
    pub fn current(&self) -> Arc<Index> {
        Arc::clone(&self.shared.current.read().shared)
    }

    /// The skills that a tenant sees now. Never waits for a disk.
    #[must_use]
    pub fn seen_by(&self, tenant: &TenantId) -> SkillView {
        let current = self.shared.current.read();
        let own = current.tenants.get(tenant).map(Arc::clone);
        SkillView { own, shared: Arc::clone(&current.shared) }
    }

    /// The current indexes of the own skills of tenants, by tenant.
    #[must_use]
    pub fn of_tenants(&self) -> BTreeMap<TenantId, Arc<Index>> {
        let current = self.shared.current.read();
        current.tenants.iter().map(|(tenant, index)| (tenant.clone(), Arc::clone(index))).collect()
    }

    /// Every skill that anybody sees, each once.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Snapshot>> {
        let indexes = [self.current()].into_iter().chain(self.of_tenants().into_values());
        let mut known = HashSet::new();
        let mut all = Vec::new();
        for index in indexes {
            let fresh = index.snapshots().filter(|one| known.insert(one.digest()));
            all.extend(fresh.map(Arc::clone));
        }
        all
    }

    /// Reads all roots now, unless the thread follows them.
    #[cfg(test)]
    pub fn refresh(&self) -> Arc<Index> {
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
