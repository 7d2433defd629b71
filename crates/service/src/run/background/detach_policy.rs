//! What is decided about runs in the background before they begin.

use std::sync::Arc;
use std::time::Duration;

use crate::fleet::placed_run::PlacedRun;
use wardian_stores::records::RequestKey;
use wardian_vocabulary::quotas::TenantPolicy;

/// How long a run of the fleet waits for a worker of one server, which it had when it was claimed.
const LONGEST_WAIT_HERE: Duration = Duration::from_secs(10);

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
        match (&order.placed, order.awaits) {
            // It waits for any server of the fleet, and not for this one.
            (Some(_), _) => Some(self.longest_wait.min(LONGEST_WAIT_HERE)),
            (None, Awaits::Admission) => Some(self.longest_wait),
            (None, Awaits::End) => None,
        }
    }
}

/// What is particular to a run in the background.
#[derive(Debug, Clone)]
pub(crate) struct DetachOrder {
    /// The client's own name for the call.
    pub key: Option<RequestKey>,
    /// What its call waits for.
    pub(crate) awaits: Awaits,
    /// Its place in the queue of the fleet, if it came from there.
    pub(crate) placed: Option<Arc<PlacedRun>>,
}

/// What the call of a run that continues without it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// That the run is admitted: it returns then.
    Admission,
    /// The end of the run.
    End,
}
