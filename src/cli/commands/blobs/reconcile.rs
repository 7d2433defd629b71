//! `wardian blobs reconcile`: compares the database of blobs with their object store.

use serde::Serialize;
use tempfile::TempDir;

use crate::assembly;
use crate::cli::commands::blobs::transfer_progress::{TransferProgress, readable};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on_until_interrupted;
use crate::cli::terminal::output::{print_json, print_line, shown};
use wardian_config::Config;
use wardian_stores::blobs::{BlobError, PlaceOwner, Reconciling, StoreDifference};
use wardian_stores::database::blob_id_keys_at;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, TenantId};

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Findings {
    /// Objects below the place of blobs.
    objects: u64,
    /// Blobs that the database has.
    listed: u64,
    /// Blobs that it had not, whether they are listed again, and whether lost ones are removed.
    unlisted: Vec<FoundBlob>,
    damaged: Vec<String>,
    foreign: Vec<String>,
    lost: Vec<FoundBlob>,
    is_restored: bool,
    is_forgotten: bool,
}

/// A blob of a tenant.
#[derive(Debug, Serialize)]
struct FoundBlob {
    tenant: TenantId,
    blob_id: BlobId,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
}

impl Findings {
    fn note(&mut self, found: StoreDifference) {
        match found {
            StoreDifference::Unlisted { tenant, id, size } => {
                let size_bytes = Some(size.as_u64());
                self.unlisted.push(FoundBlob { tenant, blob_id: id, size_bytes });
            }
            StoreDifference::Lost { tenant, id } => {
                self.lost.push(FoundBlob { tenant, blob_id: id, size_bytes: None });
            }
            StoreDifference::Damaged { key } => self.damaged.push(key),
            StoreDifference::Foreign { key } => self.foreign.push(key),
        }
    }

    fn is_in_order(&self) -> bool {
        let is_listed = self.unlisted.is_empty() || self.is_restored;
        let is_known = self.lost.is_empty() || self.is_forgotten;
        is_listed && is_known && self.damaged.is_empty() && self.foreign.is_empty()
    }

    fn print(&self) {
        let (restored, forgotten) = (
            if self.is_restored { "listed again" } else { "not listed" },
            if self.is_forgotten { "removed" } else { "kept in the database" },
        );
        for FoundBlob { tenant, blob_id, size_bytes } in &self.unlisted {
            let size = readable(size_bytes.unwrap_or_default());
            print_line(&format!("unlisted  {tenant}  {blob_id}  {size}, {restored}"));
        }
        for key in &self.damaged {
            print_line(&format!("damaged   {}  its content is not that of its key", shown(key)));
        }
        for key in &self.foreign {
            print_line(&format!("foreign   {}  no blob has such a key", shown(key)));
        }
        for FoundBlob { tenant, blob_id, .. } in &self.lost {
            print_line(&format!("lost      {tenant}  {blob_id}  {forgotten}"));
        }
        print_line(&format!(
            "{} objects, {} blobs in the database: {} unlisted, {} damaged, {} foreign, {} lost",
            self.objects,
            self.listed,
            self.unlisted.len(),
            self.damaged.len(),
            self.foreign.len(),
            self.lost.len()
        ));
    }
}

/// Compares, and brings in order what `order` says.
pub(super) fn reconcile(
    config: &Config,
    (order, owner): (Reconciling, PlaceOwner),
    as_json: bool,
) -> Result<Exit, Failed> {
    let Some(place) = &config.blobs.store else {
        return Err(Failed::usage(
            "`blobs.store` names no object store, so there is nothing to compare: `wardian blobs scrub` verifies \
             the blobs of this machine",
        ));
    };
    block_on_until_interrupted(Box::pin(async {
        let folder = TempDir::new().map_err(|e| Failed::at("create a temporary folder", &e))?;
        let keys = blob_id_keys_at(assembly::keys_place(config));
        let store =
            assembly::open_remote_blobs(config, keys, &folder.path().join("copies")).await?;
        let failed = |fault: BlobError| match fault {
            BlobError::OtherDatabase => Failed::usage(format!(
                "{place}: {fault}; if that database is lost, and no server uses it, `--take-over` makes the place \
                 that of this one"
            )),
            fault => Failed::usage(format!("{place}: {}", CauseChain(&fault))),
        };
        store.take_place(owner).await.map_err(failed)?;
        let mut findings = Findings {
            is_restored: order.restores,
            is_forgotten: order.forgets,
            ..Findings::default()
        };
        let mut progress = TransferProgress::begin("looked at", None);
        let compared = store
            .reconcile(order, &mut |found| {
                if let StoreDifference::Unlisted { size, .. } = &found {
                    progress.advance(size.as_usize());
                }
                findings.note(found);
            })
            .await
            .map_err(failed)?;
        (findings.objects, findings.listed) = (compared.objects, compared.rows);
        store.close().await;
        if as_json {
            print_json(&findings);
        } else {
            findings.print();
        }
        Ok(if findings.is_in_order() { Exit::Done } else { Exit::OurFault })
    }))
}
