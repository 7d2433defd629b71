//! The interruption of a cell: a signal that its program sees, and the final stop if that does not help.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::memory::ControlPages;
use crate::run::deadline::{Canceller, Stopped};
use crate::run::signal_words::SignalWords;
use wardian_formats::job::session::cell::INTERRUPT_GRACE;

/// Interrupts a guest with SIGINT, so that its state is kept.
///
/// A signal that the guest has not noticed yet is sent again with each look: in a rare race the guest's
/// own write to a word undoes the change, and a guest that was about to sleep slept on. One that was
/// noticed is sent again after [`AGAIN`], because Python drops an exception that is raised where none can
/// be: in `__del__`, for example.
pub(crate) struct SoftStop {
    pages: Arc<ControlPages>,
    words: SignalWords,
    begun: Option<Begun>,
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    reason: Stopped,
    at: Instant,
    sent: Instant,
}

/// The time after which a guest that goes on is interrupted once more, before its grace is over. Programs
/// clean up meanwhile.
const AGAIN: Duration = Duration::from_millis(700);

impl SoftStop {
    pub(crate) const fn new(pages: Arc<ControlPages>, words: SignalWords) -> Self {
        Self { pages, words, begun: None }
    }

    /// Sends the first signal, unless the guest was interrupted before.
    pub(crate) fn begin(&mut self, reason: Stopped, now: Instant, sleepers: &Canceller) {
        if self.begun.is_none() {
            self.begun = Some(Begun { reason, at: now, sent: now });
            self.send(sleepers);
        }
    }

    /// The reason why the guest was interrupted, if it was.
    pub(crate) fn reason(&self) -> Option<Stopped> {
        self.begun.map(|begun| begun.reason)
    }

    /// Sends the signal again if it is time for that. Returns the reason to stop the guest for good once
    /// its grace is over.
    pub(crate) fn look(&mut self, now: Instant, sleepers: &Canceller) -> Option<Stopped> {
        let begun = self.begun.as_mut()?;
        if now.saturating_duration_since(begun.at) >= INTERRUPT_GRACE {
            return Some(begun.reason);
        }
        // A guest that has changed where its interpreter is gets no signals.
        let is_waiting = self.pages.load_word(self.words.tripped).is_ok_and(|word| word != 0);
        let is_again = now.saturating_duration_since(begun.sent) >= AGAIN;
        if is_again {
            begun.sent = now;
        }
        if is_waiting || is_again {
            self.send(sleepers);
        }
        None
    }

    /// The time by which to look again, if that may be before the next beat.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.begun?.at.checked_add(INTERRUPT_GRACE)
    }

    fn send(&self, sleepers: &Canceller) {
        for (address, bits) in self.words.bits() {
            self.pages.set_bits(address, bits).ok();
        }
        sleepers.wake();
    }

    /// Lets the guest be interrupted anew: its turn has ended, and the next one begins.
    pub(crate) fn begin_anew(&mut self) {
        self.settle();
        self.begun = None;
    }

    /// Forgets a signal that came when the program had ended. The interpreter looks at the other two
    /// words in its next turn, and finds that none is waiting.
    pub(crate) fn settle(&self) {
        if self.begun.is_some() {
            self.pages.clear_bits(self.words.tripped, u32::MAX).ok();
        }
    }
}
