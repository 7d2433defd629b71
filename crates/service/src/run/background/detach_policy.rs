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
        (order.awaits == Awaits::Admission).then_some(self.longest_wait)
    }
}

/// What is particular to a run in the background.
#[derive(Debug, Clone)]
pub(crate) struct DetachOrder {
    /// The client's own name for the call.
    pub key: Option<RequestKey>,
    /// What its call waits for.
    pub(crate) awaits: Awaits,
}

/// What the call of a run that continues without it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// That the run is admitted: it returns then.
    Admission,
    /// The end of the run.
    End,
}
