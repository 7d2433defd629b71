//! The list of a tenant's blobs, their removal, and their verification.

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::transfers::{BlobTransfers, begin, find};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::blobs::{BlobOrder, BlobPlace, BlobVerdict, ListedBlob, MAX_ORDERED, OnDamage};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of blobs of one page of the list.
const MAX_PAGE: usize = 1_000;

/// Memory for one blob of a page: its id twice, its kind, its name, and their JSON.
const LISTED: u64 = 2 << 10;

/// A page of the list of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobList {
    /// The blobs, in the order that was asked for.
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

/// Where a page begins, and in which order.
enum Start {
    /// Behind this id.
    Id(Option<BlobId>),
    /// Behind this place of another order.
    Place(BlobOrder, Option<BlobPlace>),
}

impl Start {
    fn of(order: Option<&str>, cursor: Option<&str>) -> Result<Self, ParamsError> {
        let malformed = || {
            ParamsError::wrong("cursor", "the `next_cursor` of an earlier answer", "something else")
        };
        let order = match order {
            None | Some("id") => {
                let after = cursor.map(|letters| BlobId::parse(&format!("blob:{letters}")));
                return Ok(Self::Id(after.transpose().map_err(|_invalid| malformed())?));
            }
            Some("created") => BlobOrder::Newest,
            Some("name") => BlobOrder::Name,
            Some("size") => BlobOrder::Largest,
            Some(_) => {
                let expected = "`id`, `created`, `name` or `size`";
                return Err(ParamsError::wrong("order", expected, "something else"));
            }
        };
        let after = cursor.map(|cursor| place_of(cursor).ok_or_else(malformed)).transpose()?;
        Ok(Self::Place(order, after))
    }

    fn cursor_behind(&self, listed: &ListedBlob) -> String {
        match self {
            Self::Id(_) => listed.id.letters().to_owned(),
            Self::Place(order, _) => {
                let BlobPlace { rank, text, id } = listed.place(*order);
                format!("{rank}.{}.{}", id.letters(), BASE64URL_NOPAD.encode(text.as_bytes()))
            }
        }
    }
}

/// The place in a cursor.
fn place_of(cursor: &str) -> Option<BlobPlace> {
    let mut parts = cursor.splitn(3, '.');
    let rank = parts.next()?.parse().ok()?;
    let id = BlobId::parse(&format!("blob:{}", parts.next()?)).ok()?;
    let text = BASE64URL_NOPAD.decode(parts.next()?.as_bytes()).ok()?;
    Some(BlobPlace { rank, text: String::from_utf8(text).ok()?, id })
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
    /// `order` is `id` (the default), `created` (the newest first), `name` or `size` (the largest
    /// first). Does not count as a use.
    ///
    /// A cursor holds the place of the last blob that was listed, so it survives all changes.
    ///
    /// # Errors
    ///
    /// The order or the cursor is malformed, the limit is 0, or the tenant has more than 20,000 blobs
    /// and another order than `id` is asked for.
    pub async fn list(
        &self,
        caller: &Caller,
        order: Option<&str>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<BlobList, ServiceError> {
        ensure_has(caller, Right::Blobs)?;
        let start = Start::of(order, cursor)?;
        if limit == 0 {
            return Err(ParamsError::wrong("limit", "at least 1", "0").into());
        }
        let limit = limit.min(MAX_PAGE);
        let each = match start {
            Start::Id(_) => LISTED,
            // Its place, too.
            Start::Place(..) => LISTED.saturating_mul(2),
        };
        let size = each.saturating_mul(ByteCount::from(limit).as_u64());
        caller.memory.reserve(ByteCount::bytes(size))?;
        let (blobs, tenant) = (Arc::clone(&self.blobs.store), caller.tenant.clone());
        // The semaphore is never closed.
        let turn = Arc::clone(&self.lists).acquire_owned().await;
        let listing = caller.memory.on_task(async move {
            let page = match &start {
                Start::Id(after) => blobs.list(&tenant, after.as_ref(), limit).await.map(Some),
                Start::Place(order, after) => {
                    blobs.list_in_order(&tenant, *order, after.as_ref(), limit).await
                }
            };
            drop(turn);
            (page, start)
        });
        let (page, start) = listing.await.map_err(ServiceError::Interrupted)?;
        let page = page?.ok_or_else(|| {
            let expected = format!("`id` for a tenant with more than {MAX_ORDERED} blobs");
            ParamsError::wrong("order", expected, "another one")
        })?;
        let last = page.blobs.last().filter(|_| page.has_more);
        let next_cursor = last.map(|listed| start.cursor_behind(listed));
        Ok(BlobList { blobs: page.blobs.into_iter().map(Into::into).collect(), next_cursor })
    }

    /// Removes a blob of the caller. Runs and transfers that have opened it read it to its end.
    ///
    /// # Errors
    ///
    /// The caller's tenant has no such blob, or the disk failed.
    pub async fn remove(&self, caller: &Caller, id: &str) -> Result<(), ServiceError> {
        let id = find(caller, id)?;
        let (blobs, tenant) = (Arc::clone(&self.blobs.store), caller.tenant.clone());
        let removing = async move { blobs.remove(&tenant, &id).await };
        let removed = caller.memory.on_task(removing).await;
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
        let files = Arc::clone(&self.blobs.files);
        let (tenant, asked) = (caller.tenant.clone(), id.clone());
        let verifying = caller.memory.on_task(async move {
            let verdict = files.verify(&tenant, &asked, on_damage).await;
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
