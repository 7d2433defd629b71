//! The store on a local disk as a server uses it: every operation is done on a blocking thread.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::blobs::content::blob_id::IdScheme;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::content::trailer::StoredBlob;
use crate::blobs::error::BlobError;
use crate::blobs::files::{BlobFiles, BlobVerdict, Blobs, OnDamage, OpenBlob};
use crate::blobs::listing::{BlobOrder, BlobPage, BlobPlace};
use crate::blobs::local::store::LocalBlobStore;
use crate::blobs::local::write::LocalWriter;
use crate::blobs::pin::BlobPin;
use crate::blobs::store::{
    BlobFuture, BlobPart, BlobStore, BlobWindow, BlobWriter, HeldBlob, NewBlob, TenantUsage,
    WrittenBlob,
};
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// A store on a local disk whose operations do not block. Clones share the store.
///
/// Each operation is a step of its own on a blocking thread, and goes on there if its future is
/// dropped.
#[derive(Debug, Clone)]
pub struct LocalBlobs(Arc<LocalBlobStore>);

impl LocalBlobs {
    /// The blobs of this store.
    #[must_use]
    pub fn new(store: LocalBlobStore) -> Self {
        Self(Arc::new(store))
    }

    /// The store, for callers that may block.
    #[must_use]
    pub const fn store(&self) -> &Arc<LocalBlobStore> {
        &self.0
    }

    /// The way in which a tenant's ids are made.
    pub(crate) fn scheme_of<'a>(&self, tenant: &TenantId) -> BlobFuture<'a, IdScheme> {
        let tenant = tenant.clone();
        self.on_thread(move |store| store.id_scheme(&store.tenant_folder(&tenant)))
    }

    fn on_thread<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<LocalBlobStore>) -> Result<T, BlobError> + Send + 'static,
    ) -> BlobFuture<'a, T> {
        let store = Arc::clone(&self.0);
        on_thread(move || work(&store))
    }
}

impl From<LocalBlobStore> for Blobs {
    fn from(store: LocalBlobStore) -> Self {
        LocalBlobs::new(store).into()
    }
}

impl From<LocalBlobs> for Blobs {
    fn from(local: LocalBlobs) -> Self {
        Self { store: Arc::new(local.clone()), files: Arc::new(local) }
    }
}

/// Reads a part of a file on a thread for it.
pub(crate) async fn read_file_part(file: File, at: u64, size: u64) -> io::Result<Vec<u8>> {
    let reading = spawn_blocking(move || {
        let mut bytes = vec![0; ByteCount::bytes(size).as_usize()];
        file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    });
    reading.await.map_err(io::Error::other)?
}

/// Does blocking work on a thread for it.
fn on_thread<'a, T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> BlobFuture<'a, T> {
    Box::pin(async move {
        let done = spawn_blocking(work).await;
        done.map_err(|ended| BlobError::Storage { what: "use", cause: io::Error::other(ended) })?
    })
}

