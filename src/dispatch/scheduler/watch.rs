//! Finds out which runs wait while others want their place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::dispatch::scheduler::claim::Ticket;
use crate::dispatch::scheduler::shared::Scheduler;
use crate::dispatch::scheduler::state::Phase;
use crate::dispatch::worker::activity::Activity;

/// How often the runs in progress are looked at. A run waits if it took at most a fifth of this time
/// on a processor.
const PERIOD: Duration = Duration::from_millis(50);

/// Looks at the runs in progress, as long as that can make room for others, until the pool closes.
pub(crate) async fn watch_runs(scheduler: Arc<Scheduler>) {
    let mut status = scheduler.watch();
    loop {
        let woken = status.wait_for(|status| status.needs_watch || status.phase == Phase::Closed);
        if woken.await.is_ok_and(|status| status.phase == Phase::Closed) {
            return;
        }
        let mut before = BTreeMap::new();
        while scheduler.needs_watch() {
            sleep(PERIOD).await;
            let now = look(&scheduler);
            let has_waited = |(ticket, now): (&Ticket, &Activity)| {
                before.get(ticket).is_some_and(|before| now.has_waited_since(before))
            };
            let waits: BTreeSet<Ticket> =
                now.iter().filter(|run| has_waited(*run)).map(|(ticket, _)| *ticket).collect();
            scheduler.note_waiting(waits);
            before = now;
        }
    }
}

/// The activity of each run's worker. The kernel answers in microseconds, without a disk.
fn look(scheduler: &Scheduler) -> BTreeMap<Ticket, Activity> {
    let busy = scheduler.busy().into_iter();
    // A process that has ended, or that the system hides, does not wait.
    busy.filter_map(|(ticket, process)| Some((ticket, Activity::of(process).ok()?))).collect()
}
