//! A place in the queue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::dispatch::error::DispatchError;
use crate::dispatch::scheduler::claim::Ticket;
use crate::dispatch::scheduler::shared::{Granted, Scheduler};
use crate::ids::TenantId;

/// A run that waits for a worker. Dropping it gives up its place in the queue.
#[derive(Debug)]
pub(crate) struct QueuedRun {
    scheduler: Arc<Scheduler>,
    tenant: TenantId,
    ticket: Ticket,
    granted: oneshot::Receiver<Granted>,
}

impl QueuedRun {
    /// The run of `tenant` that was queued with `ticket` and is notified through `granted`.
    pub(crate) fn new(
        scheduler: Arc<Scheduler>,
        tenant: TenantId,
        ticket: Ticket,
        granted: oneshot::Receiver<Granted>,
    ) -> Self {
        Self { scheduler, tenant, ticket, granted }
    }

    /// Waits for a worker, for at most this time.
    pub(crate) async fn wait(mut self, longest: Duration) -> Granted {
        match timeout(longest, &mut self.granted).await {
            Ok(Ok(granted)) => granted,
            Ok(Err(_)) => Err(DispatchError::ShuttingDown),
            Err(_elapsed) => {
                self.scheduler.count(|counters| {
                    counters.overloaded = counters.overloaded.saturating_add(1);
                });
                let retry_after = self.scheduler.drain_time();
                Err(DispatchError::Overloaded { retry_after })
            }
        }
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
