//! Where runs are executed, and what they may reach there.

use std::sync::Arc;

use crate::caller::Caller;
use crate::run::access::network::NetworkAccess;
use crate::run::execute::host::{BlobWrites, HostParts, TenantHost};
use wardian_dispatch::Pool;
use wardian_stores::blobs::BlobStore;
use wardian_telemetry::Metrics;
use wardian_tools::Catalogue;

/// The workers, and what the gateway does for their guests.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) pool: Arc<Pool>,
    pub(crate) network: NetworkAccess,
    /// The tools of the operator's servers.
    pub(crate) tools: Arc<Catalogue>,
    /// Takes the blobs that runs write.
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) blob_writes: BlobWrites,
    /// Counts the runs of callers.
    pub(crate) metrics: Arc<Metrics>,
}

impl Execution {
    /// The host of a run of `caller`.
    pub(crate) fn host_of(&self, caller: &Caller, parts: HostParts) -> TenantHost {
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        TenantHost::new(blobs, self.blob_writes.clone(), tenant, caller.memory.clone(), parts)
    }
}
