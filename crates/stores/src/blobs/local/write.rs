//! Stores content: write a draft, sync it, rename it, sync the folder.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sha2::{Digest as _, Sha256};
use tracing::{error, warn};

use crate::blobs::content::blob_id::{BlobHasher, IdScheme, id_of};
use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::local::disk::{Disk, LocalDisk};
use crate::blobs::local::tenant_folder::{Reservation, TenantFolder};
use crate::blobs::{BlobError, LocalBlobStore, NewBlob, WrittenBlob};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Bytes that are read and written at a time: enough to make the cost of calls negligible, few
/// enough to stay in the processor's cache between hashing and writing.
const CHUNK: usize = 128 << 10;

/// Prefix of the names of drafts.
const DRAFT: &str = "draft-";

impl<D: Disk> LocalBlobStore<D> {
    /// Stores content in memory. Content that the tenant has already is not written again.
    ///
    /// When this returns, the blob is durable.
    ///
    /// # Errors
    ///
    /// [`BlobError::TooLarge`] and [`BlobError::QuotaExceeded`] before anything is written;
    /// [`BlobError::DiskFull`], [`BlobError::Sealed`] or [`BlobError::Storage`] with nothing
    /// changed.
    pub fn put(
        &self,
        tenant: &TenantId,
        kind: &BlobKind,
        content: &[u8],
    ) -> Result<StoredBlob, BlobError> {
        let size = ByteCount::from(content.len());
        let tenant_folder = self.folder_for_writing(tenant, size)?;
        let id = id_of(&self.ensure_id_scheme(&tenant_folder)?, kind, content);
        if let Some(blob) = self.reuse(&tenant_folder, &id)? {
            return Ok(blob);
        }
        let room = tenant_folder.reserve(&self.disk, size, &self.config)?;
        let mut writing = self.start(room, kind, ContentId::Known(id))?;
        writing.append(content)?;
        self.store(writing).map(|written| written.blob)
    }

    /// Stores exactly `size` bytes that `content` yields, without holding them in memory.
    ///
    /// When this returns, the blob is durable. Room is reserved for it until then, even if the
    /// tenant has the blob already.
    ///
    /// # Errors
    ///
    /// As [`LocalBlobStore::put`], and [`BlobError::Content`] if `content` ends early or fails.
    pub fn put_from(
        &self,
        tenant: &TenantId,
        kind: &BlobKind,
        size: ByteCount,
        content: &mut dyn Read,
    ) -> Result<StoredBlob, BlobError> {
        let tenant_folder = self.folder_for_writing(tenant, size)?;
        let room = tenant_folder.reserve(&self.disk, size, &self.config)?;
        let scheme = self.ensure_id_scheme(&tenant_folder)?;
        let mut writing = self.start(room, kind, ContentId::of(&scheme, kind))?;
        let mut chunk = vec![0; CHUNK.min(size.as_usize())];
        let mut left = size.as_usize();
        while left > 0 {
            let wanted = chunk.len().min(left);
            let piece = chunk.get_mut(..wanted).unwrap_or_default();
            content.read_exact(piece).map_err(BlobError::Content)?;
            writing.append(piece)?;
            left = left.saturating_sub(wanted);
        }
        self.store(writing).map(|written| written.blob)
    }

    /// Begins to store content that arrives in pieces. The announced size is checked against the
    /// limits and the free space of the disk, but room is reserved as the content arrives. So a
    /// writer that announces much and brings nothing blocks no other.
    ///
    /// # Errors
    ///
    /// As [`LocalBlobStore::put`], for the announced size.
    pub fn begin(
        self: &Arc<Self>,
        tenant: &TenantId,
        new: &NewBlob,
    ) -> Result<LocalWriter<D>, BlobError> {
        let NewBlob { kind, announced, digest } = new;
        let size = announced.unwrap_or_default();
        let tenant_folder = self.folder_for_writing(tenant, size)?;
        let mut room = tenant_folder.reserve(&self.disk, size, &self.config)?;
        room.shrink_to(ByteCount::bytes(0));
        // Without an answer the disk decides while it is written to.
        if self.disk.free(&self.config.root).is_ok_and(|free| free < size.as_u64()) {
            return Err(BlobError::DiskFull(io::ErrorKind::StorageFull.into()));
        }
        let scheme = self.ensure_id_scheme(&tenant_folder)?;
        let writing = self.start(room, kind, ContentId::of(&scheme, kind))?;
        let digest = digest.map(|expected| (expected, Sha256::new()));
        Ok(LocalWriter { store: Arc::clone(self), writing, digest })
    }

