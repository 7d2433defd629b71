//! A place in an object store.

use std::sync::Arc;

use crate::blobs::remote::objects::BlobObjects;
use wardian_vocabulary::ids::{BlobId, TenantId};

/// The objects below a prefix.
#[derive(Debug, Clone)]
pub(super) struct ObjectPlace {
    pub(super) objects: Arc<dyn BlobObjects>,
    /// The beginning of all keys, with a slash at its end; empty for the whole bucket.
    prefix: String,
}

impl ObjectPlace {
    /// The objects below `prefix`, which has no slash at its end.
    pub(super) fn new(objects: Arc<dyn BlobObjects>, prefix: &str) -> Self {
        let between = if prefix.is_empty() { "" } else { "/" };
        Self { objects, prefix: format!("{prefix}{between}") }
    }

    /// The key of an object of the store itself.
    pub(super) fn key_of(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The key of an object in a part of the store.
    pub(super) fn key(&self, part: &str, name: &str) -> String {
        self.key_of(&format!("{part}/{name}"))
    }

    /// The blob whose object has this key; `None` if it is that of no blob.
    pub(super) fn blob_of(&self, key: &str) -> Option<(TenantId, BlobId)> {
        let name = key.strip_prefix(&self.prefix)?.strip_prefix("blobs/")?;
        let (tenant, letters) = name.split_once('/')?;
        let tenant = TenantId::parse(tenant).ok()?;
        Some((tenant, BlobId::parse(&format!("blob:{letters}")).ok()?))
    }
}
