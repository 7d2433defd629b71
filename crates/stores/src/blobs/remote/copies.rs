//! Files with the content of blobs: the copies of this server.

use std::fs::File;
use std::io;
use std::sync::Arc;

use tokio::sync::Mutex as AsyncMutex;
use tracing::{error, warn};

use crate::blobs::content::blob_id::BlobHasher;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::error::BlobError;
use crate::blobs::files::{BlobFiles, BlobVerdict, OnDamage, OpenBlob};
use crate::blobs::remote::objects::ObjectReader;
use crate::blobs::remote::parts::{RemoteParts, described};
use crate::blobs::remote::remote_blobs::RemoteBlobs;
use crate::blobs::remote::rows::BlobRow;
use crate::blobs::store::{BlobFuture, BlobStore as _, NewBlob};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// What a fetched object was.
pub(super) enum FetchedObject {
    /// The content of its blob: the copy.
    Intact(OpenBlob<File>),
    /// Other content, or none.
    Damaged,
}

impl RemoteParts {
    /// The copy of a blob, which is fetched if there is none. Its content belongs to the id.
    pub(super) async fn copy_of(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        row: &BlobRow,
    ) -> Result<OpenBlob<File>, BlobError> {
        if let Some(copy) = self.known_copy(tenant, id).await? {
            return Ok(copy);
        }
        let turn = self.turn_to_fetch(tenant, id);
        let _turn = turn.lock().await;
        if let Some(copy) = self.known_copy(tenant, id).await? {
            return Ok(copy);
        }
        match self.fetch(tenant, id, row).await? {
            FetchedObject::Intact(copy) => Ok(copy),
            FetchedObject::Damaged => {
                error!(tenant.id = %tenant, blob.id = %id, "its object is damaged: it is set aside");
                self.remove_damaged(tenant, id, true).await?;
                Err(BlobError::Damaged { id: id.clone() })
            }
        }
    }

    /// The copy that this server has. One that is damaged is set aside, and is none.
    async fn known_copy(
        &self,
        tenant: &TenantId,
        id: &BlobId,
    ) -> Result<Option<OpenBlob<File>>, BlobError> {
        match self.local.open(tenant, id).await {
            Ok(copy) => Ok(Some(copy)),
            Err(BlobError::NotFound { .. } | BlobError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The turn of one that fetches a blob. Others wait for it, and have its copy.
    fn turn_to_fetch(&self, tenant: &TenantId, id: &BlobId) -> Arc<AsyncMutex<()>> {
        let mut fetches = self.fetches.lock();
        fetches.retain(|_, turn| turn.strong_count() > 0);
        let place = fetches.entry((tenant.clone(), id.clone())).or_default();
        place.upgrade().unwrap_or_else(|| {
            let turn = Arc::<AsyncMutex<()>>::default();
            *place = Arc::downgrade(&turn);
            turn
        })
    }

    /// Fetches an object into a copy, if it is the content of its blob.
    pub(super) async fn fetch(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        row: &BlobRow,
    ) -> Result<FetchedObject, BlobError> {
        let object = self.place.objects.read(&self.key(tenant, id)).await;
        let Some(mut object) = object.map_err(BlobError::Unreachable)? else {
            return Ok(FetchedObject::Damaged);
        };
        let new = NewBlob::announced(row.kind.clone(), row.size);
        let mut spool = self.local.begin(tenant, new).await?;
        let mut left = row.size.as_u64();
        while let Some(piece) = next(object.as_mut()).await? {
            let Some(rest) = left.checked_sub(ByteCount::from(piece.len()).as_u64()) else {
                return Ok(FetchedObject::Damaged);
            };
            left = rest;
            spool.append(piece).await?;
        }
        let written = spool.finish().await?;
        if written.blob.id != *id {
            if written.is_new {
                self.forget_copy(tenant, &written.blob.id).await;
            }
            return Ok(FetchedObject::Damaged);
        }
        self.local.open(tenant, id).await.map(FetchedObject::Intact)
    }

    /// Gives a copy up.
    pub(super) async fn forget_copy(&self, tenant: &TenantId, id: &BlobId) {
        let _none_is_spooled = self.spooled.write().await;
        match self.local.remove(tenant, id).await {
            Ok(()) | Err(BlobError::NotFound { .. }) => {}
            Err(fault) => {
                warn!(tenant.id = %tenant, blob.id = %id, error = %fault, "its copy could not be removed");
            }
        }
    }

    /// Copies what is stored in the place of a blob to where an operator finds it.
    pub(super) async fn copy_aside(&self, tenant: &TenantId, id: &BlobId) -> Result<(), BlobError> {
        let milliseconds = self.clock.now().as_millis();
        let name = format!("{}-{milliseconds}-{}", id.letters(), self.local.store().number());
        let aside = self.place.key("quarantine", &format!("{tenant}/{name}"));
        let copied = self.place.objects.copy(&self.key(tenant, id), &aside).await;
        copied.map_err(BlobError::Unreachable)
    }

    /// Removes a blob whose object is damaged or missing, and sets the object aside if that is wanted.
    pub(super) async fn remove_damaged(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        aside: bool,
    ) -> Result<(), BlobError> {
        if aside
            && self
                .place
                .objects
                .version(&self.key(tenant, id))
                .await
                .map_err(BlobError::Unreachable)?
                .is_some()
        {
            self.copy_aside(tenant, id).await?;
        }
        self.remove(tenant, id, None).await.map(drop)
    }

    /// True if the object of a blob is its content, and the number of its bytes.
    pub(super) async fn is_object_intact(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        kind: &BlobKind,
    ) -> Result<(bool, ByteCount), BlobError> {
        let object = self.place.objects.read(&self.key(tenant, id)).await;
        let Some(mut object) = object.map_err(BlobError::Unreachable)? else {
            return Ok((false, ByteCount::default()));
        };
        let mut hasher = BlobHasher::with(&self.local.scheme_of(tenant).await?, kind);
        let mut size = 0_u64;
        while let Some(piece) = next(object.as_mut()).await? {
            hasher.update(&piece);
            size = size.saturating_add(ByteCount::from(piece.len()).as_u64());
        }
        Ok((hasher.finish() == *id, ByteCount::bytes(size)))
    }
}

async fn next(object: &mut dyn ObjectReader) -> Result<Option<Vec<u8>>, BlobError> {
    object.next().await.map_err(|cause: io::Error| BlobError::Unreachable(cause))
}

impl BlobFiles for RemoteBlobs {
    fn open<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, OpenBlob<File>> {
        Box::pin(async move {
            let (row, pin) = self.0.find_used(tenant, id).await?;
            let OpenBlob { file, .. } = self.0.copy_of(tenant, id, &row).await?;
            Ok(OpenBlob { blob: described(id, &row), file, pin })
        })
    }

    fn verify<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        damaged: OnDamage,
    ) -> BlobFuture<'a, BlobVerdict> {
        Box::pin(async move {
            let row = self.0.find(tenant, id).await?;
            let (is_intact, size) = self.0.is_object_intact(tenant, id, &row.kind).await?;
            if is_intact {
                return Ok(BlobVerdict::Intact(described(id, &row)));
            }
            match damaged {
                OnDamage::Keep => {}
                OnDamage::Quarantine => self.0.remove_damaged(tenant, id, true).await?,
                OnDamage::Remove => self.0.remove_damaged(tenant, id, false).await?,
            }
            Ok(BlobVerdict::Damaged(size))
        })
    }
}
