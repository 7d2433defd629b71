//! Counts calls against the rate of their tenant.
//!
//! # How
//!
//! This is the generic cell rate algorithm. Each tenant has one time: when all of its burst will be
//! there again. A call moves it on by the time between two calls at the rate, and is refused if it
//! would then lie further ahead than a whole burst takes.
//!
//! INVARIANT(bounded-rates): the memory for rates is bounded, however many tenants come and go. A
//! tenant whose burst is there again is forgotten, which changes nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::ids::TenantId;
use crate::quotas::limits::{CallRate, TenantPolicy};

/// Tenants that are remembered before any is forgotten.
const REMEMBERED: usize = 1_024;

/// A tenant has made too many calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tenant has made too many calls")]
pub struct TooManyCalls {
    /// The time after which the next call is accepted.
    pub retry_after: Duration,
}

/// Counts calls against the rate of their tenant.
#[derive(Debug)]
pub struct CallRates {
    policy: TenantPolicy,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    /// For each tenant that has called lately, the time at which its whole burst is there again.
    whole_at: BTreeMap<TenantId, Instant>,
    /// The number of tenants at which those are forgotten that have not called lately.
    full: usize,
}

impl CallRates {
    /// Counts against the rates of `policy`.
    #[must_use]
    pub fn of(policy: &TenantPolicy) -> Self {
        let counts = Counts { whole_at: BTreeMap::new(), full: REMEMBERED };
        Self { policy: policy.clone(), counts: Mutex::new(counts) }
    }

    /// Counts a call of `tenant`.
    ///
    /// # Errors
    ///
    /// The tenant has made too many calls. This one is not counted.
    pub fn count(&self, tenant: &TenantId) -> Result<(), TooManyCalls> {
        self.count_at(tenant, Instant::now())
    }

    fn count_at(&self, tenant: &TenantId, now: Instant) -> Result<(), TooManyCalls> {
        let Some(rate) = self.policy.of(tenant).rate else { return Ok(()) };
        self.counts.lock().count(tenant, rate, now)
    }
}

impl Counts {
    fn count(
        &mut self,
        tenant: &TenantId,
        CallRate { per_second, burst }: CallRate,
        now: Instant,
    ) -> Result<(), TooManyCalls> {
        let between = Duration::from_secs(1) / per_second.get();
        let most = between.saturating_mul(burst.get());
        let whole_at = self.whole_at.get(tenant).map_or(now, |time| (*time).max(now));
        let ahead = whole_at.saturating_duration_since(now).saturating_add(between);
        if let Some(excess) = ahead.checked_sub(most).filter(|excess| !excess.is_zero()) {
            return Err(TooManyCalls { retry_after: excess });
        }
        self.forget(now);
        self.whole_at.insert(tenant.clone(), now.checked_add(ahead).unwrap_or(now));
        Ok(())
    }

    /// Forgets tenants that have not called lately, if there are twice as many as were left the last
    /// time. So a call pays for two remembered tenants on average.
    fn forget(&mut self, now: Instant) {
        if self.whole_at.len() >= self.full {
            self.whole_at.retain(|_, whole_at| *whole_at > now);
            self.full = self.whole_at.len().saturating_mul(2).max(REMEMBERED);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::quotas::limits::TenantLimits;

    const SECOND: Duration = Duration::from_secs(1);

    fn limits(per_second: u32, burst: u32) -> TenantLimits {
        let number = |number| NonZeroU32::new(number).unwrap();
        let rate = CallRate { per_second: number(per_second), burst: number(burst) };
        TenantLimits { rate: Some(rate), ..TenantLimits::NONE }
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    fn counted(rates: &CallRates, tenant: &TenantId, now: Instant, calls: usize) -> usize {
        (0..calls).filter(|_| rates.count_at(tenant, now).is_ok()).count()
    }

    #[test]
    fn a_tenant_has_its_burst_and_then_its_rate() {
        let rates = CallRates::of(&TenantPolicy { usual: limits(10, 3), named: BTreeMap::new() });
        let (one, other, mut now) = (tenant("one"), tenant("other"), Instant::now());
        assert_eq!(counted(&rates, &one, now, 100), 3);
        assert_eq!(rates.count_at(&one, now).unwrap_err().retry_after, SECOND / 10);
        now += SECOND / 20;
        assert_eq!(rates.count_at(&one, now).unwrap_err().retry_after, SECOND / 20);
        now += SECOND / 20;
        assert_eq!(counted(&rates, &one, now, 100), 1, "the delay that it is told is right");
        assert_eq!(counted(&rates, &other, now, 100), 3, "each tenant has its own");
        now += 100 * SECOND;
        assert_eq!(counted(&rates, &one, now, 100), 3, "no more than the burst is saved up");
        let mut calls = 0;
        for _ in 0..1_000 {
            now += SECOND / 100;
            calls += counted(&rates, &one, now, 5);
        }
        assert_eq!(calls, 100, "10 in each of 10 seconds");
    }

    #[test]
    fn tenants_that_are_named_have_rates_of_their_own_or_none() {
        let named = [("fast", limits(100, 50)), ("free", TenantLimits::NONE)];
        let named = named.map(|(name, limits)| (tenant(name), limits)).into();
        let (rates, now) =
            (CallRates::of(&TenantPolicy { usual: limits(1, 1), named }), Instant::now());
        assert_eq!(counted(&rates, &tenant("fast"), now, 1_000), 50);
        assert_eq!(counted(&rates, &tenant("free"), now, 1_000), 1_000);
        assert_eq!(counted(&rates, &tenant("other"), now, 1_000), 1);
        let rates = CallRates::of(&TenantPolicy::NONE);
        assert_eq!(counted(&rates, &tenant("other"), now, 1_000), 1_000);
    }

    #[test]
    fn bounded_rates_of_tenants_that_come_and_go() {
        let rates = CallRates::of(&TenantPolicy { usual: limits(1, 2), named: BTreeMap::new() });
        let (busy, mut now) = (tenant("busy"), Instant::now());
        for number in 0..20_000 {
            now += SECOND / 100;
            rates.count_at(&tenant(&format!("t{number}")), now).unwrap();
            rates.count_at(&busy, now).ok();
            let remembered = rates.counts.lock().whole_at.len();
            assert!(remembered <= REMEMBERED + 1, "{remembered} tenants are remembered");
        }
        assert!(rates.count_at(&busy, now).is_err(), "a tenant that calls all the time is known");
    }
}
