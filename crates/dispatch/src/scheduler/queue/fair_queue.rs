//! A bounded queue that shares the time of workers fairly between tenants.
//!
//! # How
//!
//! This is start-time fair queueing with measured costs. Each tenant has a position: the time of
//! workers that its runs took, divided by its weight. The next run is one of the tenant whose
//! position is the lowest, so a tenant with long runs gets fewer of them. Runs in progress count
//! with the time that they have taken so far, or with the time that the tenant's runs usually take
//! if that is longer; the real time replaces it at the end.
//!
//! A tenant that begins to wait starts at the position of the last run that was started, if its own
//! is lower. So it saves up nothing while it does not use its share. Its own position counts if it is
//! higher, so a tenant with one long run after another gets no more than its share by pausing
//! between them. Three rules keep that start right:
//! - It counts time that runs have taken, and none that they are expected to take. An expectation
//!   may not come true, and the newcomer would wait until the others have made up for it.
//! - It is never above the lowest position of a tenant that waits.
//! - It is never below the even share: the time that each tenant with runs would have had, had all
//!   got exactly their share. Otherwise newcomers, one after the other, would keep a tenant waiting
//!   that is a little ahead.
//!
//! The runs of one tenant start in the order of their arrival. Only a turn of a guest that is kept may
//! pass runs that cannot start: it needs no memory and only the worker of its guest, and they may need the
//! guest's memory. When the queue is full, a new run
//! takes the place of the youngest run of the tenant with the most waiting runs, unless the new
//! run's tenant would then have more.
//!
//! INVARIANT(fair-turns): tenants with equal weights whose runs take equally long take turns.
//! INVARIANT(fair-time): while two tenants wait all the time, the times of workers that they get,
//! divided by their weights, differ by a bound that depends on the longest run and the number of
//! workers only.
//! INVARIANT(fair-room): a tenant with fewer waiting runs than another is not turned away because
//! the queue is full.
//! INVARIANT(work-conserving): [`FairQueue::pop_if`] finds nothing only if each waiting run would pass
//! its tenant's bound on runs or does not fit into the memory, or if a run that has been overtaken
//! [`MAX_OVERTAKEN`] times waits for memory.
//! INVARIANT(memory-admission): the sum of what runs in progress and guests that are kept may use
//! never passes the budget.
//! INVARIANT(bounded-accounts): tenants that come and go leave a bounded number of accounts.
//!
//! [`MAX_OVERTAKEN`]: crate::scheduler::queue::tenant_account::MAX_OVERTAKEN

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::scheduler::claim::{Claim, Offered, OutOfTime, QueueBounds, RunRefusal, Ticket};
use crate::scheduler::queue::tenant_account::{
    Account, Candidate, Counted, FEW_ACCOUNTS, LEAST_COST, MAX_RESTING, NextRun, StartedRun,
    UNKNOWN_COST, Waiting, average,
};
use crate::scheduler::queue::virtual_time::VirtualTime;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::ratio;

/// The shortest and the longest delay that is reported to a refused caller.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// Waiting runs, each with an item of type `T`, and the accounts of runs in progress.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    bounds: QueueBounds,
    pub(crate) accounts: BTreeMap<TenantId, Account<T>>,
    /// Tenants that wait and may start a run, by position and number of their first run.
    pub(super) ready: BTreeSet<(VirtualTime, Ticket, TenantId)>,
    /// Tenants that wait, by the number of their waiting runs.
    lines: BTreeSet<(usize, TenantId)>,
    pub(crate) running: BTreeMap<Ticket, StartedRun>,
    /// The memory that is admitted: that of runs in progress, and of guests that are kept.
    pub(crate) memory_used: u64,
    /// The part of it that could be freed at once.
    pub(crate) spare_memory: u64,
    waiting: usize,
    next_ticket: u64,
    /// The position of the last run that was started, without expected times; never lower than
    /// before.
    pub(super) clock: VirtualTime,
    /// The time that each tenant with runs would have had, had all got exactly their share.
    pub(super) even_share: VirtualTime,
    /// The weights of all tenants with runs.
    busy_weight: u64,
    /// The highest position of all tenants so far.
    furthest: VirtualTime,
    /// The time that a run took lately, of any tenant.
    usual: Option<Duration>,
    /// The number of accounts at which those that are not needed are forgotten.
    full: usize,
}

