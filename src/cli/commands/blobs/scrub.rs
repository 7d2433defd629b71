//! `wardian blobs scrub`: reads every blob and compares it with its id.

use serde::Serialize;

use crate::cli::commands::blobs::local::{UseOfStore, open};
use crate::cli::commands::blobs::remote::Remote;
use crate::cli::commands::blobs::transfer_progress::{TransferProgress, readable};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print_json, print_line};
use wardian_config::Config;
use wardian_stores::blobs::{BlobError, BlobVerdict, LocalBlobStore, OnDamage};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Blobs that are listed at one time.
const PAGE: usize = 1_000;

/// The treatment of damaged blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    Keep,
    Quarantine,
    Delete,
}

impl Treatment {
    /// The value of the parameter `damaged` of a server.
    const fn parameter(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Quarantine => "quarantine",
            Self::Delete => "delete",
        }
    }

    const fn on_damage(self) -> OnDamage {
        match self {
            Self::Keep => OnDamage::Keep,
            Self::Quarantine => OnDamage::Quarantine,
            Self::Delete => OnDamage::Remove,
        }
    }

    /// The end of a damaged blob.
    const fn done(self) -> &'static str {
        match self {
            Self::Keep => "kept",
            Self::Quarantine => "quarantined",
            Self::Delete => "deleted",
        }
    }
}

/// The findings.
#[derive(Debug, Default, Serialize)]
struct Findings {
    /// Blobs that were read.
    blobs: u64,
    /// Bytes of their content.
    bytes: u64,
    damaged: Vec<Damaged>,
    unreadable: Vec<Unreadable>,
}

#[derive(Debug, Serialize)]
struct Damaged {
    blob_id: BlobId,
    treatment: &'static str,
}

#[derive(Debug, Serialize)]
struct Unreadable {
    blob_id: BlobId,
    error: String,
}

impl Findings {
    fn note(&mut self, blob_id: BlobId, size: u64, end: Result<bool, String>, damaged: Treatment) {
        self.blobs = self.blobs.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        match end {
            Ok(true) => {}
            Ok(false) => {
                self.damaged.push(Damaged { blob_id, treatment: damaged.done() });
            }
            Err(error) => self.unreadable.push(Unreadable { blob_id, error }),
        }
    }
}

/// Reads all blobs and reports the damaged ones.
pub(super) fn scrub(
    config: &Config,
    remote: Option<&Remote>,
    damaged: Treatment,
    as_json: bool,
) -> Result<Exit, Failed> {
    let mut findings = Findings::default();
    match remote {
        Some(remote) => scrub_remote(remote, damaged, &mut findings)?,
        None => {
            let changes =
                if damaged == Treatment::Keep { UseOfStore::Reads } else { UseOfStore::Changes };
            let store = open(config, changes)?;
            let mut progress = TransferProgress::begin("verified", None);
            for tenant in store.tenants()? {
                scrub_tenant(&store, &tenant, damaged, &mut findings, &mut progress)?;
            }
        }
    }
    let is_good = findings.damaged.is_empty() && findings.unreadable.is_empty();
    if as_json {
        print_json(&findings);
    } else {
        for Damaged { blob_id, treatment } in &findings.damaged {
            print_line(&format!("damaged     {blob_id}  {treatment}"));
        }
        for Unreadable { blob_id, error } in &findings.unreadable {
            print_line(&format!("unreadable  {blob_id}  {error}"));
        }
        print_line(&format!(
            "{} blobs, {}: {} damaged, {} unreadable",
            findings.blobs,
            readable(findings.bytes),
            findings.damaged.len(),
            findings.unreadable.len()
        ));
    }
    Ok(if is_good { Exit::Done } else { Exit::OurFault })
}

fn scrub_remote(
    remote: &Remote,
    damaged: Treatment,
    findings: &mut Findings,
) -> Result<(), Failed> {
    let mut progress = TransferProgress::begin("verified", None);
    remote.for_each(&mut |blob| {
        let end = match remote.verify(&blob.blob_id, damaged.parameter()) {
            // It was deleted meanwhile.
            Ok(None) => return Ok(()),
            Ok(Some(is_intact)) => Ok(is_intact),
            Err(failed) => Err(failed.to_string()),
        };
        progress.advance(ByteCount::bytes(blob.size_bytes).as_usize());
        findings.note(blob.blob_id, blob.size_bytes, end, damaged);
        Ok(())
    })
}

fn scrub_tenant(
    store: &LocalBlobStore,
    tenant: &TenantId,
    damaged: Treatment,
    findings: &mut Findings,
    progress: &mut TransferProgress,
) -> Result<(), Failed> {
    let mut after: Option<BlobId> = None;
    loop {
        let page = store.list(tenant, after.as_ref(), PAGE)?;
        after = page.blobs.last().map(|listed| listed.id.clone());
        for listed in page.blobs {
            let end = match store.verify(tenant, &listed.id, damaged.on_damage()) {
                Ok(BlobVerdict::Intact(_)) => Ok(true),
                Ok(BlobVerdict::Damaged(_)) => Ok(false),
                // It was deleted meanwhile.
                Err(BlobError::NotFound { .. }) => continue,
                Err(error) => Err(CauseChain(&error).to_string()),
            };
            progress.advance(listed.size.as_usize());
            findings.note(listed.id, listed.size.as_u64(), end, damaged);
        }
        if !page.has_more || after.is_none() {
            return Ok(());
        }
    }
}