    /// The tenant's folder, if the store can take a blob of this size.
    fn folder_for_writing(
        &self,
        tenant: &TenantId,
        size: ByteCount,
    ) -> Result<Arc<TenantFolder>, BlobError> {
        let limit = self.config.blob_max;
        if size > limit {
            return Err(BlobError::TooLarge { size, limit });
        }
        if self.is_sealed() {
            return Err(BlobError::Sealed);
        }
        let tenant_folder = self.tenant_folder(tenant);
        tenant_folder.prepare(&self.disk).map_err(BlobError::from_disk("write to"))?;
        Ok(tenant_folder)
    }

    /// Returns the blob if it is stored already, and makes sure that it is intact and durable.
    fn reuse(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
    ) -> Result<Option<StoredBlob>, BlobError> {
        let Some((file, _pin)) = self.open_used(tenant_folder, id)? else {
            return Ok(None);
        };
        match self.ensure_intact(tenant_folder, id, &file) {
            // Its writer may not have synced the folder yet.
            Ok(blob) => {
                self.sync_tenant_folder(tenant_folder)?;
                Ok(Some(self.named(tenant_folder, blob)))
            }
            Err(BlobError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the draft of a blob.
    fn start(
        &self,
        room: Reservation,
        kind: &BlobKind,
        id: ContentId,
    ) -> Result<Writing<D>, BlobError> {
        let draft = BlobDraft::create(self).map_err(BlobError::from_disk("write to"))?;
        Ok(Writing { room, draft, id, kind: kind.clone(), size: 0 })
    }

    /// Makes the content durable and gives it the name of its blob.
    fn store(&self, writing: Writing<D>) -> Result<WrittenBlob, BlobError> {
        let written = BlobError::from_disk;
        let Writing { room, mut draft, id, kind, size } = writing;
        let size = ByteCount::bytes(size);
        let (id, created) = (id.finish(), self.clock.now());
        let (name, other_names) = (None, Vec::new());
        let blob = StoredBlob { id, kind, size, created, name, other_names };
        draft.write(&blob.encode()).map_err(written("write to"))?;
        self.disk.set_used(&draft.file, blob.created).map_err(written("write to"))?;
        self.disk.sync_file(&draft.file).map_err(written("write to"))?;
        self.commit(room, draft, blob)
    }

    /// Renames a draft to its blob's name, unless the blob exists already.
    fn commit(
        &self,
        mut room: Reservation,
        mut draft: BlobDraft<D>,
        blob: StoredBlob,
    ) -> Result<WrittenBlob, BlobError> {
        let tenant_folder = Arc::clone(&room.tenant_folder);
        let path = tenant_folder.path(&blob.id);
        loop {
            {
                let mut state = tenant_folder.lock();
                match self.disk.open(&path) {
                    Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                        self.disk
                            .rename(&draft.path, &path)
                            .inspect_err(|_| state.forget())
                            .map_err(BlobError::from_disk("write to"))?;
                        draft.is_kept = true;
                        room.settle(&mut state);
                    }
                    Err(cause) => return Err(BlobError::from_disk("read")(cause)),
                    Ok(_) => {}
                }
            }
            if draft.is_kept {
                self.sync_tenant_folder(&tenant_folder)?;
                let stamp = self.disk.stamp(&draft.file);
                if let Ok(stamp) = stamp {
                    self.verified.lock().remember(&tenant_folder.tenant, stamp, blob.clone());
                }
                return Ok(WrittenBlob { blob, is_new: true });
            }
            // Another call stored the blob meanwhile. If that file is damaged, it is set aside now,
            // and the next iteration stores the draft in its place.
            if let Some(blob) = self.reuse(&tenant_folder, &blob.id)? {
                return Ok(WrittenBlob { blob, is_new: false });
            }
        }
    }

    /// Makes the names in a tenant's folder durable, or seals the store.
    pub(crate) fn sync_tenant_folder(&self, tenant_folder: &TenantFolder) -> Result<(), BlobError> {
        self.sync_or_seal(&tenant_folder.folder, &tenant_folder.tenant)
    }

    /// Makes the names in a folder of the store durable, or seals the store.
    pub(crate) fn sync_or_seal(&self, folder: &Path, tenant: &TenantId) -> Result<(), BlobError> {
        if self.is_sealed() {
            return Err(BlobError::Sealed);
        }
        self.disk.sync_folder(folder).map_err(|cause| {
            self.is_sealed.store(true, Ordering::Release);
            error!(
                tenant.id = %tenant, error = %cause,
                "the blob store accepts no more writes: its folder could not be synced"
            );
            BlobError::Storage { what: "write to", cause }
        })
    }

    /// Removes drafts of an earlier server. This process holds the lock, so no other uses them.
    pub(crate) fn remove_stale_drafts(&self) -> Result<(), BlobError> {
        let folder = self.config.root.join("drafts");
        let entries = self.disk.list(&folder).map_err(BlobError::from_disk("open"))?;
        for entry in entries {
            if entry.is_file && entry.name.starts_with(DRAFT) {
                let path = folder.join(&entry.name);
                self.disk.remove(&path).map_err(BlobError::from_disk("open"))?;
            } else {
                warn!(file.name = entry.name, "left alone: not a draft of the blob store");
            }
        }
        Ok(())
    }
}

/// The id of content that is being written.
#[derive(Debug)]
enum ContentId {
    /// The content was hashed before.
    Known(BlobId),
    /// The content is hashed while it is written.
    Hashed(BlobHasher),
}

impl ContentId {
    fn of(scheme: &IdScheme, kind: &BlobKind) -> Self {
        Self::Hashed(BlobHasher::with(scheme, kind))
    }

    fn update(&mut self, content: &[u8]) {
        match self {
            Self::Known(_) => {}
            Self::Hashed(hasher) => hasher.update(content),
        }
    }

    fn finish(self) -> BlobId {
        match self {
            Self::Known(id) => id,
            Self::Hashed(hasher) => hasher.finish(),
        }
    }
}

/// A blob that is being written. Dropped before it is stored, it leaves nothing.
#[derive(Debug)]
struct Writing<D: Disk> {
    room: Reservation,
    draft: BlobDraft<D>,
    id: ContentId,
    kind: BlobKind,
    size: u64,
}

impl<D: Disk> Writing<D> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.id.update(bytes);
        self.draft.write(bytes).map_err(BlobError::from_disk("write to"))?;
        self.size = self.size.saturating_add(ByteCount::from(bytes.len()).as_u64());
        Ok(())
    }
}

