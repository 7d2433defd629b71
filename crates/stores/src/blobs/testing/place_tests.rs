//! The stores that the contract tests are about, behind one interface.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::blobs::local::testing::{START, names, reopen};
use crate::blobs::remote::objects::BlobObjects;
use crate::blobs::remote::remote_blobs::RemoteBlobs;
use crate::blobs::testing::{DerivedIdKeys, MemoryBlobs, MemoryObjects};
use crate::blobs::{BlobStoreConfig, Blobs, LocalBlobStore, LocalBlobs};
use crate::database::open_blob_rows;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// A store, with what tests do to it from outside. Its clock stands still, at first at [`START`].
pub(super) trait Place: Sized + Send + Sync {
    /// An empty store with these limits, whose folder is chosen by the place.
    fn with(change: impl FnOnce(&mut BlobStoreConfig)) -> Self;

    fn blobs(&self) -> Blobs;

    /// The store after its server was killed at this moment and started again.
    fn after_crash(self) -> Self {
        self.after_crash_at(START)
    }

    /// The same, and the clock of the new server shows `time`.
    fn after_crash_at(self, time: Duration) -> Self;

    /// Removes what has expired at `now`, and returns the number of these blobs.
    fn sweep(&self, now: Duration) -> usize;

    /// Changes a byte of the stored content.
    fn damage(&self, tenant: &TenantId, id: &BlobId);

    /// Lets the store refuse writes.
    fn seal(&self);

    /// Remains of content that was not finished.
    fn remains(&self) -> usize;

    /// Damaged blobs that were set aside.
    fn set_aside(&self) -> usize;
}

/// A store on the disk of this machine.
pub(super) struct LocalPlace {
    local: LocalBlobs,
    config: BlobStoreConfig,
    folder: TempDir,
}

impl Place for LocalPlace {
    fn with(change: impl FnOnce(&mut BlobStoreConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = BlobStoreConfig::at(folder.path().join("blobs"));
        change(&mut config);
        let store = LocalBlobStore::open(config.clone(), Clock::Fixed(START)).unwrap();
        let local = LocalBlobs::new(store.with_id_keys(Arc::new(DerivedIdKeys)));
        Self { local, config, folder }
    }

    fn blobs(&self) -> Blobs {
        self.local.clone().into()
    }

    /// The new server finds a copy of the folder as it is now: the old one may still have files open.
    fn after_crash_at(self, time: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(&self.config.root, &folder.path().join("blobs"));
        let config = BlobStoreConfig { root: folder.path().join("blobs"), ..self.config };
        let store = reopen(&config, time).with_id_keys(Arc::new(DerivedIdKeys));
        drop(self.folder);
        Self { local: LocalBlobs::new(store), config, folder }
    }

    fn sweep(&self, now: Duration) -> usize {
        usize::try_from(self.local.store().sweep(now).unwrap().expired).unwrap()
    }

    fn damage(&self, tenant: &TenantId, id: &BlobId) {
        let folder = self.config.root.join("tenants").join(tenant.as_str());
        let path = folder.join(id.letters());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] ^= 1;
        fs::write(&path, bytes).unwrap();
    }

    fn seal(&self) {
        self.local.store().is_sealed.store(true, Ordering::Release);
    }

    fn remains(&self) -> usize {
        names(&self.config.root.join("drafts")).len()
    }

    fn set_aside(&self) -> usize {
        names(&self.config.root.join("quarantine")).len()
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            copy_folder(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
            File::open(&to).unwrap().set_modified(metadata.modified().unwrap()).unwrap();
        }
    }
}

/// A store in an object store in memory, with a table in SQLite and copies on this machine.
pub(super) struct RemotePlace {
    pub(super) remote: RemoteBlobs,
    local: LocalBlobs,
    pub(super) objects: MemoryObjects,
    config: BlobStoreConfig,
    /// The table and the copies.
    folder: TempDir,
}

