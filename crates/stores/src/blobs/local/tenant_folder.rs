//! One tenant's folder: its usage, and reservations for blobs that are being written.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::blobs::content::blob_id::IdScheme;
use crate::blobs::content::trailer::TRAILER;
use crate::blobs::local::disk::{Disk, FolderEntry, ensure_private_folder};
use crate::blobs::{BlobError, BlobStoreConfig, TenantUsage};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// One tenant's folder.
///
/// Files are added to it and removed from it only under its lock. So no sweep removes a blob while
/// a reader finds it and marks it as used.
#[derive(Debug)]
pub struct TenantFolder {
    pub tenant: TenantId,
    pub folder: PathBuf,
    state: Mutex<FolderState>,
    /// The scheme of the tenant's ids, once it is known.
    id_scheme: Mutex<Option<IdScheme>>,
    /// Held while the folder is counted for the first time. Writers wait for it, readers do not.
    counting: Mutex<()>,
}

/// The known state of a folder.
#[derive(Debug, Default)]
pub struct FolderState {
    /// The stored blobs; unknown until the folder was read once.
    stored: Option<TenantUsage>,
    /// Blobs that are being written at this moment.
    reserved: TenantUsage,
    /// Counts removals and failed changes, so that a concurrent count notices them.
    changes: u64,
    /// True once a write began: from then on blobs may appear at any time.
    has_writers: bool,
}

impl FolderState {
    /// Records that a blob was removed.
    pub(crate) fn subtract(&mut self, blob: TenantUsage) {
        self.changes = self.changes.wrapping_add(1);
        self.stored = self.stored.map(|stored| stored.minus(blob));
    }

    /// Records that a change failed, so the usage is unknown.
    pub const fn forget(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        self.stored = None;
    }
}

impl TenantFolder {
    pub fn new(tenant: TenantId, folder: PathBuf) -> Self {
        Self {
            tenant,
            folder,
            state: Mutex::default(),
            id_scheme: Mutex::default(),
            counting: Mutex::default(),
        }
    }

    /// The path of a blob's file.
    pub fn path(&self, id: &BlobId) -> PathBuf {
        self.folder.join(id.letters())
    }

    /// Locks the folder.
    pub fn lock(&self) -> MutexGuard<'_, FolderState> {
        self.state.lock()
    }

    /// Locks the scheme of the tenant's ids.
    pub(crate) fn id_scheme(&self) -> MutexGuard<'_, Option<IdScheme>> {
        self.id_scheme.lock()
    }

    /// Creates the folder and counts its blobs, once.
    pub fn prepare<D: Disk>(&self, disk: &D) -> io::Result<()> {
        drop(self.counting.lock());
        self.count(disk, &mut self.lock()).map(|_| ())
    }

    /// Counts the blobs of the folder while it may be read.
    ///
    /// The count is exact or is discarded. No blob is added meanwhile, because every write first
    /// calls [`Self::prepare`], which waits for the count. If a blob is removed meanwhile, the next
    /// write counts again.
    pub(crate) fn count_ahead<D: Disk>(&self, disk: &D) -> io::Result<()> {
        let _counting = self.counting.lock();
        let before = {
            let state = self.lock();
            if state.stored.is_some() || state.has_writers {
                return Ok(());
            }
            state.changes
        };
        let found = count(&disk.list(&self.folder)?);
        let mut state = self.lock();
        if state.stored.is_none() && state.changes == before {
            state.stored = Some(found);
        }
        Ok(())
    }

    fn count<D: Disk>(&self, disk: &D, state: &mut FolderState) -> io::Result<TenantUsage> {
        if let (Some(stored), true) = (state.stored, state.has_writers) {
            return Ok(stored);
        }
        ensure_private_folder(disk, &self.folder)?;
        state.has_writers = true;
        if let Some(stored) = state.stored {
            return Ok(stored);
        }
        let stored = count(&disk.list(&self.folder)?);
        state.stored = Some(stored);
        Ok(stored)
    }

    /// The stored blobs, read from the disk if they are not known yet.
    pub fn usage<D: Disk>(&self, disk: &D) -> io::Result<TenantUsage> {
        let state = self.lock();
        match state.stored {
            Some(stored) => Ok(stored),
            None => match disk.list(&self.folder) {
                Ok(entries) => Ok(count(&entries)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TenantUsage::default()),
                Err(error) => Err(error),
            },
        }
    }

    /// Reserves room for one blob, before any of it is written.
    pub fn reserve<D: Disk>(
        self: &Arc<Self>,
        disk: &D,
        size: ByteCount,
        config: &BlobStoreConfig,
    ) -> Result<Reservation, BlobError> {
        let blob = TenantUsage::of_blob(size);
        self.take(disk, blob, config)?;
        Ok(Reservation { tenant_folder: Arc::clone(self), blob, is_open: true })
    }

    fn take<D: Disk>(
        &self,
        disk: &D,
        more: TenantUsage,
        config: &BlobStoreConfig,
    ) -> Result<(), BlobError> {
        let mut state = self.lock();
        let stored = self.count(disk, &mut state).map_err(BlobError::from_disk("write to"))?;
        let total = stored.plus(state.reserved).plus(more);
        if total.bytes > config.tenant_bytes.as_u64() || total.blobs > config.tenant_blobs {
            return Err(BlobError::QuotaExceeded {
                bytes: config.tenant_bytes,
                blobs: config.tenant_blobs,
            });
        }
        state.reserved = state.reserved.plus(more);
        Ok(())
    }
}