impl<T> FairQueue<T> {
    pub(crate) const fn new(bounds: QueueBounds) -> Self {
        Self {
            bounds,
            accounts: BTreeMap::new(),
            ready: BTreeSet::new(),
            lines: BTreeSet::new(),
            running: BTreeMap::new(),
            memory_used: 0,
            spare_memory: 0,
            waiting: 0,
            next_ticket: 0,
            clock: VirtualTime::ZERO,
            even_share: VirtualTime::ZERO,
            busy_weight: 0,
            furthest: VirtualTime::ZERO,
            usual: None,
            full: FEW_ACCOUNTS,
        }
    }

    /// The number of waiting runs.
    pub(crate) const fn len(&self) -> usize {
        self.waiting
    }

    /// The number of runs in progress.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// Decides about a new run. It starts only if it `may_start`, and if no waiting run that may is
    /// before it.
    pub(crate) fn offer(
        &mut self,
        claim: &Claim,
        item: T,
        may_start: impl Fn(Candidate<'_, T>) -> bool,
        now: Instant,
    ) -> Offered<T> {
        if let Some(refusal) = self.refusal_for_ever_or_of_time(claim, now) {
            return Offered::Refused(refusal, item);
        }
        let ticket = self.append(claim, item, now);
        if let Some(next) = self.next(now, may_start).filter(|next| next.ticket == ticket)
            && let Some((ticket, item)) = self.start(next, now)
        {
            return Offered::Starts(ticket, item);
        }
        let own = self.line_of(&claim.tenant);
        let is_within_own = own <= claim.limits.queued;
        if is_within_own && self.waiting <= self.bounds.waiting {
            return Offered::Waits { ticket, displaced: None };
        }
        if is_within_own && let Some(displaced) = self.displace(own) {
            return Offered::Waits { ticket, displaced: Some(displaced) };
        }
        let Some(item) = self.remove(&claim.tenant, ticket) else {
            // It was just added, so this cannot happen.
            return Offered::Waits { ticket, displaced: None };
        };
        let refusal = if is_within_own {
            RunRefusal::Full { retry_after: self.drain_time() }
        } else {
            self.refusal_of_tenant(claim)
        };
        Offered::Refused(refusal, item)
    }

    /// Returns the refusal that a run would get now.
    pub(crate) fn refusal_of(
        &self,
        claim: &Claim,
        has_room: bool,
        now: Instant,
    ) -> Option<RunRefusal> {
        if let Some(refusal) = self.refusal_for_ever_or_of_time(claim, now) {
            return Some(refusal);
        }
        let is_within_own = self.runs_of(&claim.tenant) < claim.limits.running;
        let needed = claim.memory.as_u64().saturating_sub(self.spare_memory);
        if has_room && is_within_own && self.missing_memory(needed) == 0 {
            return None;
        }
        let own = self.line_of(&claim.tenant);
        if own >= claim.limits.queued {
            return Some(self.refusal_of_tenant(claim));
        }
        if self.waiting < self.bounds.waiting {
            return None;
        }
        let longest = self.lines.last().map(|(longest, _)| *longest);
        let may_displace = longest.is_some_and(|longest| longest > own.saturating_add(1));
        (!may_displace).then(|| RunRefusal::Full { retry_after: self.drain_time() })
    }

    /// Starts the run that is next among the tenants that `may_start`, as in [`Self::offer`].
    pub(crate) fn pop_if(
        &mut self,
        now: Instant,
        may_start: impl Fn(Candidate<'_, T>) -> bool,
    ) -> Option<(Ticket, T, usize)> {
        let next = self.next(now, may_start)?;
        let own = self.runs_of(&next.tenant);
        self.start(next, now).map(|(ticket, item)| (ticket, item, own))
    }

    /// The number of a tenant's runs in progress.
    pub(crate) fn runs_of(&self, tenant: &TenantId) -> usize {
        self.accounts.get(tenant).map_or(0, |account| account.running.len())
    }

    /// Removes a waiting run.
    pub(crate) fn remove(&mut self, tenant: &TenantId, ticket: Ticket) -> Option<T> {
        self.leave_ready(tenant);
        let removed = self.accounts.get_mut(tenant).and_then(|account| account.take(ticket));
        self.enter_ready(tenant);
        let removed = removed?;
        self.waiting = self.waiting.saturating_sub(1);
        Some(removed.item)
    }

    /// Ends a run. Returns the waiting runs that are refused, because their tenant has used up its
    /// time.
    pub(crate) fn end(&mut self, ticket: Ticket, now: Instant) -> OutOfTime<T> {
        let Some(run) = self.running.remove(&ticket) else { return OutOfTime::NONE };
        let taken = now.saturating_duration_since(run.started).max(LEAST_COST);
        self.memory_used = self.memory_used.saturating_sub(run.memory);
        self.even_share = self.even_share.plus(VirtualTime::shared(taken, self.busy_weight));
        self.usual = Some(average(self.usual, taken));
        self.leave_ready(&run.tenant);
        let mut refused = OutOfTime::NONE;
        if let Some(account) = self.accounts.get_mut(&run.tenant) {
            account.running.retain(|running| *running != ticket);
            let charge = VirtualTime::of(taken, account.limits.weight);
            account.position = account.position.plus(charge);
            account.usual = Some(average(account.usual, taken));
            self.furthest = self.furthest.max(account.position);
            if !run.is_own {
                account.add_run_time(taken, now);
                if let Some(wait) = account.wait_for_quotas(&account.limits, Duration::ZERO, now) {
                    refused = OutOfTime { runs: account.refuse_all(), retry_after: wait };
                }
            }
        }
        self.waiting = self.waiting.saturating_sub(refused.runs.len());
        self.enter_ready(&run.tenant);
        if self.running.is_empty() && self.waiting == 0 {
            // Nobody competes with anybody, so all begin again as equals.
            self.clock = self.clock.max(self.furthest);
        }
        self.forget(now);
        refused
    }

    /// Charges the tenant of a run in progress for processor time of the run.
    pub(crate) fn charge_cpu(&mut self, ticket: Ticket, taken: Duration, now: Instant) {
        let Some(run) = self.running.get(&ticket).filter(|run| !run.is_own) else { return };
        if let Some(account) = self.accounts.get_mut(&run.tenant) {
            account.add_cpu_time(taken, now);
        }
    }

    /// Sets the start of a started run to `now`. It had no worker before.
    pub(crate) fn begin(&mut self, ticket: Ticket, now: Instant) {
        if let Some(run) = self.running.get_mut(&ticket) {
            run.started = now;
        }
    }

    /// Ends a started run that never had a worker. It is charged nothing.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) {
        let Some(run) = self.running.remove(&ticket) else { return };
        self.memory_used = self.memory_used.saturating_sub(run.memory);
        self.leave_ready(&run.tenant);
        if let Some(account) = self.accounts.get_mut(&run.tenant) {
            account.running.retain(|running| *running != ticket);
        }
        self.enter_ready(&run.tenant);
    }

    /// Takes out all waiting runs.
    pub(crate) fn close(&mut self) -> Vec<T> {
        self.ready.clear();
        self.waiting = 0;
        let lines = self.accounts.values_mut().flat_map(Account::take_all);
        let items = lines.map(|waiting| waiting.item).collect();
        let tenants: Vec<TenantId> = self.accounts.keys().cloned().collect();
        tenants.iter().for_each(|tenant| self.enter_ready(tenant));
        items
    }

    /// The time in which the runs that wait are worked off, as the last runs took.
    pub(crate) fn drain_time(&self) -> Duration {
        let runs = u128::try_from(self.waiting.max(1)).unwrap_or(u128::MAX);
        let workers = u128::try_from(self.running.len().max(1)).unwrap_or(u128::MAX);
        let time = ratio(self.usual.unwrap_or(UNKNOWN_COST), runs, workers);
        time.clamp(RETRY.0, RETRY.1)
    }

    fn line_of(&self, tenant: &TenantId) -> usize {
        self.accounts.get(tenant).map_or(0, Account::line)
    }

    /// The memory that a run of `memory` lacks to begin.
    pub(crate) fn missing_memory(&self, memory: u64) -> u64 {
        let sum = self.memory_used.saturating_add(memory);
        self.bounds.memory.map_or(0, |most| sum.saturating_sub(most.as_u64()))
    }

    /// Parts the memory of a run in progress from the run: it stays admitted until
    /// [`Self::free_memory`]. Returns how much it is.
    pub(crate) fn keep_memory(&mut self, ticket: Ticket) -> u64 {
        self.running.get_mut(&ticket).map_or(0, |run| std::mem::take(&mut run.memory))
    }

    /// Frees memory that was kept.
    pub(crate) const fn free_memory(&mut self, memory: u64) {
        self.memory_used = self.memory_used.saturating_sub(memory);
    }

    /// Notes how much of the memory that was kept could be freed at once, were a run to need it.
    pub(crate) const fn note_spare_memory(&mut self, spare: u64) {
        self.spare_memory = spare;
    }

    fn refusal_for_ever_or_of_time(&self, claim: &Claim, now: Instant) -> Option<RunRefusal> {
        if self.bounds.memory.is_some_and(|most| claim.memory > most) {
            return Some(RunRefusal::NeverFits);
        }
        let account = self.accounts.get(&claim.tenant).filter(|_| !claim.is_own)?;
        let elapsed = account.running.iter().filter_map(|ticket| self.running.get(ticket));
        let elapsed = elapsed.filter(|run| !run.is_own);
        let elapsed = elapsed.map(|run| now.saturating_duration_since(run.started));
        let elapsed = elapsed.fold(Duration::ZERO, Duration::saturating_add);
        let wait = account.wait_for_quotas(&claim.limits, elapsed, now);
        wait.map(|retry_after| RunRefusal::TimeUsed { retry_after })
    }

    /// The refusal of a tenant with too many waiting runs. They are served with the tenant's share
    /// of the workers, and with no more than it may have.
    fn refusal_of_tenant(&self, claim: &Claim) -> RunRefusal {
        let account = self.accounts.get(&claim.tenant);
        let usual = account.and_then(|account| account.usual).or(self.usual);
        let count = |count: usize| u128::try_from(count.max(1)).unwrap_or(u128::MAX);
        let runs = count(self.line_of(&claim.tenant));
        let weights = self.accounts.values().filter(|account| account.is_busy());
        let weights: u128 = weights.map(|account| u128::from(account.limits.weight.get())).sum();
        let weight = u128::from(claim.limits.weight.get());
        let usual = usual.unwrap_or(UNKNOWN_COST);
        let by_share = ratio(
            usual,
            runs.saturating_mul(weights.max(weight)),
            weight.saturating_mul(count(self.running.len())),
        );
        let by_bound = ratio(usual, runs, count(claim.limits.running));
        let retry_after = by_share.max(by_bound).clamp(RETRY.0, RETRY.1);
        RunRefusal::TenantFull { retry_after }
    }

    fn append(&mut self, claim: &Claim, item: T, now: Instant) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket = self.next_ticket.saturating_add(1);
        self.leave_ready(&claim.tenant);
        let taken = self.taken_so_far(&claim.tenant, now);
        let start = self.start_of_newcomers(now);
        let account = self.accounts.entry(claim.tenant.clone()).or_insert_with(Account::new);
        account.limits = claim.limits;
        if account.line() == 0 {
            let missing = start.minus(account.position.plus(taken));
            account.position = account.position.plus(missing);
        }
        let memory = claim.memory.as_u64();
        let is_own = claim.is_own;
        account.push(Waiting { ticket, item, memory, is_own, overtaken: 0 });
        self.waiting = self.waiting.saturating_add(1);
        self.enter_ready(&claim.tenant);
        ticket
    }

