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

/// The part of that work which is kept for folders that changed. A walk through all folders leaves
/// it, so that a change does not wait for the walk.
const RESERVE: Duration = Duration::from_secs(1);

/// While folders that changed are waiting, one look of this many is for the others.
const TURNS: u32 = 4;

/// The part of one processor that work may take in the long run: a quarter.
const SHARE: u32 = 4;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QueuedLook {
    /// The list of a root, and then each folder in it.
    Root(usize),
    /// One folder of a root.
    Folder(usize, Arc<OsStr>),
}

/// The places to look at, with times. Each place waits once.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: HashMap<QueuedLook, Waiting>,
    /// Places of which a change was noticed.
    changed: BTreeSet<(Instant, QueuedLook)>,
    /// All others: those of a walk, and those without watches.
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

    /// Notes a change. A place whose last look was `last` and took `cost` has its rest first.
    pub(crate) fn changed(
        &mut self,
        place: QueuedLook,
        now: Instant,
        last: Option<(Instant, Duration)>,
    ) {
        let first = self.waiting.get(&place).and_then(|waiting| waiting.first).unwrap_or(now);
        let rest = last.map(|(looked, cost)| looked + cost.saturating_mul(REST).min(MAX_REST));
        let due = (now + QUIET).min(first + PATIENCE).max(rest.unwrap_or(now));
        self.set(place, Waiting { first: Some(first), due });
    }

    /// Asks for a look at a time, or earlier if it is due earlier.
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

    /// The place that has been due for longest; one that changed rather than another, but every
    /// few turns another.
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

    /// The time at which the next of the other places is due.
    pub(crate) fn next_routine(&self) -> Option<Instant> {
        self.routine.first().map(|(due, _)| *due)
    }
}

/// The places that may be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Places of which a change was noticed.
    pub(crate) changes: bool,
    /// All others.
    pub(crate) routine: bool,
}

/// The budget of work.
///
/// INVARIANT(bounded-work): however many folders change, and however often, looking at them takes
/// no more than a burst and a quarter of one processor.
#[derive(Debug)]
pub(crate) struct LookAllowance {
    left: Duration,
    /// Work that was done beyond what was left; it is earned back first.
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

    /// The work that may be done now.
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
    fn a_change_waits_for_quiet_but_not_for_ever() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for after in (0..=500).step_by(100) {
            queue.changed(folder("a"), start + Duration::from_millis(after), None);
        }
        assert_eq!((queue.len(), queue.next()), (1, Some(start + PATIENCE)));
        assert_eq!(queue.pop(start + PATIENCE - Duration::from_nanos(1), ALL), None);
        assert_eq!(queue.pop(start + PATIENCE, ALL), Some(folder("a")));
        queue.changed(folder("a"), start, None);
        assert_eq!(queue.next(), Some(start + QUIET));
    }

    #[test]
    fn an_expensive_folder_does_not_keep_others() {
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
        let later = start + PATIENCE;
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
        let (mut queue, later) = (Queue::default(), start + PATIENCE);
        queue.at(folder("walked"), start);
        let allowed = Allowed { changes: true, routine: false };
        assert_eq!(queue.pop(later, allowed), None);
        queue.changed(folder("changed"), start, None);
        assert_eq!(queue.pop(later, allowed), Some(folder("changed")));
    }
}