impl BlobStore for LocalBlobs {
    fn begin<'a>(
        &'a self,
        tenant: &'a TenantId,
        new: NewBlob,
    ) -> BlobFuture<'a, Box<dyn BlobWriter>> {
        let tenant = tenant.clone();
        self.on_thread(move |store| {
            let writer: Box<dyn BlobWriter> =
                Box::new(OffloadedWriter(Some(store.begin(&tenant, &new)?)));
            Ok(writer)
        })
    }

    fn put<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        content: Vec<u8>,
    ) -> BlobFuture<'a, StoredBlob> {
        let (tenant, kind) = (tenant.clone(), kind.clone());
        self.on_thread(move |store| store.put(&tenant, &kind, &content))
    }

    fn put_from<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        size: ByteCount,
        mut content: Box<dyn Read + Send>,
    ) -> BlobFuture<'a, StoredBlob> {
        let (tenant, kind) = (tenant.clone(), kind.clone());
        self.on_thread(move |store| store.put_from(&tenant, &kind, size, &mut content))
    }

    fn put_held<'a>(
        &'a self,
        tenant: &'a TenantId,
        kind: &'a BlobKind,
        size: ByteCount,
        mut content: Box<dyn Read + Send>,
    ) -> BlobFuture<'a, HeldBlob> {
        let (tenant, kind) = (tenant.clone(), kind.clone());
        // One step instead of two: for a run that writes small files, a switch of threads is a noticeable
        // part of its time.
        self.on_thread(move |store| {
            let stored = store.put_from(&tenant, &kind, size, &mut content)?;
            drop(content);
            let pin = store.pin(&tenant, &stored.id).ok();
            Ok((stored, pin))
        })
    }

    fn set_names<'a>(
        &'a self,
        tenant: &'a TenantId,
        names: &'a [(BlobId, BlobName)],
    ) -> BlobFuture<'a, ()> {
        let (tenant, names) = (tenant.clone(), names.to_vec());
        self.on_thread(move |store| store.set_names(&tenant, &names))
    }

    fn pin<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, BlobPin> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.on_thread(move |store| store.pin(&tenant, &id))
    }

    fn remove<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, ()> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.on_thread(move |store| store.remove(&tenant, &id))
    }

    fn list<'a>(
        &'a self,
        tenant: &'a TenantId,
        after: Option<&'a BlobId>,
        most: usize,
    ) -> BlobFuture<'a, BlobPage> {
        let (tenant, after) = (tenant.clone(), after.cloned());
        self.on_thread(move |store| store.list(&tenant, after.as_ref(), most))
    }

    fn list_in_order<'a>(
        &'a self,
        tenant: &'a TenantId,
        order: BlobOrder,
        after: Option<&'a BlobPlace>,
        most: usize,
    ) -> BlobFuture<'a, Option<BlobPage>> {
        let (tenant, after) = (tenant.clone(), after.cloned());
        self.on_thread(move |store| store.list_in_order(&tenant, order, after.as_ref(), most))
    }

    fn stat<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, StoredBlob> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.on_thread(move |store| store.stat(&tenant, &id))
    }

    fn read<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        part: BlobPart,
        limit: ByteCount,
    ) -> BlobFuture<'a, BlobWindow> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.on_thread(move |store| store.read(&tenant, &id, part, limit))
    }

    fn usage<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, TenantUsage> {
        let tenant = tenant.clone();
        self.on_thread(move |store| store.usage(&tenant))
    }

    fn is_read_only(&self) -> bool {
        self.0.is_sealed()
    }
}

impl BlobFiles for LocalBlobs {
    fn open<'a>(&'a self, tenant: &'a TenantId, id: &'a BlobId) -> BlobFuture<'a, OpenBlob<File>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.on_thread(move |store| store.open_content(&tenant, &id))
    }

    fn verify<'a>(
        &'a self,
        tenant: &'a TenantId,
        id: &'a BlobId,
        damaged: OnDamage,
    ) -> BlobFuture<'a, BlobVerdict> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.on_thread(move |store| store.verify(&tenant, &id, damaged))
    }
}

/// A writer that is on a blocking thread while a piece is appended. `None` after an error, and after
/// a future that was dropped.
#[derive(Debug)]
struct OffloadedWriter(Option<LocalWriter>);

impl BlobWriter for OffloadedWriter {
    fn append(&mut self, piece: Vec<u8>) -> BlobFuture<'_, Vec<u8>> {
        Box::pin(async move {
            let mut writer = self.0.take().ok_or_else(given_up)?;
            let (writer, piece) = on_thread(move || {
                writer.append(&piece)?;
                Ok((writer, piece))
            })
            .await?;
            self.0 = Some(writer);
            Ok(piece)
        })
    }

    fn finish(self: Box<Self>) -> BlobFuture<'static, WrittenBlob> {
        Box::pin(async move {
            let writer = self.0.ok_or_else(given_up)?;
            on_thread(move || writer.finish()).await
        })
    }
}

/// The content is used after an error.
fn given_up() -> BlobError {
    BlobError::Content(io::Error::other("an earlier piece was not stored"))
}
