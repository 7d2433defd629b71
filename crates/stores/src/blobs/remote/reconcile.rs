//! The table of blobs is compared with the objects, and made from them again.
//!
//! The objects are the truth: an object whose content belongs to its key is a blob. Its kind is kept with it;
//! its names are not, and are lost with the table.

use std::collections::HashSet;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::error::BlobError;
use crate::blobs::remote::copies::FetchedObject;
use crate::blobs::remote::parts::RemoteParts;
use crate::blobs::remote::remote_blobs::RemoteBlobs;
use crate::blobs::remote::rows::{BlobRow, RowState};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Rows that are read at one time.
const PAGE: u64 = 1_000;

/// What is done about a difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciling {
    /// Objects without a row get one. Otherwise they are only named.
    pub restores: bool,
    /// Rows without an object are removed. Otherwise they are only named.
    pub forgets: bool,
}

/// A difference between the table and the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreDifference {
    /// A blob is stored and has no row. It gets one, if that is wanted.
    Unlisted {
        /// Its owner.
        tenant: TenantId,
        /// Its id.
        id: BlobId,
        /// Length of its content.
        size: ByteCount,
    },
    /// An object without a row has other content than its key says, or of a kind that is not known.
    Damaged {
        /// Its key.
        key: String,
    },
    /// An object lies among the blobs and is none.
    Foreign {
        /// Its key.
        key: String,
    },
    /// A blob has a row and is not stored. The row is removed, if that is wanted.
    Lost {
        /// Its owner.
        tenant: TenantId,
        /// Its id.
        id: BlobId,
    },
}

/// What was compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Objects.
    pub objects: u64,
    /// Rows of stored blobs.
    pub rows: u64,
}

impl RemoteBlobs {
    /// Compares the table with all objects, and tells each difference. Servers may use the store meanwhile. What has
    /// no row is fetched, and compared with its id.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the object store or the database cannot be reached; what was told is done.
    pub async fn reconcile(
        &self,
        order: Reconciling,
        told: &mut (dyn FnMut(StoreDifference) + Send),
    ) -> Result<Compared, BlobError> {
        let Self(remote) = self;
        let objects = remote.reconcile_objects(order, told).await?;
        let mut rows = 0_u64;
        let mut after = String::new();
        while let Some(tenant) = remote.next_tenant(&after).await? {
            rows = rows.saturating_add(remote.reconcile_rows(&tenant, order, told).await?);
            after = tenant.to_string();
        }
        Ok(Compared { objects, rows })
    }
}

impl RemoteParts {
    async fn next_tenant(&self, after: &str) -> Result<Option<TenantId>, BlobError> {
        self.rows.next_tenant(after).await.map_err(BlobError::from_database("read"))
    }

    /// Looks for the row of each object. Returns the number of objects.
    async fn reconcile_objects(
        &self,
        order: Reconciling,
        told: &mut (dyn FnMut(StoreDifference) + Send),
    ) -> Result<u64, BlobError> {
        let (prefix, mut token, mut count) = (self.place.key("blobs", ""), None, 0_u64);
        loop {
            let page = self.place.objects.list(&prefix, token).await;
            let page = page.map_err(BlobError::Unreachable)?;
            for (key, size) in page.objects {
                count = count.saturating_add(1);
                let Some((tenant, id)) = self.place.blob_of(&key) else {
                    told(StoreDifference::Foreign { key });
                    continue;
                };
                let found = self.rows.find(&tenant, &id).await;
                if found.map_err(BlobError::from_database("read"))?.is_some() {
                    continue;
                }
                if let Some(found) = self.reconcile_object(key, (tenant, id, size), order).await? {
                    told(found);
                }
            }
            token = page.next;
            if token.is_none() {
                return Ok(count);
            }
        }
    }

    /// Looks at an object without a row. `None` if it is gone meanwhile, or has a row now.
    async fn reconcile_object(
        &self,
        key: String,
        (tenant, id, size): (TenantId, BlobId, ByteCount),
        order: Reconciling,
    ) -> Result<Option<StoreDifference>, BlobError> {
        let read = BlobError::Unreachable;
        let object = self.place.objects.read(&key).await.map_err(read)?;
        let Some(object) = object else { return Ok(None) };
        let kind = object.kind().and_then(|kind| BlobKind::parse(kind).ok());
        drop(object);
        let version = self.place.objects.version(&key).await;
        let version = version.map_err(BlobError::Unreachable)?;
        let (Some(kind), Some(tag)) = (kind, version) else {
            return Ok(Some(StoreDifference::Damaged { key }));
        };
        let now = self.clock.now();
        let state = RowState::Stored;
        let row = BlobRow { kind, size, created: now, used: now, state, tag, names: Vec::new() };
        let fetched = self.fetch(&tenant, &id, &row).await?;
        self.forget_copy(&tenant, &id).await;
        if matches!(fetched, FetchedObject::Damaged) {
            return Ok(Some(StoreDifference::Damaged { key }));
        }
        if order.restores {
            let restored = self.rows.restore(&tenant, &id, &row).await;
            if !restored.map_err(BlobError::from_database("write to"))? {
                return Ok(None);
            }
        }
        Ok(Some(StoreDifference::Unlisted { tenant, id, size }))
    }

    /// Looks for the object of each row of a tenant. Returns the number of rows.
    async fn reconcile_rows(
        &self,
        tenant: &TenantId,
        order: Reconciling,
        told: &mut (dyn FnMut(StoreDifference) + Send),
    ) -> Result<u64, BlobError> {
        let stored = self.stored_of(tenant).await?;
        let (mut after, mut count) = (None, 0_u64);
        loop {
            let page = self.rows.page(tenant, after.as_ref(), PAGE).await;
            let page = page.map_err(BlobError::from_database("read"))?;
            after = page.last().map(|(id, _)| id.clone());
            for (id, _row) in page {
                count = count.saturating_add(1);
                if stored.contains(&id) || !self.is_lost(tenant, &id).await? {
                    continue;
                }
                if order.forgets {
                    self.remove(tenant, &id, None).await?;
                }
                told(StoreDifference::Lost { tenant: tenant.clone(), id });
            }
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    /// The blobs of a tenant that have objects.
    async fn stored_of(&self, tenant: &TenantId) -> Result<HashSet<BlobId>, BlobError> {
        let prefix = self.place.key("blobs", &format!("{tenant}/"));
        let (mut stored, mut token) = (HashSet::new(), None);
        loop {
            let page = self.place.objects.list(&prefix, token).await;
            let page = page.map_err(BlobError::Unreachable)?;
            let ids = page.objects.iter().filter_map(|(key, _)| self.place.blob_of(key));
            stored.extend(ids.map(|(_, id)| id));
            token = page.next;
            if token.is_none() {
                return Ok(stored);
            }
        }
    }

    /// True if a blob that was not in the list of objects is not stored, and is not being changed.
    async fn is_lost(&self, tenant: &TenantId, id: &BlobId) -> Result<bool, BlobError> {
        let found = self.place.objects.version(&self.key(tenant, id)).await;
        if found.map_err(BlobError::Unreachable)?.is_some() {
            return Ok(false);
        }
        let row = self.rows.find(tenant, id).await.map_err(BlobError::from_database("read"))?;
        Ok(row.is_some_and(|row| row.state == RowState::Stored))
    }
}
