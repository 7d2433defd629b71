//! Downloads: the content of a blob as a stream.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::transfers::{BlobTransfers, TransferPermit, begin, find};
use wardian_stores::blobs::content::file_name::{file_name_of, telling_name};
use wardian_stores::blobs::{BlobPin, StoredBlob};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of bytes of a piece of a transfer.
pub const PIECE: usize = 128 << 10;

/// Memory of a download: a piece that is being read, and two that a client is taking. Verifying the
/// content before it takes less.
pub(crate) const DOWNLOAD_MEMORY: ByteCount = ByteCount::kibibytes(3 * (PIECE as u64 >> 10));

/// The description of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobDescription {
    /// The id.
    pub id: BlobId,
    /// MIME type.
    pub kind: String,
    /// Length of the content.
    pub size: u64,
    /// The name of the file, if it has one.
    pub name: Option<BlobName>,
}

impl From<StoredBlob> for BlobDescription {
    fn from(blob: StoredBlob) -> Self {
        let (kind, size) = (blob.kind.as_str().to_owned(), blob.size.as_u64());
        Self { id: blob.id, kind, size, name: blob.name }
    }
}

impl BlobDescription {
    /// A name for a file of the content: the blob's own, or one that is made of its id and kind.
    #[must_use]
    pub fn file_name(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => file_name_of(&self.id, &self.kind),
        }
    }

    /// A name for a file that people read: the blob's own, or what its program calls it, or a word for
    /// its kind.
    #[must_use]
    pub fn telling_name(&self, called: Option<&str>) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => telling_name(called, &self.kind),
        }
    }
}

/// A blob that is open for reading. It does not expire as long as it is.
#[derive(Debug)]
pub struct BlobDownload {
    /// The blob.
    pub blob: BlobDescription,
    file: Arc<File>,
    memory: CallMemory,
    permit: TransferPermit,
    _pin: BlobPin,
}

/// Bytes of a blob or file. They are charged to the call until they are dropped.
#[derive(Debug)]
pub struct BlobBytes {
    bytes: Vec<u8>,
    _memory: CallMemory,
}

impl BlobBytes {
    /// Bytes that were read within what is charged to `memory`.
    pub(crate) fn charged_to(memory: &CallMemory, bytes: Vec<u8>) -> Self {
        Self { bytes, _memory: memory.clone() }
    }
}

impl AsRef<[u8]> for BlobBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BlobTransfers {
    /// Describes a blob without reading its content. Counts as a use.
    ///
    /// # Errors
    ///
    /// The caller's tenant has no such blob.
    pub async fn describe(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<BlobDescription, ServiceError> {
        let id = find(caller, id)?;
        let (blobs, tenant) = (Arc::clone(&self.blobs.store), caller.tenant.clone());
        let describing = async move { blobs.stat(&tenant, &id).await };
        let described = caller.memory.on_task(describing).await;
        Ok(described.map_err(ServiceError::Interrupted)??.into())
    }

    /// Opens a blob after its content was verified against its id. Counts as a use.
    ///
    /// # Errors
    ///
    /// The caller's tenant has no such blob, the blob is damaged, or the server is busy.
    pub async fn open(&self, caller: &Caller, id: &str) -> Result<BlobDownload, ServiceError> {
        let id = find(caller, id)?;
        let permit = self.begin_download(caller)?;
        self.open_within(caller, id, &permit).await
    }

    /// Begins a download of one blob, or of several one after another.
    ///
    /// # Errors
    ///
    /// The server is busy.
    pub(crate) fn begin_download(&self, caller: &Caller) -> Result<TransferPermit, ServiceError> {
        let permit = begin(&self.downloads)?;
        caller.memory.reserve(DOWNLOAD_MEMORY)?;
        Ok(permit)
    }

    /// Opens a blob as [`open`](Self::open) does, in a download that has begun. Of all blobs of the download,
    /// only one may be read at a time.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub(crate) async fn open_within(
        &self,
        caller: &Caller,
        id: BlobId,
        permit: &TransferPermit,
    ) -> Result<BlobDownload, ServiceError> {
        let (memory, permit) = (caller.memory.clone(), Arc::clone(permit));
        let (files, tenant) = (Arc::clone(&self.blobs.files), caller.tenant.clone());
        let held = Arc::clone(&permit);
        let opening = memory.on_task(async move {
            let opened = files.open(&tenant, &id).await;
            drop(held);
            opened
        });
        let opened = opening.await.map_err(ServiceError::Interrupted)??;
        let (blob, file) = (opened.blob.into(), Arc::new(opened.file));
        Ok(BlobDownload { blob, file, memory, permit, _pin: opened.pin })
    }
}

impl BlobDownload {
    /// Reads `length` bytes at `offset`, at most [`PIECE`]. A caller keeps two results at a time.
    ///
    /// # Errors
    ///
    /// The blob ends before, or the disk failed.
    pub async fn read(&self, offset: u64, length: usize) -> Result<BlobBytes, ServiceError> {
        let (file, held) = (Arc::clone(&self.file), Arc::clone(&self.permit));
        let length = length.min(PIECE);
        let end = offset.saturating_add(ByteCount::from(length).as_u64());
        if end > self.blob.size {
            return Err(ServiceError::Unreadable(io::ErrorKind::UnexpectedEof.into()));
        }
        let reading = self.memory.on_thread(move || {
            let mut bytes = vec![0; length];
            let read = file.read_exact_at(&mut bytes, offset);
            drop(held);
            read.map(|()| bytes)
        });
        let read = reading.await.map_err(ServiceError::Interrupted)?;
        let bytes = read.map_err(ServiceError::Unreadable)?;
        Ok(BlobBytes::charged_to(&self.memory, bytes))
    }
}
