//! The deadline of a run, and its cancellation: the value that both ends share. [`watchdog`] stops the guest.

pub(crate) mod watchdog;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The reason why a run must not continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Its time is over.
    #[error("the run has reached its deadline")]
    Deadline,
    /// It was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
}

#[derive(Default)]
struct Signal {
    cancelled: Mutex<bool>,
    changed: Condvar,
}

/// The end of one run's time. Sleeps of the guest end at it, so that sleeping code stops as exactly
/// as computing code.
#[derive(Clone)]
pub struct Deadline {
    end: Instant,
    signal: Arc<Signal>,
}

impl Deadline {
    /// A deadline at `end`.
    #[must_use]
    pub fn at(end: Instant) -> Self {
        Self { end, signal: Arc::default() }
    }

    /// A deadline `time` from now, at most a century.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        let now = Instant::now();
        Self::at(now.checked_add(time.min(CENTURY)).unwrap_or(now))
    }

    /// The instant of the deadline.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        self.end
    }

    /// Time left; zero after the deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Checks that the run may continue.
    ///
    /// # Errors
    ///
    /// The reason why it must not.
    pub fn check(&self) -> Result<(), Stopped> {
        if *self.signal.cancelled.lock() {
            return Err(Stopped::Cancelled);
        }
        if self.remaining().is_zero() { Err(Stopped::Deadline) } else { Ok(()) }
    }

    /// Sleeps for `time`, or until the run has to end if that is sooner.
    ///
    /// # Errors
    ///
    /// The reason why the run must not continue.
    pub fn sleep(&self, time: Duration) -> Result<(), Stopped> {
        let now = Instant::now();
        let wake = now.checked_add(time).map_or(self.end, |wake| wake.min(self.end));
        let mut cancelled = self.signal.cancelled.lock();
        while !*cancelled && Instant::now() < wake {
            if self.signal.changed.wait_until(&mut cancelled, wake).timed_out() {
                break;
            }
        }
        if *cancelled {
            return Err(Stopped::Cancelled);
        }
        if Instant::now() < self.end { Ok(()) } else { Err(Stopped::Deadline) }
    }

    /// A handle to end the run before its deadline.
    #[must_use]
    pub(crate) fn canceller(&self) -> Canceller {
        Canceller { signal: Arc::clone(&self.signal) }
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("end", &self.end).finish_non_exhaustive()
    }
}

/// Ends a run from another thread. It wakes a sleeping guest; a computing guest is stopped by its
/// poll page.
#[derive(Clone)]
pub(crate) struct Canceller {
    signal: Arc<Signal>,
}

impl Canceller {
    /// Ends the run. Has no effect if it was cancelled before or has ended.
    pub(crate) fn cancel(&self) {
        *self.signal.cancelled.lock() = true;
        self.signal.changed.notify_all();
    }

    /// True once the run was cancelled.
    #[must_use]
    pub(crate) fn is_cancelled(&self) -> bool {
        *self.signal.cancelled.lock()
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("cancelled", &self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_sleep_ends_by_itself() {
        let deadline = Deadline::after(Duration::from_secs(60));
        let start = Instant::now();
        assert_eq!(deadline.sleep(Duration::from_millis(2)), Ok(()));
        assert!(start.elapsed() >= Duration::from_millis(2));
        assert_eq!(deadline.check(), Ok(()));
    }

    #[test]
    fn a_long_sleep_ends_at_the_deadline() {
        let deadline = Deadline::after(Duration::from_millis(5));
        for time in [Duration::from_secs(3600), Duration::MAX] {
            assert_eq!(deadline.sleep(time), Err(Stopped::Deadline));
        }
        assert_eq!(deadline.check(), Err(Stopped::Deadline));
        assert_eq!(deadline.remaining(), Duration::ZERO);
    }

    #[test]
    fn cancelling_wakes_a_sleeper() {
        let deadline = Deadline::after(Duration::MAX);
        let canceller = deadline.canceller();
        let sleeper = std::thread::spawn(move || deadline.sleep(Duration::MAX));
        canceller.cancel();
        assert_eq!(sleeper.join().unwrap(), Err(Stopped::Cancelled));
        assert!(canceller.is_cancelled());
    }
}
