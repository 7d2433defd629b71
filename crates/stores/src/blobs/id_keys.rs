//! The keys of tenants' blob ids.
//!
//! The tenant `local` has none: the ids of a server without tenants follow from the content alone,
//! as they always did. Every other tenant gets a random key before its first blob.

use std::fmt::Debug;
use std::io;

use crate::blobs::content::blob_id::BlobIdKey;
use crate::blobs::error::BlobError;
use crate::blobs::store::BlobFuture;
use wardian_vocabulary::ids::TenantId;

/// Keeps the keys of tenants' blob ids: one for all servers that share a store, because content has
/// another id under another key.
pub trait BlobIdKeys: Debug + Send + Sync + 'static {
    /// The key of a tenant; `None` if it has none yet.
    ///
    /// # Errors
    ///
    /// [`BlobError::Storage`] if the keys cannot be read, or the key is damaged.
    fn find<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>>;

    /// Keeps `key` for a tenant, unless it has one already, and returns the key that it has. When
    /// this is done, the key is durable.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find), and [`BlobError::DiskFull`].
    fn keep<'a>(&'a self, tenant: &'a TenantId, key: BlobIdKey) -> BlobFuture<'a, BlobIdKey>;
}

/// No place for keys: a store that only the tenant `local` uses.
#[derive(Debug, Clone, Copy)]
pub struct NoIdKeys;

impl BlobIdKeys for NoIdKeys {
    fn find<'a>(&'a self, _: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>> {
        Box::pin(async { Ok(None) })
    }

    fn keep<'a>(&'a self, _: &'a TenantId, _: BlobIdKey) -> BlobFuture<'a, BlobIdKey> {
        Box::pin(async {
            let text = "this store has no place for the keys of tenants' blob ids";
            let cause = io::Error::new(io::ErrorKind::Unsupported, text);
            Err(BlobError::Storage { what: "write to", cause })
        })
    }
}
