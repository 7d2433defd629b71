//! A server in all of its lives, which performs what the rules decide.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lease::{AfterRenewal, LeaseRules};
use crate::node::{FleetNode, NodeBounds};
use crate::orders::{BeginOrder, ClaimOrder, GiveBackOrder, StatementUnanswered};
use crate::simulation::database::{Planted, Run, Statement, StatementAnswer};
use crate::simulation::dice::Dice;

/// A server that is up.
pub(super) struct SimulatedServer {
    pub(super) planted: Planted,
    node: FleetNode<Run>,
    rules: LeaseRules,
    epoch: Option<u64>,
    /// The epoch that its part of the queue knows, which follows a little later.
    known_epoch: Option<u64>,
    is_joining: bool,
    is_renewing: bool,
    renewed_at: u64,
    workers: usize,
    /// Runs without a worker, and when they are prepared.
    preparing: BTreeMap<Run, u64>,
    /// Runs that have a worker and wait for their begin.
    waiting: Vec<Run>,
    /// Runs that are executed, and when they end.
    running: BTreeMap<Run, u64>,
    /// Ends that are to be written, with the epoch of their runs, and whether they are on their way.
    ends: BTreeMap<Run, (u64, bool)>,
    /// Runs that it cannot execute: those whose number has this remainder by seven.
    lacks: u32,
}

pub(super) const LEASE: u64 = 1_500;

impl SimulatedServer {
    pub(super) fn new(workers: usize, lacks: u32, planted: Planted) -> Self {
        let bounds = NodeBounds {
            most_claimed: 4,
            most_at_once: 3,
            look_every: Duration::from_millis(500),
            shun: Duration::from_millis(1_000),
            check_every: match planted {
                Planted::NeverChecksItsClaims => Duration::MAX,
                _ => Duration::from_secs(5),
            },
        };
        Self {
            planted,
            node: FleetNode::new(bounds),
            rules: LeaseRules::default(),
            epoch: None,
            known_epoch: None,
            is_joining: false,
            is_renewing: false,
            renewed_at: 0,
            workers,
            preparing: BTreeMap::new(),
            waiting: Vec::new(),
            running: BTreeMap::new(),
            ends: BTreeMap::new(),
            lacks,
        }
    }

    /// Claims nothing more, and gives back what it can.
    pub(super) fn drain(&mut self, now: u64) {
        self.node.drain();
        let preparing: Vec<Run> = self.preparing.keys().copied().collect();
        for run in preparing {
            self.preparing.remove(&run);
            self.node.give_back(Duration::from_millis(now), &run, false);
        }
    }

    /// True once a server that drains may end.
    pub(super) fn is_drained(&self) -> bool {
        self.node.is_draining()
            && self.node.has_nothing()
            && self.running.is_empty()
            && self.ends.is_empty()
    }

    /// The epoch in which a submission may claim its run.
    pub(super) fn claims_submissions(&self) -> Option<u64> {
        let has_room = self.node.claimed() < self.free() && !self.node.is_draining();
        self.known_epoch.filter(|_| has_room)
    }

    fn free(&self) -> usize {
        self.workers.saturating_sub(self.running.len() + self.waiting.len())
    }

    /// What it does at this moment: statements to send.
    pub(super) fn act(&mut self, now: u64, dice: &mut Dice) -> Vec<Statement> {
        let mut sent = Vec::new();
        let Some(epoch) = self.epoch else {
            if !std::mem::replace(&mut self.is_joining, true) {
                sent.push(Statement::Join);
            }
            return sent;
        };
        if !self.is_renewing && now >= self.renewed_at + LEASE / u64::from(LeaseRules::RENEWALS) {
            self.is_renewing = true;
            self.renewed_at = now;
            sent.push(Statement::Renew { epoch });
        }
        if self.known_epoch != Some(epoch) && !dice.one_in(3) {
            self.follow(epoch);
        }
        self.prepare(now, dice);
        self.finish(now, &mut sent, dice);
        let time = Duration::from_millis(now);
        sent.extend(self.node.next_claim(time, self.free()).map(Statement::Claim));
        sent.extend(self.node.next_begin().map(Statement::Begin));
        sent.extend(self.node.next_give_back().map(Statement::GiveBack));
        sent
    }

    fn follow(&mut self, epoch: u64) {
        let lost = self.node.joined(epoch);
        self.known_epoch = Some(epoch);
        for run in lost.dropped {
            self.preparing.remove(&run);
            self.waiting.retain(|one| *one != run);
        }
        for run in lost.stopped {
            self.running.remove(&run);
        }
    }

    fn prepare(&mut self, now: u64, dice: &mut Dice) {
        let due: Vec<Run> =
            self.preparing.iter().filter(|(_, at)| **at <= now).map(|(run, _)| *run).collect();
        for run in due {
            if run % 7 == self.lacks {
                self.preparing.remove(&run);
                self.node.give_back(Duration::from_millis(now), &run, true);
            } else if dice.one_in(12) {
                // It has waited for a worker for too long.
                self.preparing.remove(&run);
                self.node.give_back(Duration::from_millis(now), &run, false);
            } else if self.free() > 0 {
                self.preparing.remove(&run);
                if self.node.ready(&run) {
                    self.waiting.push(run);
                }
            }
        }
    }

