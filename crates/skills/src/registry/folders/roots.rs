//! The last known state of all roots, for the one thread that reads them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tracing::{error, warn};

use crate::registry::changes::{RootLabel, log_changes};
use crate::registry::config::{RegistryConfig, TenantFolders, Watching};
use crate::registry::cursor::CursorKey;
use crate::registry::error::AtPath;
use crate::registry::error::RegistryError;
use crate::registry::folders::notices::Notices;
use crate::registry::folders::scan::{RootBounds, SkillRoot, Watcher};
use crate::registry::folders::snapshot::Snapshot;
use crate::registry::folders::trust::SkillTrust;
use crate::registry::follower_link::{FollowerLink, PublishedIndexes};
use crate::registry::index::{Index, MAX_SHARED};
use crate::registry::publishing::roots_in;
use crate::registry::separation::check_tenant_folders;
use wardian_vocabulary::ids::TenantId;

/// The state of the thread that reads the disk.
#[derive(Debug)]
pub struct RootsOnDisk {
    built_in: Vec<Arc<Snapshot>>,
    /// The shared roots, and behind them those of tenants. A folder of several tenants is one root.
    pub roots: Vec<SkillRoot>,
    /// Number of shared roots.
    shared: usize,
    /// The roots of each tenant that has some.
    tenants: BTreeMap<TenantId, Vec<usize>>,
    /// The tenants as they are configured.
    folders: TenantFolders,
    /// The folder with the published skills of tenants.
    published: Option<PathBuf>,
    /// True for each root that could not be read last time.
    pub unreadable: Vec<bool>,
    /// The roots that changed since the last publication.
    changed: BTreeSet<usize>,
    /// True if the tenants changed since the last publication.
    has_other_tenants: bool,
    key: CursorKey,
    trust: Arc<SkillTrust>,
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
        let (published, configured) = (config.published, config.tenants);
        let tenants = with_published(&configured, published.as_deref());
        check_tenant_folders(&config.roots, &tenants)?;
        let (key, watching) = (config.cursor_key, config.watching);
        let is_watched = config.is_followed && watching.max_watches > 0;
        let notices = is_watched.then(open_notices).flatten();
        let left = AtomicUsize::new(watching.max_watches);
        let watcher = notices.as_ref().map(|notices| Watcher { notices, left: &left });
        let mut roots = Vec::with_capacity(config.roots.len());
        for path in config.roots {
            let mut root =
                SkillRoot::new(path.clone(), watching.bounds(), Arc::clone(&config.trust));
            root.refresh(watcher).map_err(|cause| RegistryError::Root(AtPath { path, cause }))?;
            roots.push(root);
        }
        let shared = roots.len();
        let bounds = configured.bounds();
        let (paths, tenants) = numbered(&tenants, shared);
        for (path, tenant) in paths {
            let mut root = SkillRoot::new(path.clone(), bounds, Arc::clone(&config.trust));
            root.refresh(watcher).map_err(|cause| {
                let cause = AtPath { path, cause };
                RegistryError::TenantRoot { tenant, cause }
            })?;
            roots.push(root);
        }
        let (unreadable, retired) = (vec![false; roots.len()], Vec::new());
        Ok(Self {
            built_in,
            roots,
            shared,
            tenants,
            folders: configured,
            published,
            unreadable,
            changed: BTreeSet::new(),
            has_other_tenants: false,
            key,
            trust: config.trust,
            watching,
            notices,
            retired,
        })
    }

    /// Replaces the folders of tenants. Those that stay keep what is known of them. New ones are
    /// read now; one that cannot be read has no skills until it can. Returns the roots that are gone,
    /// whose watches the caller ends; `watches` is the number of all.
    pub fn replace_tenants(&mut self, folders: TenantFolders, watches: usize) -> Vec<SkillRoot> {
        let left = AtomicUsize::new(self.watching.max_watches.saturating_sub(watches));
        let watcher = self.notices.as_ref().map(|notices| Watcher { notices, left: &left });
        let bounds = folders.bounds();
        let known = self.roots.split_off(self.shared.min(self.roots.len()));
        self.unreadable.truncate(self.shared);
        let mut known: HashMap<(PathBuf, RootBounds), SkillRoot> =
            known.into_iter().map(|root| ((root.path().clone(), root.bounds()), root)).collect();
        let seen = with_published(&folders, self.published.as_deref());
        let (paths, tenants) = numbered(&seen, self.shared);
        for (path, tenant) in paths {
            let (root, is_unreadable) = match known.remove(&(path.clone(), bounds)) {
                Some(root) => (root, false),
                None => {
                    let mut root = SkillRoot::new(path, bounds, Arc::clone(&self.trust));
                    let read = root.refresh(watcher);
                    if let Err(cause) = &read {
                        error!(
                            "a folder of skills of the tenant `{tenant}` cannot be read: {cause}"
                        );
                    }
                    (root, read.is_err())
                }
            };
            self.roots.push(root);
            self.unreadable.push(is_unreadable);
        }
        (self.tenants, self.folders, self.has_other_tenants) = (tenants, folders, true);
        known.into_values().collect()
    }

    /// Notes that a root changed, so that the skills of those who see it are published again.
    pub(crate) fn note_change(&mut self, root: usize) {
        self.changed.insert(root);
    }

    /// True if something is to be published.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_other_tenants || !self.changed.is_empty()
    }

    /// The paths of the roots that must be apart from this one: those of tenants are apart from all
    /// others.
    pub(crate) fn roots_apart_from(&self, number: usize) -> impl Iterator<Item = &PathBuf> {
        let shared = self.shared;
        let others =
            self.roots.iter().enumerate().filter(move |(other, _)| {
                *other != number && (*other >= shared || number >= shared)
            });
        others.map(|(_, root)| root.path())
    }

    /// Names a root in the log.
    pub fn label(&self, root: usize) -> RootLabel<'_> {
        let own = self.tenants.iter().find_map(|(tenant, roots)| {
            let at = roots.iter().position(|number| *number == root)?;
            Some(RootLabel { number: at.saturating_add(1), tenant: Some(tenant) })
        });
        own.unwrap_or(RootLabel { number: root.saturating_add(1), tenant: None })
    }

    /// Builds the indexes of the current state.
    pub fn published(&self) -> PublishedIndexes {
        let tenants = self.tenants.keys().map(|tenant| (tenant.clone(), self.index_of(tenant)));
        PublishedIndexes { shared: self.shared_index(), tenants: tenants.collect() }
    }

    fn shared_index(&self) -> Arc<Index> {
        let roots: Vec<_> = self.roots.iter().take(self.shared).collect();
        Arc::new(Index::build(&self.built_in, &roots, MAX_SHARED, self.key.clone()))
    }

    /// The index of a tenant's own skills.
    fn index_of(&self, tenant: &TenantId) -> Arc<Index> {
        let roots = self.tenants.get(tenant).into_iter().flatten();
        let roots: Vec<_> = roots.filter_map(|number| self.roots.get(*number)).collect();
        let key = self.key.of_tenant(tenant);
        Arc::new(Index::build(&[], &roots, self.folders.max_size, key))
    }

    /// Reads all roots again. Returns true if anything changed.
    #[cfg(test)]
    pub fn look(&mut self) -> bool {
        let looked = self.roots.iter_mut().map(|root| root.refresh(None).unwrap_or(false));
        let changed: Vec<usize> =
            (0..).zip(looked).filter_map(|(root, changed)| changed.then_some(root)).collect();
        self.changed.extend(changed);
        self.has_changed()
    }

    /// Publishes the current indexes of changed roots to calls.
    pub fn publish(&mut self, shared: &FollowerLink) {
        let changed = std::mem::take(&mut self.changed);
        let is_new = std::mem::take(&mut self.has_other_tenants);
        if changed.iter().next().is_some_and(|root| *root < self.shared) {
            let index = self.shared_index();
            let before = std::mem::replace(&mut shared.current.write().shared, Arc::clone(&index));
            log_changes(Some(&before), &index, None);
            self.retired.push(before);
        }
        let mut others = HashMap::new();
        for (tenant, roots) in &self.tenants {
            if is_new || roots.iter().any(|root| changed.contains(root)) {
                others.insert(tenant.clone(), self.index_of(tenant));
            }
        }
        self.publish_tenants(shared, others, is_new);
    }

    fn publish_tenants(
        &mut self,
        shared: &FollowerLink,
        others: HashMap<TenantId, Arc<Index>>,
        is_new: bool,
    ) {
        for (tenant, index) in others {
            let before = shared.current.write().tenants.insert(tenant.clone(), Arc::clone(&index));
            log_changes(before.as_deref(), &index, Some(&tenant));
            self.retired.extend(before);
        }
        if is_new {
            let mut current = shared.current.write();
            let gone = current.tenants.extract_if(|tenant, _| !self.tenants.contains_key(tenant));
            self.retired.extend(gone.map(|(_, index)| index));
        }
    }

    /// Frees the earlier indexes that no call holds.
    pub(crate) fn retire(&mut self) {
        self.retired.retain(|index| Arc::strong_count(index) > 1);
    }
}

