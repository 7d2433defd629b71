//! Pauses between attempts at something that fails.

use std::time::Duration;

/// The pauses between attempts: the first one, and then each `factor` times as long as the one
/// before, up to the longest. As an iterator it has no end; `take` bounds the attempts.
///
/// ```
/// # use std::time::Duration;
/// # use wardian_vocabulary::clock::backoff::Backoff;
/// let mut backoff = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(3));
/// let pauses = [backoff.pause(), backoff.pause(), backoff.pause()];
/// assert_eq!(pauses.map(|pause| pause.as_secs()), [1, 2, 3]);
/// backoff.reset();
/// assert_eq!(backoff.pause().as_secs(), 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    factor: u32,
    next: Duration,
}

impl Backoff {
    /// Pauses that double. If `longest` is below `first`, all are as long as `first`.
    #[must_use]
    pub const fn doubling(first: Duration, longest: Duration) -> Self {
        Self { first, longest, factor: 2, next: first }
    }

    /// Pauses of one length.
    #[must_use]
    pub const fn constant(pause: Duration) -> Self {
        Self { first: pause, longest: pause, factor: 1, next: pause }
    }

    /// The pause after one more failure.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        let longer = pause.saturating_mul(self.factor).min(self.longest);
        self.next = longer.max(self.first);
        pause
    }

    /// The pause after this many failures; the first one after none or one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use wardian_vocabulary::clock::backoff::Backoff;
    /// const RETRIES: Backoff = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(60));
    /// assert_eq!([1, 2, 3, 900].map(|failures| RETRIES.after(failures).as_secs()), [1, 2, 4, 60]);
    /// ```
    #[must_use]
    pub fn after(self, failures: u32) -> Duration {
        // From a nanosecond to the longest duration it is 94 doublings.
        const ENOUGH: u32 = 128;
        let mut pauses = Self { next: self.first, ..self };
        for _ in 1..failures.min(ENOUGH) {
            pauses.pause();
        }
        pauses.pause()
    }

    /// Begins with the first pause again, after a success.
    pub const fn reset(&mut self) {
        self.next = self.first;
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(self.pause())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(1));
        let pauses: Vec<u128> = backoff.take(6).map(|pause| pause.as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_000, 1_000]);
        let constant: Vec<u64> = Backoff::constant(Duration::from_secs(7))
            .take(3)
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(constant, [7, 7, 7]);
    }

    prop_compose! {
        fn duration()(seconds in prop_oneof![0_u64..100, any::<u64>()], nanoseconds in 0_u32..1_000_000_000) -> Duration {
            Duration::new(seconds, nanoseconds)
        }
    }

    proptest! {
        #[test]
        fn pauses_never_shrink_and_stay_within_their_bounds(
            first in duration(),
            longest in duration(),
        ) {
            let mut before = first;
            for pause in Backoff::doubling(first, longest).take(200) {
                prop_assert!(pause >= before && pause >= first && pause <= longest.max(first));
                prop_assert!(pause <= before.saturating_mul(2));
                before = pause;
            }
            let is_at_its_end = before == longest.max(first) || first.is_zero();
            prop_assert!(is_at_its_end, "{before:?}");
        }

        #[test]
        fn the_pause_after_failures_is_that_of_the_sequence(
            first in duration(),
            longest in duration(),
        ) {
            let backoff = Backoff::doubling(first, longest);
            for (failures, pause) in (1..100).zip(backoff) {
                prop_assert_eq!(backoff.after(failures), pause);
            }
            prop_assert_eq!(backoff.after(0), first);
        }

        #[test]
        fn a_reset_forgets_all_failures(
            first in duration(),
            longest in duration(),
            failures in 0_usize..200,
        ) {
            let fresh = Backoff::doubling(first, longest);
            let mut used = fresh;
            used.by_ref().take(failures).for_each(drop);
            used.reset();
            prop_assert_eq!(used, fresh);
        }
    }
}
