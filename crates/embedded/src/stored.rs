//! The contents that one run stores: files that it leaves, and blobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::message::Refusal;
use wardian_vocabulary::ids::{BlobId, Digest};

/// The contents that one run has stored so far, by id. Their size is bounded by the run's limit on the
/// bytes of host calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredContents(Arc<Mutex<BTreeMap<BlobId, Arc<[u8]>>>>);

impl StoredContents {
    /// Takes them out.
    pub(crate) fn take(&self) -> BTreeMap<BlobId, Arc<[u8]>> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// The host of a run: it collects what the run stores, and has no network.
#[derive(Debug)]
pub(crate) struct StoringHost(StoredContents);

impl StoringHost {
    pub(crate) fn new(stored: &StoredContents) -> Self {
        Self(stored.clone())
    }
}

impl Host for StoringHost {
    fn write_blob(&mut self, _kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        let id = BlobId::of_digest(&Digest::of(content));
        self.0.0.lock().entry(id.clone()).or_insert_with(|| content.into());
        Ok(id)
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}
