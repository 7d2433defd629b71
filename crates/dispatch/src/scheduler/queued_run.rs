//! A place in the queue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::DispatchError;
use crate::scheduler::claim::Ticket;
use crate::scheduler::shared::{Granted, Scheduler};
use wardian_vocabulary::ids::TenantId;

/// How often a run that has waited long enough looks whether it may continue to wait.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A run that waits for a worker, or a turn of a guest that waits for its turn among the runs. Dropping
/// it gives up its place in the queue.
#[derive(Debug)]
pub(crate) struct QueuedRun {
    scheduler: Arc<Scheduler>,
    tenant: TenantId,
    ticket: Ticket,
    /// True if its worker is there and keeps its guest.
    has_worker: bool,
    granted: oneshot::Receiver<Granted>,
}

impl QueuedRun {
    /// The run of `tenant` that was queued with `ticket` and is notified through `granted`. If it
    /// `has_worker`, it waits whether or not others can start.
    pub(super) fn new(
        scheduler: Arc<Scheduler>,
        (tenant, ticket): (TenantId, Ticket),
        has_worker: bool,
        granted: oneshot::Receiver<Granted>,
    ) -> Self {
        Self { scheduler, tenant, ticket, has_worker, granted }
    }

    /// Waits for a worker, for at most `longest`, and no longer once it is known that none can start.
    ///
    /// INVARIANT(turn-of-every-tenant): a tenant without a run in progress gets its turn, however
    /// long the runs of others take: the first of its waiting runs does not fail after `longest`, but
    /// waits on, for at most `as_first` in all. By then, each other tenant has had its turn before.
    pub(super) async fn wait(mut self, longest: Duration, as_first: Duration) -> Granted {
        let (mut patience, mut left) = (longest, as_first.saturating_sub(longest));
        let scheduler = Arc::clone(&self.scheduler);
        let hopelessness = scheduler.hopelessness();
        tokio::pin!(hopelessness);
        loop {
            let decided = async {
                tokio::select! {
                    biased;
                    granted = &mut self.granted => {
                        granted.unwrap_or(Err(DispatchError::ShuttingDown))
                    }
                    failure = &mut hopelessness, if !self.has_worker => Err(DispatchError::Start(failure)),
                }
            };
            match timeout(patience, decided).await {
                Ok(granted) => return granted,
                Err(_elapsed) if left.is_zero() || !self.may_wait_on() => break,
                Err(_elapsed) => {
                    patience = LOOK_AGAIN.min(left);
                    left = left.saturating_sub(patience);
                }
            }
        }
        self.scheduler.count(|counters| {
            counters.overloaded = counters.overloaded.saturating_add(1);
        });
        let retry_after = self.scheduler.drain_time();
        Err(match self.scheduler.failure_without_workers() {
            Some(failure) if !self.has_worker => {
                DispatchError::NoneStarted { retry_after, failure }
            }
            _ => DispatchError::Overloaded { retry_after },
        })
    }

    /// True if the tenant has no run in progress, this one is its next, and there are workers.
    fn may_wait_on(&self) -> bool {
        self.scheduler.may_wait_on(&self.tenant, self.ticket, self.has_worker)
    }
}

impl Drop for QueuedRun {
    /// A worker that was granted and not taken is given back.
    fn drop(&mut self) {
        self.scheduler.abandon(&self.tenant, self.ticket);
        // After this, a grant fails and its sender keeps the worker.
        self.granted.close();
        if let Ok(Ok(worker)) = self.granted.try_recv() {
            self.scheduler.give_back(self.ticket, worker, None);
        }
    }
}
