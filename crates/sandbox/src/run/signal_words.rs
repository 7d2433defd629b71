//! The words of a guest's interpreter that tell it of a signal.

use wardian_engine::SignalPlaces;

/// The number of the signal that interrupts a cell.
pub(crate) const SIGINT: u8 = 2;

/// The number of the signal that a timer sends.
pub(crate) const SIGALRM: u8 = 14;

/// Words that tell the interpreter of a signal, as its own signal handler sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignalWords {
    /// Is 1 until the handler of this signal is called.
    pub(crate) tripped: u32,
    /// Is 1 if there is any such signal.
    any_tripped: u32,
    /// The bits for which the thread interrupts itself at its next jump back, call or return.
    breaker: u32,
    /// The bit of `breaker` that stands for signals.
    breaker_bit: u32,
}

impl SignalWords {
    /// The words of the signal with this number, at most 64, in a guest's `memory`. `None` if there is no
    /// interpreter at these places.
    ///
    /// The guest may have changed what is there. Then these are other words of its memory.
    pub(crate) fn find(places: &SignalPlaces, memory: &[u8], signal: u8) -> Option<Self> {
        let from = usize::try_from(places.main_thread).ok()?;
        let thread = memory.get(from..)?.first_chunk::<4>()?;
        let thread = u32::from_le_bytes(*thread);
        if thread == 0 {
            return None;
        }
        let handler = u32::from(signal.min(64)).checked_mul(places.handler_size)?;
        Some(Self {
            tripped: places.handlers.checked_add(handler)?,
            any_tripped: places.any_tripped,
            breaker: thread.checked_add(places.breaker_offset)?,
            breaker_bit: places.breaker_bit,
        })
    }

    /// The words of the signal, each with the bits to set, in the order of the interpreter's own signal handler.
    pub(crate) const fn signal(self) -> [(u32, u32); 3] {
        let [any, breaker] = self.notice();
        [(self.tripped, 1), any, breaker]
    }

    /// Those of them that make the interpreter look for signals. It finds none if none is waiting.
    pub(crate) const fn notice(self) -> [(u32, u32); 2] {
        [(self.any_tripped, 1), (self.breaker, self.breaker_bit)]
    }
}

/// Places in a memory of 64 KiB, whose thread is at 64 if 128 says so.
#[cfg(test)]
pub(crate) const TEST_PLACES: SignalPlaces = SignalPlaces {
    handlers: 256,
    handler_size: 8,
    any_tripped: 1_024,
    main_thread: 128,
    breaker_offset: 12,
    breaker_bit: 2,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_where_the_thread_is() {
        let mut memory = vec![0; 4_096];
        assert_eq!(SignalWords::find(&TEST_PLACES, &memory, SIGINT), None, "there is no thread");
        memory[128] = 64;
        let words = SignalWords::find(&TEST_PLACES, &memory, SIGALRM).unwrap();
        assert_eq!(words.signal(), [(256 + 14 * 8, 1), (1_024, 1), (64 + 12, 2)]);
        assert_eq!(SignalWords::find(&TEST_PLACES, &memory[..130], SIGINT), None);
        memory[128..132].fill(0xff);
        assert_eq!(SignalWords::find(&TEST_PLACES, &memory, SIGINT), None, "beyond all addresses");
    }
}
