//! The layers of this machine, and those that are open.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::run::packages::packages_error::PackagesError;
use wardian_formats::job::layer::LayerContent;
use wardian_formats::job::{LayerMount, LayerPlace};
use wardian_images::PackageSet;
use wardian_skills::packages::guest::PackageVersion;
use wardian_skills::packages::layer::LayerKey;
use wardian_skills::packages::lock::{Lock, LockedPackage};
use wardian_skills::packages::{
    GuestPlatform, LayerStore, OpenLayer, SkillLists, SkillNeeds, StoreError,
};
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_vocabulary::ids::Digest;

/// Most layers that stay open for later runs. Each can cost two descriptors.
const MAX_OPEN: usize = 128;

/// The layers of this machine, and those that are open.
pub struct PackageAccess {
    pub(crate) store: LayerStore,
    /// Layers that came with a record, searched before those of the machine.
    of_record: OnceLock<LayerStore>,
    pub(crate) guest: GuestPlatform,
    /// Names the interpreter that reads bytecode.
    pub engine: Digest,
    batteries: Lock,
    /// Names the layer of the batteries. It is a digest over the lock, which every run would pay.
    batteries_layer: Option<LayerKey>,
    /// Whether somebody is fetching the batteries. Those that wait for them are woken when this
    /// changes, and when they are open.
    fetching: watch::Sender<bool>,
    open: Mutex<HashMap<LayerKey, Arc<UsedLayer>>>,
    /// Held while a layer is compiled: one at a time.
    pub compiling: tokio::sync::Mutex<()>,
}

impl fmt::Debug for PackageAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackageAccess").field("store", &self.store).finish_non_exhaustive()
    }
}

/// A layer that runs of this process use.
#[derive(Debug)]
pub struct UsedLayer {
    pub layer: OpenLayer,
    pub place: LayerPlace,
    pub bytecode: Mutex<Option<LayerContent>>,
    /// True once a task has begun to compile it.
    pub(crate) is_compiled: AtomicBool,
}

impl UsedLayer {
    /// The mount of the layer, and what a worker needs for it.
    pub fn mount(&self) -> (LayerMount, Vec<LayerContent>) {
        let bytecode = self.bytecode.lock().clone();
        let digest = self.layer.content.digest;
        let compiled = bytecode.as_ref().map(|content| content.digest);
        let mount = LayerMount { digest, bytecode: compiled, place: self.place };
        (mount, [Some(self.layer.content.clone()), bytecode].into_iter().flatten().collect())
    }
}

impl PackageAccess {
    /// The layers of `store`, for an engine that `guest` describes and `engine` names.
    #[must_use]
    pub fn new(store: LayerStore, guest: GuestPlatform, engine: Digest, batteries: Lock) -> Self {
        let (open, compiling) = (Mutex::default(), tokio::sync::Mutex::default());
        let batteries_layer = batteries.layer();
        let of_record = OnceLock::new();
        let fetching = watch::Sender::new(false);
        Self {
            store,
            of_record,
            guest,
            engine,
            batteries,
            batteries_layer,
            fetching,
            open,
            compiling,
        }
    }

    /// Opens the batteries if they exist, which reads all of them once. Returns false if they
    /// are missing.
    ///
    /// # Errors
    ///
    /// The disk fails.
    pub fn open_batteries(&self) -> Result<bool, StoreError> {
        let Some(key) = self.batteries_layer else { return Ok(true) };
        let is_open = self.find(key, LayerPlace::Batteries)?.is_some();
        if is_open {
            self.fetching.send_modify(|_| {});
        }
        Ok(is_open)
    }

    /// Says whether somebody is fetching the batteries, for which reproducible runs wait.
    pub fn set_batteries_on_their_way(&self, are_they: bool) {
        self.fetching.send_replace(are_they);
    }

    /// Refuses a reproducible run without batteries: it would search fewer folders for its modules,
    /// and use other fuel than elsewhere.
    pub(crate) fn ensure_batteries(&self) -> Result<(), PackagesError> {
        // Read before the look at the layers, which are open before nobody fetches them any more.
        let are_on_their_way = *self.fetching.borrow();
        if self.batteries_layer.is_none() || self.batteries().is_some() {
            return Ok(());
        }
        Err(if are_on_their_way {
            PackagesError::BatteriesOnTheirWay
        } else {
            PackagesError::NotReproducible
        })
    }

    /// As [`Self::ensure_batteries`]; waits up to `patience` for batteries that are being fetched.
    pub(crate) async fn await_batteries(&self, patience: Duration) -> Result<(), PackagesError> {
        let mut changes = self.fetching.subscribe();
        let found = async {
            loop {
                match self.ensure_batteries() {
                    // The sender lives as long as `self`, so an error cannot happen here.
                    Err(PackagesError::BatteriesOnTheirWay) if changes.changed().await.is_ok() => {}
                    found => return found,
                }
            }
        };
        match timeout(patience, found).await {
            Ok(found) => found,
            Err(_elapsed) => self.ensure_batteries(),
        }
    }

    /// Searches layers in this store, too. A layer of it is not trusted to belong to its key: it is
    /// for a run whose layers are compared with a record.
    pub fn add_layers_of_record(&self, store: LayerStore) {
        // A command does it once.
        self.of_record.set(store).ok();
    }

