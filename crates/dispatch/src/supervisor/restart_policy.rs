//! Decides when the next worker is started after one has ended.
//!
//! A worker that had a run is replaced at once. A few workers in a row that end soon after their
//! start are replaced at once as well, since they may have been killed from outside. More of them,
//! and workers that do not start, indicate a fault of all workers, so each further attempt waits
//! longer.

use std::time::Duration;

use wardian_vocabulary::clock::backoff::Backoff;

/// The number of short-lived workers in a row that is tolerated.
const TOLERATED_SHORT_LIVES: u32 = 3;

/// Longest pause between two attempts to start a worker.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// First pause between two attempts. It is doubled after each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The recent failures of one place in a pool.
#[derive(Debug)]
pub(crate) struct RestartPolicy {
    short_lives: u32,
    backoff: Backoff,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self { short_lives: 0, backoff: Backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE) }
    }
}

impl RestartPolicy {
    /// Notes a worker that had a run, or could have had one.
    pub(crate) const fn note_full_life(&mut self) {
        self.short_lives = 0;
        self.backoff.reset();
    }

    /// Notes a worker that ended soon. Returns false if this counts as a failed start.
    pub(crate) const fn tolerates_short_life(&mut self) -> bool {
        let is_tolerated = self.short_lives < TOLERATED_SHORT_LIVES;
        if is_tolerated {
            self.short_lives = self.short_lives.saturating_add(1);
        }
        is_tolerated
    }

    /// Notes a failed start. Returns the pause before the next attempt.
    pub(crate) fn pause_after_failure(&mut self) -> Duration {
        self.backoff.pause()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_a_full_life_forgets_them() {
        let mut policy = RestartPolicy::default();
        let pauses: Vec<_> = (0..9).map(|_| policy.pause_after_failure().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        for _ in 0..100 {
            assert_eq!(policy.pause_after_failure(), LONGEST_PAUSE);
        }
        policy.note_full_life();
        assert_eq!(policy.pause_after_failure(), FIRST_PAUSE);
    }

    #[test]
    fn a_few_short_lives_are_tolerated() {
        let mut policy = RestartPolicy::default();
        let tolerated: Vec<bool> = (0..5).map(|_| policy.tolerates_short_life()).collect();
        assert_eq!(tolerated, [true, true, true, false, false]);
        policy.note_full_life();
        assert!(policy.tolerates_short_life());
    }
}
