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
pub(crate) const UPLOAD_MEMORY: ByteCount = ByteCount::kibibytes(2 * (PIECE as u64 >> 10));

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
    draft: Option<UploadDraft>,
    naming: Option<Naming>,
    memory: CallMemory,
}

/// Content that is not finished. It is charged to the call, and counts as a transfer, until it is
/// removed, also if the caller goes away while a task has it.
#[derive(Debug)]
struct UploadDraft {
    /// `None` once it is finished.
    writer: Option<Box<dyn BlobWriter>>,
    memory: CallMemory,
    permit: TransferPermit,
}

impl UploadDraft {
    fn writer(&mut self) -> Result<&mut Box<dyn BlobWriter>, BlobError> {
        self.writer.as_mut().ok_or(BlobError::Sealed)
    }
}

/// Removing a large draft takes time, so a thread does it.
impl Drop for UploadDraft {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.memory.drop_on_thread((writer, Arc::clone(&self.permit)));
        }
    }
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
        let held = memory.clone();
        let begun = memory.on_task(async move {
            let writer = Some(blobs.begin(&tenant, new).await?);
            Ok::<_, BlobError>(UploadDraft { writer, memory: held, permit })
        });
        let draft = Some(begun.await.map_err(ServiceError::Interrupted)??);
        Ok(BlobUpload { draft, naming, memory })
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
        let appending = self.memory.on_task(async move {
            let piece = draft.writer()?.append(piece).await?;
            Ok::<_, BlobError>((draft, piece))
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
        let mut draft = self.draft.take().ok_or(BlobError::Sealed)?;
        let naming = self.naming.take();
        let finishing = self.memory.on_task(async move {
            let writer = draft.writer.take().ok_or(BlobError::Sealed)?;
            let mut written = writer.finish().await?;
            if let Some(Naming { blobs, tenant, name }) = naming {
                blobs.set_names(&tenant, &[(written.blob.id.clone(), name.clone())]).await?;
                written.blob.name = Some(name);
            }
            drop(draft);
            Ok::<_, BlobError>(written)
        });
        let written = finishing.await.map_err(ServiceError::Interrupted)??;
        let (blob, is_new) = (written.blob, written.is_new);
        Ok(UploadedBlob { blob_id: blob.id, size: blob.size, is_new, name: blob.name })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use tokio::sync::{Notify, Semaphore};

    use super::*;
    use wardian_stores::blobs::{BlobFuture, WrittenBlob};
    use wardian_vocabulary::budget::MemoryBudget;

    /// A writer that waits for the test: to append, and when it is dropped.
    #[derive(Debug)]
    struct HeldWriter {
        may_append: Arc<Notify>,
        may_end: Receiver<()>,
        /// Whether the test went on while the writer was being dropped.
        ended: Sender<bool>,
    }

    // A receiver is used by one thread at a time, which a mutable borrow ensures.
    #[derive(Debug)]
    struct Exclusive(parking_lot::Mutex<HeldWriter>);

    impl BlobWriter for Exclusive {
        fn append(&mut self, piece: Vec<u8>) -> BlobFuture<'_, Vec<u8>> {
            let may_append = Arc::clone(&self.0.get_mut().may_append);
            Box::pin(async move {
                may_append.notified().await;
                Ok(piece)
            })
        }

        fn finish(self: Box<Self>) -> BlobFuture<'static, WrittenBlob> {
            Box::pin(async { Err(BlobError::Sealed) })
        }
    }

    impl Drop for HeldWriter {
        fn drop(&mut self) {
            let told = self.may_end.recv_timeout(Duration::from_secs(5));
            self.ended.send(told.is_ok()).ok();
        }
    }

    /// The draft is removed on a thread of its own, and counts until then. On the only thread of this
    /// runtime the removal would wait for the test, which would wait for the removal.
    #[tokio::test]
    async fn a_draft_whose_caller_left_within_a_piece_is_removed_on_a_thread_and_counts_until_then()
    {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let memory = CallMemory::new(&budget);
        memory.reserve(UPLOAD_MEMORY).unwrap();
        let transfers = Arc::new(Semaphore::new(1));
        let permit = begin(&transfers).unwrap();
        let (end, may_end) = channel();
        let (ended, has_ended) = channel();
        let may_append = Arc::new(Notify::new());
        let writer = HeldWriter { may_append: Arc::clone(&may_append), may_end, ended };
        let writer: Option<Box<dyn BlobWriter>> =
            Some(Box::new(Exclusive(parking_lot::Mutex::new(writer))));
        let draft = Some(UploadDraft { writer, memory: memory.clone(), permit });
        let mut upload = BlobUpload { draft, naming: None, memory };
        {
            let appending = upload.append(vec![7; 10]);
            let early = tokio::time::timeout(Duration::from_millis(5), appending).await;
            assert!(early.is_err(), "the piece is not stored yet");
        }
        drop(upload);
        may_append.notify_one();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert_eq!(transfers.available_permits(), 0, "it does not count any more");
        assert_eq!(budget.used(), UPLOAD_MEMORY);
        end.send(()).unwrap();
        while transfers.available_permits() == 0 || budget.used() > ByteCount::bytes(0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(has_ended.recv().unwrap(), "the only thread of the runtime has removed it");
    }
}