impl RemotePlace {
    fn open(
        objects: MemoryObjects,
        folder: TempDir,
        config: BlobStoreConfig,
        time: Duration,
    ) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let clock = || Clock::Fixed(time);
        // Each server has copies of its own.
        let copies = format!("copies-{}", NUMBER.fetch_add(1, Ordering::AcqRel));
        let unlimited = BlobStoreConfig {
            root: folder.path().join(copies),
            tenant_bytes: ByteCount::bytes(u64::MAX),
            tenant_blobs: u64::MAX,
            ttl: None,
            ..config.clone()
        };
        let store = LocalBlobStore::open(unlimited, clock()).unwrap();
        let local = LocalBlobs::new(store.with_id_keys(Arc::new(DerivedIdKeys)));
        let rows = now(open_blob_rows(folder.path().join("blobs.db"))).unwrap();
        let place: (Arc<dyn BlobObjects>, &str) = (Arc::new(objects.clone()), "team/a");
        let remote = RemoteBlobs::new(place, rows, local.clone(), (config.clone(), clock()));
        Self { remote, local, objects, config, folder }
    }
}

impl RemotePlace {
    /// The store of a server with another database and these objects.
    pub(super) fn over(objects: MemoryObjects) -> Self {
        let config = BlobStoreConfig::at("/nowhere".into());
        Self::open(objects, tempfile::tempdir().unwrap(), config, START)
    }

    /// The store of a server that has lost its database and its copies.
    pub(super) fn without_table(self) -> Self {
        Self::open(self.objects, tempfile::tempdir().unwrap(), self.config, START)
    }
}

/// Waits for a future where none can be awaited.
fn now<T>(future: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(future))
}

impl Place for RemotePlace {
    fn with(change: impl FnOnce(&mut BlobStoreConfig)) -> Self {
        let mut config = BlobStoreConfig::at("/nowhere".into());
        change(&mut config);
        Self::open(MemoryObjects::default(), tempfile::tempdir().unwrap(), config, START)
    }

    fn blobs(&self) -> Blobs {
        self.remote.clone().into()
    }

    /// The new server is on another machine: it has no copies.
    fn after_crash_at(self, time: Duration) -> Self {
        Self::open(self.objects, self.folder, self.config, time)
    }

    fn sweep(&self, time: Duration) -> usize {
        usize::try_from(now(self.remote.sweep(time)).unwrap().expired).unwrap()
    }

    /// A copy on this machine would still be good.
    fn damage(&self, tenant: &TenantId, id: &BlobId) {
        self.local.store().remove(tenant, id).ok();
        self.objects.damage(&format!("team/a/blobs/{tenant}/{}", id.letters()));
    }

    fn seal(&self) {
        self.local.store().is_sealed.store(true, Ordering::Release);
    }

    fn remains(&self) -> usize {
        names(&self.local.store().config.root.join("drafts")).len()
    }

    fn set_aside(&self) -> usize {
        self.objects.keys("team/a/quarantine/").len()
    }
}

/// The store in memory.
pub(super) struct MemoryPlace(MemoryBlobs);

impl Place for MemoryPlace {
    fn with(change: impl FnOnce(&mut BlobStoreConfig)) -> Self {
        let mut config = BlobStoreConfig::at("/nowhere".into());
        change(&mut config);
        Self(MemoryBlobs::new(config, Clock::Fixed(START), Arc::new(DerivedIdKeys)))
    }

    fn blobs(&self) -> Blobs {
        self.0.clone().into()
    }

    fn after_crash_at(self, time: Duration) -> Self {
        Self(self.0.restarted(Clock::Fixed(time)))
    }

    fn sweep(&self, now: Duration) -> usize {
        self.0.sweep(now)
    }

    fn damage(&self, tenant: &TenantId, id: &BlobId) {
        self.0.damage(tenant, id);
    }

    fn seal(&self) {
        self.0.seal();
    }

    /// What is not finished is nowhere but in its writer.
    fn remains(&self) -> usize {
        0
    }

    fn set_aside(&self) -> usize {
        self.0.set_aside()
    }
}
