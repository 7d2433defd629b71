//! The interface of a store of blobs.

use std::fmt::Debug;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::local::tenant_folder::TenantUsage;
use crate::ids::{BlobId, TenantId};
use crate::units::ByteCount;

/// A store of blobs. All calls block, so callers use a blocking thread.
///
/// A tenant sees only its own blobs. A blob of another tenant is [`BlobError::NotFound`], so that
/// ids cannot be probed.
pub trait BlobStore: Debug + Send + Sync + 'static {
    /// Stores content in memory. When this returns, the blob is durable.
    ///
    /// # Errors
    ///
    /// [`BlobError::TooLarge`] and [`BlobError::QuotaExceeded`] before anything is written;
    /// [`BlobError::DiskFull`], [`BlobError::Sealed`] or [`BlobError::Storage`] with nothing
    /// changed.
    fn put(
        &self,
        tenant: &TenantId,
        kind: &BlobKind,
        content: &[u8],
    ) -> Result<StoredBlob, BlobError>;

    /// Stores exactly `size` bytes that `content` yields, without holding them in memory.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put), and [`BlobError::Content`] if `content` ends early or fails.
    fn put_from(
        &self,
        tenant: &TenantId,
        kind: &BlobKind,
        size: ByteCount,
        content: &mut dyn Read,
    ) -> Result<StoredBlob, BlobError>;

    /// Describes a blob without reading its content. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Damaged`] if the trailer is damaged.
    fn stat(&self, tenant: &TenantId, id: &BlobId) -> Result<StoredBlob, BlobError>;

    /// Reads at most `limit` bytes of a blob. Counts as a use.
    ///
    /// # Errors
    ///
    /// As [`open_content`](Self::open_content).
    fn read(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        part: BlobPart,
        limit: ByteCount,
    ) -> Result<BlobWindow, BlobError>;

    /// Opens a blob after its content was verified against its id. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Damaged`] if the content is damaged.
    fn open_content(&self, tenant: &TenantId, id: &BlobId) -> Result<OpenBlob<File>, BlobError>;

    /// The number and size of a tenant's blobs.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the store cannot be read.
    fn usage(&self, tenant: &TenantId) -> Result<TenantUsage, BlobError>;

    /// True if the store takes no more writes until it is opened again.
    fn is_sealed(&self) -> bool;

    /// Counts the blobs of all tenants, so that the first write of each tenant need not wait.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the tenants cannot be listed.
    fn count_all(&self) -> Result<(), BlobError>;

    /// Removes all blobs that were not used for the time to live before `now`, a time since the
    /// Unix epoch.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the tenants cannot be listed.
    fn sweep(&self, now: Duration) -> Result<SweepReport, BlobError>;
}

/// The part of a blob to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobPart {
    /// From the beginning.
    Head,
    /// Up to the end.
    Tail,
    /// From this offset on.
    From(u64),
}

/// Part of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobWindow {
    /// The blob.
    pub blob: StoredBlob,
    /// The offset of the part.
    pub offset: u64,
    /// The bytes of the part.
    pub bytes: Vec<u8>,
}

impl BlobWindow {
    /// True if the blob continues after the part.
    #[must_use]
    pub fn has_more(&self) -> bool {
        let length = ByteCount::from(self.bytes.len()).as_u64();
        self.offset.saturating_add(length) < self.blob.size.as_u64()
    }
}

/// The open content of a blob, to be sent to a worker.
#[derive(Debug)]
pub struct OpenBlob<F> {
    /// The blob. The content ends at [`StoredBlob::size`].
    pub blob: StoredBlob,
    /// The file. The content starts at offset 0, and the store's trailer follows it. The file stays
    /// readable while it is open, even after the blob has expired.
    pub file: F,
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Blobs that were removed.
    pub expired: u64,
    /// Bytes of their content.
    pub freed: ByteCount,
    /// Blobs that should have been removed but could not be.
    pub failed: u64,
}
