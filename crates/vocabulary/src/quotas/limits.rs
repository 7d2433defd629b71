//! The limits of tenants, as an operator sets them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::ids::TenantId;

/// Runs in the background of a tenant for which nothing is set. No connection bounds their number.
pub const DETACHED: usize = 64;

/// The limits of one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantLimits {
    /// The share of worker time relative to other tenants that want more than there is: a tenant
    /// with weight 2 gets twice the time of one with weight 1. Default 1.
    pub weight: NonZeroU32,
    /// Runs at once. Default: as many as the server runs.
    pub running: usize,
    /// Runs that may wait for a worker. Default: as many as may wait in all.
    pub queued: usize,
    /// Runs in the background at one time, waiting ones included. Default [`DETACHED`].
    pub detached: usize,
    /// Calls in a time. Default: not limited.
    pub rate: Option<CallRate>,
    /// Time of workers in a period. Default: not limited.
    pub run_time: Option<TimeQuota>,
    /// Processor time of runs in a period. Default: not limited.
    pub cpu_time: Option<TimeQuota>,
}

impl TenantLimits {
    /// The limits of a tenant for which nothing is set.
    pub const NONE: Self = Self {
        weight: NonZeroU32::MIN,
        running: usize::MAX,
        queued: usize::MAX,
        detached: DETACHED,
        rate: None,
        run_time: None,
        cpu_time: None,
    };
}

/// A rate of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRate {
    /// Calls in a second, on average.
    pub per_second: NonZeroU32,
    /// Calls that may come at once after a pause.
    pub burst: NonZeroU32,
}

/// Time that the runs of a tenant may use in a period. Used time comes back evenly: after a whole
/// period without a run, all of it is there again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeQuota {
    /// The time.
    pub time: Duration,
    /// The period.
    pub period: Duration,
}

/// The limits of all tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantPolicy {
    /// The limits of each tenant without limits of its own.
    pub usual: TenantLimits,
    /// The limits of tenants that the operator names.
    pub named: BTreeMap<TenantId, TenantLimits>,
}

impl TenantPolicy {
    /// No tenant has limits.
    pub const NONE: Self = Self { usual: TenantLimits::NONE, named: BTreeMap::new() };

    /// The limits of `tenant`.
    #[must_use]
    pub fn of(&self, tenant: &TenantId) -> TenantLimits {
        self.named.get(tenant).copied().unwrap_or(self.usual)
    }
}

impl Default for TenantPolicy {
    fn default() -> Self {
        Self::NONE
    }
}
