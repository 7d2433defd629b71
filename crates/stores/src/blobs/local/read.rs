//! Finds and reads blobs.

use std::io;

use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::local::disk::Disk;
use crate::blobs::local::tenant_folder::TenantFolder;
use crate::blobs::{BlobError, BlobPart, BlobPin, BlobWindow, LocalBlobStore, OpenBlob};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

impl<D: Disk> LocalBlobStore<D> {
    /// Describes a blob without reading its content. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`] also when the blob belongs to another tenant, so that ids cannot be
    /// probed; [`BlobError::Damaged`] if its trailer is.
    pub fn stat(&self, tenant: &TenantId, id: &BlobId) -> Result<StoredBlob, BlobError> {
        let tenant_folder = self.tenant_folder(tenant);
        let (file, _pin) = self.open_existing(&tenant_folder, id)?;
        let stamp = self.disk.stamp(&file).map_err(BlobError::from_disk("read"))?;
        let known = self.verified.lock().find(tenant, id, &stamp);
        if let Some(blob) = known {
            return Ok(self.named(&tenant_folder, blob));
        }
        let trailer = self.trailer(id, &file, stamp.size).map_err(BlobError::from_disk("read"))?;
        let blob = trailer.ok_or_else(|| self.set_aside(&tenant_folder, id, &stamp))?;
        Ok(self.named(&tenant_folder, blob))
    }

    /// Reads at most `limit` bytes of a blob. Counts as a use.
    ///
    /// # Errors
    ///
    /// As [`LocalBlobStore::open_content`].
    pub fn read(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        part: BlobPart,
        limit: ByteCount,
    ) -> Result<BlobWindow, BlobError> {
        let OpenBlob { blob, file, pin: _pin } = self.open_content(tenant, id)?;
        let size = blob.size.as_u64();
        let offset = match part {
            BlobPart::Head => 0,
            BlobPart::Tail => size.saturating_sub(limit.as_u64()),
            BlobPart::From(offset) => offset.min(size),
        };
        let length = limit.min(ByteCount::bytes(size.saturating_sub(offset)));
        let mut bytes = vec![0; length.as_usize()];
        self.read_exact(&file, &mut bytes, offset).map_err(BlobError::from_disk("read"))?;
        Ok(BlobWindow { blob, offset, bytes })
    }

    /// Opens a blob after its content was verified against its id. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`] also when the blob belongs to another tenant;
    /// [`BlobError::Damaged`] if the content or the trailer is.
    pub fn open_content(
        &self,
        tenant: &TenantId,
        id: &BlobId,
    ) -> Result<OpenBlob<D::File>, BlobError> {
        let tenant_folder = self.tenant_folder(tenant);
        let (file, pin) = self.open_existing(&tenant_folder, id)?;
        let blob = self.ensure_intact(&tenant_folder, id, &file)?;
        let blob = self.named(&tenant_folder, blob);
        Ok(OpenBlob { blob, file, pin })
    }

    /// Keeps a blob from being swept. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`] also when the blob belongs to another tenant.
    pub fn pin(&self, tenant: &TenantId, id: &BlobId) -> Result<BlobPin, BlobError> {
        self.open_existing(&self.tenant_folder(tenant), id).map(|(_, pin)| pin)
    }

    fn open_existing(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
    ) -> Result<(D::File, BlobPin), BlobError> {
        self.open_used(tenant_folder, id)?.ok_or_else(|| BlobError::NotFound { id: id.clone() })
    }

