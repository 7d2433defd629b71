//! The report of a pool, for health checks and metrics.

use std::sync::Arc;

use crate::isolation::WorkerOwner;
use crate::worker::id::WorkerId;
use wardian_formats::job::message::WorkerReport;

/// The state of a pool at one moment.
#[derive(Debug, Clone)]
pub struct PoolReport {
    /// Workers that are ready, by number.
    pub workers: Vec<WorkerStatus>,
    /// Runs in progress.
    pub running: usize,
    /// Runs that wait for a worker.
    pub queued: usize,
    /// Guests that workers keep, in a turn or between two. The first turn of a guest is a run.
    pub guests: usize,
    /// Counts of the events since the start.
    pub counters: Counters,
}

/// One worker at one moment.
#[derive(Debug, Clone)]
pub struct WorkerStatus {
    /// Its number.
    pub id: WorkerId,
    /// Its process.
    pub process: u32,
    /// True if it was forked from a template.
    #[cfg(test)]
    pub(crate) is_forked: bool,
    /// True between two runs.
    pub is_resting: bool,
    /// Guests that it keeps, in a turn or between two.
    pub guests: usize,
    /// Runs and turns that it was given.
    pub runs: u64,
    /// The owner of these runs; none before the first one.
    pub owner: Option<WorkerOwner>,
    /// Its report when it became ready.
    pub report: Arc<WorkerReport>,
}

/// Counts of the events since the start of a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Workers that became ready.
    pub started: u64,
    /// Processes that ended, for any reason.
    pub ended: u64,
    /// Processes that ended before they were ready, or repeatedly soon after.
    pub failed_starts: u64,
    /// Runs that a worker brought to an end, whether they completed or failed.
    pub finished: u64,
    /// Runs whose worker was killed because it did not stop in time.
    pub overdue: u64,
    /// Runs whose worker was lost: a fault of the machine, or of the sandbox.
    pub crashed: u64,
    /// Runs that ended as `SandboxCrash` without that: their program broke its own interpreter.
    pub broke_interpreter: u64,
    /// Runs whose worker was ended because memory was short: its own, or that of the machine.
    pub out_of_memory: u64,
    /// Workers that broke a rule of their socket.
    pub violations: u64,
    /// Runs that were given to another worker, because the first one broke before they had begun.
    pub repeated: u64,
    /// Idle workers that were given up, because their owner was another than that of the runs to
    /// come.
    pub given_up: u64,
    /// Guests that were given up between two turns: for others, for the memory that runs needed, because
    /// their worker was replaced or held a cell of another one, or to go on in another worker.
    pub guests_given_up: u64,
    /// Runs that waited for the start of a worker, because all idle ones belonged to others.
    pub awaited: u64,
    /// Runs that were refused because too many were waiting, or that waited too long.
    pub overloaded: u64,
    /// Runs that were refused because their tenant had reached one of its limits.
    pub limited: u64,
}
