//! The blobs that a run reads: opened, kept from expiring, and named.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::prepare::blob_names::name_mounts;
use wardian_dispatch::BlobSource;
use wardian_formats::job::{BlobMount, PlacedBlob, SetupLimits, cost_of_placed};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::provenance::DocumentBlob;
use wardian_stores::blobs::{BlobFiles, BlobPin, StoredBlob};
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

/// Copies of the names of blobs that are held at one time.
const NAME_COPIES: usize = 4;

/// What keeps the blobs of a run open, and keeps them from expiring.
pub(crate) type HeldBlobs = (Option<OwnedSemaphorePermit>, Vec<BlobPin>);

/// The blobs of one run.
#[derive(Default)]
pub(crate) struct InputBlobs {
    pub mounts: Vec<BlobMount>,
    pub sources: Vec<BlobSource>,
    /// The sentence on blobs whose name another one has.
    pub note: Option<String>,
    /// Held until the result is made.
    pub held: HeldBlobs,
}

/// Opens the blobs that a run reads, and keeps them from expiring. The run keeps the open files even if
/// their owner removes a blob. Those that are files of the workspace have to fit into it. A repetition has the
/// names of what was `recorded`.
///
/// # Errors
///
/// A blob does not exist, those at paths need more than the workspace, or there is no memory.
pub(crate) async fn open_inputs(
    files: &Arc<dyn BlobFiles>,
    caller: &Caller,
    (ids, placed): (Vec<BlobId>, Vec<PlacedBlob>),
    limits: &SetupLimits,
    recorded: Option<&[DocumentBlob]>,
) -> Result<InputBlobs, ServiceError> {
    if ids.is_empty() {
        return Ok(InputBlobs::default());
    }
    let permit = caller.memory.open_blobs(ids.len())?;
    let (files, tenant) = (Arc::clone(files), caller.tenant.clone());
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
    for PlacedBlob { blob, path } in placed {
        if let Some(mount) = mounts.iter_mut().find(|mount| mount.id == blob) {
            mount.paths.push(path);
        }
    }
    ensure_room(&mounts, limits)?;
    let note = name_mounts(&mut mounts, recorded);
    caller.memory.reserve(memory_of_names(&mounts))?;
    Ok(InputBlobs { mounts, sources, note, held: (Some(permit), pins) })
}

/// Refuses blobs at paths for which a workspace has no room.
fn ensure_room(mounts: &[BlobMount], limits: &SetupLimits) -> Result<(), ParamsError> {
    let files =
        mounts.iter().flat_map(|mount| mount.paths.iter().map(move |path| (path, mount.size)));
    let (bytes, entries) = cost_of_placed(files);
    let (expected, found) = if bytes > limits.workspace {
        let most = limits.workspace;
        (
            format!(
                "blobs whose files fit into the workspace of {most} (`limits.workspace_bytes`); \
                 blobs without a path take no room there"
            ),
            format!("files that take {bytes}"),
        )
    } else if entries > limits.workspace_entries {
        let most = limits.workspace_entries;
        (format!("blobs with at most {most} files and folders"), entries.to_string())
    } else {
        return Ok(());
    };
    Err(ParamsError::wrong("input_blobs", expected, found))
}

/// Memory for the names and paths of blobs: in the order, its bytes, and the record.
fn memory_of_names(mounts: &[BlobMount]) -> ByteCount {
    let names = mounts.iter().flat_map(BlobMount::names);
    let sizes = names.map(|name| size_of::<BlobName>().saturating_add(name.as_str().len()));
    let paths = mounts.iter().flat_map(|mount| &mount.paths);
    let paths = paths.map(|path| size_of::<WorkspacePath>().saturating_add(path.as_str().len()));
    ByteCount::from(sizes.chain(paths).sum::<usize>().saturating_mul(NAME_COPIES))
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
    let paths = Vec::new();
    Ok(((BlobMount { id, kind, size, name, other_names, paths }, source), opened.pin))
}