    /// The packages that a skill needs.
    pub fn needs_of(&self, snapshot: &Snapshot) -> SkillNeeds {
        SkillLists::of(snapshot.contents()).needs(&self.guest, &self.batteries)
    }

    /// The batteries, if they are open.
    pub fn batteries(&self) -> Option<Arc<UsedLayer>> {
        self.find_open(self.batteries_layer?)
    }

    /// True if images with batteries have imported this package in another version, so that a run with
    /// this one must not begin as them.
    pub(crate) fn differs_in_images(&self, package: &PackageVersion) -> bool {
        let same = |one: &LockedPackage| {
            one.wheel.package == package.name && one.wheel.version == package.version
        };
        PackageSet::has_battery(package.name.as_ref()) && !self.batteries.packages.iter().any(same)
    }

    /// Finds a layer among those that are open.
    pub(crate) fn find_open(&self, key: LayerKey) -> Option<Arc<UsedLayer>> {
        self.open.lock().get(&key).cloned()
    }

    /// Opens a layer. Blocks while it is read for the first time.
    pub(crate) fn find(
        &self,
        key: LayerKey,
        place: LayerPlace,
    ) -> Result<Option<Arc<UsedLayer>>, StoreError> {
        if let Some(found) = self.find_open(key) {
            return Ok(Some(found));
        }
        let of_record = match self.of_record.get().filter(|_| place == LayerPlace::Skill) {
            Some(store) => store.open(key)?,
            None => None,
        };
        let Some(layer) =
            of_record.map_or_else(|| self.store.open(key), |found| Ok(Some(found)))?
        else {
            return Ok(None);
        };
        let bytecode = self.store.open_bytecode(layer.content.digest, self.engine)?;
        let is_compiled = AtomicBool::new(bytecode.is_some());
        let used = UsedLayer { layer, place, bytecode: Mutex::new(bytecode), is_compiled };
        let mut open = self.open.lock();
        if open.len() >= MAX_OPEN {
            // Runs in progress keep theirs.
            open.retain(|_, layer| layer.place == LayerPlace::Batteries);
        }
        // A concurrent caller may have opened it too; all runs share one.
        Ok(Some(Arc::clone(open.entry(key).or_insert_with(|| Arc::new(used)))))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::sync::atomic::Ordering;
    use std::task::{Context, Poll, Wake, Waker};

    use super::*;
    use wardian_skills::packages::batteries;
    use wardian_skills::packages::layer::LayerDraft;

    /// Notes that a task was woken.
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    impl Woken {
        fn poll<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
            self.0.store(false, Ordering::Release);
            future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(self))))
        }
    }

    const LONG: Duration = Duration::from_secs(3_600);

    /// A machine without layers, and its folder.
    fn without_batteries() -> (PackageAccess, tempfile::TempDir) {
        let cache = tempfile::tempdir().unwrap();
        let guest = GuestPlatform::new("3.15.0", []).unwrap();
        let (store, lock) = (LayerStore::new(cache.path()), batteries::lock().unwrap());
        (PackageAccess::new(store, guest, Digest::of(b"engine"), lock), cache)
    }

    #[tokio::test]
    async fn a_run_that_waits_for_the_batteries_is_woken_when_they_are_open() {
        let (access, cache) = without_batteries();
        let woken = Arc::new(Woken::default());
        access.set_batteries_on_their_way(true);
        let mut waiting = pin!(access.await_batteries(LONG));
        assert!(woken.poll(waiting.as_mut()).is_pending());
        assert!(!access.open_batteries().unwrap());
        assert!(!woken.0.load(Ordering::Acquire), "they are not there");
        let key = batteries::lock().unwrap().layer().unwrap();
        LayerStore::new(cache.path()).keep(key, &LayerDraft::default()).unwrap();
        assert!(access.open_batteries().unwrap());
        assert!(woken.0.load(Ordering::Acquire));
        assert!(matches!(woken.poll(waiting.as_mut()), Poll::Ready(Ok(()))));
        access.await_batteries(Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn a_run_that_waits_for_the_batteries_is_woken_when_nobody_fetches_them_any_more() {
        let (access, _cache) = without_batteries();
        let woken = Arc::new(Woken::default());
        access.set_batteries_on_their_way(true);
        let mut waiting = pin!(access.await_batteries(LONG));
        assert!(woken.poll(waiting.as_mut()).is_pending());
        access.set_batteries_on_their_way(false);
        assert!(woken.0.load(Ordering::Acquire));
        let refused = woken.poll(waiting.as_mut());
        assert!(matches!(refused, Poll::Ready(Err(PackagesError::NotReproducible))));
    }

    #[tokio::test]
    async fn a_run_waits_for_the_batteries_no_longer_than_its_patience() {
        let (access, _cache) = without_batteries();
        access.set_batteries_on_their_way(true);
        let refused = access.await_batteries(Duration::from_millis(20)).await;
        assert!(matches!(refused, Err(PackagesError::BatteriesOnTheirWay)));
        access.set_batteries_on_their_way(false);
        let refused = access.await_batteries(LONG).await;
        assert!(matches!(refused, Err(PackagesError::NotReproducible)), "nobody fetches them");
    }
}
