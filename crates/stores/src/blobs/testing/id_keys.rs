//! Keys of tenants' blob ids that are in no database.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::blobs::content::blob_id::BlobIdKey;
use crate::blobs::id_keys::BlobIdKeys;
use crate::blobs::store::BlobFuture;
use wardian_vocabulary::ids::{Digest, TenantId};

/// Keys in memory.
#[derive(Debug, Default)]
pub struct MemoryIdKeys(Mutex<HashMap<String, BlobIdKey>>);

impl MemoryIdKeys {
    /// The bytes of a tenant's key.
    #[must_use]
    pub fn bytes_of(&self, tenant: &str) -> Option<Vec<u8>> {
        self.0.lock().get(tenant).map(|key| key.as_bytes().to_vec())
    }

    /// Removes a tenant's key.
    #[must_use]
    pub fn take(&self, tenant: &str) -> Option<BlobIdKey> {
        self.0.lock().remove(tenant)
    }

    /// Sets a tenant's key.
    pub fn set(&self, tenant: &str, key: BlobIdKey) {
        self.0.lock().insert(tenant.to_owned(), key);
    }
}

impl BlobIdKeys for MemoryIdKeys {
    fn find<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>> {
        Box::pin(async { Ok(self.0.lock().get(tenant.as_str()).cloned()) })
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, key: BlobIdKey) -> BlobFuture<'a, BlobIdKey> {
        Box::pin(async {
            Ok(self.0.lock().entry(tenant.as_str().to_owned()).or_insert(key).clone())
        })
    }
}

/// A key for every tenant, which follows from its name: several stores have the same ones.
#[derive(Debug, Clone, Copy)]
pub struct DerivedIdKeys;

impl BlobIdKeys for DerivedIdKeys {
    fn find<'a>(&'a self, tenant: &'a TenantId) -> BlobFuture<'a, Option<BlobIdKey>> {
        let digest = Digest::of(tenant.as_str().as_bytes());
        Box::pin(async move { Ok(Some(BlobIdKey::from_bytes(digest.as_bytes()))) })
    }

    fn keep<'a>(&'a self, tenant: &'a TenantId, _: BlobIdKey) -> BlobFuture<'a, BlobIdKey> {
        let digest = Digest::of(tenant.as_str().as_bytes());
        Box::pin(async move { Ok(BlobIdKey::from_bytes(digest.as_bytes())) })
    }
}
