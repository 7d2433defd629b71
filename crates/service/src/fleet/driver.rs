//! Claims, begins and gives back, as the rules of the fleet say, and tells them how it went.
//!
//! Each kind of statement has a task of its own, with one statement at a time: what comes together while one is on its
//! way goes with the next one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::error::ServiceError;
use crate::fleet::error::FleetError;
use crate::fleet::execute::refused_by_all;
use crate::fleet::member::{Fleet, FleetParts, RunName, Submission};
use crate::runs::active::StopReason;
use crate::service::Service;
use wardian_cluster::{ClaimOrder, FleetNode, StatementUnanswered};
use wardian_stores::database::DatabaseError;
use wardian_stores::records::{ClaimedRun, QueuedOrder, Submitted};
use wardian_vocabulary::error::CauseChain;

/// Most submissions of one transaction.
const SUBMITTED_AT_ONCE: usize = 64;

/// Submissions that wait for the one on its way; further calls wait to be among them.
const SUBMISSIONS: usize = 1_024;

/// Most claims that are looked up at one time, when it is not known what was claimed.
const CHECKED_AT_ONCE: u64 = 32;

/// Most tenants whose runs are looked for at one time.
const TENANTS: u64 = 64;

/// The least pause between two looks.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// The pause after a statement that has failed.
const PAUSE: Duration = Duration::from_millis(200);

/// How often the epoch of this server is looked at, and whether it drains.
const LOOK: Duration = Duration::from_millis(50);

/// How often runs whose longest wait is over are looked for, in looks.
const LOOKS_PER_EXPIRY: u32 = 20;

/// Most runs that are ended at one time because nobody could execute them.
const EXPIRED_AT_ONCE: u64 = 64;

/// The time in which a server that leaves gives back what it has claimed.
const LEAVING: Duration = Duration::from_secs(5);

/// The tasks of a server in a fleet. They end when this is dropped.
#[derive(Debug)]
pub struct FleetTasks {
    fleet: Arc<Fleet>,
    tasks: JoinSet<()>,
}

impl FleetTasks {
    /// Gives back what this server has claimed, and ends. No run may be in progress any more.
    pub async fn leave(mut self) {
        self.fleet.decide(FleetNode::drain);
        self.fleet.returns.notify_one();
        let given_back = async {
            while !self.fleet.decide(|node| node.has_nothing()) {
                sleep(LOOK).await;
            }
        };
        if timeout(LEAVING, given_back).await.is_err() {
            warn!("claims of this server stay until its lease ends");
        }
        self.tasks.shutdown().await;
    }
}

impl Service {
    /// Takes part in a fleet from now on: calls in the background wait in the database, and this server executes those
    /// of all servers. Only the first call has an effect.
    #[must_use]
    pub fn join_fleet(self: &Arc<Self>, parts: FleetParts) -> FleetTasks {
        let (submit, submissions) = mpsc::channel(SUBMISSIONS);
        let fleet = Arc::new(Fleet::new(parts, submit));
        let fleet = Arc::clone(self.fleet.get_or_init(|| fleet));
        let mut tasks = JoinSet::new();
        tasks.spawn(submit_all(Arc::clone(&fleet), submissions));
        tasks.spawn(begin_all(Arc::clone(&fleet)));
        tasks.spawn(give_back_all(Arc::clone(&fleet)));
        tasks.spawn(Arc::clone(self).claim_all(Arc::clone(&fleet)));
        tasks.spawn(Arc::clone(self).watch(Arc::clone(&fleet)));
        info!("this server takes part in the fleet of its database");
        FleetTasks { fleet, tasks }
    }

    /// The fleet that this server is in.
    pub(crate) fn fleet(&self) -> Option<&Arc<Fleet>> {
        self.fleet.get()
    }

