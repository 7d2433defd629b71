//! The deadline of a run, and its cancellation: the value that both ends share. [`watchdog`] stops the guest.

mod soft_stop;
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
    /// Its caller has interrupted it, and it did not end by itself.
    #[error("the run was interrupted")]
    Interrupted,
}

/// How a sleep has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// The whole time was slept.
    Through,
    /// A signal has ended it.
    ToSignal,
}

#[derive(Default)]
struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
struct SignalState {
    stopped: Option<Stopped>,
    /// How many signals the guest was sent.
    sent: u64,
}

/// The end of one run's time. Sleeps of the guest end at it, so that sleeping code stops as exactly
/// as computing code.
///
/// A cell has a grace after its deadline, to end by itself once it was interrupted.
#[derive(Clone)]
pub struct Deadline {
    /// The end of the time that the run has.
    due: Instant,
    /// The same, with the grace.
    end: Instant,
    signal: Arc<Signal>,
}

impl Deadline {
    /// A deadline at `end`.
    #[must_use]
    pub fn at(end: Instant) -> Self {
        Self { due: end, end, signal: Arc::default() }
    }

    /// A deadline `time` from now, at most a century.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
        let now = Instant::now();
        Self::at(now.checked_add(time.min(CENTURY)).unwrap_or(now))
    }

    /// The same deadline, after which the run still has this time to end by itself.
    #[must_use]
    pub(crate) fn with_grace(self, grace: Duration) -> Self {
        Self { end: self.due.checked_add(grace).unwrap_or(self.due), ..self }
    }

    /// The same deadline, with its grace, at another instant.
    #[must_use]
    pub(crate) fn moved_to(&self, due: Instant) -> Self {
        let grace = self.end.saturating_duration_since(self.due);
        let end = due.checked_add(grace).unwrap_or(due);
        Self { due, end, signal: Arc::clone(&self.signal) }
    }

    /// The instant of the deadline.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        self.due
    }

    /// Time left, with the grace; zero after that.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// The longest time to wait for something: to the deadline, and after it to the end of the grace.
    #[must_use]
    pub(crate) fn longest_wait(&self) -> Duration {
        let now = Instant::now();
        let until = if now < self.due { self.due } else { self.end };
        until.saturating_duration_since(now)
    }

    /// Checks that the run may continue.
    ///
    /// # Errors
    ///
    /// The reason why it must not.
    pub fn check(&self) -> Result<(), Stopped> {
        if let Some(stopped) = self.signal.state.lock().stopped {
            return Err(stopped);
        }
        if self.remaining().is_zero() { Err(Stopped::Deadline) } else { Ok(()) }
    }

    /// Sleeps for `time`, or until the guest is sent a signal or the run has to end, if that is sooner.
    ///
    /// # Errors
    ///
    /// The reason why the run must not continue.
    pub fn sleep(&self, time: Duration) -> Result<Slept, Stopped> {
        let now = Instant::now();
        let wake = now.checked_add(time).map_or(self.end, |wake| wake.min(self.end));
        let mut state = self.signal.state.lock();
        let before = state.sent;
        while state.stopped.is_none() && state.sent == before && Instant::now() < wake {
            if self.signal.changed.wait_until(&mut state, wake).timed_out() {
                break;
            }
        }
        if let Some(stopped) = state.stopped {
            return Err(stopped);
        }
        if Instant::now() >= self.end {
            return Err(Stopped::Deadline);
        }
        Ok(if state.sent == before { Slept::Through } else { Slept::ToSignal })
    }

    /// A handle to end the run before its deadline, and to wake it.
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
    /// Ends the run for this reason. Has no effect if it was cancelled before or has ended.
    pub(crate) fn cancel(&self, reason: Stopped) {
        self.signal.state.lock().stopped.get_or_insert(reason);
        self.signal.changed.notify_all();
    }

    /// Ends the sleep that the run is in, if it sleeps: it was sent a signal.
    pub(crate) fn wake(&self) {
        let mut state = self.signal.state.lock();
        state.sent = state.sent.wrapping_add(1);
        drop(state);
        self.signal.changed.notify_all();
    }

    /// True once the run was cancelled.
    #[must_use]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.signal.state.lock().stopped.is_some()
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
        assert_eq!(deadline.sleep(Duration::from_millis(2)), Ok(Slept::Through));
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
        canceller.cancel(Stopped::Cancelled);
        assert_eq!(sleeper.join().unwrap(), Err(Stopped::Cancelled));
        assert!(canceller.is_cancelled());
    }

    #[test]
    fn a_signal_ends_one_sleep_and_the_next_one_is_slept() {
        let deadline = Deadline::after(Duration::MAX);
        let canceller = deadline.canceller();
        let sleeping = deadline.clone();
        let sleeper = std::thread::spawn(move || sleeping.sleep(Duration::MAX));
        // A signal before the sleep does not end it.
        while !sleeper.is_finished() {
            canceller.wake();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        assert_eq!(sleeper.join().unwrap(), Ok(Slept::ToSignal));
        assert_eq!(deadline.sleep(Duration::from_millis(2)), Ok(Slept::Through));
        assert_eq!(deadline.check(), Ok(()));
    }

    #[test]
    fn a_grace_comes_after_the_deadline() {
        let now = Instant::now();
        let deadline = Deadline::at(now).with_grace(Duration::from_millis(50));
        assert_eq!((deadline.instant(), deadline.check()), (now, Ok(())));
        assert!(deadline.longest_wait() > Duration::ZERO);
        assert_eq!(deadline.sleep(Duration::from_secs(60)), Err(Stopped::Deadline));
        assert!(now.elapsed() >= Duration::from_millis(50));
        assert_eq!(deadline.longest_wait(), Duration::ZERO);
        let deadline = Deadline::after(Duration::from_secs(60)).with_grace(Duration::from_secs(9));
        let longest = deadline.longest_wait();
        assert!(longest <= Duration::from_secs(60), "no wait goes into the grace: {longest:?}");
    }
}
