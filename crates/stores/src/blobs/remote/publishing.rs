//! Content becomes a blob: spooled to the local disk and hashed, noted, uploaded, acknowledged.
//!
//! INVARIANT(uploaded-before-acknowledged): when an id is told, the object was written, and the row says so.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tracing::warn;
use uuid::Uuid;

use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::files::{BlobFiles as _, OpenBlob};
use crate::blobs::remote::objects::{ObjectContent, Overwrite};
use crate::blobs::remote::parts::{RemoteParts, described};
use crate::blobs::remote::rows::{BlobRow, ReservedRow, RowState};
use crate::blobs::store::{
    BlobFuture, BlobStore as _, BlobWriter, NewBlob, TenantUsage, WrittenBlob,
};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// How long a writer waits for the removal of the same content.
const REMOVAL: Duration = Duration::from_secs(20);

/// The pause before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The bytes after which a writer asks for the room of its tenant once more.
const ASK_AGAIN: u64 = 4 << 20;

impl RemoteParts {
    /// Makes content a blob once it is spooled, unless the tenant has it already. A future that is dropped goes on.
    pub(super) async fn publish(
        self: &Arc<Self>,
        tenant: &TenantId,
        spooled: BlobFuture<'static, StoredBlob>,
    ) -> Result<WrittenBlob, BlobError> {
        let (remote, tenant) = (Arc::clone(self), tenant.clone());
        let published = tokio::spawn(async move {
            let opened = {
                let _spooled = remote.spooled.read().await;
                let copy = spooled.await?;
                remote.local.open(&tenant, &copy.id).await?
            };
            let published = remote.publish_copy(&tenant, &opened).await;
            if published.is_err() {
                let id = opened.blob.id.clone();
                drop(opened);
                remote.forget_copy(&tenant, &id).await;
            }
            published
        });
        published.await.map_err(|ended| BlobError::Unreachable(io::Error::other(ended)))?
    }

    async fn publish_copy(
        &self,
        tenant: &TenantId,
        copy: &OpenBlob<std::fs::File>,
    ) -> Result<WrittenBlob, BlobError> {
        let id = &copy.blob.id;
        let until = Instant::now() + REMOVAL;
        loop {
            let now = self.clock.now();
            let new = BlobRow {
                kind: copy.blob.kind.clone(),
                size: copy.blob.size,
                created: now,
                used: now,
                state: RowState::Uploading,
                tag: format!("upload-{}", Uuid::now_v7().simple()),
                names: Vec::new(),
            };
            let reserved = self.rows.reserve((tenant, id), &new, self.most()).await;
            let (row, is_new) = match reserved.map_err(BlobError::from_database("write to"))? {
                ReservedRow::Full => return Err(self.full()),
                ReservedRow::New => (new, true),
                ReservedRow::Known(row) => (*row, false),
            };
            let written = WrittenBlob { blob: described(id, &row), is_new };
            match row.state {
                RowState::Uploading => {
                    if self.upload(tenant, copy, &row.tag, (Overwrite::Never, is_new)).await? {
                        return Ok(written);
                    }
                }
                RowState::Stored => {
                    self.note_use(tenant, id, &row).await?;
                    if self.is_as_stored(tenant, copy, &row).await? {
                        return Ok(written);
                    }
                }
                RowState::Removing if Instant::now() < until => sleep(LOOK_AGAIN).await,
                RowState::Removing => {
                    let text = "the same content is being removed; try again in some minutes";
                    let cause = io::Error::new(io::ErrorKind::TimedOut, text);
                    return Err(BlobError::Storage { what: "write to", cause });
                }
            }
        }
    }

    /// Writes the object, and notes it at the row with the tag `known`. False if that row is gone meanwhile. A failure ends the row, if it is that of
    /// this writer.
    async fn upload(
        &self,
        tenant: &TenantId,
        copy: &OpenBlob<std::fs::File>,
        known: &str,
        (overwrite, is_own): (Overwrite, bool),
    ) -> Result<bool, BlobError> {
        let id = &copy.blob.id;
        match self.write_object(tenant, copy, overwrite).await {
            Ok(version) => {
                let now = self.clock.now();
                let noted = self.rows.note_stored((tenant, id), known, &version, now).await;
                noted.map_err(BlobError::from_database("write to"))
            }
            Err(fault) => {
                if is_own && let Err(fault) = self.rows.give_up(tenant, id).await {
                    // Its room is given back later.
                    warn!(tenant.id = %tenant, blob.id = %id, error = %fault, "its row could not be removed");
                }
                Err(fault)
            }
        }
    }

