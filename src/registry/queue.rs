//! Schedules the checks of folders: soon after a change, rarely if a check is expensive, and within
//! a share of one processor.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A changed folder is checked once it has not changed for this time.
pub(crate) const QUIET: Duration = Duration::from_millis(150);

/// A folder that keeps changing is checked after this time.
pub(crate) const MAX_CHANGING: Duration = Duration::from_millis(600);

/// The pause between two checks of a changing folder, as a multiple of the last check's duration.
const REST: u32 = 10;

/// The longest such pause.
const MAX_REST: Duration = Duration::from_secs(10);

/// Work that may be done at once after an idle time.
const BURST: Duration = Duration::from_secs(5);

/// The part of that work that is reserved for changed folders, so that a change does not wait for a
/// walk through all folders.
const RESERVE: Duration = Duration::from_secs(1);

/// While changed folders are waiting, one check in this many is a routine check.
const TURNS: u32 = 4;

/// In the long run, checks take at most one part in this many of one processor.
const SHARE: u32 = 4;

/// A check to perform.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QueuedLook {
    /// The list of a root, and then each folder in it.
    Root(usize),
    /// One folder of a root.
    Folder(usize, Arc<OsStr>),
}

/// The queued checks with their times. Each place is queued once.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: HashMap<QueuedLook, Waiting>,
    /// Changed places.
    changed: BTreeSet<(Instant, QueuedLook)>,
    /// All others: places of a walk, and places without watches.
    routine: BTreeSet<(Instant, QueuedLook)>,
    turn: u32,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// The time at which the first change was noticed.
    first: Option<Instant>,
    due: Instant,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Queues a changed place, after its pause. `last` is the start and the duration of its last
    /// check.
    pub(crate) fn changed(
        &mut self,
        place: QueuedLook,
        now: Instant,
        last: Option<(Instant, Duration)>,
    ) {
        let first = self.waiting.get(&place).and_then(|waiting| waiting.first).unwrap_or(now);
        let rest = last.map(|(looked, cost)| looked + cost.saturating_mul(REST).min(MAX_REST));
        let due = (now + QUIET).min(first + MAX_CHANGING).max(rest.unwrap_or(now));
        self.set(place, Waiting { first: Some(first), due });
    }

    /// Queues a routine check for a time. An earlier queued check of the place stays.
    pub(crate) fn at(&mut self, place: QueuedLook, due: Instant) {
        if self.waiting.get(&place).is_none_or(|waiting| due < waiting.due) {
            let first = self.waiting.get(&place).and_then(|waiting| waiting.first);
            self.set(place, Waiting { first, due });
        }
    }

    fn set(&mut self, place: QueuedLook, waiting: Waiting) {
        if let Some(before) = self.waiting.insert(place.clone(), waiting) {
            self.order(before).remove(&(before.due, place.clone()));
        }
        self.order(waiting).insert((waiting.due, place));
    }

    const fn order(&mut self, waiting: Waiting) -> &mut BTreeSet<(Instant, QueuedLook)> {
        if waiting.first.is_some() { &mut self.changed } else { &mut self.routine }
    }

    /// Takes the place that has been due for longest. Changed places come before routine checks,
    /// except for one turn in [`TURNS`].
    pub(crate) fn pop(&mut self, now: Instant, allowed: Allowed) -> Option<QueuedLook> {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let changed = allowed.changes && is_due(self.next_changed());
        let routine = allowed.routine && is_due(self.next_routine());
        let order = match (changed, routine) {
            (false, false) => return None,
            (true, false) => &mut self.changed,
            (false, true) => &mut self.routine,
            (true, true) => {
                self.turn = (self.turn + 1) % TURNS;
                if self.turn == 0 { &mut self.routine } else { &mut self.changed }
            }
        };
        let (_, place) = order.pop_first()?;
        self.waiting.remove(&place);
        Some(place)
    }

    /// The time at which the next place is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        [self.next_changed(), self.next_routine()].into_iter().flatten().min()
    }

    /// The time at which the next changed place is due.
    pub(crate) fn next_changed(&self) -> Option<Instant> {
        self.changed.first().map(|(due, _)| *due)
    }

    /// The time at which the next routine check is due.
    pub(crate) fn next_routine(&self) -> Option<Instant> {
        self.routine.first().map(|(due, _)| *due)
    }
}

/// The kinds of checks that the budget permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Places of which a change was noticed.
    pub(crate) changes: bool,
    /// All others.
    pub(crate) routine: bool,
}

