//! Pins: blobs that are in use and must not be swept.
//!
//! INVARIANT(in-use-is-kept): a sweep never removes a blob that a run or a transfer has opened, nor
//! a blob that a run has written and whose id its caller does not know yet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;

use wardian_vocabulary::ids::{BlobId, TenantId};

type Key = (TenantId, BlobId);

/// The blobs in use, each with the number of its pins.
#[derive(Debug, Default)]
pub(crate) struct PinnedBlobs(Mutex<HashMap<Key, usize>>);

/// Keeps a blob from being swept until it is dropped.
#[derive(Debug)]
pub struct BlobPin {
    pins: Arc<PinnedBlobs>,
    key: Key,
}

impl PinnedBlobs {
    /// Pins a blob.
    pub(crate) fn pin(self: &Arc<Self>, tenant: &TenantId, id: &BlobId) -> BlobPin {
        let key = (tenant.clone(), id.clone());
        let mut pins = self.0.lock();
        let count = pins.entry(key.clone()).or_default();
        *count = count.saturating_add(1);
        BlobPin { pins: Arc::clone(self), key }
    }

    /// True if a blob is pinned.
    pub(crate) fn holds(&self, tenant: &TenantId, id: &BlobId) -> bool {
        self.0.lock().contains_key(&(tenant.clone(), id.clone()))
    }

    /// All pinned blobs.
    pub(crate) fn all(&self) -> Vec<(TenantId, BlobId)> {
        self.0.lock().keys().cloned().collect()
    }
}

impl Drop for BlobPin {
    fn drop(&mut self) {
        if let Entry::Occupied(mut pins) = self.pins.0.lock().entry(self.key.clone()) {
            match pins.get().checked_sub(1) {
                None | Some(0) => drop(pins.remove()),
                Some(left) => *pins.get_mut() = left,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::ids::Digest;

    #[test]
    fn a_blob_is_pinned_until_its_last_pin_is_dropped() {
        let pins = Arc::new(PinnedBlobs::default());
        let (tenant, id) = (TenantId::local(), BlobId::of_digest(&Digest::of(b"x")));
        let (one, two) = (pins.pin(&tenant, &id), pins.pin(&tenant, &id));
        drop(one);
        assert!(pins.holds(&tenant, &id));
        assert!(!pins.holds(&TenantId::parse("other").unwrap(), &id));
        drop(two);
        assert!(!pins.holds(&tenant, &id) && pins.all().is_empty());
    }
}
