//! The times of changes to files: as coarse as the clocks of a guest, but distinct.

use crate::vfs::Timestamp;

/// The distance of two changes within one step of the clock, 1 µs. Python compares times as
/// floating-point numbers to detect changes of a folder, and these have no finer resolution.
const APART: Timestamp = 1_000;

/// Counts changes in the digits below the step of the guest's clock.
///
/// These digits reveal nothing about time: they count the guest's own changes. As on Linux, a
/// change has the time of the last tick of a clock, so it is never later than the time that a
/// program reads next: the counter fills the step that ends at the current time.
#[derive(Debug, Default)]
pub(super) struct FileClock {
    last: Timestamp,
}

impl FileClock {
    /// A clock whose last change was at this time.
    pub(super) const fn after(last: Timestamp) -> Self {
        Self { last }
    }

    /// The time of the last change.
    pub(super) const fn last(&self) -> Timestamp {
        self.last
    }

    /// The time of a change at `clock`, which shows whole steps.
    pub(super) fn next(&mut self, clock: Timestamp, step: Timestamp) -> Timestamp {
        let first = clock.saturating_sub(step);
        let latest = clock.saturating_sub(1);
        // The time of day may have been set back.
        self.last = if (first..=latest).contains(&self.last) {
            let (far, near) = (self.last.saturating_add(APART), self.last.saturating_add(1));
            if far <= latest { far } else { near.min(latest) }
        } else {
            first
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Timestamp = 1_000_000;

    #[test]
    fn changes_within_one_step_differ_and_never_lie_in_the_future() {
        let mut clock = FileClock::default();
        let mut last = 0;
        for tick in 1_700_000_000_000..1_700_000_000_003 {
            for _ in 0..1500 {
                let time = clock.next(tick * STEP, STEP);
                assert!(time > last && time < tick * STEP && time >= (tick - 1) * STEP);
                last = time;
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_back_is_followed() {
        let mut clock = FileClock::default();
        clock.next(9 * STEP, STEP);
        assert_eq!(clock.next(3 * STEP, STEP), 2 * STEP);
        assert_eq!(clock.next(3 * STEP, STEP), 2 * STEP + APART);
    }
}
