//! The parts of a pool's state that others wait for.

use std::sync::Arc;

use crate::scheduler::assignment::Phase;
use crate::worker::start_failure::StartFailure;

/// The part of the state that decides about processes. It changes rarely, so that runs that come
/// and go wake no supervisor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PoolDemand {
    pub phase: Phase,
    /// True if a worker is wanted that nobody starts yet.
    pub(crate) has_vacancy: bool,
    /// True if it matters which runs wait.
    pub(crate) needs_watch: bool,
}

/// The part of the state that others can wait for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PoolStatus {
    pub phase: Phase,
    /// Workers that are ready, idle or busy. Those that keep a guest are left out, as far as they are
    /// replaced.
    pub alive: usize,
    /// Runs in progress and runs that wait.
    pub(crate) engaged: usize,
    /// Guests so far that workers keep no more.
    pub(crate) gone_guests: u64,
    /// The reason why the last worker did not start; none once a worker has started.
    pub failure: Option<Arc<StartFailure>>,
}

impl PoolStatus {
    /// Becomes another one. Returns false if it is the same.
    pub(crate) fn become_this(&mut self, now: Self) -> bool {
        let numbers = |one: &Self| (one.phase, one.alive, one.engaged, one.gone_guests);
        let failure = |one: &Self| one.failure.as_ref().map(Arc::as_ptr);
        let changes = numbers(self) != numbers(&now) || failure(self) != failure(&now);
        if changes {
            *self = now;
        }
        changes
    }
}