/// The folders of tenants, each followed by that of the skills that the tenant has published.
fn with_published(configured: &TenantFolders, published: Option<&Path>) -> TenantFolders {
    let mut all = configured.clone();
    match published.map(roots_in).transpose() {
        Ok(found) => {
            for (tenant, path) in found.unwrap_or_default() {
                all.roots.entry(tenant).or_default().push(path);
            }
        }
        Err(fault) => error!("the folder of published skills cannot be read: {fault}"),
    }
    all
}

/// The path of a root, and the first tenant that names it.
type NamedRoot = (PathBuf, TenantId);

/// The paths of tenants' roots without repetitions, each with the first tenant that names it, and the
/// numbers of the roots of each tenant, counted from `first`.
fn numbered(
    folders: &TenantFolders,
    first: usize,
) -> (Vec<NamedRoot>, BTreeMap<TenantId, Vec<usize>>) {
    let (mut paths, mut numbers) = (Vec::new(), HashMap::new());
    let mut tenants: BTreeMap<TenantId, Vec<usize>> = BTreeMap::new();
    for (tenant, roots) in &folders.roots {
        let own = tenants.entry(tenant.clone()).or_default();
        for path in roots {
            let next = first.saturating_add(paths.len());
            let number = *numbers.entry(path).or_insert_with(|| {
                paths.push((path.clone(), tenant.clone()));
                next
            });
            if !own.contains(&number) {
                own.push(number);
            }
        }
    }
    (paths, tenants)
}

fn open_notices() -> Option<Notices> {
    Notices::open()
        .inspect_err(|cause| {
            warn!(
                "the kernel does not report changes, so all skills are polled \
                (fs.inotify.max_user_instances?): {cause}"
            );
        })
        .ok()
}
