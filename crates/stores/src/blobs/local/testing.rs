//! Support for the tests of this folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use crate::blobs::BlobPart;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::local::disk::LocalDisk;
use crate::blobs::testing::MemoryIdKeys;
use crate::blobs::{BlobError, BlobStoreConfig, LocalBlobStore};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The time at which tests begin, since the Unix epoch.
pub const START: Duration = Duration::from_secs(1_790_000_000);

pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);

/// A store on a real disk, removed with the test.
pub(crate) struct TestStore {
    pub store: LocalBlobStore<LocalDisk>,
    pub config: BlobStoreConfig,
    pub keys: Arc<MemoryIdKeys>,
    _folder: TempDir,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut BlobStoreConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = BlobStoreConfig::at(folder.path().join("blobs"));
        change(&mut config);
        let store = LocalBlobStore::open(config.clone(), Clock::Fixed(START)).unwrap();
        let keys = Arc::<MemoryIdKeys>::default();
        Self { store: store.with_id_keys(keys.clone()), config, keys, _folder: folder }
    }

    /// The same store, opened again by a server whose clock shows `time`.
    pub(crate) fn reopened_at(self, time: Duration) -> Self {
        let Self { store, config, keys, _folder } = self;
        drop(store);
        let store = reopen(&config, time).with_id_keys(keys.clone());
        Self { store, config, keys, _folder }
    }

    /// The blob's file.
    pub(crate) fn path(&self, tenant: &TenantId, id: &BlobId) -> PathBuf {
        self.config.root.join("tenants").join(tenant.as_str()).join(id.letters())
    }

    /// Names of the files in a folder of the store.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        names(&self.config.root.join(folder))
    }

    /// The whole content of a blob.
    pub(crate) fn content(&self, tenant: &TenantId, id: &BlobId) -> Result<Vec<u8>, BlobError> {
        let all = ByteCount::bytes(u64::MAX);
        self.store.read(tenant, id, BlobPart::Head, all).map(|window| window.bytes)
    }
}

/// Opens a store whose server has just ended.
pub(crate) fn reopen(config: &BlobStoreConfig, time: Duration) -> LocalBlobStore {
    let open = || LocalBlobStore::open(config.clone(), Clock::Fixed(time));
    // A child process that another test is starting holds the lock until it calls `exec`.
    let is_in_use = |opened: &Result<_, _>| matches!(opened, Err(BlobError::InUse));
    let mut opened = open();
    for _ in 0..1_000 {
        if !is_in_use(&opened) {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(5));
        opened = open();
    }
    opened.unwrap()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn plain() -> BlobKind {
    BlobKind::parse("text/plain").unwrap()
}

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}
