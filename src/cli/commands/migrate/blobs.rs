//! Blobs are copied to an object store.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::task::block_in_place;

use crate::assembly;
use crate::cli::commands::blobs::TransferProgress;
use crate::cli::commands::migrate::{DamagedBlob, MovedBlobs};
use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_stores::blobs::{
    BlobError, BlobFiles as _, BlobStore as _, BlobVerdict, LocalBlobStore, NewBlob, OnDamage,
    OpenBlob, PlaceOwner, RemoteBlobs, StoredBlob,
};
use wardian_stores::database::blob_id_keys_at;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};

/// Blobs that are listed at one time, and bytes that are sent at a time.
const PAGE: usize = 1_000;
const CHUNK: usize = 256 << 10;

/// Copies all blobs, and reads each in its new place.
pub(super) async fn copy(config: &Config, target: &Config) -> Result<MovedBlobs, Failed> {
    let place = target.blobs.store.clone().unwrap_or_default();
    let of_place = |fault: BlobError| Failed::usage(format!("{place}: {}", CauseChain(&fault)));
    let store = Arc::new(block_in_place(|| assembly::open_blobs(config))?);
    let folder = TempDir::new().map_err(|e| Failed::at("create a temporary folder", &e))?;
    let keys = blob_id_keys_at(assembly::keys_place(target));
    let remote = assembly::open_remote_blobs(target, keys, &folder.path().join("copies")).await?;
    remote.take_place(PlaceOwner::First).await.map_err(of_place)?;
    let mut moved = MovedBlobs::default();
    let mut copying = TransferProgress::begin("copied", None);
    for tenant in block_in_place(|| store.tenants())? {
        let mut after: Option<BlobId> = None;
        loop {
            let page = block_in_place(|| store.list(&tenant, after.as_ref(), PAGE))?;
            after = page.blobs.last().map(|listed| listed.id.clone());
            for listed in page.blobs {
                let from = (&*store, &tenant, &listed.id);
                let Some(size) = copy_one(from, &remote, &mut copying).await? else {
                    let (tenant, blob_id) = (tenant.clone(), listed.id);
                    moved.damaged.push(DamagedBlob { tenant, blob_id });
                    continue;
                };
                moved.blobs = moved.blobs.saturating_add(1);
                moved.bytes = moved.bytes.saturating_add(size);
            }
            if !page.has_more || after.is_none() {
                break;
            }
        }
    }
    remote.close().await;
    Ok(moved)
}

/// Copies a blob unless it is there, and returns its size. `None` if its file is damaged.
async fn copy_one(
    (store, tenant, id): (&LocalBlobStore, &TenantId, &BlobId),
    remote: &RemoteBlobs,
    progress: &mut TransferProgress,
) -> Result<Option<u64>, Failed> {
    let opened = match block_in_place(|| store.open_content(tenant, id)) {
        Ok(opened) => opened,
        Err(BlobError::Damaged { .. }) => return Ok(None),
        Err(fault) => return Err(fault.into()),
    };
    let OpenBlob { blob, file, .. } = opened;
    if !is_moved(remote, tenant, &blob).await? {
        send(&blob, file, remote, (tenant, progress)).await?;
        if !is_moved(remote, tenant, &blob).await? {
            return Err(Failed::refused(format!(
                "the object store has other content than was sent for `{id}` of tenant `{tenant}`; nothing was changed \
                 here"
            )));
        }
    }
    // The latest name is given last.
    let names = blob.other_names.iter().rev().chain(&blob.name);
    let names: Vec<(BlobId, BlobName)> = names.map(|name| (id.clone(), name.clone())).collect();
    remote.set_names(tenant, &names).await?;
    Ok(Some(blob.size.as_u64()))
}

/// True if the object store has this blob, all of which is read. What it has in its place otherwise is set aside there.
async fn is_moved(
    remote: &RemoteBlobs,
    tenant: &TenantId,
    blob: &StoredBlob,
) -> Result<bool, Failed> {
    match remote.verify(tenant, &blob.id, OnDamage::Quarantine).await {
        Ok(BlobVerdict::Intact(_)) => Ok(true),
        Ok(BlobVerdict::Damaged(_)) | Err(BlobError::NotFound { .. }) => Ok(false),
        Err(fault) => Err(fault.into()),
    }
}

async fn send(
    blob: &StoredBlob,
    file: File,
    remote: &RemoteBlobs,
    (tenant, progress): (&TenantId, &mut TransferProgress),
) -> Result<(), Failed> {
    let new = NewBlob::announced(blob.kind.clone(), blob.size);
    let mut writer = remote.begin(tenant, new).await?;
    let mut content = file.take(blob.size.as_u64());
    loop {
        let mut piece = Vec::with_capacity(CHUNK);
        let most = u64::try_from(CHUNK).unwrap_or(u64::MAX);
        let read = block_in_place(|| content.by_ref().take(most).read_to_end(&mut piece));
        let count = read.map_err(|e| Failed::at("read a blob", &e))?;
        if count == 0 {
            break;
        }
        writer.append(piece).await?;
        progress.advance(count);
    }
    let written = writer.finish().await?;
    if written.blob.id != blob.id {
        return Err(Failed::refused(format!(
            "the object store has another key of the ids of tenant `{tenant}`: it was used with another database; \
             choose an empty place; nothing was changed here"
        )));
    }
    Ok(())
}
