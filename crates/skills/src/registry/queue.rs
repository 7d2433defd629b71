//! Schedules the checks of folders: soon after a change, rarely if a check is expensive, within a
//! share of one processor, and in turn between roots.
//!
//! INVARIANT(fair-turns): a root whose checks have taken less time than those of others comes before
//! them. So a place that is due waits for at most one check of each other root, and then for its own
//! root's places, however much changes elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A changed folder is checked once it has not changed for this time.
pub(super) const QUIET: Duration = Duration::from_millis(150);

/// A folder that keeps changing is checked after this time.
pub(crate) const MAX_CHANGING: Duration = Duration::from_millis(600);

/// The pause between two checks of a changing folder, as a multiple of the last check's duration.
const REST: u32 = 10;

/// The longest such pause.
const MAX_REST: Duration = Duration::from_secs(10);

/// Work that may be done at once after an idle time.
const BURST: Duration = Duration::from_millis(4_500);

/// The part of that work that is reserved for changed folders, so that a change does not wait for a
/// walk through all folders.
const RESERVE: Duration = Duration::from_secs(1);

/// Routine checks that may be done at once although changed folders have used up everything else.
const ROUTINE_BURST: Duration = Duration::from_millis(500);

/// While changed folders are waiting, one check in this many is a routine check.
const TURNS: u32 = 4;

/// In the long run, checks take at most one part in this many of one processor.
const SHARE: u32 = 5;

/// Routine checks take at most one part in this many beyond it. Changed folders take nothing of it,
/// so no number of them ends a walk.
const ROUTINE_SHARE: u32 = 20;

/// A check to perform.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum QueuedLook {
    /// The list of a root, and then each folder in it.
    Root(usize),
    /// One folder of a root.
    Folder(usize, Arc<OsStr>),
}

impl QueuedLook {
    /// The number of the root.
    pub(super) const fn root(&self) -> usize {
        match self {
            Self::Root(root) | Self::Folder(root, _) => *root,
        }
    }
}

/// The reason of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A change was noticed.
    Change,
    /// A walk, or a place without watches.
    Routine,
}

/// The queued checks with their times. Each place is queued once.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: HashMap<QueuedLook, Waiting>,
    /// Changed places.
    changed: Lane,
    /// All others.
    routine: Lane,
    turn: u32,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// The time at which the first change was noticed.
    first: Option<Instant>,
    due: Instant,
}

impl Queue {
    /// The number of queued places of a root.
    pub(crate) fn len_of(&self, root: usize) -> usize {
        self.changed.len_of(root).saturating_add(self.routine.len_of(root))
    }

