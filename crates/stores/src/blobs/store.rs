//! The interface of a store of blobs.

use std::fmt::Debug;
use std::io::{self, Read};
use std::pin::Pin;

use tokio::task::spawn_blocking;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::listing::{BlobOrder, BlobPage, BlobPlace};
use crate::blobs::pin::BlobPin;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Bytes of a piece of content that a store reads from a source.
const PIECE: usize = 128 << 10;

/// An operation of a store. It is boxed so that a store can be chosen when a server starts.
pub type BlobFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BlobError>> + Send + 'a>>;

/// A stored blob and its pin.
pub type HeldBlob = (StoredBlob, Option<BlobPin>);

/// A store of blobs: a local disk, or a service that other servers use too.
///
/// A tenant sees only its own blobs. A blob of another tenant is [`BlobError::NotFound`], so that
/// ids cannot be probed.
///
/// # Cancellation
///
/// An operation whose future is dropped may have its effect or not, and may go on for a while on a
/// thread of its own. A caller that accounts for the work, such as by memory or permits, polls the
/// future to its end in a task that holds them.
pub trait BlobStore: Debug + Send + Sync + 'static {
    /// Begins to store content that arrives in pieces. The limits and the free space are checked for
    /// the announced size at once, and for every piece.
    ///
    /// # Errors
    ///
    /// [`BlobError::TooLarge`] and [`BlobError::QuotaExceeded`] before anything is written;
    /// [`BlobError::DiskFull`], [`BlobError::Sealed`] or [`BlobError::Storage`] with nothing
    /// changed.
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        new: NewBlob,
    ) -> BlobFuture<'a, Box<dyn BlobWriter>>;

    /// Stores content in memory. When this is done, the blob is durable. Content that the tenant has
    /// already is not stored again, and needs no room.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin).
    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        content: Vec<u8>,
    ) -> BlobFuture<'a, StoredBlob>;

    /// Stores exactly `size` bytes that `content` yields, without holding them in memory. `content`
    /// may block: it is read on a blocking thread, and dropped as soon as it is not needed any more.
    ///
    /// # Errors
    ///
    /// As [`begin`](Self::begin), and [`BlobError::Content`] if `content` ends early or fails.
    fn put_from<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        size: ByteCount,
        content: Box<dyn Read + Send>,
    ) -> BlobFuture<'a, StoredBlob> {
        Box::pin(async move {
            let mut writer = self.begin(tenant, NewBlob::announced(kind.clone(), size)).await?;
            let (mut content, mut piece, mut left) = (content, Vec::new(), size.as_usize());
            while left > 0 {
                let reading = spawn_blocking(move || {
                    piece.resize(PIECE.min(left), 0);
                    content.read_exact(&mut piece).map(|()| (content, piece))
                });
                let read =
                    reading.await.map_err(|ended| BlobError::Content(io::Error::other(ended)))?;
                (content, piece) = read.map_err(BlobError::Content)?;
                left = left.saturating_sub(piece.len());
                piece = writer.append(piece).await?;
            }
            drop(content);
            Ok(writer.finish().await?.blob)
        })
    }

    /// Stores a blob like [`put_from`](Self::put_from), and pins it like [`pin`](Self::pin). The pin is
    /// `None` if the blob was removed in between.
    ///
    /// # Errors
    ///
    /// As [`put_from`](Self::put_from).
    fn put_held<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        size: ByteCount,
        content: Box<dyn Read + Send>,
    ) -> BlobFuture<'a, HeldBlob> {
        Box::pin(async move {
            let stored = self.put_from(tenant, kind, size, content).await?;
            let pin = self.pin(tenant, &stored.id).await.ok();
            Ok((stored, pin))
        })
    }

    /// Names blobs of a tenant. A blob keeps the [`MAX_NAMES_OF_BLOB`] names that it was given last,
    /// and the latest is the one that is shown. Other tenants do not see them. Blobs that do not
    /// exist are skipped. When this is done, the names are durable.
    ///
    /// [`MAX_NAMES_OF_BLOB`]: wardian_vocabulary::ids::MAX_NAMES_OF_BLOB
    ///
    /// # Errors
    ///
    /// [`BlobError::DiskFull`], [`BlobError::Sealed`] or [`BlobError::Storage`]; some of the names
    /// may be set then.
    fn set_names<'a>(
        &'a self,
        tenant: &'a TenantId,
        names: &'a [(BlobId, BlobName)],
    ) -> BlobFuture<'a, ()>;

    /// Holds a blob: it does not expire as long as the pin exists. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`].
    fn pin<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, BlobPin>;

    /// Removes a blob. Runs and readers that have opened it can read it to its end.
    ///
    /// When this is done, the removal is durable.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], [`BlobError::Sealed`] or [`BlobError::Storage`].
    fn remove<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, ()>;

    /// Lists at most `most` blobs in the order of their ids, from the first one behind `after`.
    /// Does not count as a use, and verifies no content.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the list cannot be read.
    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<&'a BlobId>,
        most: usize,
    ) -> BlobFuture<'a, BlobPage>;

    /// Lists at most `most` blobs in another order, from the first one behind `after`. `None` if the
    /// tenant has more than [`MAX_ORDERED`] blobs, all of which each page would read. Does not count
    /// as a use, and verifies no content.
    ///
    /// [`MAX_ORDERED`]: crate::blobs::MAX_ORDERED
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the list cannot be read.
    fn list_in_order<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: BlobOrder,
        after: Option<&'a BlobPlace>,
        most: usize,
    ) -> BlobFuture<'a, Option<BlobPage>>;

    /// Describes a blob without reading its content. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Damaged`] if the description is damaged.
    fn stat<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, StoredBlob>;

    /// Reads at most `limit` bytes of a blob. Counts as a use.
    ///
    /// # Errors
    ///
    /// [`BlobError::NotFound`], or [`BlobError::Damaged`] if the content does not belong to the id.
    fn read<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        part: BlobPart,
        limit: ByteCount,
    ) -> BlobFuture<'a, BlobWindow>;

    /// The number and size of a tenant's blobs.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the store cannot be read.
    fn usage<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, TenantUsage>;

    /// True if the store takes no more writes. Does not wait.
    fn is_read_only(&self) -> bool;
}

