//! The timer of a run, which sends SIGALRM as `setitimer` of an operating system does.
//!
//! The signal reaches a guest that computes: the host sets the words of the interpreter that its own
//! signal handler would set, and the interpreter calls the program's handler at its next jump back,
//! call or return. Natively it does the same. A guest that waits in a host call looks by itself.
//!
//! The time of a live run is that of the machine, and the [watchdog] sets the words. The time of a
//! reproducible run is its fuel, and its own thread sets them at a place that depends on the executed
//! instructions alone.
//!
//! [watchdog]: crate::run::deadline::watchdog

use std::time::Duration;

use crate::host_call::request::TimerRequest;
use crate::profile::SignalWords;
use crate::run::deadline::watchdog::LiveTimer;
use crate::run::timer::interval_timer::IntervalTimer;

/// The number of the signal.
const SIGALRM: u8 = 14;

/// The timer of a guest.
#[derive(Debug, Default)]
pub(crate) enum RunTimer {
    /// There is none: an image is made.
    #[default]
    Absent,
    /// On the time of the machine.
    Live(LiveTimer),
    /// On the clock of a reproducible run.
    Fueled(FueledTimer),
}

/// A timer on the clock of a reproducible run.
#[derive(Debug, Default)]
pub(crate) struct FueledTimer {
    pub(crate) timer: IntervalTimer,
    pub(crate) words: Option<SignalWords>,
}

/// The part of the memory in which the interpreter's state is looked for. It is in the module's data,
/// which ends before.
const SEARCHED: usize = 64 << 20;

impl RunTimer {
    /// Answers a request at `now` on the guest's clock. `None` without a timer.
    ///
    /// The first request that sets the timer searches `memory` for the interpreter. If it is not found,
    /// the guest has no timer from then on.
    pub(crate) fn answer(
        &mut self,
        request: TimerRequest,
        now: Duration,
        memory: &[u8],
    ) -> Option<Vec<u8>> {
        if matches!(request, TimerRequest::Set { .. }) && self.needs_words() {
            match SignalWords::find(memory.get(..SEARCHED).unwrap_or(memory), SIGALRM) {
                Some(words) => self.set_words(words),
                None => *self = Self::Absent,
            }
        }
        match self {
            Self::Absent => None,
            Self::Live(timer) => timer.answer(request),
            Self::Fueled(timer) => Some(timer.timer.answer(request, now)),
        }
    }

    const fn needs_words(&self) -> bool {
        match self {
            Self::Absent => false,
            Self::Live(timer) => timer.needs_words(),
            Self::Fueled(timer) => timer.words.is_none(),
        }
    }

    fn set_words(&mut self, words: SignalWords) {
        match self {
            Self::Absent => {}
            Self::Live(timer) => timer.set_words(words),
            Self::Fueled(timer) => timer.words = Some(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_without_an_interpreter_has_no_timer() {
        let mut timer = RunTimer::Fueled(FueledTimer::default());
        let (now, memory) = (Duration::ZERO, vec![0; 1 << 16]);
        assert!(timer.answer(TimerRequest::Get, now, &memory).is_some());
        let first = Duration::from_secs(1);
        let set = TimerRequest::Set { first, interval: Duration::ZERO };
        assert_eq!(timer.answer(set, now, &memory), None);
        assert_eq!(timer.answer(TimerRequest::Get, now, &memory), None, "it was given up");
    }
}
