//! The order of a fair queue: the run that is next, and the position at which a tenant begins to wait.

use std::time::{Duration, Instant};

use crate::scheduler::claim::Ticket;
use crate::scheduler::queue::fair_queue::FairQueue;
use crate::scheduler::queue::tenant_account::{
    Candidate, MAX_OVERTAKEN, NextRun, StartedRun, Waiting,
};
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
    pub(super) fn next(
        &self,
        now: Instant,
        may_start: impl Fn(Candidate<'_, T>) -> bool,
    ) -> Option<NextRun> {
        match self.find(now, 0, &may_start)? {
            Found::Next(next) => Some(next),
            // A run that takes no memory takes none away from the one that waits for it.
            Found::Barred => {
                let takes_none = |one: Candidate<'_, T>| one.run.memory == 0 && may_start(one);
                match self.find(now, 0, takes_none)? {
                    Found::Next(next) => Some(next),
                    Found::Barred => None,
                }
            }
        }
    }

    /// The memory that is missing for the run that would be next if all spare memory were free. None if
    /// it is not enough for any, or nothing is missing.
    pub(crate) fn memory_for_next(
        &self,
        now: Instant,
        may_start: impl Fn(Candidate<'_, T>) -> bool,
    ) -> Option<u64> {
        let Found::Next(next) = self.find(now, self.spare_memory, may_start)? else { return None };
        Some(self.missing_memory(next.memory)).filter(|missing| *missing > 0)
    }

    /// The runs of a tenant that may be next.
    fn candidates(&self, tenant: &TenantId) -> impl Iterator<Item = Candidate<'_, T>> {
        self.accounts.get(tenant).into_iter().flat_map(|account| {
            let own = account.running.len();
            account.fronts().map(move |run| Candidate { own, run })
        })
    }

    /// Finds the run that would be next if so much of the admitted memory were free.
    fn find(
        &self,
        now: Instant,
        freed: u64,
        may_start: impl Fn(Candidate<'_, T>) -> bool,
    ) -> Option<Found> {
        let mut best: Option<(VirtualTime, Ticket, &TenantId, u64)> = None;
        let mut blocked = Vec::new();
        for (position, _, tenant) in &self.ready {
            // Runs in progress only add to a position, so no later tenant comes before the best.
            if best.is_some_and(|(lowest, ..)| *position > lowest) {
                break;
            }
            let mut able = self.candidates(tenant).filter(|one| may_start(*one)).peekable();
            if able.peek().is_none() {
                continue;
            }
            let position = position.plus(self.in_progress(tenant, now));
            for Candidate { run, .. } in able {
                let Waiting { ticket, memory, overtaken, .. } = run;
                if self.missing_memory(memory.saturating_sub(freed)) > 0 {
                    blocked.push((position, *overtaken, tenant));
                    continue;
                }
                if best.is_none_or(|(lowest, first, ..)| (position, *ticket) < (lowest, first)) {
                    best = Some((position, *ticket, tenant, *memory));
                }
                break;
            }
        }
        let (position, ticket, tenant, memory) = best?;
        let before = blocked.into_iter().filter(|(other, ..)| memory > 0 && *other <= position);
        let before: Vec<(VirtualTime, u32, &TenantId)> = before.collect();
        if before.iter().any(|(_, overtaken, _)| *overtaken >= MAX_OVERTAKEN) {
            return Some(Found::Barred);
        }
        let overtaken = before.into_iter().map(|(.., tenant)| tenant.clone()).collect();
        Some(Found::Next(NextRun { tenant: tenant.clone(), ticket, memory, overtaken }))
    }
}

/// The result of a search for the next run.
enum Found {
    Next(NextRun),
    /// Each waits behind one that has been overtaken too often.
    Barred,
}