/// Content that arrives in pieces. Dropped before it is finished, it leaves nothing. Dropping it may
/// block.
pub trait BlobWriter: Debug + Send {
    /// Appends a piece, and returns its buffer for the next one.
    ///
    /// # Errors
    ///
    /// As [`BlobStore::begin`]. After an error, or if the future is dropped before its end, nothing
    /// more can be appended and the content cannot be finished.
    fn append(&mut self, piece: Vec<u8>) -> BlobFuture<'_, Vec<u8>>;

    /// Ends the content. When this is done, the blob is durable.
    ///
    /// # Errors
    ///
    /// As [`BlobStore::begin`], and [`BlobError::WrongDigest`]. Nothing is stored then.
    fn finish(self: Box<Self>) -> BlobFuture<'static, WrittenBlob>;
}

/// The description of content that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlob {
    /// MIME type.
    pub kind: BlobKind,
    /// Length of the content, if it is known. The content may have another one.
    pub announced: Option<ByteCount>,
    /// SHA-256 of the content, if it is known. Other content is refused.
    pub digest: Option<[u8; 32]>,
}

impl NewBlob {
    /// Content of this length.
    #[must_use]
    pub const fn announced(kind: BlobKind, size: ByteCount) -> Self {
        Self { kind, announced: Some(size), digest: None }
    }
}

/// The number and size of a tenant's blobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TenantUsage {
    /// Number of blobs.
    pub blobs: u64,
    /// Bytes of their content.
    pub bytes: u64,
}

impl TenantUsage {
    pub(crate) const fn of_blob(size: ByteCount) -> Self {
        Self { blobs: 1, bytes: size.as_u64() }
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            blobs: self.blobs.saturating_add(other.blobs),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self {
            blobs: self.blobs.saturating_sub(other.blobs),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
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

/// A blob that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenBlob {
    /// The blob.
    pub blob: StoredBlob,
    /// False if the tenant had it already.
    pub is_new: bool,
}
