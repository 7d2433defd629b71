//! The order of a fair queue: the run that is next, and the position at which a tenant begins to wait.

use std::time::{Duration, Instant};

use crate::scheduler::claim::Ticket;
use crate::scheduler::queue::fair_queue::FairQueue;
use crate::scheduler::queue::tenant_account::{MAX_OVERTAKEN, NextRun, StartedRun};
use crate::scheduler::queue::virtual_time::VirtualTime;
use wardian_vocabulary::ids::TenantId;

impl<T> FairQueue<T> {
    /// The part of a tenant's position that its runs in progress make.
    fn in_progress(&self, tenant: &TenantId, now: Instant) -> VirtualTime {
        self.sum_of_runs(tenant, |run| now.saturating_duration_since(run.started).max(run.expected))
    }

    /// The part of a tenant's position that its runs in progress have made so far.
    pub(super) fn taken_so_far(&self, tenant: &TenantId, now: Instant) -> VirtualTime {
        self.sum_of_runs(tenant, |run| now.saturating_duration_since(run.started))
    }

    fn sum_of_runs(
        &self,
        tenant: &TenantId,
        time: impl Fn(&StartedRun) -> Duration,
    ) -> VirtualTime {
        let Some(account) = self.accounts.get(tenant) else { return VirtualTime::ZERO };
        let runs = account.running.iter().filter_map(|ticket| self.running.get(ticket));
        let weight = account.limits.weight;
        runs.fold(VirtualTime::ZERO, |sum, run| sum.plus(VirtualTime::of(time(run), weight)))
    }

    /// The position at which a tenant starts that has had less.
    pub(super) fn start_of_newcomers(&self, now: Instant) -> VirtualTime {
        let mut start = self.clock;
        for (position, _, tenant) in &self.ready {
            if *position >= start {
                break;
            }
            start = start.min(position.plus(self.taken_so_far(tenant, now)));
        }
        start.max(self.even_share)
    }

    /// Finds the tenant whose run is next.
    pub(super) fn next(&self, now: Instant, may_start: impl Fn(usize) -> bool) -> Option<NextRun> {
        let mut best: Option<(VirtualTime, Ticket, &TenantId)> = None;
        let mut blocked = Vec::new();
        for (position, ticket, tenant) in &self.ready {
            // Runs in progress only add to a position, so no later tenant comes before the best.
            if best.is_some_and(|(lowest, ..)| *position > lowest) {
                break;
            }
            let account = self.accounts.get(tenant).filter(|one| may_start(one.running.len()));
            let Some(first) = account.and_then(|one| one.waiting.front()) else { continue };
            let position = position.plus(self.in_progress(tenant, now));
            if !self.fits(first.memory) {
                blocked.push((position, first.overtaken, tenant));
            } else if best.is_none_or(|(lowest, number, _)| (position, *ticket) < (lowest, number))
            {
                best = Some((position, *ticket, tenant));
            }
        }
        let (position, ticket, tenant) = best?;
        let before = blocked.into_iter().filter(|(other, ..)| *other <= position);
        let before: Vec<(VirtualTime, u32, &TenantId)> = before.collect();
        if before.iter().any(|(_, overtaken, _)| *overtaken >= MAX_OVERTAKEN) {
            return None;
        }
        let overtaken = before.into_iter().map(|(.., tenant)| tenant.clone()).collect();
        Some(NextRun { tenant: tenant.clone(), ticket, overtaken })
    }
}