/// Content that arrives in pieces. Dropped before it is finished, it leaves nothing.
#[derive(Debug)]
pub struct LocalWriter<D: Disk = LocalDisk> {
    store: Arc<LocalBlobStore<D>>,
    writing: Writing<D>,
    /// The digest that was announced, and the digest so far.
    digest: Option<([u8; 32], Sha256)>,
}

impl<D: Disk> LocalWriter<D> {
    /// Appends a piece.
    ///
    /// # Errors
    ///
    /// As [`LocalBlobStore::put`]. The content must not be finished after an error.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let config = &self.store.config;
        let more = ByteCount::from(bytes.len()).as_u64();
        let size = ByteCount::bytes(self.writing.size.saturating_add(more));
        if size > config.blob_max {
            return Err(BlobError::TooLarge { size, limit: config.blob_max });
        }
        self.writing.room.grow_to(&self.store.disk, size, config)?;
        self.writing.append(bytes)?;
        if let Some((_, digest)) = &mut self.digest {
            digest.update(bytes);
        }
        Ok(())
    }

    /// Ends the content. When this returns, the blob is durable.
    ///
    /// # Errors
    ///
    /// As [`LocalBlobStore::put`], and [`BlobError::WrongDigest`].
    pub fn finish(self) -> Result<WrittenBlob, BlobError> {
        let Self { store, writing, digest } = self;
        let is_other = |(expected, digest): ([u8; 32], Sha256)| digest.finalize()[..] != expected;
        if digest.is_some_and(is_other) {
            return Err(BlobError::WrongDigest);
        }
        store.store(writing)
    }
}

