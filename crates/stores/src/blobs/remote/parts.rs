//! The parts of the store, and what is done with each of its rows.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, RwLock as AsyncRwLock};

use crate::blobs::config::BlobStoreConfig;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::listing::ListedBlob;
use crate::blobs::local::local_blobs::LocalBlobs;
use crate::blobs::pin::{BlobPin, PinnedBlobs};
use crate::blobs::remote::place::ObjectPlace;
use crate::blobs::remote::rows::{BlobRow, BlobRowStore, RowState};
use crate::blobs::store::{BlobStore as _, TenantUsage};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, TenantId};

/// The shortest interval of noting a use, so that a blob that is read a thousand times a second costs one
/// statement in an hour.
const NOTED_EVERY: Duration = Duration::from_secs(60 * 60);

/// A blob, by its owner.
pub(super) type BlobKey = (TenantId, BlobId);

/// The parts of the store.
#[derive(Debug)]
pub(super) struct RemoteParts {
    /// The copies on this machine.
    pub(super) local: LocalBlobs,
    pub(super) rows: Arc<dyn BlobRowStore>,
    pub(super) place: ObjectPlace,
    pub(super) config: BlobStoreConfig,
    pub(super) clock: Clock,
    pub(super) pins: Arc<PinnedBlobs>,
    /// The blobs that are being fetched.
    pub(super) fetches: Mutex<HashMap<BlobKey, Weak<AsyncMutex<()>>>>,
    /// Lets nobody give a copy up that was spooled and is not open yet.
    pub(super) spooled: AsyncRwLock<()>,
}

impl RemoteParts {
    /// The key of a blob's object.
    pub(super) fn key(&self, tenant: &TenantId, id: &BlobId) -> String {
        self.place.key("blobs", &format!("{tenant}/{}", id.letters()))
    }

    /// The row of a blob that exists.
    pub(super) async fn find(&self, tenant: &TenantId, id: &BlobId) -> Result<BlobRow, BlobError> {
        let found = self.rows.find(tenant, id).await.map_err(BlobError::from_database("read"))?;
        let found = found.filter(|row| row.state == RowState::Stored);
        found.ok_or_else(|| BlobError::NotFound { id: id.clone() })
    }

    /// The row of a blob that exists and is used now.
    pub(super) async fn find_used(
        &self,
        tenant: &TenantId,
        id: &BlobId,
    ) -> Result<(BlobRow, BlobPin), BlobError> {
        let pin = self.pins.pin(tenant, id);
        let found = self.find(tenant, id).await?;
        self.note_use(tenant, id, &found).await?;
        Ok((found, pin))
    }

    /// Notes that a blob is used now.
    pub(super) async fn note_use(
        &self,
        tenant: &TenantId,
        id: &BlobId,
        row: &BlobRow,
    ) -> Result<(), BlobError> {
        let now = self.clock.now();
        let often = self.config.ttl.map_or(NOTED_EVERY, |ttl| NOTED_EVERY.min(ttl / 8));
        if row.used.abs_diff(now) <= often {
            return Ok(());
        }
        let noted = self.rows.note_use(tenant, id, now, often).await;
        noted.map_err(BlobError::from_database("write to"))
    }

    /// The number and size of a tenant's blobs.
    pub(super) async fn usage(&self, tenant: &TenantId) -> Result<TenantUsage, BlobError> {
        self.rows.usage(tenant).await.map_err(BlobError::from_database("read"))
    }

    /// The limits of a tenant.
    pub(super) const fn most(&self) -> TenantUsage {
        TenantUsage { blobs: self.config.tenant_blobs, bytes: self.config.tenant_bytes.as_u64() }
    }

    /// The error of a tenant that has no room.
    pub(super) const fn full(&self) -> BlobError {
        let (bytes, blobs) = (self.config.tenant_bytes, self.config.tenant_blobs);
        BlobError::QuotaExceeded { bytes, blobs }
    }

    /// Refuses a change if this server can write nothing.
    pub(super) fn ensure_writable(&self) -> Result<(), BlobError> {
        if self.local.is_read_only() { Err(BlobError::Sealed) } else { Ok(()) }
    }

    /// At most `most` blobs in the order of their ids, and one more if there is one.
    pub(super) async fn page(
        &self,
        tenant: &TenantId,
        after: Option<&BlobId>,
        most: usize,
    ) -> Result<Vec<ListedBlob>, BlobError> {
        let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let rows = self.rows.page(tenant, after, most).await;
        let rows = rows.map_err(BlobError::from_database("read"))?;
        Ok(rows.into_iter().map(|(id, row)| listed(id, &row)).collect())
    }
}

/// A blob as its row describes it.
pub(super) fn described(id: &BlobId, row: &BlobRow) -> StoredBlob {
    let mut names = row.names.iter().cloned();
    StoredBlob {
        id: id.clone(),
        kind: row.kind.clone(),
        size: row.size,
        created: row.created,
        name: names.next(),
        other_names: names.collect(),
    }
}

/// A blob of a list as its row describes it.
fn listed(id: BlobId, row: &BlobRow) -> ListedBlob {
    let described = StoredBlob { other_names: Vec::new(), ..described(&id, row) };
    ListedBlob { id, size: row.size, used: row.used, described: Some(described) }
}
