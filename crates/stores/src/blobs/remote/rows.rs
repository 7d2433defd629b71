//! What the database knows of blobs in an object store: for quotas, lists and expiry.
//!
//! INVARIANT(row-before-object): a blob has a row before its object is written and as long as it may exist, so
//! that nothing is in the store that nobody counts.
//!
//! A row that is removed says so before its object is: a writer of the same content waits until both are gone.
//! Otherwise a late removal would take what the writer has stored.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::store::TenantUsage;
use crate::database_error::DatabaseError;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// What the remote store needs of a database: the statements, each of them one transaction, which is durable
/// when it returns. Each fails if the database does.
#[async_trait]
pub(crate) trait BlobRowStore: fmt::Debug + Send + Sync {
    /// The row of a blob.
    async fn find(&self, tenant: &TenantId, id: &BlobId) -> Result<Option<BlobRow>, DatabaseError>;

    /// Adds a row for content that is about to be uploaded, unless there is one or no room within `most`.
    async fn reserve(
        &self,
        blob: (&TenantId, &BlobId),
        row: &BlobRow,
        most: TenantUsage,
    ) -> Result<ReservedRow, DatabaseError>;

    /// Notes that the object of the row with the tag `known` is stored as the version `tag`. False if there is no such
    /// row any more.
    async fn note_stored(
        &self,
        blob: (&TenantId, &BlobId),
        known: &str,
        tag: &str,
        now: Duration,
    ) -> Result<bool, DatabaseError>;

    /// Removes the row of content that was not uploaded after all.
    async fn give_up(&self, tenant: &TenantId, id: &BlobId) -> Result<(), DatabaseError>;

    /// Adds the row of a blob that is stored and has none, whatever room its tenant has. False if it has one.
    async fn restore(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        row: &BlobRow,
    ) -> Result<bool, DatabaseError>;

    /// The first tenant that has or had blobs and whose name sorts behind `after`.
    async fn next_tenant(&self, after: &str) -> Result<Option<TenantId>, DatabaseError>;

    /// Begins to remove a stored blob that was not used after `unused_since`. False if there is none.
    async fn begin_removal(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        unused_since: Option<Duration>,
        now: Duration,
    ) -> Result<bool, DatabaseError>;

    /// Removes the row of a blob whose object is gone.
    async fn end_removal(&self, tenant: &TenantId, id: &BlobId) -> Result<(), DatabaseError>;

    /// Notes a use, if the last one that was noted is further away than `often`.
    async fn note_use(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        now: Duration,
        often: Duration,
    ) -> Result<(), DatabaseError>;

    /// Makes a name the latest of a stored blob. Does nothing for another one.
    async fn add_name(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        name: &BlobName,
    ) -> Result<(), DatabaseError>;

    /// At most `most` stored blobs of a tenant in the order of their ids, from the first one behind `after`.
    async fn page(
        &self,
        tenant: &TenantId,
        after: Option<&BlobId>,
        most: u64,
    ) -> Result<Vec<(BlobId, BlobRow)>, DatabaseError>;

    /// The number and size of a tenant's blobs that are stored or uploaded.
    async fn usage(&self, tenant: &TenantId) -> Result<TenantUsage, DatabaseError>;

    /// At most `most` stored blobs that were not used after this time.
    async fn unused_since(
        &self,
        time: Duration,
        most: u64,
    ) -> Result<Vec<(TenantId, BlobId)>, DatabaseError>;

    /// At most `most` rows that are being uploaded or removed since this time or longer.
    async fn left_since(
        &self,
        time: Duration,
        most: u64,
    ) -> Result<Vec<(TenantId, BlobId, BlobRow)>, DatabaseError>;

    /// The id of this database, which is made if it has none.
    async fn database_id(&self) -> Result<String, DatabaseError>;

    /// Closes the database.
    async fn close(&self);
}

/// The row of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobRow {
    /// MIME type.
    pub(crate) kind: BlobKind,
    /// Length of the content.
    pub(crate) size: ByteCount,
    /// The time at which it was first stored, since the Unix epoch.
    pub(crate) created: Duration,
    /// The time of the last use.
    pub(crate) used: Duration,
    /// What becomes of it.
    pub(crate) state: RowState,
    /// The version of the object. While it is uploaded, a text that no other upload has: who has seen the row of an
    /// upload that was given up, or of a blob that was removed, cannot take another one for it.
    pub(crate) tag: String,
    /// The names, the latest first.
    pub(crate) names: Vec<BlobName>,
}

/// What becomes of the blob of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowState {
    /// Its content is on its way. It does not exist yet.
    Uploading,
    /// It is stored.
    Stored,
    /// Its object is about to go. It does not exist any more.
    Removing,
}

/// What became of a row that was to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReservedRow {
    /// It was added.
    New,
    /// There is one, in this state.
    Known(Box<BlobRow>),
    /// The tenant has no room.
    Full,
}