    fn start(&mut self, next: NextRun, now: Instant) -> Option<(Ticket, T)> {
        let NextRun { tenant, ticket, overtaken, .. } = next;
        let position = self.accounts.get(&tenant).map_or(self.clock, |account| account.position);
        self.clock = self.clock.max(position.plus(self.taken_so_far(&tenant, now)));
        for tenant in overtaken {
            let account = self.accounts.get_mut(&tenant);
            if let Some(first) = account.and_then(|account| account.waiting.front_mut()) {
                first.overtaken = first.overtaken.saturating_add(1);
            }
        }
        self.leave_ready(&tenant);
        let started = self.accounts.get_mut(&tenant).and_then(|account| {
            let waiting = account.take(ticket)?;
            account.running.push(waiting.ticket);
            let expected = account.usual.unwrap_or(UNKNOWN_COST);
            Some((waiting, expected))
        });
        self.enter_ready(&tenant);
        let (Waiting { item, memory, is_own, .. }, expected) = started?;
        self.waiting = self.waiting.saturating_sub(1);
        self.memory_used = self.memory_used.saturating_add(memory);
        self.running.insert(ticket, StartedRun { tenant, started: now, expected, memory, is_own });
        Some((ticket, item))
    }

    /// Takes out the youngest run of the longest line, if that line is longer than `own` runs.
    fn displace(&mut self, own: usize) -> Option<T> {
        let (longest, tenant) = self.lines.last()?;
        if *longest <= own {
            return None;
        }
        let (longest, account) = (tenant.clone(), self.accounts.get(tenant)?);
        let youngest = account.youngest_ticket()?;
        self.remove(&longest, youngest)
    }

