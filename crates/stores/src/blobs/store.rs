//! The interface of a store of blobs.

use std::fmt::Debug;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::local::tenant_folder::TenantUsage;
use crate::blobs::pin::BlobPin;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

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

    /// Begins to store content that arrives in pieces. The limits and the free space of the disk
    /// are checked for the announced size at once, and for every piece.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    fn begin(
        self: Arc<Self>,
        tenant: &TenantId,
        kind: &BlobKind,
        announced: Option<ByteCount>,
    ) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// Names blobs of a tenant. A blob keeps the [`MAX_NAMES_OF_BLOB`] names that it was given last,
    /// and the latest is the one that is shown. Other tenants do not see them. Blobs that do not
    /// exist, or no longer, are passed over. When this returns, the names are durable.
    ///
    /// [`MAX_NAMES_OF_BLOB`]: wardian_vocabulary::ids::MAX_NAMES_OF_BLOB
    ///
    /// # Errors
    ///
    /// [`BlobError::DiskFull`], [`BlobError::Sealed`] or [`BlobError::Storage`]; some of the names
    /// may be set then.
    fn set_names(&self, tenant: &TenantId, names: &[(BlobId, BlobName)]) -> Result<(), BlobError>;

    /// Keeps a blob from being swept as long as the pin exists. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`].
    fn pin(&self, tenant: &TenantId, id: &BlobId) -> Result<BlobPin, BlobError>;

    /// Removes a blob. Runs and readers that have opened it can read it to its end.
    ///
    /// When this returns, the removal is durable.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], [`BlobError::Sealed`] or [`BlobError::Storage`].
    fn remove(&self, tenant: &TenantId, id: &BlobId) -> Result<(), BlobError>;

    /// Lists at most `most` blobs in the order of their ids, from the first one behind `after`.
    /// Does not count as a use, and verifies no content.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the folder cannot be read.
    fn list(
        &self,
        tenant: &TenantId,
        after: Option<&BlobId>,
        most: usize,
    ) -> Result<BlobPage, BlobError>;

    /// Lists at most `most` blobs in another order, from the first one behind `after`. `None` if the
    /// tenant has more than [`MAX_ORDERED`] blobs, all of which each page would read. Does not count
    /// as a use, and verifies no content.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the folder cannot be read.
    fn list_in_order(
        &self,
        tenant: &TenantId,
        order: BlobOrder,
        after: Option<&BlobPlace>,
        most: usize,
    ) -> Result<Option<BlobPage>, BlobError>;

    /// Re-hashes a whole blob, bypassing the cache of verified ones. Does not count as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Storage`] if the blob cannot be read to its end.
    fn verify(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        damaged: OnDamage,
    ) -> Result<BlobVerdict, BlobError>;

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
    /// readable while it is open, even after the blob was removed.
    pub file: F,
    /// Keeps the blob from expiring.
    pub pin: BlobPin,
}

/// Content that arrives in pieces. Dropped before it is finished, it leaves nothing.
pub trait BlobWriter: Debug + Send {
    /// Appends a piece.
    ///
    /// # Errors
    ///
    /// As [`BlobStore::put`]. The content must not be finished after an error.
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError>;

    /// Ends the content. When this returns, the blob is durable.
    ///
    /// # Errors
    ///
    /// As [`BlobStore::put`].
    fn finish(self: Box<Self>) -> Result<WrittenBlob, BlobError>;
}

/// A blob that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenBlob {
    /// The blob.
    pub blob: StoredBlob,
    /// False if the tenant had it already.
    pub is_new: bool,
}

/// Some of a tenant's blobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlobPage {
    /// The blobs, in the order of their ids.
    pub blobs: Vec<ListedBlob>,
    /// True if others follow.
    pub has_more: bool,
}

/// A blob in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedBlob {
    /// The id.
    pub id: BlobId,
    /// Length of the content.
    pub size: ByteCount,
    /// The time of the last use, since the Unix epoch.
    pub used: Duration,
    /// Its description; `None` if its trailer is damaged.
    pub described: Option<StoredBlob>,
}

/// Maximum number of blobs of a tenant that are listed in another order than that of their ids.
pub const MAX_ORDERED: usize = 20_000;

/// An order of blobs other than that of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobOrder {
    /// The newest first. Damaged ones, whose time is unknown, come last.
    Newest,
    /// By name, whatever the case of its letters. Those without a name come last.
    Name,
    /// The largest first.
    Largest,
}

/// The place of a blob in an order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobPlace {
    /// What counts first: smaller comes first.
    pub rank: u64,
    /// What counts next.
    pub text: String,
    /// The blob.
    pub id: BlobId,
}

impl ListedBlob {
    /// Its place in an order. It changes only with its name.
    #[must_use]
    pub fn place(&self, order: BlobOrder) -> BlobPlace {
        let described = self.described.as_ref();
        let (rank, text) = match order {
            BlobOrder::Newest => {
                let created = described.map_or(0, |blob| blob.created.as_millis());
                (u64::MAX.saturating_sub(u64::try_from(created).unwrap_or(u64::MAX)), String::new())
            }
            BlobOrder::Name => match described.and_then(|blob| blob.name.as_ref()) {
                // Names have no control characters, so that this one ends the first of the two.
                Some(name) => (0, format!("{}\n{name}", name.as_str().to_lowercase())),
                None => (1, String::new()),
            },
            BlobOrder::Largest => (u64::MAX.saturating_sub(self.size.as_u64()), String::new()),
        };
        BlobPlace { rank, text, id: self.id.clone() }
    }
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