    /// Opens a blob's file, marks it as used and pins it, so that no sweep removes it.
    pub(crate) fn open_used(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
    ) -> Result<Option<(D::File, BlobPin)>, BlobError> {
        let _names = tenant_folder.lock();
        match self.disk.open(&tenant_folder.path(id)) {
            Ok(file) => {
                self.mark_used(tenant_folder, id, &file);
                Ok(Some((file, self.pins.pin(&tenant_folder.tenant, id))))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BlobError::from_disk("read")(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Read as _;
    use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
    use std::path::Path;

    use super::*;
    use crate::blobs::TenantUsage;
    use crate::blobs::content::kind::BlobKind;
    use crate::blobs::local::integrity::CHUNK;
    use crate::blobs::local::testing::{START, TestStore, plain, tenant};
    use wardian_vocabulary::error::ErrorKind;

    /// A store with an empty cache of verified files.
    fn store_with(contents: &[&[u8]]) -> (TestStore, Vec<BlobId>) {
        let test = TestStore::new();
        let put =
            |content: &&[u8]| test.store.put(&TenantId::local(), &plain(), content).unwrap().id;
        let ids = contents.iter().map(put).collect();
        (test.reopened_at(START), ids)
    }

    /// Lets a test change a file that the store made read-only.
    fn damage(path: &Path, change: impl FnOnce(&fs::File)) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        change(&OpenOptions::new().write(true).read(true).open(path).unwrap());
    }

    fn flip(file: &fs::File, at: u64) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    }

    #[test]
    fn each_part_has_its_bytes() {
        let (test, ids) = store_with(&[b"0123456789"]);
        let read = |part, limit| {
            let local = TenantId::local();
            let window = test.store.read(&local, &ids[0], part, ByteCount::bytes(limit)).unwrap();
            let has_more = window.has_more();
            (window.offset, String::from_utf8(window.bytes).unwrap(), has_more)
        };
        for (part, limit, offset, bytes, has_more) in [
            (BlobPart::Head, 3, 0, "012", true),
            (BlobPart::Head, 10, 0, "0123456789", false),
            (BlobPart::Head, u64::MAX, 0, "0123456789", false),
            (BlobPart::Tail, 3, 7, "789", false),
            (BlobPart::Tail, 99, 0, "0123456789", false),
            (BlobPart::From(4), 2, 4, "45", true),
            (BlobPart::From(9), 9, 9, "9", false),
            (BlobPart::From(10), 9, 10, "", false),
            (BlobPart::From(u64::MAX), u64::MAX, 10, "", false),
            (BlobPart::Head, 0, 0, "", true),
        ] {
            assert_eq!(read(part, limit), (offset, bytes.to_owned(), has_more), "{part:?} {limit}");
        }
    }

    #[test]
    fn an_open_blob_starts_with_its_content() {
        let (test, ids) = store_with(&[b"abc"]);
        let OpenBlob { blob, mut file, .. } =
            test.store.open_content(&TenantId::local(), &ids[0]).unwrap();
        let mut content = vec![0; blob.size.as_usize()];
        file.read_exact(&mut content).unwrap();
        assert_eq!(content, b"abc");
        assert!(file.write_at(b"x", 0).is_err(), "the descriptor can write");
    }

    #[test]
    fn tenants_apart() {
        let (test, ids) = store_with(&[b"abc"]);
        let other = tenant("other");
        let unknown = BlobId::parse(&format!("blob:{}", "a".repeat(52))).unwrap();
        for id in [&ids[0], &unknown] {
            let errors = [
                test.store.stat(&other, id).unwrap_err(),
                test.content(&other, id).unwrap_err(),
                test.store.open_content(&other, id).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::BlobNotFound);
                let text = format!("the blob `{id}` does not exist; it may have expired");
                assert_eq!(error.to_string(), text);
            }
        }
        assert_eq!(test.files("tenants"), ["local"], "reading made a folder");
        let own = test.store.put(&other, &plain(), b"abc").unwrap().id;
        assert_eq!(test.content(&other, &own).unwrap(), b"abc");
        let foreign = test.content(&other, &ids[0]).unwrap_err();
        assert_eq!(foreign.kind(), ErrorKind::BlobNotFound, "the same content is no key to it");
    }

    #[test]
    fn intact_or_error_for_every_byte() {
        let (mut test, ids) = store_with(&[b"abc", b"other"]);
        let local = TenantId::local();
        let path = test.path(&local, &ids[0]);
        let whole = fs::metadata(&path).unwrap().len();
        for at in 0..whole {
            damage(&path, |file| flip(file, at));
            let error = test.content(&local, &ids[0]).unwrap_err();
            assert!(matches!(error, BlobError::Damaged { .. }), "byte {at}: {error}");
            assert_eq!(error.kind(), ErrorKind::Internal);
            // The blob is gone until it is stored again.
            let error = test.content(&local, &ids[0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BlobNotFound);
            assert_eq!(test.store.put(&local, &plain(), b"abc").unwrap().id, ids[0]);
            test = test.reopened_at(START);
        }
        assert_eq!(test.files("quarantine").len() as u64, whole);
        assert_eq!(test.content(&local, &ids[1]).unwrap(), b"other");
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 2, bytes: 8 });
    }

