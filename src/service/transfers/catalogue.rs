//! The list of a tenant's blobs, their removal, and their verification.

use std::sync::Arc;

use crate::blobs::{BlobVerdict, ListedBlob, OnDamage};
use crate::ids::{BlobId, BlobName};
use crate::protocol::params_error::ParamsError;
use crate::service::authorisation::ensure_has;
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::transfers::{BlobTransfers, begin, find};
use crate::tenants::Right;
use crate::units::ByteCount;

/// Most blobs of one page of the list.
const MAX_PAGE: usize = 1_000;

/// Memory for one blob of a page: its id twice, its kind, its name, and their JSON.
const LISTED: u64 = 2 << 10;

/// A page of the list of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobList {
    /// The blobs, in the order of their ids.
    pub blobs: Vec<BlobListing>,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
}

/// A blob in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobListing {
    /// The id.
    pub id: BlobId,
    /// Length of the content.
    pub size: u64,
    /// MIME type; `None` if the blob's file is damaged.
    pub kind: Option<String>,
    /// The name of the file, if it has one.
    pub name: Option<BlobName>,
    /// The time of the first storing, in milliseconds since the Unix epoch.
    pub created_ms: Option<u64>,
    /// The time of the last use, in milliseconds since the Unix epoch.
    pub used_ms: u64,
}

impl From<ListedBlob> for BlobListing {
    fn from(listed: ListedBlob) -> Self {
        let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).ok();
        Self {
            id: listed.id,
            size: listed.size.as_u64(),
            kind: listed.described.as_ref().map(|blob| blob.kind.as_str().to_owned()),
            created_ms: listed.described.as_ref().and_then(|blob| milliseconds(blob.created)),
            name: listed.described.and_then(|blob| blob.name),
            used_ms: milliseconds(listed.used).unwrap_or(u64::MAX),
        }
    }
}

/// The result of verifying a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedBlob {
    /// The id.
    pub id: BlobId,
    /// Length of the content.
    pub size: u64,
    /// True if the content belongs to the id.
    pub is_intact: bool,
}

impl BlobTransfers {
    /// Lists at most `limit` of the caller's blobs, at most 1,000, from the one behind `cursor` on.
    /// Does not count as a use.
    ///
    /// A cursor holds the id of the last blob that was listed, so it survives all changes.
    ///
    /// # Errors
    ///
    /// The cursor is malformed, or the limit is 0.
    pub async fn list(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<BlobList, ServiceError> {
        ensure_has(caller, Right::Blobs)?;
        let after = cursor.map(|letters| BlobId::parse(&format!("blob:{letters}"))).transpose();
        let after = after.map_err(|_invalid| {
            ParamsError::wrong("cursor", "the `next_cursor` of an earlier answer", "something else")
        })?;
        if limit == 0 {
            return Err(ParamsError::wrong("limit", "at least 1", "0").into());
        }
        let limit = limit.min(MAX_PAGE);
        let size = LISTED.saturating_mul(ByteCount::from(limit).as_u64());
        caller.memory.reserve(ByteCount::bytes(size))?;
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        // The semaphore is never closed.
        let turn = Arc::clone(&self.lists).acquire_owned().await;
        let listing = caller.memory.on_thread(move || {
            let page = blobs.list(&tenant, after.as_ref(), limit);
            drop(turn);
            page
        });
        let page = listing.await.map_err(ServiceError::Interrupted)??;
        let last = page.blobs.last().filter(|_| page.has_more);
        let next_cursor = last.map(|listed| listed.id.letters().to_owned());
        Ok(BlobList { blobs: page.blobs.into_iter().map(Into::into).collect(), next_cursor })
    }

    /// Removes a blob of the caller. Runs and transfers that have opened it read it to its end.
    ///
    /// # Errors
    ///
    /// The caller's tenant has no such blob, or the disk failed.
    pub async fn remove(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let id = find(caller, id)?;
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        let removed = caller.memory.on_thread(move || blobs.remove(&tenant, &id)).await;
        Ok(removed.map_err(ServiceError::Interrupted)??)
    }

    /// Reads a whole blob of the caller and compares it with its id. `damaged` names the treatment
    /// of a damaged blob: `keep` (the default), `quarantine` or `delete`.
    ///
    /// # Errors
    ///
    /// The caller's tenant has no such blob, the disk failed, or the server is busy.
    pub async fn verify(
        &self,
        caller: &Caller,
        id: &str,
        damaged: Option<&str>,
    ) -> Result<VerifiedBlob, ServiceError> {
        let id = find(caller, id)?;
        let on_damage = match damaged {
            None | Some("keep") => OnDamage::Keep,
            Some("quarantine") => OnDamage::Quarantine,
            Some("delete") => OnDamage::Remove,
            Some(_) => {
                let expected = "`keep`, `quarantine` or `delete`";
                return Err(ParamsError::wrong("damaged", expected, "something else").into());
            }
        };
        let permit = begin(&self.downloads)?;
        caller.memory.reserve(ByteCount::kibibytes(128))?;
        let (blobs, tenant, asked) = (Arc::clone(&self.blobs), caller.tenant.clone(), id.clone());
        let verifying = caller.memory.on_thread(move || {
            let verdict = blobs.verify(&tenant, &asked, on_damage);
            drop(permit);
            verdict
        });
        let (size, is_intact) = match verifying.await.map_err(ServiceError::Interrupted)?? {
            BlobVerdict::Intact(blob) => (blob.size, true),
            BlobVerdict::Damaged(size) => (size, false),
        };
        Ok(VerifiedBlob { id, size: size.as_u64(), is_intact })
    }
}
