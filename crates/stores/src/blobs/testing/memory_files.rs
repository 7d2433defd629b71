//! Files with the content of blobs that are in memory: as a cache over a remote store makes them.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::blobs::content::blob_id::{IdScheme, id_of};
use crate::blobs::error::BlobError;
use crate::blobs::files::{BlobFiles, BlobVerdict, OnDamage, OpenBlob};
use crate::blobs::store::BlobFuture;
use crate::blobs::testing::memory_blobs::{MemoryBlobs, StoredObject};
use wardian_vocabulary::ids::{BlobId, TenantId};

/// Copies blobs into files in memory, and compares the copies with the ids of the blobs.
#[derive(Debug, Clone)]
pub struct MemoryFiles {
    blobs: MemoryBlobs,
}

impl MemoryFiles {
    /// Files of the blobs of a store.
    #[must_use]
    pub const fn of(blobs: MemoryBlobs) -> Self {
        Self { blobs }
    }
}

impl BlobFiles for MemoryFiles {
    fn open<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, OpenBlob<File>> {
        Box::pin(async move {
            self.blobs.suspend().await;
            let (found, pin) = self.blobs.find_used(tenant, id)?;
            let scheme = self.blobs.id_scheme(tenant).await?;
            let file = copied(&found).map_err(BlobError::from_disk("read"))?;
            self.blobs.suspend().await;
            if !is_copy_intact(&file, &found, &scheme).map_err(BlobError::from_disk("read"))? {
                self.blobs.remove_damaged(tenant, &found, true);
                return Err(BlobError::Damaged { id: id.clone() });
            }
            Ok(OpenBlob { blob: found.blob, file, pin })
        })
    }

    fn verify<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        damaged: OnDamage,
    ) -> BlobFuture<'a, BlobVerdict> {
        Box::pin(async move {
            self.blobs.suspend().await;
            let found = self.blobs.find(tenant, id)?;
            if found.is_intact(&self.blobs.id_scheme(tenant).await?) {
                return Ok(BlobVerdict::Intact(found.blob));
            }
            match damaged {
                OnDamage::Keep => {}
                OnDamage::Quarantine => self.blobs.remove_damaged(tenant, &found, true),
                OnDamage::Remove => self.blobs.remove_damaged(tenant, &found, false),
            }
            Ok(BlobVerdict::Damaged(found.content.len().into()))
        })
    }
}

/// A copy of the content that nobody can change.
fn copied(found: &StoredObject) -> std::io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"blob", flags)?);
    file.write_all(&found.content)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// True if a copy belongs to the id. A copy that has another length does not.
fn is_copy_intact(file: &File, found: &StoredObject, scheme: &IdScheme) -> std::io::Result<bool> {
    if file.metadata()?.len() != found.blob.size.as_u64() {
        return Ok(false);
    }
    let mut content = vec![0; found.blob.size.as_usize()];
    file.read_exact_at(&mut content, 0)?;
    Ok(id_of(scheme, &found.blob.kind, &content) == found.blob.id)
}
