//! All blobs of all tenants, on one disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::blobs::config::BlobStoreConfig;
use crate::blobs::disk::{Disk, LocalDisk};
use crate::blobs::error::BlobError;
use crate::blobs::tenant_folder::{self, TenantFolder, TenantUsage};
use crate::blobs::verified::Verified;
use crate::clock::Clock;
use crate::ids::TenantId;

/// All blobs of all tenants.
#[derive(Debug)]
pub struct BlobStore<D: Disk = LocalDisk> {
    pub(super) disk: D,
    pub(super) config: BlobStoreConfig,
    pub(super) clock: Clock,
    pub(super) folders: Mutex<HashMap<TenantId, Arc<TenantFolder>>>,
    pub(super) verified: Mutex<Verified>,
    pub(super) next_number: AtomicU64,
    pub(super) is_sealed: AtomicBool,
    /// Held, never read: the lock lasts as long as the file is open.
    _lock: D::File,
}

impl BlobStore {
    /// Opens the store on this machine's disk, making it if it is not there, and removes what a
    /// crash left half written.
    ///
    /// # Errors
    ///
    /// [`BlobError::InUse`] if another server has it, [`BlobError::Storage`] if the folder cannot
    /// be made, read or locked.
    pub fn open(config: BlobStoreConfig, clock: Clock) -> Result<Self, BlobError> {
        Self::open_on(LocalDisk, config, clock)
    }
}

impl<D: Disk> BlobStore<D> {
    /// Opens the store on a disk of any sort, as [`BlobStore::open`] does.
    ///
    /// # Errors
    ///
    /// As [`BlobStore::open`].
    pub fn open_on(disk: D, config: BlobStoreConfig, clock: Clock) -> Result<Self, BlobError> {
        let root = &config.root;
        let lock = tenant_folder::ensure_folder(&disk, root)
            .and_then(|()| disk.lock(&root.join("lock")))
            .map_err(BlobError::from_disk("open"))?
            .ok_or(BlobError::InUse)?;
        for folder in ["drafts", "tenants", "quarantine"] {
            tenant_folder::ensure_private_folder(&disk, &root.join(folder))
                .map_err(BlobError::from_disk("open"))?;
        }
        let store = Self {
            disk,
            config,
            clock,
            folders: Mutex::default(),
            verified: Mutex::default(),
            next_number: AtomicU64::new(0),
            is_sealed: AtomicBool::new(false),
            _lock: lock,
        };
        store.remove_stale_drafts()?;
        Ok(store)
    }

    /// True if the store takes no more writes because a folder could not be synced.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.is_sealed.load(Ordering::Acquire)
    }

    /// What a tenant has stored.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the disk cannot be read.
    pub fn usage(&self, tenant: &TenantId) -> Result<TenantUsage, BlobError> {
        self.tenant_folder(tenant).usage(&self.disk).map_err(BlobError::from_disk("read"))
    }

    pub(super) fn tenant_folder(&self, tenant: &TenantId) -> Arc<TenantFolder> {
        let mut folders = self.folders.lock();
        let entry = folders.entry(tenant.clone());
        Arc::clone(entry.or_insert_with(|| {
            let folder = self.config.root.join("tenants").join(tenant.as_str());
            Arc::new(TenantFolder::new(tenant.clone(), folder))
        }))
    }

    /// A number that this process has not used for a file before.
    pub(super) fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }
}
