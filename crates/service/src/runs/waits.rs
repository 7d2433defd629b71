//! The requests that may wait for the end of runs.
//!
//! A request that waits keeps its connection busy and holds nothing else, so no other bound stops a
//! tenant from having all connections wait.

use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{FairShare, SharePermit};

/// The right of one request to wait, given back when it is dropped.
pub(super) struct WaitPermit {
    _permit: Option<SharePermit>,
}

impl WaitPermit {
    /// The right of one more request of a tenant, if it may have it. Where nothing is shared, there
    /// is no bound.
    pub(super) fn take(waits: Option<&FairShare>, tenant: &TenantId) -> Option<Self> {
        match waits.map(|waits| waits.try_acquire(tenant)) {
            None => Some(Self { _permit: None }),
            Some(permit) => permit.map(|permit| Self { _permit: Some(permit) }),
        }
    }
}