    fn finish(&mut self, now: u64, sent: &mut Vec<Statement>, dice: &mut Dice) {
        let due: Vec<Run> =
            self.running.iter().filter(|(_, at)| **at <= now).map(|(run, _)| *run).collect();
        for run in due {
            self.running.remove(&run);
            let epoch = self.known_epoch.unwrap_or(0);
            self.ends.insert(run, (epoch, false));
            if self.planted == Planted::ReleasesBeforeTheEnd {
                self.node.ended(&run);
            }
        }
        for (run, (epoch, is_sent)) in &mut self.ends {
            // Ends gather for a while.
            if !*is_sent && dice.one_in(8) {
                *is_sent = true;
                sent.push(Statement::End { run: *run, epoch: *epoch });
            }
        }
    }

    /// A statement was answered, or it is not known what has become of it. Returns the runs that are executed from now
    /// on, and statements to send.
    pub(super) fn answered(
        &mut self,
        now: u64,
        statement: &Statement,
        answer: Result<StatementAnswer, StatementUnanswered>,
        dice: &mut Dice,
    ) -> (Vec<Run>, Vec<Statement>) {
        match (statement, answer) {
            (Statement::Join, answer) => {
                self.is_joining = false;
                if let Ok(StatementAnswer::Joined(epoch)) = answer {
                    (self.epoch, self.renewed_at) = (Some(epoch), now);
                    self.rules.interrupted();
                }
            }
            (Statement::Renew { .. }, answer) => return (Vec::new(), self.renewed(&answer)),
            (Statement::Claim(order), answer) => self.claimed(now, order, answer, dice),
            (Statement::Begin(order), answer) => {
                return (self.begun(now, order, answer, dice), Vec::new());
            }
            (Statement::GiveBack(order), answer) => self.returned(order, answer.is_ok()),
            (Statement::End { run, .. }, Ok(_)) => {
                self.ends.remove(run);
                self.node.ended(run);
            }
            (Statement::End { run, .. }, Err(_)) => {
                if let Some((_, is_sent)) = self.ends.get_mut(run) {
                    *is_sent = false;
                }
            }
            (Statement::Submit { run, claims: Some(epoch) }, answer) => match answer {
                Ok(StatementAnswer::Claimed(true)) => {
                    if self.node.submitted_claimed(*epoch, *run) {
                        self.preparing.insert(*run, now + dice.below(300));
                    }
                }
                Ok(_) => {}
                Err(_) => self.node.submission_unanswered(),
            },
            (Statement::Submit { .. } | Statement::Judge | Statement::Cancel { .. }, _) => {}
        }
        (Vec::new(), Vec::new())
    }

    fn renewed(&mut self, answer: &Result<StatementAnswer, StatementUnanswered>) -> Vec<Statement> {
        self.is_renewing = false;
        match answer {
            Ok(StatementAnswer::Renewed { was_late }) => {
                let judges = self.rules.renewed(*was_late) == AfterRenewal::Judge;
                match judges || self.planted == Planted::JudgesAtOnce {
                    true => vec![Statement::Judge],
                    false => Vec::new(),
                }
            }
            Ok(_) => {
                self.rules.interrupted();
                match std::mem::replace(&mut self.is_joining, true) {
                    true => Vec::new(),
                    false => vec![Statement::Join],
                }
            }
            Err(StatementUnanswered) => {
                self.rules.interrupted();
                Vec::new()
            }
        }
    }

    fn claimed(
        &mut self,
        now: u64,
        order: &ClaimOrder<Run>,
        answer: Result<StatementAnswer, StatementUnanswered>,
        dice: &mut Dice,
    ) {
        let found = match answer {
            Ok(StatementAnswer::Runs(runs)) => Ok(runs),
            _ => Err(StatementUnanswered),
        };
        for run in self.node.claim_answered(order, found) {
            self.preparing.insert(run, now + dice.below(300));
        }
    }

    fn begun(
        &mut self,
        now: u64,
        order: &BeginOrder<Run>,
        answer: Result<StatementAnswer, StatementUnanswered>,
        dice: &mut Dice,
    ) -> Vec<Run> {
        let begun = match answer {
            Ok(StatementAnswer::Runs(runs)) => Ok(runs),
            _ if self.planted == Planted::ExecutesWithoutAnswer => Ok(order.runs.clone()),
            _ if self.planted == Planted::ForgetsUnansweredBegins => Ok(Vec::new()),
            _ => Err(StatementUnanswered),
        };
        let decided = self.node.begin_answered(order, begun);
        for run in decided.execute.iter().chain(&decided.dropped) {
            self.waiting.retain(|one| one != run);
        }
        for run in &decided.execute {
            let time = if dice.one_in(2) { 50 } else { 1_200 };
            self.running.insert(*run, now + dice.below(time));
        }
        decided.execute
    }

    fn returned(&mut self, order: &GiveBackOrder<Run>, is_done: bool) {
        let done = if is_done { Ok(()) } else { Err(StatementUnanswered) };
        self.node.give_back_answered(order, done);
    }
}
