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
use crate::run::deadline::watchdog::LiveTimer;
use crate::run::signal_words::SignalWords;
use crate::run::timer::interval_timer::IntervalTimer;

/// The timer of a guest.
#[derive(Debug, Default)]
pub(crate) enum RunTimer {
    /// There is none: an image is made, or the guest has no interpreter.
    #[default]
    Absent,
    /// On the time of the machine.
    Live(LiveTimer),
    /// On the clock of a reproducible run.
    Fueled(FueledTimer),
}

/// A timer on the clock of a reproducible run.
#[derive(Debug)]
pub(crate) struct FueledTimer {
    pub(crate) timer: IntervalTimer,
    /// The words by which the guest is told that it has run out.
    pub(crate) words: SignalWords,
    /// The watchdog, whose signals it does not need, but which looks at nothing while the guest is held.
    pub(crate) watch: LiveTimer,
}

impl RunTimer {
    /// Answers a request at `now` on the guest's clock. `None` without a timer.
    pub(crate) fn answer(&mut self, request: TimerRequest, now: Duration) -> Option<Vec<u8>> {
        match self {
            Self::Absent => None,
            Self::Live(timer) => timer.answer(request),
            Self::Fueled(timer) => Some(timer.timer.answer(request, now)),
        }
    }

    /// The watchdog of a guest that can be held. `None` without a timer.
    pub(crate) const fn watch(&self) -> Option<&LiveTimer> {
        match self {
            Self::Absent => None,
            Self::Live(watch) => Some(watch),
            Self::Fueled(fueled) => Some(&fueled.watch),
        }
    }

    /// Notes that the guest's program sees no signal from now on: its turn ends.
    pub(crate) fn note_rest(&self) {
        if let Self::Live(timer) = self {
            timer.note_rest();
        }
    }

    /// Lets the watchdog look at once, for a guest that may have been interrupted while it waited.
    pub(crate) fn note_wait(&self) {
        if let Self::Live(timer) = self {
            timer.look();
        }
    }
}
