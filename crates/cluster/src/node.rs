//! What a server claims, begins and gives back.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::held::{HeldRuns, HeldStage};
use crate::orders::{BeginOrder, ClaimOrder, Decided, GiveBackOrder, Lost, StatementUnanswered};

/// The bounds of a server in a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeBounds {
    /// Most runs that it has claimed and not begun; at least 1.
    pub most_claimed: usize,
    /// Most runs of one claim; at least 1.
    pub most_at_once: usize,
    /// How often it looks for runs without a sign of some.
    pub look_every: Duration,
    /// How long it leaves a run to others that it cannot execute.
    pub shun: Duration,
    /// How often it looks at all of its claims: a claim that was executed late, or twice, is one that it does not know.
    pub check_every: Duration,
}

/// A server in a fleet: the runs that it has claimed in its present epoch, and what is to be done about them. `K` names a
/// run. Times are since some moment, and never go back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FleetNode<K> {
    bounds: NodeBounds,
    /// None before it has joined.
    epoch: Option<u64>,
    held: HeldRuns<K>,
    /// Runs that are left to others, until a time.
    shunned: BTreeMap<K, Duration>,
    is_draining: bool,
    /// True if there may be runs to claim.
    is_woken: bool,
    /// When it looked last for runs.
    looked: Option<Duration>,
    /// When it looked last at all of its claims.
    checked: Duration,
    is_claiming: bool,
    /// True if a claim had no answer.
    is_unsure: bool,
    is_beginning: bool,
    is_returning: bool,
}

impl<K: Ord + Clone> FleetNode<K> {
    /// A server that has not joined yet.
    #[must_use]
    pub fn new(bounds: NodeBounds) -> Self {
        Self {
            bounds,
            epoch: None,
            held: HeldRuns::default(),
            shunned: BTreeMap::new(),
            is_draining: false,
            is_woken: true,
            looked: None,
            checked: Duration::ZERO,
            is_claiming: false,
            is_unsure: false,
            is_beginning: false,
            is_returning: false,
        }
    }

    /// The server is in another epoch. What it has claimed and begun in the one before is not its own any more.
    pub fn joined(&mut self, epoch: u64) -> Lost<K> {
        self.epoch = Some(epoch);
        self.is_woken = true;
        self.is_unsure = false;
        let (mut dropped, mut stopped) = (Vec::new(), Vec::new());
        for (run, stage) in self.held.take() {
            match stage {
                HeldStage::Begun => stopped.push(run),
                HeldStage::Returning | HeldStage::Returned => {}
                HeldStage::Claimed | HeldStage::Ready | HeldStage::Asked => dropped.push(run),
            }
        }
        Lost { dropped, stopped }
    }

    /// There may be runs to claim.
    pub const fn woken(&mut self) {
        self.is_woken = true;
    }

    /// Nothing is claimed any more.
    pub const fn drain(&mut self) {
        self.is_draining = true;
    }

    /// True once nothing is claimed any more.
    #[must_use]
    pub const fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// The claim to make now, if there is one: [`Self::claim_answered`] has to follow before the next one. `free_workers`
    /// counts those that have nothing to do, and for which nothing waits.
    pub fn next_claim(&mut self, now: Duration, free_workers: usize) -> Option<ClaimOrder<K>> {
        let epoch = self.epoch?;
        self.shunned.retain(|_, until| *until > now);
        if self.is_claiming {
            return None;
        }
        let claimed = self.claimed();
        let room = free_workers.min(self.bounds.most_claimed).saturating_sub(claimed);
        let is_due = self.is_woken || self.wake_at().is_none_or(|due| due <= now);
        let is_check = now >= self.checked.saturating_add(self.bounds.check_every);
        let most = room.min(self.bounds.most_at_once);
        let is_unsure = self.is_unsure || (is_check && !self.is_draining);
        if !is_unsure && (self.is_draining || most == 0 || !is_due) {
            return None;
        }
        self.is_claiming = true;
        self.is_woken = false;
        self.looked = Some(now);
        if is_unsure {
            self.checked = now;
        }
        Some(ClaimOrder { epoch, most, except: self.shunned.keys().cloned().collect(), is_unsure })
    }

    /// The answer to a claim: the runs that this server has claimed by it, or all of them if it was unsure. Returns those
    /// that are to be prepared.
    pub fn claim_answered(
        &mut self,
        order: &ClaimOrder<K>,
        found: Result<Vec<K>, StatementUnanswered>,
    ) -> Vec<K> {
        self.is_claiming = false;
        let is_present = self.epoch == Some(order.epoch);
        let Ok(found) = found else {
            // Of another epoch nothing is left.
            self.is_unsure |= is_present;
            self.is_woken = true;
            return Vec::new();
        };
        if !is_present {
            self.is_woken = true;
            return Vec::new();
        }
        // There may be more, also if a look at all claims has taken the turn of a claim.
        self.is_woken |= order.is_unsure || found.len() >= order.most;
        if order.is_unsure {
            self.is_unsure = false;
        }
        let mut new = Vec::new();
        for run in found {
            if self.held.stage(&run).is_none() {
                let stage =
                    if self.is_draining { HeldStage::Returning } else { HeldStage::Claimed };
                self.held.put(run.clone(), stage);
                if stage == HeldStage::Claimed {
                    new.push(run);
                }
            }
        }
        new
    }

