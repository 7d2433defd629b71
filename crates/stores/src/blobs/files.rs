//! The interface of local files with the content of blobs.

use std::fmt::Debug;
use std::fs::File;
use std::sync::Arc;

use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::pin::BlobPin;
use crate::blobs::store::{BlobFuture, BlobStore};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Gives files of this machine with the content of blobs, which workers and downloads read through
/// their descriptors.
///
/// INVARIANT(verified-descriptor): the content of a file was compared with the blob's id before the
/// file is handed out, and the descriptor cannot change it.
///
/// The files are those of the store if it keeps its blobs on a local disk, and copies of its content
/// otherwise. A future that is dropped may go on: see [`BlobStore`].
pub trait BlobFiles: Debug + Send + Sync + 'static {
    /// Opens a blob after its content was verified against its id. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Damaged`] if the content is damaged. Damaged content
    /// is set aside, so the blob does not exist any more.
    ///
    /// [`BlobError::NotFound`]: crate::blobs::BlobError::NotFound
    /// [`BlobError::Damaged`]: crate::blobs::BlobError::Damaged
    fn open<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, OpenBlob<File>>;

    /// Re-hashes a whole blob, bypassing the cache of verified ones. Does not count as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Storage`] if the blob cannot be read to its end.
    ///
    /// [`BlobError::NotFound`]: crate::blobs::BlobError::NotFound
    /// [`BlobError::Storage`]: crate::blobs::BlobError::Storage
    fn verify<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        damaged: OnDamage,
    ) -> BlobFuture<'a, BlobVerdict>;
}

/// A store of blobs, and files of this machine with their content.
#[derive(Debug, Clone)]
pub struct Blobs {
    /// The store.
    pub store: Arc<dyn BlobStore>,
    /// The files.
    pub files: Arc<dyn BlobFiles>,
}

/// The open content of a blob, to be sent to a worker.
#[derive(Debug)]
pub struct OpenBlob<F> {
    /// The blob. The content ends at [`StoredBlob::size`].
    pub blob: StoredBlob,
    /// The file. The content starts at offset 0; other bytes, such as the trailer of a local store,
    /// may follow it. The file stays readable while it is open, even after the blob was removed.
    pub file: F,
    /// Keeps the blob from expiring.
    pub pin: BlobPin,
}

/// The treatment of a blob that is found damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDamage {
    /// It stays.
    Keep,
    /// Its file is moved to the quarantine folder.
    Quarantine,
    /// It is removed.
    Remove,
}

/// The result of verifying a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobVerdict {
    /// The content belongs to the id.
    Intact(StoredBlob),
    /// The content does not belong to the id. The file has this many bytes.
    Damaged(ByteCount),
}
