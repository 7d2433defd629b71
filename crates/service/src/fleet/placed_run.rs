//! A run that came out of the queue, from its claim to its end.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::fleet::member::{Fleet, RunName};
use wardian_stores::records::RunHolder;

/// A run that this server has claimed. When it is dropped it leaves the server's account of the queue.
pub(crate) struct PlacedRun {
    fleet: Arc<Fleet>,
    name: RunName,
    /// This server, in the epoch of the claim.
    holder: RunHolder,
    /// What came of its begin, once it has asked for it.
    begin: OnceLock<watch::Receiver<Option<bool>>>,
    is_given_back: AtomicBool,
}

impl PlacedRun {
    /// A run that was claimed in this epoch.
    pub(super) fn new(fleet: Arc<Fleet>, name: RunName, epoch: u64) -> Self {
        let holder = RunHolder { epoch, ..fleet.table.holder() };
        let (begin, is_given_back) = (OnceLock::new(), AtomicBool::new(false));
        Self { fleet, name, holder, begin, is_given_back }
    }

    /// Who has the run.
    pub(crate) const fn holder(&self) -> &RunHolder {
        &self.holder
    }

    /// Begins the run, which has a worker: true if it is this server's to execute. A worker that breaks before it got
    /// the run does not change that it has begun.
    ///
    /// Cancellation: [`Self::has_begun`] tells what comes of it.
    pub(crate) async fn begin(&self) -> bool {
        let answer = self.begin.get_or_init(|| self.fleet.begin(&self.name));
        answered(answer.clone()).await
    }

    /// True if the database has noted that this server executes the run. Waits for the answer, if the run has asked
    /// to begin.
    pub(crate) async fn has_begun(&self) -> bool {
        match self.begin.get() {
            Some(answer) => answered(answer.clone()).await,
            None => false,
        }
    }

    /// Gives the run back, which has not begun.
    pub(crate) fn give_back(&self, is_impossible_here: bool) {
        self.is_given_back.store(true, Ordering::Release);
        self.fleet.give_back(&self.name, is_impossible_here);
    }
}

/// Waits for the answer to a run that has asked to begin.
async fn answered(mut answer: watch::Receiver<Option<bool>>) -> bool {
    let answer = answer.wait_for(Option::is_some).await;
    answer.ok().and_then(|answer| *answer).unwrap_or(false)
}

impl Drop for PlacedRun {
    fn drop(&mut self) {
        if !*self.is_given_back.get_mut() {
            self.fleet.ended(&self.name);
        }
    }
}

impl fmt::Debug for PlacedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlacedRun").field("name", &self.name).finish_non_exhaustive()
    }
}
