//! The time that a turn takes.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Measures a turn from its order on: wall-clock time, and the processor time of this thread. No
/// other thread works for a turn: the watchdog sleeps nearly all of the time.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    started: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts now, on the thread of the guest.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), cpu: thread_time() }
    }

    /// When it was started.
    #[must_use]
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// The time since then.
    #[must_use]
    pub fn wall_time(&self) -> Duration {
        self.started.elapsed()
    }

    /// Leaves out this time, which the caller took.
    pub(crate) fn leave_out(&mut self, time: Duration) {
        self.started = self.started.checked_add(time).unwrap_or(self.started);
    }

    /// The processor time of this thread since then.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        thread_time().saturating_sub(self.cpu)
    }
}

fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
