//! The interruption of a cell: a signal that its program sees, and the final stop if that does not help.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::memory::ControlPages;
use crate::run::deadline::{Canceller, Stopped};
use crate::run::signal_words::SignalWords;
use wardian_formats::job::session::cell::INTERRUPT_GRACE;

/// Interrupts a guest with SIGINT, so that its state is kept.
///
/// The guest can miss that there is a signal: in a rare race its own write to a word undoes the change, or it was
/// about to sleep. So each look tells it again to look for signals. A look does not send the signal again: the
/// guest may be taking it at this moment, and would be interrupted twice. A signal that was taken is sent again
/// after [`AGAIN`], because Python drops an exception that is raised where none can be: in `__del__`, for example.
pub(crate) struct SoftStop {
    pages: Arc<ControlPages>,
    words: SignalWords,
    begun: Option<Begun>,
    /// True if the guest had noticed its signal when its program came to rest.
    was_noticed: bool,
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
        Self { pages, words, begun: None, was_noticed: false }
    }

    /// Sends the first signal, unless the guest was interrupted before.
    pub(crate) fn begin(&mut self, reason: Stopped, now: Instant, sleepers: &Canceller) {
        if self.begun.is_none() {
            self.begun = Some(Begun { reason, at: now, sent: now });
            self.send(self.words.signal(), sleepers);
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
        let is_waiting = is_set(&self.pages, self.words.tripped);
        let is_again = now.saturating_duration_since(begun.sent) >= AGAIN;
        if is_again {
            begun.sent = now;
            self.send(self.words.signal(), sleepers);
        } else if is_waiting {
            self.send(self.words.notice(), sleepers);
        }
        None
    }

    /// True if the guest was interrupted, and its interpreter has seen that.
    pub(crate) fn is_noticed(&self) -> bool {
        self.begun.is_some() && !is_set(&self.pages, self.words.tripped)
    }

    /// Notes whether the program has noticed its signal: from now on its interpreter alone would.
    pub(crate) fn note_rest(&mut self) {
        self.was_noticed = self.is_noticed();
    }

    /// What was noted last, in this turn.
    pub(crate) const fn was_noticed(&self) -> bool {
        self.was_noticed
    }

    /// The time by which to look again, if that may be before the next beat.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.begun?.at.checked_add(INTERRUPT_GRACE)
    }

    fn send<const N: usize>(&self, words: [(u32, u32); N], sleepers: &Canceller) {
        for (address, bits) in words {
            self.pages.set_bits(address, bits).ok();
        }
        sleepers.wake();
    }

    /// Lets the guest be interrupted anew: its turn has ended, and the next one begins.
    pub(crate) fn begin_anew(&mut self) {
        self.settle();
        self.begun = None;
        self.was_noticed = false;
    }

    /// Forgets a signal that came when the program had ended. The interpreter looks at the other two
    /// words in its next turn, and finds that none is waiting.
    pub(crate) fn settle(&self) {
        if self.begun.is_some() {
            self.pages.clear_bits(self.words.tripped, u32::MAX).ok();
        }
    }
}

fn is_set(pages: &ControlPages, word: u32) -> bool {
    pages.load_word(word).is_ok_and(|word| word != 0)
}
