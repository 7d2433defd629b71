//! Finds out which runs wait while others want their place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::scheduler::assignment::Phase;
use crate::scheduler::claim::Ticket;
use crate::scheduler::shared::Scheduler;
use crate::worker::activity::Activity;

/// How often the runs in progress are looked at.
const PERIOD: Duration = Duration::from_millis(50);

/// The activity of the workers of runs, by run, and when it was read.
struct Look {
    at: Instant,
    runs: BTreeMap<Ticket, Activity>,
    /// Workers of which the system shows nothing.
    hidden: usize,
}

/// Looks at the runs in progress, as long as that can make room for others, until the pool closes.
pub(crate) async fn watch_runs(scheduler: Arc<Scheduler>) {
    let mut demand = scheduler.demand();
    let mut has_warned = false;
    loop {
        let woken = demand.wait_for(|now| now.needs_watch || now.phase == Phase::Closed);
        if woken.await.is_ok_and(|now| now.phase == Phase::Closed) {
            return;
        }
        let mut before: Option<Look> = None;
        while scheduler.needs_watch() {
            sleep(PERIOD).await;
            let busy = scheduler.busy();
            let Ok(now) = spawn_blocking(move || look(busy)).await else { return };
            if now.runs.is_empty() && now.hidden > 0 && !std::mem::replace(&mut has_warned, true) {
                warn!(
                    "the system hides what workers do (`hidepid` of /proc), so waiting runs make \
                    no room for others"
                );
            }
            scheduler
                .note_waiting(before.map_or_else(BTreeSet::new, |before| waiting(&before, &now)));
            before = Some(now);
        }
        scheduler.note_waiting(BTreeSet::new());
    }
}

/// The runs that waited between two looks.
fn waiting(before: &Look, now: &Look) -> BTreeSet<Ticket> {
    let time = now.at.saturating_duration_since(before.at);
    let has_waited = |ticket: &Ticket, now: &Activity| {
        before.runs.get(ticket).is_some_and(|before| now.has_waited_since(before, time))
    };
    let runs = now.runs.iter().filter(|(ticket, now)| has_waited(ticket, now));
    runs.map(|(ticket, _)| *ticket).collect()
}

/// Reads the activity of each process.
fn look(busy: Vec<(Ticket, u32)>) -> Look {
    let (at, count) = (Instant::now(), busy.len());
    // A process that has just ended does not wait.
    let read =
        busy.into_iter().filter_map(|(run, process)| Some((run, Activity::of(process).ok()?)));
    let runs: BTreeMap<_, _> = read.collect();
    Look { at, hidden: count.saturating_sub(runs.len()), runs }
}
