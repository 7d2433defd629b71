//! Quantiles of durations, counted in buckets whose bounds grow by a fixed factor.
//!
//! INVARIANT(quantiles-within-five-percent): a quantile differs from the duration of that rank by
//! 5 % at most, between a microsecond and [`LONGEST`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::source::number_of;

/// The relative error of a quantile.
pub(crate) const RELATIVE_ERROR: f64 = 0.05;

/// Durations are counted up to here: about a day. Longer ones count as this long.
pub(super) const LONGEST: Duration = Duration::from_hours(24);

/// The factor between the bounds of a bucket. The middle of a bucket is then within the error of all
/// that it holds.
const GROWTH: f64 = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR);

/// Buckets from a microsecond to [`LONGEST`], and one for what is shorter.
const BUCKETS: usize = 256;

/// Durations of one sort. Takes 2 KiB, however many are counted.
#[derive(Debug)]
pub(super) struct Durations {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

/// What the durations of one sort were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DurationSummary {
    /// How many were counted.
    pub count: u64,
    /// Their mean, in microseconds.
    pub mean_us: f64,
    /// Half of them took at most this long, in microseconds.
    pub p50_us: f64,
    /// Nine of ten did.
    pub(crate) p90_us: f64,
    /// 99 of a hundred did.
    pub p99_us: f64,
}

impl Default for Durations {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BUCKETS], sum_us: AtomicU64::new(0) }
    }
}

impl Durations {
    /// Counts a duration.
    pub(super) fn count(&self, time: Duration) {
        let time = time.min(LONGEST);
        if let Some(bucket) = self.buckets.get(bucket_of(time)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.sum_us.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// What they were until now.
    pub(super) fn summary(&self) -> DurationSummary {
        let counts: Vec<u64> =
            self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let count = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        if count == 0 {
            return DurationSummary::default();
        }
        let quantile = |part: f64| {
            let rank = (number_of(count) * part).ceil().max(1.0);
            let mut seen = 0.0;
            let reached = counts.iter().position(|count| {
                seen += number_of(*count);
                seen >= rank
            });
            middle_of(reached.unwrap_or(BUCKETS))
        };
        DurationSummary {
            count,
            mean_us: number_of(self.sum_us.load(Ordering::Relaxed)) / number_of(count),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
        }
    }
}

/// The bucket of a duration: the first takes what is shorter than a microsecond.
fn bucket_of(time: Duration) -> usize {
    let microseconds = time.as_secs_f64() * 1e6;
    if microseconds < 1.0 {
        return 0;
    }
    let place = (microseconds.ln() / GROWTH.ln()).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the logarithm of a day in microseconds is between 0 and 252"
    )]
    let place = place as usize;
    place.saturating_add(1).min(BUCKETS.saturating_sub(1))
}

/// The duration that stands for a bucket, in microseconds.
fn middle_of(bucket: usize) -> f64 {
    let Some(place) = bucket.checked_sub(1) else { return 0.5 };
    let low = GROWTH.powi(i32::try_from(place).unwrap_or(i32::MAX));
    // As far from the lower bound as from the upper, in parts of each.
    2.0 * low * GROWTH / (1.0 + GROWTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected * (RELATIVE_ERROR + 1e-9)
    }

    #[test]
    fn quantiles_within_five_percent() {
        // Every duration alone, over the whole range.
        let mut microseconds = 1.0;
        while microseconds < 8.64e10 {
            let durations = Durations::default();
            durations.count(Duration::from_secs_f64(microseconds / 1e6));
            let found = durations.summary().p50_us;
            let exact = Duration::from_secs_f64(microseconds / 1e6).as_secs_f64() * 1e6;
            assert!(is_near(found, exact), "{found} for {exact}");
            microseconds *= 1.0137;
        }
        // 1 to 10,000 µs, evenly.
        let durations = Durations::default();
        (1..=10_000).for_each(|time| durations.count(Duration::from_micros(time)));
        let DurationSummary { count, mean_us, p50_us, p90_us, p99_us } = durations.summary();
        assert_eq!(count, 10_000);
        assert!((mean_us - 5_000.5).abs() < 1e-6, "{mean_us}");
        assert!(is_near(p50_us, 5_000.0) && is_near(p90_us, 9_000.0) && is_near(p99_us, 9_900.0));
        // 99 runs of 18 µs and one of a second.
        let durations = Durations::default();
        (0..99).for_each(|_| durations.count(Duration::from_micros(18)));
        durations.count(Duration::from_secs(1));
        let DurationSummary { p50_us, p99_us, .. } = durations.summary();
        assert!(is_near(p50_us, 18.0) && is_near(p99_us, 18.0), "{p50_us} {p99_us}");
    }

    #[test]
    fn the_ends_of_the_range_are_counted_too() {
        let durations = Durations::default();
        assert_eq!(durations.summary(), DurationSummary::default());
        durations.count(Duration::ZERO);
        durations.count(Duration::MAX);
        let DurationSummary { count, p50_us, p99_us, .. } = durations.summary();
        assert_eq!(count, 2);
        assert!(p50_us < 1.0 && is_near(p99_us, LONGEST.as_secs_f64() * 1e6));
    }
}