    /// The tenant's entry in `ready`, if it has one.
    fn place(&self, tenant: &TenantId) -> Option<(VirtualTime, Ticket, TenantId)> {
        let account = self.accounts.get(tenant)?;
        let first = account.first_ticket()?;
        let may_start = account.running.len() < account.limits.running;
        may_start.then(|| (account.position, first, tenant.clone()))
    }

    /// Removes a tenant from `ready`, before its account is changed.
    fn leave_ready(&mut self, tenant: &TenantId) {
        if let Some(place) = self.place(tenant) {
            self.ready.remove(&place);
        }
    }

    /// Adds a tenant to `ready` again, after its account was changed, and counts its runs.
    fn enter_ready(&mut self, tenant: &TenantId) {
        self.ready.extend(self.place(tenant));
        let Some(account) = self.accounts.get_mut(tenant) else { return };
        let counted = Counted {
            line: account.line(),
            weight: if account.is_busy() { account.limits.weight.get().into() } else { 0 },
        };
        let before = std::mem::replace(&mut account.counted, counted);
        self.busy_weight = self.busy_weight.saturating_sub(before.weight);
        self.busy_weight = self.busy_weight.saturating_add(counted.weight);
        if counted.line != before.line {
            self.lines.remove(&(before.line, tenant.clone()));
            self.lines.extend((counted.line > 0).then(|| (counted.line, tenant.clone())));
        }
    }

    /// Forgets accounts that are not needed, if there are twice as many as were left the last time.
    fn forget(&mut self, now: Instant) {
        if self.accounts.len() < self.full {
            return;
        }
        let clock = self.clock;
        self.accounts.retain(|_, account| {
            account.is_busy() || account.position > clock || account.owes_time(now)
        });
        let resting = self.accounts.values().filter(|account| !account.is_busy());
        let mut positions: Vec<VirtualTime> = resting.map(|account| account.position).collect();
        if positions.len() > MAX_RESTING {
            // Those that are least ahead lose least.
            let (_, middle, _) = positions.select_nth_unstable(MAX_RESTING / 2);
            let middle = *middle;
            self.accounts.retain(|_, account| account.is_busy() || account.position > middle);
        }
        self.full = self.accounts.len().saturating_mul(2).max(FEW_ACCOUNTS);
    }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
