//! Large content kept outside the conversation, named by the hash of its kind and bytes.
//!
//! Knows nothing of methods or runs: bytes in, [`BlobId`](crate::ids::BlobId) out, per tenant, on
//! a local disk. All calls block; callers bring a thread.
//!
//! ```text
//! <root>/lock                      held while a server uses the store
//! <root>/drafts/draft-<n>          being written; removed at the next start
//! <root>/tenants/<tenant>/<id>     content, then a trailer with kind, size and time
//! <root>/quarantine/...            damaged files, set aside and never removed
//! ```
//!
//! INVARIANT(acknowledged-is-durable): when `put` has answered, the blob survives a crash of the
//! server and a loss of power.
//!
//! INVARIANT(whole-or-absent): a crash or an error at any point leaves a blob as it was or leaves
//! none; no reader ever sees part of one.
//!
//! INVARIANT(intact-or-error): bytes that do not have the hash they are named by are never handed
//! out; the file is set aside.
//!
//! INVARIANT(tenants-apart): what one tenant stored does not exist for another, not even as a
//! different error.
//!
//! # Why
//!
//! A failed sync of a file is harmless: the draft is thrown away and nothing was promised. A
//! failed sync of a folder is not: the kernel may forget the failure together with the change, and
//! a second attempt would succeed without having written anything. So after one the store takes
//! no more writes until it is opened again; reads go on.

mod digest;
pub mod disk;
mod error;
#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod faulty_disk;
pub mod kind;
pub mod preview;
pub mod read;
pub mod retention;
mod shelf;
#[cfg(test)]
mod testing;
mod trailer;
mod verified;
mod write;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::blobs::disk::{Disk, LocalDisk};
use crate::blobs::shelf::TenantFolder;
use crate::blobs::verified::Verified;
use crate::clock::Clock;
use crate::ids::TenantId;
use crate::units::ByteCount;

pub use crate::blobs::error::BlobError;
pub use crate::blobs::shelf::TenantUsage;
pub use crate::blobs::trailer::StoredBlob;

/// How operators set up the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobStoreConfig {
    /// Folder of the store; made if it is not there.
    pub root: PathBuf,
    /// Largest content of one blob.
    pub blob_max: ByteCount,
    /// Most bytes of content of one tenant.
    pub tenant_bytes: ByteCount,
    /// Most blobs of one tenant.
    pub tenant_blobs: u64,
    /// How long a blob is kept after its last use; `None` keeps it for ever.
    pub ttl: Option<Duration>,
}

impl BlobStoreConfig {
    /// The defaults, for a store in this folder: 256 MiB a blob, 10 GiB and 100,000 blobs a
    /// tenant, kept for seven days after their last use.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self {
            root,
            blob_max: ByteCount::mebibytes(256),
            tenant_bytes: ByteCount::mebibytes(10 << 10),
            tenant_blobs: 100_000,
            ttl: Some(Duration::from_secs(7 * 24 * 60 * 60)),
        }
    }
}

/// All blobs of all tenants.
#[derive(Debug)]
pub struct BlobStore<D: Disk = LocalDisk> {
    disk: D,
    config: BlobStoreConfig,
    clock: Clock,
    shelves: Mutex<HashMap<TenantId, Arc<TenantFolder>>>,
    verified: Mutex<Verified>,
    next_number: AtomicU64,
    is_sealed: AtomicBool,
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
        let lock = shelf::ensure_folder(&disk, root)
            .and_then(|()| disk.lock(&root.join("lock")))
            .map_err(BlobError::from_disk("open"))?
            .ok_or(BlobError::InUse)?;
        for folder in ["drafts", "tenants", "quarantine"] {
            shelf::ensure_private_folder(&disk, &root.join(folder))
                .map_err(BlobError::from_disk("open"))?;
        }
        let store = Self {
            disk,
            config,
            clock,
            shelves: Mutex::default(),
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
        self.shelf(tenant).usage(&self.disk).map_err(BlobError::from_disk("read"))
    }

    fn shelf(&self, tenant: &TenantId) -> Arc<TenantFolder> {
        let mut shelves = self.shelves.lock();
        let shelf = shelves.entry(tenant.clone());
        Arc::clone(shelf.or_insert_with(|| {
            let folder = self.config.root.join("tenants").join(tenant.as_str());
            Arc::new(TenantFolder::new(tenant.clone(), folder))
        }))
    }

    /// A number that this process has not used for a file before.
    fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }
}
