//! A place in the queue.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::error::DispatchError;
use crate::scheduler::claim::{Claim, GuestKey, Ticket};
use crate::scheduler::shared::{Granted, Scheduler};

/// How often a run that has waited long enough looks whether it may continue to wait.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long a turn waits for the worker of its guest before it looks for another one. Then it looks again, less
/// and less often. To make the guest once more costs some of these milliseconds.
const PATIENCE: Duration = Duration::from_millis(20);

/// A run that waits for a worker, or a turn of a guest that waits for its turn among the runs. Dropping
/// it gives up its place in the queue.
#[derive(Debug)]
pub(crate) struct QueuedRun {
    scheduler: Arc<Scheduler>,
    claim: Claim,
    ticket: Ticket,
    /// Its guest, if a worker keeps it.
    guest: Option<GuestKey>,
    granted: oneshot::Receiver<Granted>,
}

impl QueuedRun {
    /// The run of this claim that was queued with `ticket` and is notified through `granted`. If it is a
    /// turn of a guest that a worker keeps, it waits whether or not others can start.
    pub(super) fn new(
        scheduler: Arc<Scheduler>,
        (claim, ticket): (Claim, Ticket),
        guest: Option<GuestKey>,
        granted: oneshot::Receiver<Granted>,
    ) -> Self {
        Self { scheduler, claim, ticket, guest, granted }
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
                    failure = &mut hopelessness, if self.guest.is_none() => {
                        Err(DispatchError::Start(failure))
                    }
                    never = leave_busy_worker(&scheduler, &self.claim, self.guest), if self.guest.is_some() => {
                        match never {}
                    }
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
            Some(failure) if self.guest.is_none() => {
                DispatchError::NoneStarted { retry_after, failure }
            }
            _ => DispatchError::Overloaded { retry_after },
        })
    }

    /// True if the tenant has no run in progress, this one is its next, and there are workers.
    fn may_wait_on(&self) -> bool {
        self.scheduler.may_wait_on(&self.claim.tenant, self.ticket, self.guest.is_some())
    }
}

/// Gives up the guest of a turn that waits, as soon as its worker has been busy for a while and the turn could
/// begin in another one. The turn then ends, because its guest is lost.
async fn leave_busy_worker(
    scheduler: &Scheduler,
    claim: &Claim,
    guest: Option<GuestKey>,
) -> Infallible {
    let mut pause = PATIENCE;
    loop {
        sleep(pause).await;
        if let Some(guest) = guest {
            scheduler.free_waiting_turn(claim, guest);
        }
        pause = pause.saturating_mul(2).min(LOOK_AGAIN);
    }
}

impl Drop for QueuedRun {
    /// A worker that was granted and not taken is given back.
    fn drop(&mut self) {
        self.scheduler.abandon(&self.claim.tenant, self.ticket);
        // After this, a grant fails and its sender keeps the worker.
        self.granted.close();
        if let Ok(Ok(worker)) = self.granted.try_recv() {
            self.scheduler.give_back(self.ticket, worker, None);
        }
    }
}