/// A file that is being written. It is removed when dropped, unless it was given its final name.
#[derive(Debug)]
pub(crate) struct BlobDraft<D: Disk> {
    disk: D,
    pub path: PathBuf,
    pub file: D::File,
    /// True once the file has its final name.
    pub is_kept: bool,
}

impl<D: Disk> BlobDraft<D> {
    /// Creates a file in the folder of drafts.
    pub(crate) fn create(store: &LocalBlobStore<D>) -> io::Result<Self> {
        let name = format!("{DRAFT}{}", store.number());
        let path = store.config.root.join("drafts").join(name);
        let file = store.disk.create(&path)?;
        Ok(Self { disk: store.disk.clone(), path, file, is_kept: false })
    }

    /// Appends all of `bytes`, in as many writes as it takes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.disk.write(&mut self.file, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<D: Disk> Drop for BlobDraft<D> {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Err(cause) = self.disk.remove(&self.path) {
            // The next start will remove it.
            warn!(error = %cause, "a draft of the blob store could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Barrier;
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::blobs::BlobStoreConfig;
    use crate::blobs::TenantUsage;
    use crate::blobs::local::testing::{START, TestStore, plain, tenant};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::error::ErrorKind;

    #[test]
    fn stored_content_reads_back() {
        let test = TestStore::new();
        let local = TenantId::local();
        let large: Vec<u8> = (0..=250).cycle().take(CHUNK * 2 + 17).collect();
        for content in [&b""[..], b"x", &large] {
            let blob = test.store.put(&local, &plain(), content).unwrap();
            assert_eq!((blob.size, blob.created), (ByteCount::from(content.len()), START));
            assert_eq!(test.content(&local, &blob.id).unwrap(), content);
            assert_eq!(test.store.stat(&local, &blob.id).unwrap(), blob);
        }
        assert_eq!(test.files("drafts"), Vec::<String>::new());
    }

    #[test]
    fn acknowledged_is_durable_for_the_next_server() {
        let test = TestStore::new();
        let local = TenantId::local();
        let blob = test.store.put(&local, &plain(), b"abc").unwrap();
        let test = test.reopened_at(START);
        assert_eq!(test.content(&local, &blob.id).unwrap(), b"abc");
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 3 });
    }

    #[test]
    fn the_same_content_is_stored_once() {
        let test = TestStore::new();
        let local = TenantId::local();
        let first = test.store.put(&local, &plain(), b"abc").unwrap();
        let second = test.store.put(&local, &plain(), b"abc").unwrap();
        let size = ByteCount::bytes(3);
        let third = test.store.put_from(&local, &plain(), size, &mut &b"abc"[..]).unwrap();
        assert_eq!((&first, &first), (&second, &third));
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 3 });
        let csv = BlobKind::parse("text/csv").unwrap();
        assert_ne!(test.store.put(&local, &csv, b"abc").unwrap().id, first.id);
    }

    #[test]
    fn content_from_a_reader_must_be_as_long_as_announced() {
        let test = TestStore::new();
        let local = TenantId::local();
        let put = |size, content: &[u8]| {
            test.store.put_from(&local, &plain(), ByteCount::bytes(size), &mut &*content)
        };
        assert!(matches!(put(4, b"abc"), Err(BlobError::Content(_))));
        let blob = put(2, b"abc").unwrap();
        assert_eq!(test.content(&local, &blob.id).unwrap(), b"ab");
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 2 });
        assert_eq!(test.files("drafts"), Vec::<String>::new());
    }

    #[test]
    fn a_blob_beyond_its_limit_is_refused_before_anything_is_written() {
        let test = TestStore::with(|config| config.blob_max = ByteCount::bytes(3));
        let local = TenantId::local();
        assert!(test.store.put(&local, &plain(), b"abc").is_ok());
        let error = test.store.put(&local, &plain(), b"abcd").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert_eq!(error.to_string(), "a blob may have at most 3 bytes, this content has 4 bytes");
        let huge = ByteCount::bytes(u64::MAX);
        let error = test.store.put_from(&local, &plain(), huge, &mut io::empty()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn a_full_quota_refuses_new_blobs_and_keeps_the_old() {
        let test = TestStore::with(|config| {
            config.tenant_bytes = ByteCount::bytes(10);
            config.tenant_blobs = 3;
        });
        let local = TenantId::local();
        let first = test.store.put(&local, &plain(), b"12345678").unwrap();
        let error = test.store.put(&local, &plain(), b"abc").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        assert_eq!(test.store.put(&local, &plain(), b"12345678").unwrap(), first);
        test.store.put(&local, &plain(), b"ab").unwrap();
        test.store.put(&local, &plain(), b"").unwrap();
        let csv = BlobKind::parse("text/csv").unwrap();
        assert!(test.store.put(&local, &csv, b"").is_err(), "a fourth blob of three");
        assert!(test.store.put(&tenant("other"), &plain(), b"abc").is_ok());
        let test = test.reopened_at(START);
        assert!(test.store.put(&local, &plain(), b"abc").is_err(), "a restart made room");
        assert_eq!(test.content(&local, &first.id).unwrap(), b"12345678");
    }

    #[test]
    fn many_writers_of_one_content_store_it_once() {
        let test = TestStore::new();
        let (local, start) = (TenantId::local(), Barrier::new(8));
        let write = |turn: usize| {
            start.wait();
            for round in 0..20 {
                let content = [round; 5_000];
                if turn.is_multiple_of(2) {
                    test.store.put(&local, &plain(), &content).unwrap();
                } else {
                    let (size, mut reader) = (ByteCount::bytes(5_000), &content[..]);
                    test.store.put_from(&local, &plain(), size, &mut reader).unwrap();
                }
            }
        };
        thread::scope(|scope| {
            let write = &write;
            for turn in 0..8 {
                scope.spawn(move || write(turn));
            }
        });
        let usage = TenantUsage { blobs: 20, bytes: 100_000 };
        assert_eq!(test.store.usage(&local).unwrap(), usage);
        assert_eq!(test.files("tenants/local").len(), 20);
        assert_eq!(test.reopened_at(START).store.usage(&local).unwrap(), usage);
    }

    #[test]
    fn a_second_server_is_refused() {
        let test = TestStore::new();
        let second = LocalBlobStore::open(test.config.clone(), Clock::System);
        assert!(matches!(second, Err(BlobError::InUse)));
        test.reopened_at(START);
    }

    #[test]
    fn a_start_removes_drafts_and_no_other_files() {
        let test = TestStore::new();
        let local = TenantId::local();
        let blob = test.store.put(&local, &plain(), b"abc").unwrap();
        let root = test.config.root.clone();
        for path in ["drafts/draft-7", "drafts/notes.txt", "tenants/local/README", "own.txt"] {
            fs::write(root.join(path), "x").unwrap();
        }
        fs::create_dir(root.join("drafts/draft-folder")).unwrap();
        let test = test.reopened_at(START);
        assert_eq!(test.files("drafts"), ["draft-folder", "notes.txt"]);
        assert_eq!(test.files("tenants/local").len(), 2);
        assert!(root.join("own.txt").is_file());
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 3 });
        assert_eq!(test.content(&local, &blob.id).unwrap(), b"abc");
    }

    #[test]
    fn rights_of_other_users_are_removed() {
        let test = TestStore::new();
        test.store.put(&TenantId::local(), &plain(), b"abc").unwrap();
        let root = test.config.root.clone();
        let folders = ["drafts", "tenants", "quarantine", "tenants/local"];
        for folder in folders {
            fs::set_permissions(root.join(folder), fs::Permissions::from_mode(0o777)).unwrap();
        }
        let test = test.reopened_at(START);
        test.store.put(&TenantId::local(), &plain(), b"abc").unwrap();
        for folder in folders {
            let mode = fs::metadata(root.join(folder)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{folder}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_without_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let error = LocalBlobStore::open(BlobStoreConfig::at(file.join("blobs")), Clock::System)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(error.to_string(), "could not open the blob store");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_content_reads_back(contents in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..3_000), 1..8,
        )) {
            let test = TestStore::new();
            let local = TenantId::local();
            let ids: Vec<_> = contents
                .iter()
                .map(|content| test.store.put(&local, &plain(), content).unwrap().id)
                .collect();
            let test = test.reopened_at(START);
            for (id, content) in ids.iter().zip(&contents) {
                prop_assert_eq!(&test.content(&local, id).unwrap(), content);
            }
        }
    }
}