    /// Workers that have nothing to do, and for which nothing waits. A run of the fleet that has begun has one, although
    /// the pool may not show it yet.
    fn free_workers(&self, fleet: &Fleet) -> usize {
        let report = self.execution.pool.report();
        let begun = fleet.decide(|node| node.begun());
        let busy = report.running.saturating_add(report.queued).max(begun);
        self.execution.pool.size().saturating_sub(busy)
    }

    /// True if a run that is submitted here may be claimed at once.
    pub(super) fn has_room_for_claims(&self, fleet: &Fleet) -> bool {
        let free = self.free_workers(fleet);
        fleet.decide(|node| !node.is_draining() && node.claimed() < free)
    }

    /// Claims runs while workers are free.
    async fn claim_all(self: Arc<Self>, fleet: Arc<Fleet>) {
        loop {
            let now = fleet.now();
            let free = self.free_workers(&fleet);
            let Some(order) = fleet.decide(|node| node.next_claim(now, free)) else {
                let until = fleet.decide(|node| node.wake_at()).map(|due| due.saturating_sub(now));
                let until = until.unwrap_or(PAUSE).clamp(LEAST_PAUSE, PAUSE);
                timeout(until, fleet.work.notified()).await.ok();
                continue;
            };
            let found = self.claim(&fleet, &order).await;
            let is_failure = found.is_err();
            let (names, runs) = match found {
                Ok(runs) => {
                    fleet.is_failing(false);
                    (Ok(runs.iter().map(name_of).collect()), runs)
                }
                Err(fault) => {
                    fleet.note_failure("claimed", &fault);
                    (Err(StatementUnanswered), Vec::new())
                }
            };
            let taken = fleet.decide(|node| node.claim_answered(&order, names));
            for run in runs.into_iter().filter(|run| taken.contains(&name_of(run))) {
                let service = Arc::clone(&self);
                tokio::spawn(service.execute_claimed(Arc::clone(&fleet), run, order.epoch));
            }
            if is_failure {
                sleep(PAUSE).await;
            }
        }
    }

    /// Claims runs of all tenants that have some, as many of each. If it is not known what an earlier claim has found,
    /// all claims of this server are looked up instead.
    async fn claim(
        &self,
        fleet: &Fleet,
        order: &ClaimOrder<RunName>,
    ) -> Result<Vec<ClaimedRun>, DatabaseError> {
        let (epoch, table) = (order.epoch, &fleet.table);
        let most = u64::try_from(order.most).unwrap_or(u64::MAX);
        if order.is_unsure {
            return table.claimed(epoch, CHECKED_AT_ONCE).await;
        }
        let tenants = table.waiting_tenants(TENANTS).await?;
        let count = u64::try_from(tenants.len()).unwrap_or(u64::MAX).max(1);
        let share = most.div_ceil(count);
        let mut found = Vec::new();
        for tenant in fleet.in_turn(tenants) {
            let left = most.saturating_sub(u64::try_from(found.len()).unwrap_or(u64::MAX));
            if left == 0 {
                break;
            }
            let shunned = order.except.iter().filter(|(of, _)| *of == tenant);
            let shunned: Vec<_> = shunned.map(|(_, run)| run.clone()).collect();
            found.extend(table.claim(epoch, &tenant, share.min(left), &shunned).await?);
        }
        Ok(found)
    }

    /// Follows the epoch of this server and its end, and ends runs that nobody could execute.
    async fn watch(self: Arc<Self>, fleet: Arc<Fleet>) {
        for look in (0..LOOKS_PER_EXPIRY).cycle() {
            sleep(LOOK).await;
            for (tenant, run) in fleet.follow_epoch() {
                if let Some(run) = self.runs.active().find(&tenant, None, &run) {
                    run.stop(StopReason::Interrupted);
                }
            }
            if self.runs.active().is_closed_to_detached()
                && !fleet.decide(|node| node.is_draining())
            {
                fleet.decide(FleetNode::drain);
                fleet.returns.notify_one();
            }
            if look == 0
                && let Err(fault) = fleet.end_expired().await
            {
                fleet.note_failure("ended", &fault);
            }
        }
    }
}

