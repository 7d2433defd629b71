//! What is decided about runs in the background before they begin.

use std::time::Duration;

use wardian_stores::records::RequestKey;
use wardian_vocabulary::quotas::TenantPolicy;

/// What operators decide about runs in the background.
#[derive(Debug, Clone)]
pub struct DetachPolicy {
    /// The limits of tenants.
    pub tenants: TenantPolicy,
    /// How long such a run may wait for a worker.
    pub longest_wait: Duration,
}

impl DetachPolicy {
    /// How long a run may wait for a worker, if longer than others: no call waits for it.
    pub(crate) fn longest_wait_of(&self, order: &DetachOrder) -> Option<Duration> {
        (!order.is_awaited).then_some(self.longest_wait)
    }
}

/// What is particular to a run in the background.
#[derive(Debug, Clone)]
pub struct DetachOrder {
    /// The client's own name for the call.
    pub key: Option<RequestKey>,
    /// True if the call waits for the end of the run, which continues without it.
    pub(crate) is_awaited: bool,
}
