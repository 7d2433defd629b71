//! The store.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::RwLock as AsyncRwLock;

use crate::blobs::config::BlobStoreConfig;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::files::Blobs;
use crate::blobs::listing::{BlobOrder, BlobPage, BlobPlace, ListedBlob, MAX_ORDERED};
use crate::blobs::local::local_blobs::LocalBlobs;
use crate::blobs::pin::BlobPin;
use crate::blobs::remote::objects::BlobObjects;
use crate::blobs::remote::parts::{RemoteParts, described};
use crate::blobs::remote::place::ObjectPlace;
use crate::blobs::remote::publishing::RemoteWriter;
use crate::blobs::remote::rows::BlobRowStore;
use crate::blobs::store::{
    BlobFuture, BlobPart, BlobStore, BlobWindow, BlobWriter, NewBlob, TenantUsage,
};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// A store of blobs in an object store. Clones share it.
#[derive(Debug, Clone)]
pub struct RemoteBlobs(pub(super) Arc<RemoteParts>);

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
        let (pins, fetches, spooled) = (Arc::default(), Mutex::default(), AsyncRwLock::default());
        Self(Arc::new(RemoteParts { local, rows, place, config, clock, pins, fetches, spooled }))
    }

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
            let (local, of, kind) = (self.0.local.clone(), tenant.clone(), kind.clone());
            let spooled = Box::pin(async move { local.put(&of, &kind, content).await });
            Ok(self.0.publish(tenant, spooled).await?.blob)
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
