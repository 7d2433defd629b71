//! What is decided about runs in the background before they begin.

use std::time::Duration;

use crate::protocol::methods::execution::RequestedLimits;
use crate::quotas::TenantPolicy;
use crate::records::RunKey;

/// What operators decide about runs in the background.
#[derive(Debug, Clone)]
pub struct DetachPolicy {
    /// The limits of tenants.
    pub tenants: TenantPolicy,
    /// How long such a run may wait for a worker.
    pub longest_wait: Duration,
}

/// What is particular to a run in the background.
#[derive(Debug, Clone)]
pub(crate) struct DetachOrder {
    /// The client's own name for the run.
    pub(crate) key: Option<RunKey>,
}

/// What a call says of running in the background.
#[derive(Debug)]
pub(crate) struct AskedDetach {
    pub(crate) is_detached: bool,
    /// The client's own name for the run.
    pub(crate) run_key: Option<String>,
    /// The limits as they are in the call.
    pub(crate) limits: RequestedLimits,
}
