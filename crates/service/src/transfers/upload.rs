//! Uploads: content that a client sends as a stream.

use std::sync::Arc;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::transfers::download::PIECE;
use crate::transfers::{BlobTransfers, TransferPermit, begin};
use wardian_stores::blobs::content::file_name::kind_of_file;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_stores::blobs::{BlobError, BlobStore, BlobWriter, NewBlob};
use wardian_stores::tenants::Right;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Memory of an upload: a buffer that collects a piece, and the client's bytes that do not fit into
/// it any more.
const UPLOAD_MEMORY: ByteCount = ByteCount::kibibytes(2 * (PIECE as u64 >> 10));

/// The description of content that a client is about to send.
#[derive(Debug, Clone, Copy, Default)]
pub struct UploadOrder<'a> {
    /// MIME type, as sent. Without it the file's name decides.
    pub kind: Option<&'a str>,
    /// Name of the file, which the blob gets.
    pub file_name: Option<&'a BlobName>,
    /// Length of the content, if it is known.
    pub announced: Option<ByteCount>,
    /// SHA-256 of the content, if the client knows it.
    pub digest: Option<[u8; 32]>,
}

/// An upload in progress. Dropped before it is finished, it leaves nothing.
#[derive(Debug)]
pub struct BlobUpload {
    /// `None` after an error.
    draft: Option<Box<dyn BlobWriter>>,
    naming: Option<Naming>,
    memory: CallMemory,
    permit: TransferPermit,
}

/// The name that a blob is to get.
#[derive(Debug)]
struct Naming {
    blobs: Arc<dyn BlobStore>,
    tenant: TenantId,
    name: BlobName,
}

/// A blob that was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedBlob {
    /// Its id.
    pub blob_id: BlobId,
    /// Length of its content.
    pub size: ByteCount,
    /// False if the tenant had it already.
    pub is_new: bool,
    /// The name of the file, if it has one.
    pub name: Option<BlobName>,
}

impl BlobTransfers {
    /// Begins to store content that arrives in pieces.
    ///
    /// # Errors
    ///
    /// The caller has no right to blobs, the kind is malformed, the announced size does not fit
    /// into the limits, the quota or the disk, or the server is busy.
    pub async fn begin_upload(
        &self,
        caller: &Caller,
        order: UploadOrder<'_>,
    ) -> Result<BlobUpload, ServiceError> {
        ensure_has(caller, Right::Blobs)?;
        let by_name = || kind_of_file(order.file_name.map_or("", BlobName::as_str));
        let kind = BlobKind::parse(order.kind.unwrap_or_else(by_name))?;
        let permit = begin(&self.uploads)?;
        let memory = caller.memory.clone();
        memory.reserve(UPLOAD_MEMORY)?;
        let (blobs, tenant) = (Arc::clone(&self.blobs.store), caller.tenant.clone());
        let naming = order.file_name.map(|name| Naming {
            blobs: Arc::clone(&blobs),
            tenant: tenant.clone(),
            name: name.clone(),
        });
        let new = NewBlob { kind, announced: order.announced, digest: order.digest };
        let held = Arc::clone(&permit);
        let begun = memory.on_task(async move {
            let begun = blobs.begin(&tenant, new).await;
            drop(held);
            begun
        });
        let draft = Some(begun.await.map_err(ServiceError::Interrupted)??);
        Ok(BlobUpload { draft, naming, memory, permit })
    }
}

impl BlobUpload {
    /// Appends a piece of at most [`PIECE`] bytes, and returns its buffer for the next one.
    ///
    /// # Errors
    ///
    /// A limit, the quota or the disk is exhausted, or the disk failed. The upload is over then.
    pub async fn append(&mut self, piece: Vec<u8>) -> Result<Vec<u8>, ServiceError> {
        let mut draft = self.draft.take().ok_or(BlobError::Sealed)?;
        let held = Arc::clone(&self.permit);
        let appending = self.memory.on_task(async move {
            let appended = draft.append(piece).await;
            drop(held);
            appended.map(|piece| (draft, piece))
        });
        let (draft, mut piece) = appending.await.map_err(ServiceError::Interrupted)??;
        self.draft = Some(draft);
        piece.clear();
        Ok(piece)
    }

    /// Ends the content. When this returns, the blob is durable.
    ///
    /// # Errors
    ///
    /// The content does not have the digest that was announced, or the disk failed.
    pub async fn finish(mut self) -> Result<UploadedBlob, ServiceError> {
        let draft = self.draft.take().ok_or(BlobError::Sealed)?;
        let (naming, held) = (self.naming.take(), Arc::clone(&self.permit));
        let finishing = self.memory.on_task(async move {
            let mut written = draft.finish().await?;
            if let Some(Naming { blobs, tenant, name }) = naming {
                blobs.set_names(&tenant, &[(written.blob.id.clone(), name.clone())]).await?;
                written.blob.name = Some(name);
            }
            drop(held);
            Ok::<_, BlobError>(written)
        });
        let written = finishing.await.map_err(ServiceError::Interrupted)??;
        let (blob, is_new) = (written.blob, written.is_new);
        Ok(UploadedBlob { blob_id: blob.id, size: blob.size, is_new, name: blob.name })
    }
}

/// Removing a large draft takes time, so a thread does it.
impl Drop for BlobUpload {
    fn drop(&mut self) {
        if let Some(draft) = self.draft.take() {
            self.memory.drop_on_thread((draft, Arc::clone(&self.permit)));
        }
    }
}