    /// Writes the object of a blob, and returns its version. One that was there is that of another writer, or was left
    /// by one, or was put there by somebody else: it is read, and replaced if it is not the content of the blob.
    async fn write_object(
        &self,
        tenant: &TenantId,
        copy: &OpenBlob<std::fs::File>,
        overwrite: Overwrite,
    ) -> Result<String, BlobError> {
        let (StoredBlob { id, kind, size, .. }, key) =
            (&copy.blob, self.key(tenant, &copy.blob.id));
        let write = async |overwrite| {
            let (file, kind) = (copy.file.try_clone()?, kind.as_str().to_owned());
            let content = ObjectContent { file, size: *size, kind };
            self.place.objects.write(&key, content, overwrite).await
        };
        let written = write(overwrite).await.map_err(BlobError::Unreachable)?;
        if written.is_new || self.is_object_intact(tenant, id, kind).await?.0 {
            return Ok(written.version);
        }
        // It may have been removed meanwhile.
        if self.place.objects.version(&key).await.map_err(BlobError::Unreachable)?.is_some() {
            warn!(tenant.id = %tenant, blob.id = %id, "another object was in its place: it is set aside");
            self.copy_aside(tenant, id).await?;
        }
        Ok(write(Overwrite::Always).await.map_err(BlobError::Unreachable)?.version)
    }

    /// Makes sure that a blob that the tenant has already is stored as its row says. Another object is set aside.
    /// False if its row is gone meanwhile.
    async fn is_as_stored(
        &self,
        tenant: &TenantId,
        copy: &OpenBlob<std::fs::File>,
        row: &BlobRow,
    ) -> Result<bool, BlobError> {
        let (id, key) = (&copy.blob.id, self.key(tenant, &copy.blob.id));
        let found = self.place.objects.version(&key).await.map_err(BlobError::Unreachable)?;
        if found.as_ref() == Some(&row.tag) {
            return Ok(true);
        }
        warn!(tenant.id = %tenant, blob.id = %id, "its object is not the one that was stored: it is stored anew");
        if found.is_some() {
            self.copy_aside(tenant, id).await?;
        }
        self.upload(tenant, copy, &row.tag, (Overwrite::Always, false)).await
    }
}

/// Content that arrives in pieces.
#[derive(Debug)]
pub(super) struct RemoteWriter {
    remote: Arc<RemoteParts>,
    tenant: TenantId,
    /// `None` after an error, and after a future that was dropped.
    spool: Option<Box<dyn BlobWriter>>,
    size: u64,
    /// What the tenant had when it was asked for last, and the size at which that is done again.
    stored: TenantUsage,
    ask_at: u64,
}

impl RemoteWriter {
    /// Begins to spool content, if the tenant has room for what is announced.
    pub(super) async fn begin(
        remote: &Arc<RemoteParts>,
        tenant: &TenantId,
        new: NewBlob,
    ) -> Result<Self, BlobError> {
        let (size, limit) = (new.announced.unwrap_or_default(), remote.config.blob_max);
        if size > limit {
            return Err(BlobError::TooLarge { size, limit });
        }
        let spool = Some(remote.local.begin(tenant, new).await?);
        let stored = remote.usage(tenant).await?;
        let (remote, tenant) = (Arc::clone(remote), tenant.clone());
        let writer = Self { remote, tenant, spool, size: 0, stored, ask_at: 0 };
        writer.ensure_room(size.as_u64())?;
        Ok(writer)
    }

    fn ensure_room(&self, size: u64) -> Result<(), BlobError> {
        let (most, all) =
            (self.remote.most(), self.stored.plus(TenantUsage::of_blob(ByteCount::bytes(size))));
        if all.blobs > most.blobs || all.bytes > most.bytes {
            return Err(self.remote.full());
        }
        Ok(())
    }
}

impl BlobWriter for RemoteWriter {
    fn append(&mut self, piece: Vec<u8>) -> BlobFuture<'_, Vec<u8>> {
        Box::pin(async move {
            let mut spool = self.spool.take().ok_or_else(given_up)?;
            let size = self.size.saturating_add(ByteCount::from(piece.len()).as_u64());
            if self.size >= self.ask_at {
                self.stored = self.remote.usage(&self.tenant).await?;
                self.ask_at = size.saturating_add(ASK_AGAIN);
            }
            if size <= self.remote.config.blob_max.as_u64() {
                self.ensure_room(size)?;
            }
            let piece = spool.append(piece).await?;
            (self.size, self.spool) = (size, Some(spool));
            Ok(piece)
        })
    }

    fn finish(self: Box<Self>) -> BlobFuture<'static, WrittenBlob> {
        Box::pin(async move {
            let spool = self.spool.ok_or_else(given_up)?;
            let spooled = Box::pin(async move { Ok(spool.finish().await?.blob) });
            self.remote.publish(&self.tenant, spooled).await
        })
    }
}

/// The content is used after an error.
fn given_up() -> BlobError {
    BlobError::Content(io::Error::other("an earlier piece was not stored"))
}
