//! Decides when a folder is looked at: soon after a change, rarely if looking at it is expensive,
//! and never for more than a part of one processor.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A folder that changed is looked at when nothing has changed in it for this long,
pub(crate) const QUIET: Duration = Duration::from_millis(150);

/// or when it has been changing for this long.
pub(crate) const PATIENCE: Duration = Duration::from_millis(600);

/// A folder that keeps changing rests this many times as long as looking at it took,
const REST: u32 = 10;

/// but no longer than this.
const MAX_REST: Duration = Duration::from_secs(10);

/// Work that may be done at once after a time without any.
const BURST: Duration = Duration::from_secs(5);

/// The part of one processor that work may take in the long run: a quarter.
const SHARE: u32 = 4;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// The list of a root, and then each folder in it.
    Root(usize),
    /// One folder of a root.
    Folder(usize, Arc<OsStr>),
}

/// What to look at, and when. Each place waits once.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: HashMap<Place, Waiting>,
    order: BTreeSet<(Instant, Place)>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// When the first change was noticed.
    first: Option<Instant>,
    due: Instant,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Notes a change. A place whose last look was `last` and took `cost` has its rest first.
    pub(crate) fn changed(
        &mut self,
        place: Place,
        now: Instant,
        last: Option<(Instant, Duration)>,
    ) {
        let first = self.waiting.get(&place).and_then(|waiting| waiting.first).unwrap_or(now);
        let rest = last.map(|(looked, cost)| looked + cost.saturating_mul(REST).min(MAX_REST));
        let due = (now + QUIET).min(first + PATIENCE).max(rest.unwrap_or(now));
        self.set(place, Waiting { first: Some(first), due });
    }

    /// Asks for a look at a time, or earlier if it is due earlier.
    pub(crate) fn at(&mut self, place: Place, due: Instant) {
        if self.waiting.get(&place).is_none_or(|waiting| due < waiting.due) {
            let first = self.waiting.get(&place).and_then(|waiting| waiting.first);
            self.set(place, Waiting { first, due });
        }
    }

    fn set(&mut self, place: Place, waiting: Waiting) {
        if let Some(before) = self.waiting.insert(place.clone(), waiting) {
            self.order.remove(&(before.due, place.clone()));
        }
        self.order.insert((waiting.due, place));
    }

    /// The place that has been due for longest.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Place> {
        self.next().filter(|due| *due <= now)?;
        let (_, place) = self.order.pop_first()?;
        self.waiting.remove(&place);
        Some(place)
    }

    /// When the next place is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(due, _)| *due)
    }
}

/// How much work may be done.
///
/// INVARIANT(bounded-work): however many folders change, and however often, looking at them takes
/// no more than a burst and a quarter of one processor.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: Duration,
    /// Work that was done beyond what was left; it is earned back first.
    debt: Duration,
    since: Instant,
}

impl Allowance {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { left: BURST, debt: Duration::ZERO, since: now }
    }

    pub(crate) fn spend(&mut self, cost: Duration) {
        self.debt = self.debt.saturating_add(cost.saturating_sub(self.left));
        self.left = self.left.saturating_sub(cost);
    }

    /// True if work may be done now.
    pub(crate) fn is_open(&mut self, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.since) / SHARE;
        let rest = earned.saturating_sub(self.debt);
        self.debt = self.debt.saturating_sub(earned);
        self.left = self.left.saturating_add(rest).min(BURST);
        self.since = now;
        !self.left.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> Place {
        Place::Folder(0, Arc::from(OsStr::new(name)))
    }

    #[test]
    fn a_change_waits_for_quiet_but_not_for_ever() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for after in (0..=500).step_by(100) {
            queue.changed(folder("a"), start + Duration::from_millis(after), None);
        }
        assert_eq!((queue.len(), queue.next()), (1, Some(start + PATIENCE)));
        assert_eq!(queue.pop(start + PATIENCE - Duration::from_nanos(1)), None);
        assert_eq!(queue.pop(start + PATIENCE), Some(folder("a")));
        queue.changed(folder("a"), start, None);
        assert_eq!(queue.next(), Some(start + QUIET));
    }

    #[test]
    fn an_expensive_folder_does_not_keep_others() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.changed(folder("huge"), start, Some((start, Duration::from_millis(500))));
        queue.changed(folder("small"), start, Some((start, Duration::from_micros(100))));
        assert_eq!(queue.pop(start + QUIET), Some(folder("small")));
        assert_eq!(queue.next(), Some(start + Duration::from_secs(5)));
        queue.at(folder("huge"), start);
        assert_eq!(queue.pop(start), Some(folder("huge")));
    }

    #[test]
    fn bounded_work_means_a_burst_and_a_quarter_of_a_processor() {
        let start = Instant::now();
        let (mut allowance, mut now, mut worked) = (Allowance::new(start), start, Duration::ZERO);
        let step = Duration::from_millis(10);
        while now < start + Duration::from_secs(100) {
            if allowance.is_open(now) {
                allowance.spend(step);
                worked += step;
            }
            now += step;
        }
        assert!(worked > Duration::from_secs(29) && worked < Duration::from_secs(31), "{worked:?}");
    }
}
