//! The images that could not be made, and when each is tried again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::package_set::PackageSet;
use wardian_vocabulary::clock::backoff::Backoff;

/// The pause after a first failure. Each further one doubles it.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause: an image takes seconds of a processor to make, so trying costs next to nothing.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// The failures of images. Each has its own pauses, so one that cannot be made takes no turn from
/// those that can.
#[derive(Debug, Default)]
pub(super) struct FailedAttempts(BTreeMap<PackageSet, Failure>);

#[derive(Debug, Clone, Copy)]
struct Failure {
    /// The end of the pause.
    until: Instant,
    backoff: Backoff,
}

impl FailedAttempts {
    /// Notes a failure.
    pub(super) fn note(&mut self, packages: PackageSet, now: Instant) {
        let last = self.0.get(&packages).map(|failure| failure.backoff);
        let mut backoff = last.unwrap_or(Backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE));
        self.0.insert(packages, Failure { until: now + backoff.pause(), backoff });
    }

    /// Forgets the failures of an image that exists now.
    pub(super) fn forget(&mut self, packages: PackageSet) {
        self.0.remove(&packages);
    }

    /// True if the image has failed, and is not to be tried now.
    pub(super) fn is_paused(&self, packages: PackageSet, now: Instant) -> bool {
        self.0.get(&packages).is_some_and(|failure| now < failure.until)
    }

    /// The images that have failed and are to be tried again.
    pub(super) fn due(&self, now: Instant) -> impl Iterator<Item = PackageSet> {
        self.0
            .iter()
            .filter(move |(_, failure)| failure.until <= now)
            .map(|(packages, _)| *packages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_image_has_pauses_of_its_own_that_grow() {
        let (mut failed, start) = (FailedAttempts::default(), Instant::now());
        let [one, other] = ["lxml", "scipy"].map(|name| name.parse::<PackageSet>().unwrap());
        let (mut now, mut pause) = (start, FIRST_PAUSE);
        for _ in 0..12 {
            failed.note(one, now);
            assert!(!failed.is_paused(other, now));
            assert!(failed.is_paused(one, now + pause - Duration::from_nanos(1)));
            assert_eq!(failed.due(now + pause).collect::<Vec<_>>(), [one]);
            now += pause;
            assert!(!failed.is_paused(one, now));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        failed.forget(one);
        failed.note(one, now);
        assert!(!failed.is_paused(one, now + FIRST_PAUSE), "it was there in between");
    }
}
