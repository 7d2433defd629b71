//! `wardian blobs list` and `wardian blobs delete`.

use std::time::Duration;

use crate::cli::commands::blobs::local::{UseOfStore, open};
use crate::cli::commands::blobs::remote::{Remote, RemoteBlob};
use crate::cli::commands::blobs::transfer_progress::readable;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print_json, print_line, print_table};
use crate::cli::terminal::readable::age;
use wardian_config::Config;
use wardian_service::sole_tenant;
use wardian_stores::blobs::{ListedBlob, LocalBlobStore};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::BlobId;

/// Blobs that are read from the store at one time.
const PAGE: usize = 1_000;

/// Lists all blobs, those that were used last at the end.
pub(super) fn list(
    config: &Config,
    remote: Option<&Remote>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let mut blobs = Vec::new();
    match remote {
        Some(remote) => remote.for_each(&mut |blob| {
            blobs.push(blob);
            Ok(())
        })?,
        None => {
            let store = open(config, UseOfStore::Reads)?;
            for_each(&store, &mut |listed| blobs.push(shown(listed)))?;
        }
    }
    blobs.sort_by_key(|blob| blob.last_used_ms);
    if as_json {
        print_json(&blobs);
        return Ok(Exit::Done);
    }
    let now = Clock::System.now();
    let rows = blobs.iter().map(|blob| {
        let kind = blob.kind.clone().unwrap_or_else(|| "damaged".to_owned());
        let used = age(now.saturating_sub(Duration::from_millis(blob.last_used_ms)));
        let name = blob.name.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![blob.blob_id.to_string(), readable(blob.size_bytes), used, kind, name]
    });
    print_table(&["blob", "size", "last used", "kind", "name"], rows.collect());
    Ok(Exit::Done)
}

/// Calls `each` with every blob of the local user.
fn for_each(store: &LocalBlobStore, each: &mut dyn FnMut(ListedBlob)) -> Result<(), Failed> {
    let mut after: Option<BlobId> = None;
    loop {
        let page = store.list(&sole_tenant(), after.as_ref(), PAGE)?;
        after = page.blobs.last().map(|listed| listed.id.clone());
        page.blobs.into_iter().for_each(&mut *each);
        if !page.has_more || after.is_none() {
            return Ok(());
        }
    }
}

fn shown(listed: ListedBlob) -> RemoteBlob {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    RemoteBlob {
        blob_id: listed.id,
        kind: listed.described.as_ref().map(|blob| blob.kind.as_str().to_owned()),
        size_bytes: listed.size.as_u64(),
        created_ms: listed.described.as_ref().map(|blob| milliseconds(blob.created)),
        last_used_ms: milliseconds(listed.used),
        name: listed.described.and_then(|blob| blob.name),
    }
}

/// Removes blobs. All ids are checked before the first one is removed.
pub(super) fn delete(
    config: &Config,
    remote: Option<&Remote>,
    ids: &[String],
) -> Result<Exit, Failed> {
    let ids = ids.iter().map(|id| BlobId::parse(id)).collect::<Result<Vec<_>, _>>()?;
    match remote {
        Some(remote) => {
            for id in &ids {
                remote.remove(id)?;
                print_line(&format!("deleted {id}"));
            }
        }
        None => {
            let store = open(config, UseOfStore::Changes)?;
            for id in &ids {
                store.remove(&sole_tenant(), id).map_err(|error| match error.kind() {
                    ErrorKind::BlobNotFound => Failed::usage(error.to_string()),
                    _ => error.into(),
                })?;
                print_line(&format!("deleted {id}"));
            }
        }
    }
    Ok(Exit::Done)
}