/// Reserved room for one blob, released when dropped.
#[derive(Debug)]
pub struct Reservation {
    pub(crate) tenant_folder: Arc<TenantFolder>,
    blob: TenantUsage,
    is_open: bool,
}

impl Reservation {
    /// Reserves more room, so that the blob may have `size` bytes.
    pub fn grow_to<D: Disk>(
        &mut self,
        disk: &D,
        size: ByteCount,
        config: &BlobStoreConfig,
    ) -> Result<(), BlobError> {
        let bytes = size.as_u64().saturating_sub(self.blob.bytes);
        if bytes > 0 {
            self.tenant_folder.take(disk, TenantUsage { blobs: 0, bytes }, config)?;
            self.blob.bytes = size.as_u64();
        }
        Ok(())
    }

    /// Gives room back, so that `size` bytes stay reserved.
    pub fn shrink_to(&mut self, size: ByteCount) {
        let bytes = self.blob.bytes.saturating_sub(size.as_u64());
        let mut state = self.tenant_folder.lock();
        state.reserved = state.reserved.minus(TenantUsage { blobs: 0, bytes });
        self.blob.bytes = self.blob.bytes.saturating_sub(bytes);
    }

    /// Records that the blob is stored.
    pub fn settle(&mut self, state: &mut FolderState) {
        if self.is_open {
            self.is_open = false;
            state.reserved = state.reserved.minus(self.blob);
            state.stored = state.stored.map(|stored| stored.plus(self.blob));
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.is_open {
            let mut state = self.tenant_folder.lock();
            state.reserved = state.reserved.minus(self.blob);
        }
    }
}

/// The id of the blob in a file, if the file belongs to the store.
pub(crate) fn blob_of(entry: &FolderEntry) -> Option<BlobId> {
    entry.is_file.then(|| BlobId::parse(&format!("blob:{}", entry.name)).ok()).flatten()
}

/// The part of the tenant's quota that a file takes.
pub(crate) fn usage_of(file_size: u64) -> TenantUsage {
    let trailer = u64::try_from(TRAILER).unwrap_or(u64::MAX);
    TenantUsage::of_blob(ByteCount::bytes(file_size.saturating_sub(trailer)))
}

fn count(entries: &[FolderEntry]) -> TenantUsage {
    entries
        .iter()
        .filter(|entry| blob_of(entry).is_some())
        .fold(TenantUsage::default(), |sum, entry| sum.plus(usage_of(entry.size)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::blobs::local::faulty_disk::FaultyDisk;

    fn config(bytes: u64, blobs: u64) -> BlobStoreConfig {
        BlobStoreConfig {
            tenant_bytes: ByteCount::bytes(bytes),
            tenant_blobs: blobs,
            ..BlobStoreConfig::at(PathBuf::new())
        }
    }

    #[test]
    fn room_is_reserved_before_it_is_used() {
        let disk = FaultyDisk::default();
        let tenant_folder = Arc::new(TenantFolder::new(TenantId::local(), PathBuf::from("/local")));
        let config = config(10, 2);
        let reserve = |size| tenant_folder.reserve(&disk, ByteCount::bytes(size), &config);
        let first = reserve(6).unwrap();
        assert!(reserve(5).is_err(), "two writers had one room");
        let second = reserve(4).unwrap();
        assert!(reserve(0).is_err(), "a third blob of two");
        drop((first, second));
        assert!(reserve(10).is_ok());
        assert!(reserve(u64::MAX).is_err());
    }

    #[test]
    fn room_grows_with_a_blob_within_the_quota() {
        let disk = FaultyDisk::default();
        let tenant_folder = Arc::new(TenantFolder::new(TenantId::local(), PathBuf::from("/local")));
        let config = config(10, 9);
        let size = ByteCount::bytes;
        let mut one = tenant_folder.reserve(&disk, size(10), &config).unwrap();
        one.shrink_to(size(0));
        let mut two = tenant_folder.reserve(&disk, size(4), &config).unwrap();
        one.grow_to(&disk, size(6), &config).unwrap();
        assert!(one.grow_to(&disk, size(7), &config).is_err());
        assert!(two.grow_to(&disk, size(5), &config).is_err());
        two.grow_to(&disk, size(3), &config).unwrap();
        drop(two);
        one.grow_to(&disk, size(10), &config).unwrap();
        drop(one);
        assert!(tenant_folder.reserve(&disk, size(10), &config).is_ok());
    }

    #[test]
    fn stored_blobs_keep_their_room() {
        let disk = FaultyDisk::default();
        let tenant_folder = Arc::new(TenantFolder::new(TenantId::local(), PathBuf::from("/local")));
        let config = config(10, 9);
        let reserve = |size| tenant_folder.reserve(&disk, ByteCount::bytes(size), &config);
        let mut room = reserve(6).unwrap();
        room.settle(&mut tenant_folder.lock());
        drop(room);
        assert_eq!(tenant_folder.usage(&disk).unwrap(), TenantUsage { blobs: 1, bytes: 6 });
        assert!(reserve(5).is_err());
        tenant_folder.lock().subtract(TenantUsage::of_blob(ByteCount::bytes(6)));
        assert!(reserve(10).is_ok());
    }

    #[test]
    fn an_unknown_usage_is_counted_again() {
        let disk = FaultyDisk::default();
        let tenant_folder = Arc::new(TenantFolder::new(TenantId::local(), PathBuf::from("/local")));
        tenant_folder.prepare(&disk).unwrap();
        disk.create(&Path::new("/local").join("a".repeat(52))).unwrap();
        assert_eq!(tenant_folder.usage(&disk).unwrap().blobs, 0);
        tenant_folder.lock().forget();
        assert_eq!(tenant_folder.usage(&disk).unwrap().blobs, 1);
        assert!(tenant_folder.reserve(&disk, ByteCount::bytes(0), &config(10, 1)).is_err());
    }

    #[test]
    fn only_files_with_names_of_blobs_are_blobs() {
        let letters = "a".repeat(52);
        let entry = |name: &str, is_file| FolderEntry {
            name: name.into(),
            is_file,
            size: 0,
            used: std::time::Duration::ZERO,
        };
        assert!(blob_of(&entry(&letters, true)).is_some());
        assert!(blob_of(&entry(&letters, false)).is_none());
        for name in ["README", "lost+found", &format!("{letters}.bak"), &letters.to_uppercase()] {
            assert!(blob_of(&entry(name, true)).is_none(), "{name}");
        }
    }
}
