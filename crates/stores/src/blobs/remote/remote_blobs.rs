//! The store.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use crate::blobs::config::BlobStoreConfig;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::files::Blobs;
use crate::blobs::listing::{BlobOrder, BlobPage, BlobPlace, ListedBlob, MAX_ORDERED};
use crate::blobs::local::local_blobs::LocalBlobs;
use crate::blobs::pin::{BlobPin, PinnedBlobs};
use crate::blobs::remote::objects::BlobObjects;
use crate::blobs::remote::place::ObjectPlace;
use crate::blobs::remote::publishing::RemoteWriter;
use crate::blobs::remote::rows::{BlobRow, BlobRowStore, RowState};
use crate::blobs::store::{
    BlobFuture, BlobPart, BlobStore, BlobWindow, BlobWriter, NewBlob, TenantUsage,
};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The shortest interval of noting a use, so that a blob that is read a thousand times a second costs one
/// statement in an hour.
const NOTED_EVERY: Duration = Duration::from_secs(60 * 60);

/// A blob, by its owner.
pub(super) type BlobKey = (TenantId, BlobId);

/// A store of blobs in an object store. Clones share it.
#[derive(Debug, Clone)]
pub struct RemoteBlobs(pub(super) Arc<Remote>);

/// The parts of the store.
#[derive(Debug)]
pub(super) struct Remote {
    /// The copies on this machine.
    pub(super) local: LocalBlobs,
    pub(super) rows: Arc<dyn BlobRowStore>,
    pub(super) place: ObjectPlace,
    pub(super) config: BlobStoreConfig,
    pub(super) clock: Clock,
    pub(super) pins: Arc<PinnedBlobs>,
    /// The blobs that are being fetched.
    pub(super) fetches: Mutex<HashMap<BlobKey, Weak<AsyncMutex<()>>>>,
}

impl RemoteBlobs {
    /// The store of the objects below `prefix`, with its table and its copies. The limits are those of `config`,
    /// whose folder is not used; the copies must have none.
    pub(crate) fn new(
        (objects, prefix): (Arc<dyn BlobObjects>, &str),
        rows: Arc<dyn BlobRowStore>,
        local: LocalBlobs,
        (config, clock): (BlobStoreConfig, Clock),
    ) -> Self {
        let place = ObjectPlace::new(objects, prefix);
        let (pins, fetches) = (Arc::default(), Mutex::default());
        Self(Arc::new(Remote { local, rows, place, config, clock, pins, fetches }))
    }
}

impl RemoteBlobs {
    /// The copies on this machine.
    #[must_use]
    pub fn copies(&self) -> &LocalBlobs {
        &self.0.local
    }

    /// Closes the database.
    pub async fn close(&self) {
        self.0.rows.close().await;
    }
}

impl From<RemoteBlobs> for Blobs {
    fn from(remote: RemoteBlobs) -> Self {
        Self { store: Arc::new(remote.clone()), files: Arc::new(remote) }
    }
}

impl Remote {
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
    async fn page(
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

fn listed(id: BlobId, row: &BlobRow) -> ListedBlob {
    let described = StoredBlob { other_names: Vec::new(), ..described(&id, row) };
    ListedBlob { id, size: row.size, used: row.used, described: Some(described) }
}

/// The first `most` of these blobs.
fn first(mut blobs: Vec<ListedBlob>, most: usize) -> BlobPage {
    let has_more = blobs.len() > most;
    blobs.truncate(most);
    BlobPage { blobs, has_more }
}

impl BlobStore for RemoteBlobs {
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        new: NewBlob,
    ) -> BlobFuture<'a, Box<dyn BlobWriter>> {
        Box::pin(async move {
            let writer: Box<dyn BlobWriter> =
                Box::new(RemoteWriter::begin(&self.0, tenant, new).await?);
            Ok(writer)
        })
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        content: Vec<u8>,
    ) -> BlobFuture<'a, StoredBlob> {
        Box::pin(async move {
            let copy = self.0.local.put(tenant, kind, content).await?;
            Ok(self.0.publish(tenant, copy).await?.blob)
        })
    }

    fn set_names<'a>(
        &'a self,
        tenant: &'a TenantId,
        names: &'a [(BlobId, BlobName)],
    ) -> BlobFuture<'a, ()> {
        Box::pin(async move {
            self.0.ensure_writable()?;
            for (id, name) in names {
                let named = self.0.rows.add_name(tenant, id, name).await;
                named.map_err(BlobError::from_database("write to"))?;
            }
            Ok(())
        })
    }

    fn pin<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, BlobPin> {
        Box::pin(async move { self.0.find_used(tenant, id).await.map(|(_, pin)| pin) })
    }

    fn remove<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, ()> {
        Box::pin(async move {
            self.0.ensure_writable()?;
            if self.0.remove(tenant, id, None).await? {
                return Ok(());
            }
            Err(BlobError::NotFound { id: id.clone() })
        })
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<&'a BlobId>,
        most: usize,
    ) -> BlobFuture<'a, BlobPage> {
        Box::pin(async move { Ok(first(self.0.page(tenant, after, most).await?, most)) })
    }

    fn list_in_order<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: BlobOrder,
        after: Option<&'a BlobPlace>,
        most: usize,
    ) -> BlobFuture<'a, Option<BlobPage>> {
        Box::pin(async move {
            let mut blobs = self.0.page(tenant, None, MAX_ORDERED).await?;
            if blobs.len() > MAX_ORDERED {
                return Ok(None);
            }
            blobs.retain(|blob| after.is_none_or(|after| blob.place(order) > *after));
            blobs.sort_by_cached_key(|blob| blob.place(order));
            Ok(Some(first(blobs, most)))
        })
    }

    fn stat<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, StoredBlob> {
        Box::pin(async move {
            let (row, _pin) = self.0.find_used(tenant, id).await?;
            Ok(described(id, &row))
        })
    }

    fn read<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        part: BlobPart,
        limit: ByteCount,
    ) -> BlobFuture<'a, BlobWindow> {
        Box::pin(async move {
            let (row, _pin) = self.0.find_used(tenant, id).await?;
            // The copy cannot be given up while it is open.
            let _copy = self.0.copy_of(tenant, id, &row).await?;
            let window = self.0.local.read(tenant, id, part, limit).await?;
            Ok(BlobWindow { blob: described(id, &row), ..window })
        })
    }

    fn usage<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, TenantUsage> {
        Box::pin(self.0.usage(tenant))
    }

    fn is_read_only(&self) -> bool {
        self.0.local.is_read_only()
    }
}