    /// Queues a changed place, after its pause. `last` is the start and the duration of its last
    /// check.
    pub(super) fn changed(
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
    pub(super) fn at(&mut self, place: QueuedLook, due: Instant) {
        if self.waiting.get(&place).is_none_or(|waiting| due < waiting.due) {
            let first = self.waiting.get(&place).and_then(|waiting| waiting.first);
            self.set(place, Waiting { first, due });
        }
    }

    fn set(&mut self, place: QueuedLook, waiting: Waiting) {
        if let Some(before) = self.waiting.insert(place.clone(), waiting) {
            self.lane(before.reason()).remove(before.due, &place);
        }
        self.lane(waiting.reason()).insert(waiting.due, place);
    }

    const fn lane(&mut self, reason: Reason) -> &mut Lane {
        match reason {
            Reason::Change => &mut self.changed,
            Reason::Routine => &mut self.routine,
        }
    }

    /// Takes a place that is due, of the root whose turn it is. Changed places come before routine
    /// checks, except for one turn in [`TURNS`].
    pub(super) fn pop(&mut self, now: Instant, allowed: Allowed) -> Option<(Reason, QueuedLook)> {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let changed = allowed.changes && is_due(self.next_changed());
        let routine = allowed.routine && is_due(self.next_routine());
        let reason = match (changed, routine) {
            (false, false) => return None,
            (true, false) => Reason::Change,
            (false, true) => Reason::Routine,
            (true, true) => {
                self.turn = (self.turn + 1) % TURNS;
                if self.turn == 0 { Reason::Routine } else { Reason::Change }
            }
        };
        let place = self.lane(reason).pop(now)?;
        self.waiting.remove(&place);
        Some((reason, place))
    }

    /// Notes the duration of a check.
    pub(crate) fn spend(&mut self, reason: Reason, root: usize, cost: Duration) {
        self.lane(reason).spend(root, cost);
    }

    /// The time at which the next place is due.
    pub(super) fn next(&self) -> Option<Instant> {
        [self.next_changed(), self.next_routine()].into_iter().flatten().min()
    }

    /// The time at which the next changed place is due.
    pub(crate) fn next_changed(&self) -> Option<Instant> {
        self.changed.next()
    }

    /// The time at which the next routine check is due.
    pub(crate) fn next_routine(&self) -> Option<Instant> {
        self.routine.next()
    }
}

impl Waiting {
    const fn reason(self) -> Reason {
        if self.first.is_some() { Reason::Change } else { Reason::Routine }
    }
}

/// The places to check for one reason, in turn between roots: the next one is of the root whose checks
/// have taken the least time. A root that had nothing to check has earned nothing by that.
#[derive(Debug, Default)]
struct Lane {
    /// The places of each root that has any, in the order of their times.
    roots: BTreeMap<usize, BTreeSet<(Instant, QueuedLook)>>,
    /// The time that checks of each root have taken.
    taken: HashMap<usize, Duration>,
    /// What the root of the last turn had taken before it. Roots that have taken less count as this.
    floor: Duration,
}

impl Lane {
    fn len_of(&self, root: usize) -> usize {
        self.roots.get(&root).map_or(0, BTreeSet::len)
    }

    fn insert(&mut self, due: Instant, place: QueuedLook) {
        self.roots.entry(place.root()).or_default().insert((due, place));
    }

    fn remove(&mut self, due: Instant, place: &QueuedLook) {
        let Some(places) = self.roots.get_mut(&place.root()) else { return };
        places.remove(&(due, place.clone()));
        if places.is_empty() {
            self.roots.remove(&place.root());
        }
    }

    fn next(&self) -> Option<Instant> {
        self.roots.values().filter_map(|places| Some(places.first()?.0)).min()
    }

    /// The time that checks of a root count as having taken.
    fn position(&self, root: usize) -> Duration {
        self.taken.get(&root).copied().unwrap_or_default().max(self.floor)
    }

    /// Takes the place that has been due for longest, of the root whose turn it is.
    fn pop(&mut self, now: Instant) -> Option<QueuedLook> {
        let is_due = |places: &BTreeSet<(Instant, QueuedLook)>| {
            places.first().is_some_and(|(due, _)| *due <= now)
        };
        let due = self.roots.iter().filter(|(_, places)| is_due(places)).map(|(root, _)| *root);
        let root = due.min_by_key(|root| self.position(*root))?;
        self.floor = self.position(root);
        let places = self.roots.get_mut(&root)?;
        let (_, place) = places.pop_first()?;
        if places.is_empty() {
            self.roots.remove(&root);
        }
        Some(place)
    }

    fn spend(&mut self, root: usize, cost: Duration) {
        // No check takes no time: the clock may be too coarse to tell.
        let cost = cost.max(Duration::from_nanos(1));
        self.taken.insert(root, self.position(root).saturating_add(cost));
    }
}

/// The kinds of checks that the budget permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Places of which a change was noticed.
    pub changes: bool,
    /// All others.
    pub(crate) routine: bool,
}

/// The budget of work.
///
/// INVARIANT(bounded-work): however many folders change, and however often, checking them takes at
/// most a burst and a quarter of one processor.
#[derive(Debug)]
pub(crate) struct LookAllowance {
    work: Budget,
    /// For routine checks when there is no more than the reserve.
    routine: Budget,
    since: Instant,
}

/// Time that may be spent.
#[derive(Debug)]
struct Budget {
    left: Duration,
    /// Work beyond the budget. It is earned back first.
    debt: Duration,
    most: Duration,
}

impl LookAllowance {
    pub(super) const fn new(now: Instant) -> Self {
        Self { work: Budget::full(BURST), routine: Budget::full(ROUTINE_BURST), since: now }
    }