impl Fleet {
    /// Submits a call.
    ///
    /// # Errors
    ///
    /// The database has failed, or the server stops.
    pub(super) async fn submit(&self, order: QueuedOrder) -> Result<Submitted, ServiceError> {
        let (outcome, submitted) = oneshot::channel();
        let sent = self.submissions.send(Submission { order, outcome }).await;
        sent.map_err(|_ended| ServiceError::Stopping)?;
        let submitted = submitted.await.map_err(|_ended| ServiceError::Stopping)?;
        Ok(submitted.ok_or(FleetError::NotSubmitted)?)
    }

    /// Ends runs that no server could execute in their longest wait.
    async fn end_expired(&self) -> Result<(), DatabaseError> {
        for record in self.table.expired(EXPIRED_AT_ONCE).await? {
            self.table.end_queued(&refused_by_all(record), None).await?;
        }
        Ok(())
    }

    fn note_failure(&self, what: &str, fault: &DatabaseError) {
        if self.is_failing(true) {
            let causes = CauseChain(fault);
            warn!("runs of the fleet cannot be {what}; this is tried again: {causes}");
        }
    }
}

/// Submits calls, those together that come while others are on their way.
async fn submit_all(fleet: Arc<Fleet>, mut submissions: mpsc::Receiver<Submission>) {
    let mut together = Vec::new();
    while submissions.recv_many(&mut together, SUBMITTED_AT_ONCE).await > 0 {
        let (orders, outcomes): (Vec<_>, Vec<_>) =
            together.drain(..).map(|one| (one.order, one.outcome)).unzip();
        match fleet.table.submit(&orders).await {
            Ok(submitted) => {
                for (outcome, submitted) in outcomes.into_iter().zip(submitted) {
                    // Its call may be gone.
                    outcome.send(Some(submitted)).ok();
                }
            }
            Err(fault) => {
                fleet.note_failure("submitted", &fault);
                if orders.iter().any(|order| order.claims) {
                    fleet.decide(FleetNode::submission_unanswered);
                }
                outcomes.into_iter().for_each(|outcome| drop(outcome.send(None)));
            }
        }
    }
}

/// Begins runs that have workers.
async fn begin_all(fleet: Arc<Fleet>) {
    loop {
        let Some(order) = fleet.decide(FleetNode::next_begin) else {
            fleet.ready.notified().await;
            continue;
        };
        let begun = fleet.table.begin(order.epoch, &order.runs).await;
        let is_failure = begun.is_err();
        let begun = begun.map_err(|fault| fleet.note_failure("begun", &fault));
        let begun = begun.map_err(|()| StatementUnanswered).map(|begun| {
            order.runs.iter().filter(|(_, run)| begun.contains(run)).cloned().collect()
        });
        let decided = fleet.decide(|node| node.begin_answered(&order, begun));
        decided.execute.iter().for_each(|run| fleet.answer(run, true));
        decided.dropped.iter().for_each(|run| fleet.answer(run, false));
        if is_failure {
            sleep(PAUSE).await;
        } else {
            fleet.is_failing(false);
            fleet.wake();
        }
    }
}

/// Gives runs back.
async fn give_back_all(fleet: Arc<Fleet>) {
    loop {
        let Some(order) = fleet.decide(FleetNode::next_give_back) else {
            fleet.returns.notified().await;
            continue;
        };
        let given_back = fleet.table.give_back(order.epoch, &order.runs).await;
        let is_failure = given_back.is_err();
        let given_back = given_back.map_err(|fault| {
            fleet.note_failure("given back", &fault);
            StatementUnanswered
        });
        fleet.decide(|node| node.give_back_answered(&order, given_back));
        if is_failure {
            sleep(PAUSE).await;
        }
    }
}

fn name_of(run: &ClaimedRun) -> RunName {
    (run.tenant.clone(), run.run.clone())
}