    #[test]
    fn intact_or_error_for_cut_grown_and_swapped_files() {
        let local = TenantId::local();
        for length in [0, 1, 3, 50, 186, 188] {
            let (test, ids) = store_with(&[b"abc"]);
            damage(&test.path(&local, &ids[0]), |file| file.set_len(length).unwrap());
            for _ in 0..2 {
                assert!(test.content(&local, &ids[0]).is_err(), "{length} bytes");
            }
            assert_eq!(test.files("quarantine").len(), 1);
        }
        let (test, ids) = store_with(&[b"abc", b"abd"]);
        let (one, two) = (test.path(&local, &ids[0]), test.path(&local, &ids[1]));
        fs::remove_file(&one).unwrap();
        fs::rename(&two, &one).unwrap();
        assert!(matches!(test.store.stat(&local, &ids[0]), Err(BlobError::Damaged { .. })));
        assert!(matches!(test.store.stat(&local, &ids[1]), Err(BlobError::NotFound { .. })));
    }

    #[test]
    fn damage_after_a_first_look_is_noticed_too() {
        let (test, ids) = store_with(&[b"abc"]);
        let local = TenantId::local();
        assert_eq!(test.content(&local, &ids[0]).unwrap(), b"abc");
        damage(&test.path(&local, &ids[0]), |file| flip(file, 1));
        assert!(matches!(test.content(&local, &ids[0]), Err(BlobError::Damaged { .. })));
    }

    #[test]
    fn a_damaged_copy_is_replaced_by_a_good_one() {
        let (test, ids) = store_with(&[b"abc"]);
        let local = TenantId::local();
        let by_reader = |test: &TestStore| {
            let size = ByteCount::bytes(3);
            test.store.put_from(&local, &plain(), size, &mut &b"abc"[..])
        };
        for turn in 0..4 {
            damage(&test.path(&local, &ids[0]), |file| flip(file, 0));
            let put = match turn % 2 {
                0 => test.store.put(&local, &plain(), b"abc"),
                _ => by_reader(&test),
            };
            assert_eq!(put.unwrap().id, ids[0]);
            assert_eq!(test.content(&local, &ids[0]).unwrap(), b"abc");
        }
        assert_eq!(test.files("quarantine").len(), 4);
        assert_eq!(test.store.usage(&local).unwrap(), TenantUsage { blobs: 1, bytes: 3 });
    }

    #[test]
    fn a_good_copy_is_not_set_aside_for_the_damaged_one_before_it() {
        let (test, ids) = store_with(&[b"abc"]);
        let local = TenantId::local();
        damage(&test.path(&local, &ids[0]), |file| flip(file, 0));
        let tenant_folder = test.store.tenant_folder(&local);
        let (damaged, _) = test.store.open_used(&tenant_folder, &ids[0]).unwrap().unwrap();
        test.store.put(&local, &plain(), b"abc").unwrap();
        let error = test.store.ensure_intact(&tenant_folder, &ids[0], &damaged).unwrap_err();
        assert!(matches!(error, BlobError::Damaged { .. }));
        assert_eq!(test.content(&local, &ids[0]).unwrap(), b"abc");
        assert_eq!(test.files("quarantine").len(), 1);
    }

    #[test]
    fn an_entry_that_is_not_a_file_is_an_error_and_stays() {
        let (test, ids) = store_with(&[b"abc"]);
        let local = TenantId::local();
        let path = test.path(&local, &ids[0]);
        fs::rename(&path, path.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink(path.with_extension("moved"), &path).unwrap();
        let error = test.content(&local, &ids[0]).unwrap_err();
        assert_eq!(error.to_string(), "could not read the blob store");
        assert!(test.store.put(&local, &plain(), b"abc").is_err());
        assert!(path.is_symlink());
    }

    #[test]
    fn a_large_blob_is_hashed_in_pieces() {
        let content: Vec<u8> = (0..=252).cycle().take(CHUNK * 3 + 5).collect();
        let (test, ids) = store_with(&[&content]);
        let local = TenantId::local();
        assert_eq!(test.content(&local, &ids[0]).unwrap(), content);
        let last = content.len() as u64 - 1;
        damage(&test.path(&local, &ids[0]), |file| flip(file, last));
        assert!(matches!(test.content(&local, &ids[0]), Err(BlobError::Damaged { .. })));
    }

    #[test]
    fn kinds_survive() {
        let test = TestStore::new();
        let local = TenantId::local();
        for text in ["text/csv; charset=utf-8", &format!("a/{}", "b".repeat(125))] {
            let kind = BlobKind::parse(text).unwrap();
            let id = test.store.put(&local, &kind, b"abc").unwrap().id;
            assert_eq!(test.store.stat(&local, &id).unwrap().kind, kind);
        }
    }
}