    pub(crate) fn spend(&mut self, reason: Reason, cost: Duration) {
        let is_beyond = reason == Reason::Routine && self.work.left <= RESERVE;
        if is_beyond { self.routine.spend(cost) } else { self.work.spend(cost) }
    }

    /// Returns the checks that are permitted now.
    pub(super) fn at(&mut self, now: Instant) -> Allowed {
        let passed = now.saturating_duration_since(self.since);
        self.since = now;
        self.work.earn(passed / SHARE);
        self.routine.earn(passed / ROUTINE_SHARE);
        Allowed {
            changes: !self.work.left.is_zero(),
            routine: self.work.left > RESERVE || !self.routine.left.is_zero(),
        }
    }
}

impl Budget {
    const fn full(most: Duration) -> Self {
        Self { left: most, debt: Duration::ZERO, most }
    }

    fn spend(&mut self, cost: Duration) {
        self.debt = self.debt.saturating_add(cost.saturating_sub(self.left));
        self.left = self.left.saturating_sub(cost);
    }

    fn earn(&mut self, earned: Duration) {
        let rest = earned.saturating_sub(self.debt);
        self.debt = self.debt.saturating_sub(earned);
        self.left = self.left.saturating_add(rest).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Allowed = Allowed { changes: true, routine: true };

    fn folder(name: &str) -> QueuedLook {
        folder_of(0, name)
    }

    fn folder_of(root: usize, name: &str) -> QueuedLook {
        QueuedLook::Folder(root, Arc::from(OsStr::new(name)))
    }

    fn popped(queue: &mut Queue, now: Instant, allowed: Allowed) -> Option<QueuedLook> {
        queue.pop(now, allowed).map(|(_, place)| place)
    }

    #[test]
    fn a_change_waits_for_quiet_up_to_a_limit() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for after in (0..=500).step_by(100) {
            queue.changed(folder("a"), start + Duration::from_millis(after), None);
        }
        assert_eq!((queue.len_of(0), queue.next()), (1, Some(start + MAX_CHANGING)));
        assert_eq!(popped(&mut queue, start + MAX_CHANGING - Duration::from_nanos(1), ALL), None);
        assert_eq!(popped(&mut queue, start + MAX_CHANGING, ALL), Some(folder("a")));
        queue.changed(folder("a"), start, None);
        assert_eq!(queue.next(), Some(start + QUIET));
    }