/// The budget of work.
///
/// INVARIANT(bounded-work): however many folders change, and however often, checking them takes at
/// most a burst and a quarter of one processor.
#[derive(Debug)]
pub(crate) struct LookAllowance {
    left: Duration,
    /// Work beyond the budget. It is earned back first.
    debt: Duration,
    since: Instant,
}

impl LookAllowance {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { left: BURST, debt: Duration::ZERO, since: now }
    }

    pub(crate) fn spend(&mut self, cost: Duration) {
        self.debt = self.debt.saturating_add(cost.saturating_sub(self.left));
        self.left = self.left.saturating_sub(cost);
    }

    /// Returns the checks that are permitted now.
    pub(crate) fn at(&mut self, now: Instant) -> Allowed {
        let earned = now.saturating_duration_since(self.since) / SHARE;
        let rest = earned.saturating_sub(self.debt);
        self.debt = self.debt.saturating_sub(earned);
        self.left = self.left.saturating_add(rest).min(BURST);
        self.since = now;
        Allowed { changes: !self.left.is_zero(), routine: self.left > RESERVE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Allowed = Allowed { changes: true, routine: true };

    fn folder(name: &str) -> QueuedLook {
        QueuedLook::Folder(0, Arc::from(OsStr::new(name)))
    }

    #[test]
    fn a_change_waits_for_quiet_up_to_a_limit() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for after in (0..=500).step_by(100) {
            queue.changed(folder("a"), start + Duration::from_millis(after), None);
        }
        assert_eq!((queue.len(), queue.next()), (1, Some(start + MAX_CHANGING)));
        assert_eq!(queue.pop(start + MAX_CHANGING - Duration::from_nanos(1), ALL), None);
        assert_eq!(queue.pop(start + MAX_CHANGING, ALL), Some(folder("a")));
        queue.changed(folder("a"), start, None);
        assert_eq!(queue.next(), Some(start + QUIET));
    }

    #[test]
    fn an_expensive_folder_does_not_delay_others() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.changed(folder("huge"), start, Some((start, Duration::from_millis(500))));
        queue.changed(folder("small"), start, Some((start, Duration::from_micros(100))));
        assert_eq!(queue.pop(start + QUIET, ALL), Some(folder("small")));
        assert_eq!(queue.next(), Some(start + Duration::from_secs(5)));
        queue.at(folder("huge"), start);
        assert_eq!(queue.pop(start, ALL), Some(folder("huge")));
    }

    #[test]
    fn bounded_work_means_a_burst_and_a_quarter_of_a_processor() {
        let start = Instant::now();
        let (mut allowance, mut now, mut worked) =
            (LookAllowance::new(start), start, Duration::ZERO);
        let step = Duration::from_millis(10);
        while now < start + Duration::from_secs(100) {
            if allowance.at(now).changes {
                allowance.spend(step);
                worked += step;
            }
            now += step;
        }
        assert!(worked > Duration::from_secs(29) && worked < Duration::from_secs(31), "{worked:?}");
    }

    #[test]
    fn a_change_does_not_wait_for_a_walk() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for number in 0..1_000 {
            queue.at(folder(&format!("walked-{number:04}")), start);
        }
        queue.changed(folder("walked-0999"), start, None);
        queue.changed(folder("zz"), start, None);
        let later = start + MAX_CHANGING;
        let first: Vec<_> = (0..3).map_while(|_| queue.pop(later, ALL)).collect();
        assert!(first.contains(&folder("zz")), "{first:?}");
        assert!(first.contains(&folder("walked-0999")), "{first:?}");
    }

    #[test]
    fn a_walk_goes_on_while_others_change() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.at(folder("walked"), start);
        for number in 0..100 {
            queue.changed(folder(&format!("changed-{number}")), start, None);
        }
        let taken = (0..8).map_while(|_| queue.pop(start + QUIET, ALL));
        assert_eq!(taken.filter(|place| *place == folder("walked")).count(), 1);
    }

    #[test]
    fn a_walk_leaves_work_for_changes() {
        let start = Instant::now();
        let mut allowance = LookAllowance::new(start);
        while allowance.at(start).routine {
            allowance.spend(Duration::from_millis(50));
        }
        assert_eq!(allowance.at(start), Allowed { changes: true, routine: false });
        let (mut queue, later) = (Queue::default(), start + MAX_CHANGING);
        queue.at(folder("walked"), start);
        let allowed = Allowed { changes: true, routine: false };
        assert_eq!(queue.pop(later, allowed), None);
        queue.changed(folder("changed"), start, None);
        assert_eq!(queue.pop(later, allowed), Some(folder("changed")));
    }
}
