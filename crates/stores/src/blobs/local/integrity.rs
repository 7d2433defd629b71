//! The check of a blob's file against its id, and the quarantine of a damaged one.

use std::io;

use tracing::{error, warn};

use crate::blobs::content::blob_id::{BlobHasher, IdScheme};
use crate::blobs::content::trailer::{StoredBlob, TRAILER};
use crate::blobs::local::disk::{Disk, FileStamp};
use crate::blobs::local::tenant_folder::{TenantFolder, usage_of};
use crate::blobs::{BlobError, LocalBlobStore};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// Bytes that are read at a time for hashing.
pub(super) const CHUNK: usize = 128 << 10;

impl<D: Disk> LocalBlobStore<D> {
    /// Verifies that the file's content matches its id: by the cache of verified files, or by
    /// hashing all of it.
    pub(crate) fn ensure_intact(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
        file: &D::File,
    ) -> Result<StoredBlob, BlobError> {
        let stamp = self.disk.stamp(file).map_err(BlobError::from_disk("read"))?;
        if let Some(blob) = self.verified.lock().find(&tenant_folder.tenant, id, &stamp) {
            return Ok(blob);
        }
        let scheme = self.id_scheme(tenant_folder)?;
        let examined = self.examine(&scheme, id, file, stamp.size);
        let examined = examined.map_err(BlobError::from_disk("read"))?;
        let blob = examined.ok_or_else(|| self.set_aside(tenant_folder, id, &stamp))?;
        self.verified.lock().remember(&tenant_folder.tenant, stamp, blob.clone());
        Ok(blob)
    }

    pub(crate) fn examine(
        &self,
        scheme: &IdScheme,
        id: &BlobId,
        file: &D::File,
        file_size: u64,
    ) -> io::Result<Option<StoredBlob>> {
        let Some(blob) = self.trailer(id, file, file_size)? else {
            return Ok(None);
        };
        let mut hasher = BlobHasher::with(scheme, &blob.kind);
        let mut chunk = vec![0; CHUNK.min(blob.size.as_usize())];
        let mut offset = 0;
        while offset < blob.size.as_u64() {
            let left = ByteCount::bytes(blob.size.as_u64().saturating_sub(offset));
            let wanted = left.as_usize().min(chunk.len());
            let bytes = chunk.get_mut(..wanted).unwrap_or_default();
            self.read_exact(file, bytes, offset)?;
            hasher.update(bytes);
            offset = offset.saturating_add(ByteCount::from(wanted).as_u64());
        }
        Ok((hasher.finish() == *id).then_some(blob))
    }

    pub(crate) fn trailer(
        &self,
        id: &BlobId,
        file: &D::File,
        file_size: u64,
    ) -> io::Result<Option<StoredBlob>> {
        let length = ByteCount::from(TRAILER).as_u64();
        let Some(content) = file_size.checked_sub(length) else {
            return Ok(None);
        };
        let mut bytes = [0; TRAILER];
        self.read_exact(file, &mut bytes, content)?;
        Ok(StoredBlob::decode(id, &bytes).filter(|blob| blob.size.as_u64() == content))
    }

    pub(crate) fn read_exact(
        &self,
        file: &D::File,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<()> {
        let (mut rest, mut offset) = (buffer, offset);
        while !rest.is_empty() {
            match self.disk.read_at(file, rest, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    rest = rest.get_mut(count..).unwrap_or_default();
                    offset = offset.saturating_add(ByteCount::from(count).as_u64());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves a damaged file to the quarantine folder, for an operator to inspect.
    pub(crate) fn set_aside(
        &self,
        tenant_folder: &TenantFolder,
        id: &BlobId,
        damaged: &FileStamp,
    ) -> BlobError {
        error!(tenant.id = %tenant_folder.tenant, blob.id = %id, "blob `{id}` is damaged and was \
            quarantined");
        if self.is_beside() {
            return BlobError::Damaged { id: id.clone() };
        }
        let mut names = tenant_folder.lock();
        let path = tenant_folder.path(id);
        // An intact copy may have replaced the file since it was opened.
        let is_same = |stamp: FileStamp| stamp.place == damaged.place;
        let found = self.disk.open(&path).and_then(|file| self.disk.stamp(&file));
        if found.is_ok_and(is_same) {
            // The name is unique, so that no earlier file in the quarantine is replaced.
            let number = uuid::Uuid::now_v7().simple();
            let name = format!("{}_{}_{number}", tenant_folder.tenant, id.letters());
            match self.disk.rename(&path, &self.config.root.join("quarantine").join(name)) {
                Ok(()) => names.subtract(usage_of(damaged.size)),
                Err(cause) => {
                    names.forget();
                    warn!(blob.id = %id, error = %cause, "could not be quarantined");
                }
            }
        }
        self.verified.lock().forget(&tenant_folder.tenant, id);
        BlobError::Damaged { id: id.clone() }
    }
}
