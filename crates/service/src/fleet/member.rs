//! This server in the fleet: what it has claimed and begun, by the rules of the fleet.
//!
//! The rules are [`FleetNode`], which decides; the driver performs what is decided and says how it went. Runs
//! come here to begin, and whoever submits one says that there is work.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::authentication::Authentication;
use crate::fleet::seal::FleetKey;
use wardian_cluster::{FleetNode, NodeBounds};
use wardian_stores::records::{QueuedOrder, ServerRecords, Submitted};
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::ids::{RunId, TenantId};

/// A run of the queue.
pub(crate) type RunName = (TenantId, RunId);

/// Most runs that a server has claimed and not begun.
const MOST_CLAIMED: usize = 32;

/// Most runs of one claim: what is found is in memory before it is charged to anybody, and each may have a megabyte of
/// code with all of its escapes.
const MOST_AT_ONCE: usize = 8;

/// How often a server without a sign of work looks for some.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How often a server looks at all of its claims.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// How long a server leaves a run to others that it cannot execute.
const SHUN: Duration = Duration::from_secs(5);

/// A call that waits for its submission.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) order: QueuedOrder,
    /// Is given the outcome; none if the database has failed.
    pub(super) outcome: oneshot::Sender<Option<Submitted>>,
}

/// What a server needs to be in a fleet.
#[derive(Debug)]
pub struct FleetParts {
    /// The records that its servers share.
    pub table: ServerRecords,
    /// Seals orders.
    pub key: FleetKey,
    /// Says whether callers may still call.
    pub authentication: Authentication,
    /// Is charged for the runs that are executed here.
    pub budget: Arc<MemoryBudget>,
}

/// This server in the fleet.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(super) table: ServerRecords,
    pub(super) key: FleetKey,
    pub(super) authentication: Authentication,
    pub(super) budget: Arc<MemoryBudget>,
    began: Instant,
    node: Mutex<FleetNode<RunName>>,
    /// The epoch that the node knows.
    epoch: AtomicU64,
    /// The runs that have a worker and wait for their begin.
    begins: Mutex<HashMap<RunName, watch::Sender<Option<bool>>>>,
    /// Takes calls to be submitted.
    pub(super) submissions: mpsc::Sender<Submission>,
    /// True after a statement that has failed.
    is_failing: AtomicBool,
    /// The tenant whose runs are claimed first.
    turn: AtomicUsize,
    /// There may be work.
    pub(super) work: Notify,
    /// A run wants to begin.
    pub(super) ready: Notify,
    /// A run is to be given back.
    pub(super) returns: Notify,
}

impl Fleet {
    /// A server that has claimed nothing yet.
    pub(super) fn new(parts: FleetParts, submissions: mpsc::Sender<Submission>) -> Self {
        let FleetParts { table, key, authentication, budget } = parts;
        let bounds = NodeBounds {
            most_claimed: MOST_CLAIMED,
            most_at_once: MOST_AT_ONCE,
            look_every: LOOK_EVERY,
            shun: SHUN,
            check_every: CHECK_EVERY,
        };
        let mut node = FleetNode::new(bounds);
        let epoch = table.holder().epoch;
        drop(node.joined(epoch));
        Self {
            table,
            key,
            authentication,
            budget,
            began: Instant::now(),
            node: Mutex::new(node),
            epoch: AtomicU64::new(epoch),
            begins: Mutex::default(),
            submissions,
            is_failing: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
            work: Notify::new(),
            ready: Notify::new(),
            returns: Notify::new(),
        }
    }

    /// The time since this server is in the fleet.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// What the rules decide.
    pub(super) fn decide<T>(&self, decide: impl FnOnce(&mut FleetNode<RunName>) -> T) -> T {
        decide(&mut self.node.lock())
    }

    /// The epoch of this server that its claims are for.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Notes the present epoch. Returns the runs that this server has held in another one, which are over.
    pub(super) fn follow_epoch(&self) -> Vec<RunName> {
        let epoch = self.table.holder().epoch;
        if epoch == self.epoch() {
            return Vec::new();
        }
        let lost = self.decide(|node| node.joined(epoch));
        self.epoch.store(epoch, Ordering::Release);
        let all: Vec<RunName> = lost.dropped.into_iter().chain(lost.stopped).collect();
        for run in &all {
            self.answer(run, false);
        }
        self.work.notify_one();
        all
    }

    /// There may be work.
    pub(super) fn wake(&self) {
        self.decide(FleetNode::woken);
        self.work.notify_one();
    }

    /// Asks to begin a run that has a worker. The answer is true once the database says that it is this server's to
    /// execute, and false if it never is.
    pub(super) fn begin(&self, run: &RunName) -> watch::Receiver<Option<bool>> {
        let (begun, answer) = watch::channel(None);
        self.begins.lock().insert(run.clone(), begun);
        match self.decide(|node| node.ready(run)) {
            true => self.ready.notify_one(),
            false => self.answer(run, false),
        }
        answer
    }

    /// Says to a run whether it has begun.
    pub(super) fn answer(&self, run: &RunName, has_begun: bool) {
        if let Some(answer) = self.begins.lock().remove(run) {
            answer.send_replace(Some(has_begun));
        }
    }

    /// Notes whether statements fail. Returns true if this has changed.
    pub(super) fn is_failing(&self, is_failing: bool) -> bool {
        self.is_failing.swap(is_failing, Ordering::AcqRel) != is_failing
    }

    /// The tenants, each time from the next one on.
    pub(super) fn in_turn(&self, mut tenants: Vec<TenantId>) -> Vec<TenantId> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        if let Some(first) = turn.checked_rem(tenants.len()) {
            tenants.rotate_left(first);
        }
        tenants
    }

    /// Gives a run back that has not begun. One that cannot be executed here is left to others for a while.
    pub(super) fn give_back(&self, run: &RunName, is_impossible_here: bool) {
        let now = self.now();
        self.decide(|node| node.give_back(now, run, is_impossible_here));
        self.returns.notify_one();
    }

    /// A run is over, or not this server's any more. There may be room for another one.
    pub(super) fn ended(&self, run: &RunName) {
        self.begins.lock().remove(run);
        self.decide(|node| node.ended(run));
        self.wake();
    }
}
