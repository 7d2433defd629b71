//! The tables, and each statement as one step: that is what transactions of the real databases come to.

use std::collections::BTreeMap;

use crate::orders::{BeginOrder, ClaimOrder, GiveBackOrder};

pub(super) type Run = u32;

/// A server in one of its epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    pub(super) server: usize,
    pub(super) epoch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Completed(Holder),
    Interrupted,
    Cancelled,
}

/// A fault that is put into the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Planted {
    Nothing,
    /// Of the database.
    BeginsWhatOthersClaimed,
    BeginKeepsTheOrder,
    EndsWhatOthersHave,
    BegunRunsWaitAgain,
    ClaimsAreNotReset,
    CancelsWhatHasBegun,
    JoinKeepsTheEpoch,
    JudgesTheLiving,
    /// Of servers.
    ExecutesWithoutAnswer,
    ForgetsUnansweredBegins,
    NeverChecksItsClaims,
    JudgesAtOnce,
    ReleasesBeforeTheEnd,
}

#[derive(Debug, Clone)]
pub(super) enum Statement {
    Join,
    Renew {
        epoch: u64,
    },
    /// Ends epochs whose leases have ended, and what they held.
    Judge,
    Submit {
        run: Run,
        claims: Option<u64>,
    },
    Claim(ClaimOrder<Run>),
    Begin(BeginOrder<Run>),
    GiveBack(GiveBackOrder<Run>),
    End {
        run: Run,
        epoch: u64,
    },
    Cancel {
        run: Run,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StatementAnswer {
    Joined(u64),
    Renewed { was_late: bool },
    EpochOver,
    Runs(Vec<Run>),
    Claimed(bool),
    Done,
}

#[derive(Debug)]
pub(super) struct Database {
    pub(super) planted: Planted,
    pub(super) now: u64,
    lease: u64,
    servers: BTreeMap<usize, (u64, u64)>,
    pub(super) queued: BTreeMap<Run, Option<Holder>>,
    pub(super) begun: BTreeMap<Run, Holder>,
    pub(super) ends: BTreeMap<Run, End>,
    /// What is wrong.
    pub(super) broken: Option<String>,
}

impl Database {
    pub(super) fn new(lease: u64, planted: Planted) -> Self {
        Self {
            planted,
            now: 1_000,
            lease,
            servers: BTreeMap::new(),
            queued: BTreeMap::new(),
            begun: BTreeMap::new(),
            ends: BTreeMap::new(),
            broken: None,
        }
    }

    fn is_present(&self, holder: Holder) -> bool {
        self.servers.get(&holder.server).is_some_and(|(epoch, _)| *epoch == holder.epoch)
    }

    pub(super) fn execute(&mut self, server: usize, statement: &Statement) -> StatementAnswer {
        match statement {
            Statement::Join => self.join(server),
            Statement::Renew { epoch } => self.renew(Holder { server, epoch: *epoch }),
            Statement::Judge => {
                let now = self.now;
                let all = self.planted == Planted::JudgesTheLiving;
                for (other, (epoch, lease)) in &mut self.servers {
                    if *other != server && (*lease <= now || all) {
                        *epoch += 1;
                    }
                }
                self.reap();
                StatementAnswer::Done
            }
            Statement::Submit { run, claims } => {
                if self.queued.contains_key(run)
                    || self.begun.contains_key(run)
                    || self.ends.contains_key(run)
                {
                    // Its name is known.
                    return StatementAnswer::Claimed(false);
                }
                let holder = claims.map(|epoch| Holder { server, epoch });
                let holder = holder.filter(|holder| self.is_present(*holder));
                self.queued.insert(*run, holder);
                StatementAnswer::Claimed(holder.is_some())
            }
            Statement::Claim(order) => self.claim(server, order),
            Statement::Begin(order) => self.begin(server, order),
            Statement::GiveBack(order) => {
                let holder = Holder { server, epoch: order.epoch };
                for run in &order.runs {
                    if self.queued.get(run) == Some(&Some(holder)) {
                        self.queued.insert(*run, None);
                    }
                }
                StatementAnswer::Done
            }
            Statement::End { run, epoch } => {
                let holder = Holder { server, epoch: *epoch };
                let is_own = self.begun.get(run) == Some(&holder) && self.is_present(holder);
                if is_own || self.planted == Planted::EndsWhatOthersHave {
                    self.begun.remove(run);
                    self.end(*run, End::Completed(holder));
                }
                StatementAnswer::Done
            }
            Statement::Cancel { run } => {
                let is_queued = self.queued.remove(run).is_some();
                if is_queued
                    || (self.planted == Planted::CancelsWhatHasBegun
                        && self.begun.contains_key(run))
                {
                    self.end(*run, End::Cancelled);
                }
                StatementAnswer::Done
            }
        }
    }

    fn join(&mut self, server: usize) -> StatementAnswer {
        let (now, lease) = (self.now, self.lease);
        let joined = self.servers.entry(server).or_insert((0, 0));
        if joined.0 == 0 || self.planted != Planted::JoinKeepsTheEpoch {
            joined.0 += 1;
        }
        joined.1 = now + lease;
        let epoch = joined.0;
        self.reap();
        StatementAnswer::Joined(epoch)
    }

    fn renew(&mut self, holder: Holder) -> StatementAnswer {
        if !self.is_present(holder) {
            return StatementAnswer::EpochOver;
        }
        let (now, lease) = (self.now, self.lease);
        let Some((_, until)) = self.servers.get_mut(&holder.server) else {
            return StatementAnswer::EpochOver;
        };
        let was_late = *until <= now;
        *until = now + lease;
        StatementAnswer::Renewed { was_late }
    }

    /// What was held in epochs that are over waits again, or is over.
    fn reap(&mut self) {
        let over = |holder: &Holder| {
            self.servers.get(&holder.server).is_none_or(|(epoch, _)| *epoch != holder.epoch)
        };
        let claims: Vec<Run> = self
            .queued
            .iter()
            .filter(|(_, holder)| holder.as_ref().is_some_and(over))
            .map(|(run, _)| *run)
            .collect();
        let begun: Vec<Run> =
            self.begun.iter().filter(|(_, holder)| over(holder)).map(|(run, _)| *run).collect();
        if self.planted != Planted::ClaimsAreNotReset {
            self.queued.extend(claims.into_iter().map(|run| (run, None)));
        }
        for run in begun {
            self.begun.remove(&run);
            if self.planted == Planted::BegunRunsWaitAgain {
                self.queued.insert(run, None);
            } else {
                self.end(run, End::Interrupted);
            }
        }
    }

    fn claim(&mut self, server: usize, order: &ClaimOrder<Run>) -> StatementAnswer {
        let holder = Holder { server, epoch: order.epoch };
        if order.is_unsure {
            let own = self.queued.iter().filter(|(_, of)| **of == Some(holder));
            return StatementAnswer::Runs(own.map(|(run, _)| *run).collect());
        }
        if !self.is_present(holder) {
            return StatementAnswer::Runs(Vec::new());
        }
        let waiting =
            self.queued.iter().filter(|(run, of)| of.is_none() && !order.except.contains(run));
        let picked: Vec<Run> = waiting.map(|(run, _)| *run).take(order.most).collect();
        for run in &picked {
            self.queued.insert(*run, Some(holder));
        }
        StatementAnswer::Runs(picked)
    }

    fn begin(&mut self, server: usize, order: &BeginOrder<Run>) -> StatementAnswer {
        let holder = Holder { server, epoch: order.epoch };
        let mut begun = Vec::new();
        for run in &order.runs {
            let is_own = self.queued.get(run) == Some(&Some(holder))
                || (self.planted == Planted::BeginsWhatOthersClaimed
                    && !self.ends.contains_key(run));
            if is_own && self.is_present(holder) {
                if self.planted == Planted::BeginKeepsTheOrder {
                    self.queued.insert(*run, None);
                } else {
                    self.queued.remove(run);
                }
                self.begun.insert(*run, holder);
            }
            if self.begun.get(run) == Some(&holder) {
                begun.push(*run);
            }
        }
        StatementAnswer::Runs(begun)
    }

    fn end(&mut self, run: Run, end: End) {
        if let Some(before) = self.ends.insert(run, end)
            && before != end
        {
            self.broken.get_or_insert(format!("run {run} has two ends: {before:?}, {end:?}"));
        }
    }
}
