//! Time that the runs of a tenant have used, of workers or of processors, against a quota for a
//! period.
//!
//! Used time comes back evenly, so that a tenant which has used everything may run again after a
//! moment, and not only after the rest of the period.
//!
//! INVARIANT(bounded-debt): a tenant that has used more than its quota waits for one period at most.
//! A run may take longer than a quota, and its end is not known when it starts.

use std::time::{Duration, Instant};

use crate::quotas::limits::{TenantLimits, TimeQuota};

/// The time that the runs of one tenant have used against its quotas: of workers, and of processors.
#[derive(Debug, Clone, Copy, Default)]
pub struct TenantTime {
    run_time: UsedTime,
    cpu_time: UsedTime,
}

impl TenantTime {
    /// Adds the time for which a run that has ended at `now` had a worker.
    pub fn add_run_time(&mut self, limits: &TenantLimits, taken: Duration, now: Instant) {
        if let Some(quota) = limits.run_time {
            self.run_time.add(taken, now, quota);
        }
    }

    /// Adds the processor time of a run that has ended at `now`.
    pub fn add_cpu_time(&mut self, limits: &TenantLimits, taken: Duration, now: Instant) {
        if let Some(quota) = limits.cpu_time {
            self.cpu_time.add(taken, now, quota);
        }
    }

    /// The time until the quotas of `limits` have something left, if one of them is used up. Runs in
    /// progress have had workers for `elapsed` so far; their processor time counts when they end.
    #[must_use]
    pub fn wait_for_quotas(
        &self,
        limits: &TenantLimits,
        elapsed: Duration,
        now: Instant,
    ) -> Option<Duration> {
        let run_time = limits.run_time.and_then(|quota| {
            wait_for_quota(self.run_time.at(now, quota).saturating_add(elapsed), quota)
        });
        let cpu_time =
            limits.cpu_time.and_then(|quota| wait_for_quota(self.cpu_time.at(now, quota), quota));
        run_time.max(cpu_time)
    }

    /// True if time that was used has not come back yet.
    #[must_use]
    pub fn is_owed(&self, limits: &TenantLimits, now: Instant) -> bool {
        let owes = |used: &UsedTime, quota: Option<TimeQuota>| {
            quota.is_some_and(|quota| !used.at(now, quota).is_zero())
        };
        owes(&self.run_time, limits.run_time) || owes(&self.cpu_time, limits.cpu_time)
    }
}

/// Time that was used and has not come back.
#[derive(Debug, Clone, Copy, Default)]
struct UsedTime {
    used: Duration,
    as_of: Option<Instant>,
}

impl UsedTime {
    /// The time that is used at `now`.
    fn at(&self, now: Instant, quota: TimeQuota) -> Duration {
        let Some(as_of) = self.as_of else { return Duration::ZERO };
        let passed = now.saturating_duration_since(as_of);
        let returned = scaled(passed, quota.time, quota.period);
        self.used.saturating_sub(returned)
    }

    /// Adds the time of a run that ended at `now`.
    fn add(&mut self, taken: Duration, now: Instant, quota: TimeQuota) {
        let most = quota.time.saturating_mul(2);
        self.used = self.at(now, quota).saturating_add(taken).min(most);
        self.as_of = Some(now);
    }
}

/// The time until a part of the quota is there again, if all of it is `used`.
fn wait_for_quota(used: Duration, quota: TimeQuota) -> Option<Duration> {
    let excess = used.checked_sub(quota.time)?;
    // A moment more: at exactly the quota nothing is left.
    let excess = excess.saturating_add(Duration::from_millis(1));
    Some(scaled(excess, quota.period, quota.time))
}

/// `time` times `numerator` divided by `denominator`.
fn scaled(time: Duration, numerator: Duration, denominator: Duration) -> Duration {
    ratio(time, numerator.as_nanos(), denominator.as_nanos())
}

/// `time` times `numerator` divided by `denominator`; the longest time if that is too long or not
/// defined.
#[must_use]
pub fn ratio(time: Duration, numerator: u128, denominator: u128) -> Duration {
    let nanos = time.as_nanos().saturating_mul(numerator).checked_div(denominator);
    let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
    nanos.map_or(Duration::MAX, Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const QUOTA: TimeQuota = TimeQuota { time: MINUTE, period: Duration::from_secs(600) };

    #[test]
    fn used_time_comes_back_evenly_within_a_period() {
        let (mut used, start) = (UsedTime::default(), Instant::now());
        assert_eq!(used.at(start, QUOTA), Duration::ZERO);
        used.add(MINUTE, start, QUOTA);
        assert_eq!(used.at(start, QUOTA), MINUTE);
        assert_eq!(used.at(start + 5 * MINUTE, QUOTA), MINUTE / 2);
        used.add(MINUTE, start + 5 * MINUTE, QUOTA);
        assert_eq!(used.at(start + 5 * MINUTE, QUOTA), MINUTE + MINUTE / 2);
        assert_eq!(used.at(start + 15 * MINUTE, QUOTA), MINUTE / 2);
        assert_eq!(used.at(start + 20 * MINUTE, QUOTA), Duration::ZERO);
    }

    #[test]
    fn bounded_debt_after_a_run_of_any_length() {
        let (mut used, start) = (UsedTime::default(), Instant::now());
        used.add(MINUTE / 2, start, QUOTA);
        for taken in [300 * MINUTE, Duration::MAX] {
            used.add(taken, start, QUOTA);
            let wait = wait_for_quota(used.at(start, QUOTA), QUOTA).unwrap();
            assert!(wait <= QUOTA.period + Duration::from_secs(1), "{wait:?}");
            assert_eq!(wait_for_quota(used.at(start + wait, QUOTA), QUOTA), None);
        }
    }

    #[test]
    fn the_wait_for_a_quota_is_as_long_as_it_takes() {
        assert_eq!(wait_for_quota(MINUTE - Duration::from_millis(1), QUOTA), None);
        let (mut used, start) = (UsedTime::default(), Instant::now());
        used.add(2 * MINUTE, start, QUOTA);
        let wait = wait_for_quota(used.at(start, QUOTA), QUOTA).unwrap();
        assert!((10 * MINUTE..11 * MINUTE).contains(&wait), "{wait:?}");
        assert_eq!(wait_for_quota(used.at(start + wait, QUOTA), QUOTA), None);
        assert!(wait_for_quota(used.at(start + 10 * MINUTE, QUOTA), QUOTA).is_some());
        let none = TimeQuota { time: Duration::ZERO, period: MINUTE };
        assert_eq!(wait_for_quota(MINUTE, none), Some(Duration::MAX));
    }
}