    /// A run was claimed as it was submitted here. Returns false if it is not to be prepared: the epoch of its claim is
    /// over, or it is held already.
    pub fn submitted_claimed(&mut self, epoch: u64, run: K) -> bool {
        if self.epoch != Some(epoch) || self.held.stage(&run).is_some() {
            return false;
        }
        self.held.put(run, HeldStage::Claimed);
        true
    }

    /// A submission that might have claimed a run had no answer.
    pub const fn submission_unanswered(&mut self) {
        self.is_unsure = true;
        self.is_woken = true;
    }

    /// A run has a worker, and is to begin. Returns false if it is not this server's any more.
    pub fn ready(&mut self, run: &K) -> bool {
        match self.held.stage(run) {
            Some(HeldStage::Claimed) => {
                self.held.put(run.clone(), HeldStage::Ready);
                true
            }
            Some(HeldStage::Ready | HeldStage::Asked) => true,
            Some(HeldStage::Begun | HeldStage::Returning | HeldStage::Returned) | None => false,
        }
    }

    /// The runs to begin now, if there are some: [`Self::begin_answered`] has to follow before the next ones.
    pub fn next_begin(&mut self) -> Option<BeginOrder<K>> {
        let epoch = self.epoch?;
        if self.is_beginning {
            return None;
        }
        let runs = self.held.advance(HeldStage::Ready, HeldStage::Asked);
        if runs.is_empty() {
            return None;
        }
        self.is_beginning = true;
        Some(BeginOrder { epoch, runs })
    }

    /// The answer to a begin: those of its runs that this server has begun. Without one they are asked for again.
    pub fn begin_answered(
        &mut self,
        order: &BeginOrder<K>,
        begun: Result<Vec<K>, StatementUnanswered>,
    ) -> Decided<K> {
        self.is_beginning = false;
        let mut decided = Decided::default();
        if self.epoch != Some(order.epoch) {
            return decided;
        }
        let Ok(begun) = begun else {
            self.held.advance(HeldStage::Asked, HeldStage::Ready);
            return decided;
        };
        for run in &order.runs {
            // One that was stopped meanwhile is none of its runs any more.
            if self.held.stage(run) != Some(HeldStage::Asked) {
                continue;
            }
            if begun.contains(run) {
                self.held.put(run.clone(), HeldStage::Begun);
                decided.execute.push(run.clone());
            } else {
                self.held.remove(run);
                decided.dropped.push(run.clone());
            }
        }
        decided
    }

    /// A run is to be given back, which has not asked to begin. One that is shunned is left to others for a while.
    pub fn give_back(&mut self, now: Duration, run: &K, is_shunned: bool) {
        if is_shunned {
            self.shunned.insert(run.clone(), now.saturating_add(self.bounds.shun));
        }
        match self.held.stage(run) {
            Some(HeldStage::Claimed) => self.held.put(run.clone(), HeldStage::Returning),
            Some(HeldStage::Ready) => self.held.put(run.clone(), HeldStage::Returning),
            Some(
                HeldStage::Asked | HeldStage::Begun | HeldStage::Returning | HeldStage::Returned,
            )
            | None => {}
        }
    }

    /// The runs to give back now, if there are some: [`Self::give_back_answered`] has to follow before the next ones.
    pub fn next_give_back(&mut self) -> Option<GiveBackOrder<K>> {
        let epoch = self.epoch?;
        if self.is_returning {
            return None;
        }
        let runs = self.held.advance(HeldStage::Returning, HeldStage::Returned);
        if runs.is_empty() {
            return None;
        }
        self.is_returning = true;
        Some(GiveBackOrder { epoch, runs })
    }

    /// The answer to a return. Without one it is made again.
    pub fn give_back_answered(
        &mut self,
        order: &GiveBackOrder<K>,
        done: Result<(), StatementUnanswered>,
    ) {
        self.is_returning = false;
        if self.epoch != Some(order.epoch) {
            return;
        }
        match done {
            Err(StatementUnanswered) => {
                drop(self.held.advance(HeldStage::Returned, HeldStage::Returning));
            }
            Ok(()) => order.runs.iter().for_each(|run| self.held.remove(run)),
        }
    }

    /// A run is over here: its end is written, or it was dropped. Not before: until its end is written, the database would
    /// say once more that it has begun.
    pub fn ended(&mut self, run: &K) {
        if !matches!(self.held.stage(run), Some(HeldStage::Returning | HeldStage::Returned)) {
            self.held.remove(run);
        }
        self.is_woken = true;
    }

    /// When the next look for runs is due without a sign of some. None if it is due at once.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        if self.is_woken {
            return None;
        }
        self.looked.map(|looked| looked.saturating_add(self.bounds.look_every))
    }

    /// Runs that it has claimed and not begun.
    #[must_use]
    pub fn claimed(&self) -> usize {
        self.held.count(|stage| {
            matches!(stage, HeldStage::Claimed | HeldStage::Ready | HeldStage::Asked)
        })
    }

    /// Runs that it executes.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.held.count(|stage| stage == HeldStage::Begun)
    }

    /// True if nothing is left to be begun, ended or given back.
    #[must_use]
    pub fn has_nothing(&self) -> bool {
        self.held.count(|_| true) == 0 && !self.is_claiming && !self.is_unsure
    }
}
