//! The store of all blobs on a local disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::blobs::config::BlobStoreConfig;
use crate::blobs::error::BlobError;
use crate::blobs::id_keys::{BlobIdKeys, NoIdKeys};
use crate::blobs::local::disk::{self, Disk, LocalDisk};
use crate::blobs::local::tenant_folder::TenantFolder;
use crate::blobs::local::verified_cache::Verified;
use crate::blobs::pin::PinnedBlobs;
use crate::blobs::store::TenantUsage;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::TenantId;

/// A store of the blobs of all tenants on a disk. Its operations block: a server uses it through
/// [`LocalBlobs`](crate::blobs::LocalBlobs).
///
/// Only a local store is sealed after a failed sync, is swept of blobs that were not used, and has a
/// quarantine folder.
#[derive(Debug)]
pub struct LocalBlobStore<D: Disk = LocalDisk> {
    pub(crate) disk: D,
    pub(crate) config: BlobStoreConfig,
    pub(crate) clock: Clock,
    pub(crate) folders: Mutex<HashMap<TenantId, Arc<TenantFolder>>>,
    pub(crate) verified: Mutex<Verified>,
    pub(crate) next_number: AtomicU64,
    pub(crate) is_sealed: AtomicBool,
    pub(crate) pins: Arc<PinnedBlobs>,
    pub(crate) id_keys: Arc<dyn BlobIdKeys>,
    /// The store is locked as long as this file is open. `None` next to a server that has the lock.
    lock: Option<D::File>,
}

impl LocalBlobStore {
    /// Opens the store on this machine's disk, creates it if it does not exist, and removes files
    /// that a crash left half written. Other tenants than `local` need
    /// [`with_id_keys`](Self::with_id_keys).
    ///
    /// # Errors
    ///
    /// [`BlobError::InUse`] if another server uses it, [`BlobError::Storage`] if the folder cannot
    /// be created, read or locked.
    pub fn open(config: BlobStoreConfig, clock: Clock) -> Result<Self, BlobError> {
        Self::open_on(LocalDisk, config, clock)
    }

    /// Opens the store next to a server that uses it: it can be read and not be written.
    #[must_use]
    pub fn open_beside(config: BlobStoreConfig, clock: Clock) -> Self {
        let store = Self::over(LocalDisk, config, clock, None);
        store.is_sealed.store(true, Ordering::Release);
        store
    }
}

impl<D: Disk> LocalBlobStore<D> {
    /// Opens the store on any [`Disk`], as [`LocalBlobStore::open`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`LocalBlobStore::open`].
    pub(crate) fn open_on(
        disk: D,
        config: BlobStoreConfig,
        clock: Clock,
    ) -> Result<Self, BlobError> {
        let root = &config.root;
        let lock = disk::ensure_folder(&disk, root)
            .and_then(|()| disk.lock(&root.join("lock")))
            .map_err(BlobError::from_disk("open"))?
            .ok_or(BlobError::InUse)?;
        for folder in ["drafts", "tenants", "quarantine"] {
            disk::ensure_private_folder(&disk, &root.join(folder))
                .map_err(BlobError::from_disk("open"))?;
        }
        let store = Self::over(disk, config, clock, Some(lock));
        store.remove_stale_drafts()?;
        Ok(store)
    }

    fn over(disk: D, config: BlobStoreConfig, clock: Clock, lock: Option<D::File>) -> Self {
        Self {
            disk,
            config,
            clock,
            folders: Mutex::default(),
            verified: Mutex::default(),
            next_number: AtomicU64::new(0),
            is_sealed: AtomicBool::new(false),
            pins: Arc::default(),
            id_keys: Arc::new(NoIdKeys),
            lock,
        }
    }

    /// The same store with a place for the keys of tenants' ids.
    #[must_use]
    pub fn with_id_keys(self, id_keys: Arc<dyn BlobIdKeys>) -> Self {
        Self { id_keys, ..self }
    }

    /// True if the store takes no more writes because a folder could not be synced.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.is_sealed.load(Ordering::Acquire)
    }

    /// True if another process has the lock, so this one must change nothing.
    pub(crate) const fn is_beside(&self) -> bool {
        self.lock.is_none()
    }

    /// The number and size of a tenant's blobs.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the disk cannot be read.
    pub fn usage(&self, tenant: &TenantId) -> Result<TenantUsage, BlobError> {
        self.tenant_folder(tenant).usage(&self.disk).map_err(BlobError::from_disk("read"))
    }

    pub(crate) fn tenant_folder(&self, tenant: &TenantId) -> Arc<TenantFolder> {
        let mut folders = self.folders.lock();
        let entry = folders.entry(tenant.clone());
        Arc::clone(entry.or_insert_with(|| {
            let folder = self.config.root.join("tenants").join(tenant.as_str());
            Arc::new(TenantFolder::new(tenant.clone(), folder))
        }))
    }

    /// Returns a number that is unique in this process.
    pub fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }
}