    #[test]
    fn an_expensive_folder_does_not_delay_others() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.changed(folder("huge"), start, Some((start, Duration::from_millis(500))));
        queue.changed(folder("small"), start, Some((start, Duration::from_micros(100))));
        assert_eq!(popped(&mut queue, start + QUIET, ALL), Some(folder("small")));
        assert_eq!(queue.next(), Some(start + Duration::from_secs(5)));
        queue.at(folder("huge"), start);
        assert_eq!(popped(&mut queue, start, ALL), Some(folder("huge")));
    }

    #[test]
    fn bounded_work_means_a_burst_and_a_quarter_of_a_processor() {
        let start = Instant::now();
        let (mut allowance, mut now, mut worked) =
            (LookAllowance::new(start), start, Duration::ZERO);
        let step = Duration::from_millis(10);
        while now < start + Duration::from_secs(100) {
            for (reason, is_allowed) in [
                (Reason::Change, allowance.at(now).changes),
                (Reason::Routine, allowance.at(now).routine),
            ] {
                if is_allowed {
                    allowance.spend(reason, step);
                    worked += step;
                }
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
        let first: Vec<_> = (0..3).map_while(|_| popped(&mut queue, later, ALL)).collect();
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
        let taken = (0..8).map_while(|_| popped(&mut queue, start + QUIET, ALL));
        assert_eq!(taken.filter(|place| *place == folder("walked")).count(), 1);
    }

    #[test]
    fn a_walk_leaves_work_for_changes() {
        let start = Instant::now();
        let mut allowance = LookAllowance::new(start);
        while allowance.at(start).routine {
            allowance.spend(Reason::Routine, Duration::from_millis(50));
        }
        assert_eq!(allowance.at(start), Allowed { changes: true, routine: false });
        let (mut queue, later) = (Queue::default(), start + MAX_CHANGING);
        queue.at(folder("walked"), start);
        let allowed = Allowed { changes: true, routine: false };
        assert_eq!(popped(&mut queue, later, allowed), None);
        queue.changed(folder("changed"), start, None);
        assert_eq!(popped(&mut queue, later, allowed), Some(folder("changed")));
    }

    #[test]
    fn fair_turns_bring_a_quiet_root_before_the_next_check_of_a_busy_one() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for number in 0..100 {
            queue.changed(folder_of(0, &format!("busy-{number}")), start, None);
        }
        let later = start + QUIET;
        for _ in 0..10 {
            queue.pop(later, ALL).unwrap();
            queue.spend(Reason::Change, 0, Duration::from_millis(100));
        }
        queue.changed(folder_of(1, "quiet"), start, None);
        queue.changed(folder_of(1, "quiet-too"), start, None);
        assert_eq!(popped(&mut queue, later, ALL), Some(folder_of(1, "quiet")));
        queue.spend(Reason::Change, 1, Duration::from_millis(1));
        assert_eq!(popped(&mut queue, later, ALL), Some(folder_of(1, "quiet-too")));
        assert_eq!(queue.len_of(0), 90);
    }

    #[test]
    fn routine_checks_go_on_while_changes_use_up_everything() {
        let start = Instant::now();
        let (mut allowance, mut now, mut walked) =
            (LookAllowance::new(start), start, Duration::ZERO);
        let step = Duration::from_millis(10);
        while now < start + Duration::from_secs(100) {
            if allowance.at(now).changes {
                allowance.spend(Reason::Change, step);
            } else if allowance.at(now).routine {
                allowance.spend(Reason::Routine, step);
                walked += step;
            }
            now += step;
        }
        assert!(walked > Duration::from_secs(5), "{walked:?}");
    }

    proptest! {
        /// Busy roots always have places that are due, and their checks take what they like.
        #[test]
        fn fair_turns_let_a_quiet_root_wait_for_one_check_of_each_other(
            costs in proptest::collection::vec(1_u64..500, 1..8),
            before in 0_usize..200,
            quiet in 1_usize..20,
            is_routine in any::<bool>(),
        ) {
            let (mut queue, now) = (Queue::default(), Instant::now());
            let reason = if is_routine { Reason::Routine } else { Reason::Change };
            let allowed = Allowed { changes: !is_routine, routine: is_routine };
            let later = now + MAX_CHANGING;
            let add = |queue: &mut Queue, place: QueuedLook| match reason {
                Reason::Change => queue.changed(place, now, None),
                Reason::Routine => queue.at(place, now),
            };
            let (most, quiet_root) = (costs.iter().max().copied().unwrap(), costs.len());
            let turn = |queue: &mut Queue, number: usize| {
                for root in 0..costs.len() {
                    add(queue, folder_of(root, &format!("{number}-{root}")));
                }
                let (_, place) = queue.pop(later, allowed).unwrap();
                let cost = costs.get(place.root()).copied().unwrap_or(1);
                queue.spend(reason, place.root(), Duration::from_millis(cost));
                (place.root(), cost)
            };
            let mut spent = vec![0; costs.len() + 1];
            for number in 0..before {
                let (root, cost) = turn(&mut queue, number);
                spent[root] += cost;
            }
            // Busy roots have had equal times, but for one check.
            let times = &spent[..costs.len()];
            prop_assert!(times.iter().max().unwrap() - times.iter().min().unwrap() <= most);
            for number in 0..quiet {
                add(&mut queue, folder_of(quiet_root, &format!("quiet-{number}")));
            }
            let mut others = vec![0_u64; costs.len()];
            let mut number = before;
            while queue.len_of(quiet_root) > 0 {
                let (root, cost) = turn(&mut queue, number);
                if root < costs.len() {
                    others[root] += cost;
                }
                number += 1;
            }
            // All of the quiet root's checks take a millisecond each.
            let bound = most + u64::try_from(quiet).unwrap();
            prop_assert!(others.iter().all(|spent| *spent <= bound), "{others:?}, {bound}");
        }
    }
}
