//! The right to use a worker for one run, given back when it is dropped.
//!
//! INVARIANT(nothing-leaks): a [`Lease`] that is dropped, wherever its run stands, gives its place
//! back; its worker rests, or is wound down, or if it is beyond use is killed.

use std::sync::Arc;

use crate::dispatch::roster::Roster;
use crate::dispatch::worker::{Worker, WorkerId};

/// The right to use a worker for one run.
#[derive(Debug)]
pub(super) struct Lease {
    worker: Option<Worker>,
    roster: Arc<Roster>,
    condition: Condition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// Between two runs.
    Rested,
    /// Within a run.
    Busy,
    /// Beyond use.
    Broken,
}

impl Lease {
    pub(super) fn new(worker: Worker, roster: Arc<Roster>) -> Self {
        Self { worker: Some(worker), roster, condition: Condition::Rested }
    }

    /// The worker, from now on within a run. `None` if it has broken while it rested; the lease
    /// is of no use then.
    pub(super) fn begin(&mut self) -> Option<&mut Worker> {
        let worker = self.worker.as_mut()?;
        if worker.channel.is_quiet() {
            self.condition = Condition::Busy;
            Some(worker)
        } else {
            self.condition = Condition::Broken;
            None
        }
    }

    /// Ends the run: the worker can have another one.
    pub(super) fn end(mut self) {
        self.condition = Condition::Rested;
    }

    /// Ends the run: the worker must not have another one.
    pub(super) fn discard(mut self) {
        self.condition = Condition::Broken;
    }

    /// The worker's number; 0 if there is none any more.
    pub(super) fn worker_id(&self) -> WorkerId {
        self.worker.as_ref().map_or(WorkerId(0), |worker| worker.id)
    }

    /// The worker, without the effects of a drop.
    pub(super) fn dismantle(mut self) -> Option<Worker> {
        self.worker.take()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        match self.condition {
            Condition::Rested => {
                self.roster.rest(worker);
                self.roster.settle();
            }
            Condition::Busy => self.roster.wind_down(worker),
            Condition::Broken => {
                drop(worker);
                self.roster.vacate();
            }
        }
    }
}
