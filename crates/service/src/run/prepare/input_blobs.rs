//! The blobs that a run reads: opened, kept from expiring, and named.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::parts::Service;
use crate::run::prepare::blob_names::name_mounts;
use crate::run::record::document::DocumentOrder;
use wardian_dispatch::BlobSource;
use wardian_formats::job::BlobMount;
use wardian_stores::blobs::{BlobFiles, BlobPin, StoredBlob};
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Copies of the names of blobs that are held at one time.
const NAME_COPIES: usize = 4;

/// The blobs of one run. They do not expire before this is dropped.
#[derive(Default)]
pub(crate) struct InputBlobs {
    pub mounts: Vec<BlobMount>,
    pub sources: Vec<BlobSource>,
    /// The sentence on blobs whose name another one has.
    pub note: Option<String>,
    /// Held until the result is made.
    pub held: (Option<OwnedSemaphorePermit>, Vec<BlobPin>),
}

impl Service {
    /// Opens the blobs that a run reads, and keeps them from expiring. The run keeps the open files
    /// even if their owner removes a blob.
    pub(crate) async fn open_inputs(
        &self,
        caller: &Caller,
        ids: Vec<BlobId>,
        document: Option<&DocumentOrder>,
    ) -> Result<InputBlobs, ServiceError> {
        if ids.is_empty() {
            return Ok(InputBlobs::default());
        }
        let permit = caller.memory.open_blobs(ids.len())?;
        let (files, tenant) = (Arc::clone(&self.blobs.files), caller.tenant.clone());
        let open = async move {
            let mut opened = Vec::with_capacity(ids.len());
            for id in ids {
                opened.push(open_blob(&*files, &tenant, id).await?);
            }
            Ok::<_, ServiceError>(opened)
        };
        let opened = caller.memory.on_task(open).await.map_err(ServiceError::Interrupted)??;
        let (blobs, pins): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let (mut mounts, sources): (Vec<BlobMount>, Vec<_>) = blobs.into_iter().unzip();
        let note = name_mounts(&mut mounts, document);
        caller.memory.reserve(memory_of_names(&mounts))?;
        Ok(InputBlobs { mounts, sources, note, held: (Some(permit), pins) })
    }
}

/// Memory for the names of blobs: in the order, its bytes, and the record.
fn memory_of_names(mounts: &[BlobMount]) -> ByteCount {
    let names = mounts.iter().flat_map(BlobMount::names);
    let sizes = names.map(|name| size_of::<BlobName>().saturating_add(name.as_str().len()));
    ByteCount::from(sizes.sum::<usize>().saturating_mul(NAME_COPIES))
}

async fn open_blob(
    files: &dyn BlobFiles,
    tenant: &TenantId,
    id: BlobId,
) -> Result<((BlobMount, BlobSource), BlobPin), ServiceError> {
    let opened = files.open(tenant, &id).await?;
    let size = opened.blob.size;
    let kind = opened.blob.kind.as_str().to_owned();
    let file = Arc::new(opened.file);
    let source = BlobSource { tenant: tenant.clone(), id: id.clone(), file, size };
    let StoredBlob { name, other_names, .. } = opened.blob;
    Ok(((BlobMount { id, kind, size, name, other_names }, source), opened.pin))
}
