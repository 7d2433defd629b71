//! The allowance of one request to a codec: memory, fuel and time.

use std::cell::Cell;
use std::fmt;
use std::panic::resume_unwind;
use std::time::Duration;

use crate::codecs::error::CodecError;
use crate::run::deadline::{Deadline, Stopped};
use wardian_vocabulary::heap;

/// The limits of one request.
///
/// A codec requests resources before it uses them: bytes with [`take`](Self::take), work with
/// [`spend`](Self::spend). The readers, writers and loops around the crates call
/// [`beat`](Self::beat) every few milliseconds. Before a crate computes for longer without reading
/// or writing, the codec calls [`reserve`](Self::reserve).
pub struct Allowance<'run> {
    room: usize,
    left: Cell<usize>,
    fuel: Option<Cell<u64>>,
    deadline: Option<&'run Deadline>,
    held_before: isize,
}

/// Bytes that a codec may hold beyond the requested ones, for buffers of a fixed size.
const SLACK: usize = 1 << 20;

/// The time by which uninterruptible work may exceed the deadline. The gateway kills a worker whose
/// run is a second late; this leaves half of that second for slow machines.
const LATE: Duration = Duration::from_millis(500);

/// The end of a request in the middle of a crate's code: unwinds to
/// [`answer`](crate::codecs::answer).
pub(super) struct Interrupted(pub(super) CodecError);

impl<'run> Allowance<'run> {
    /// An allowance of `room` bytes of memory, without a deadline.
    #[must_use]
    pub fn new(room: usize) -> Self {
        let left = Cell::new(room);
        Self { room, left, fuel: None, deadline: None, held_before: heap::held() }
    }

    /// Sets the deadline.
    #[must_use]
    pub const fn until(self, deadline: &'run Deadline) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Sets the fuel, if the run is metered.
    #[must_use]
    pub(crate) fn fuelled(self, fuel: Option<u64>) -> Self {
        Self { fuel: fuel.map(Cell::new), ..self }
    }

    /// The fuel that is left, if the run is metered.
    #[must_use]
    pub(crate) fn fuel_left(&self) -> Option<u64> {
        self.fuel.as_ref().map(Cell::get)
    }

    /// Grants `bytes`, before they are allocated.
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    pub(super) fn take(&self, bytes: usize) -> Result<(), CodecError> {
        let left = self.left.get().checked_sub(bytes).ok_or(CodecError::Memory)?;
        self.left.set(left);
        Ok(())
    }

    /// Bytes that are left.
    pub(super) const fn left(&self) -> usize {
        self.left.get()
    }

    /// Pays for `units` of work at `price`, before it is done. The same request costs the same in
    /// every run: the price never depends on time.
    ///
    /// # Errors
    ///
    /// The run's fuel does not suffice. The rest of it is used up.
    pub(super) fn spend(&self, units: usize, price: u64) -> Result<(), CodecError> {
        let Some(fuel) = &self.fuel else {
            return Ok(());
        };
        let cost = u64::try_from(units).unwrap_or(u64::MAX).saturating_mul(price);
        let left = fuel.get().checked_sub(cost);
        fuel.set(left.unwrap_or(0));
        left.map(drop).ok_or(CodecError::Fuel)
    }

    /// Ensures that there is time for an uninterruptible step, which takes `nanoseconds` for each
    /// of `units`.
    ///
    /// # Errors
    ///
    /// The step would end long after the deadline, so the run ends now.
    pub(super) fn reserve(&self, units: usize, nanoseconds: u64) -> Result<(), CodecError> {
        let Some(deadline) = self.deadline else {
            return Ok(());
        };
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let step = Duration::from_nanos(units.saturating_mul(nanoseconds));
        if step > deadline.remaining().saturating_add(LATE) {
            return Err(Stopped::Deadline.into());
        }
        Ok(())
    }

    /// Checks that the request may continue.
    ///
    /// # Errors
    ///
    /// The run has to end, or the codec holds more memory than the run has left.
    pub(super) fn check(&self) -> Result<(), CodecError> {
        if let Some(deadline) = self.deadline {
            deadline.check()?;
        }
        let held = heap::held().wrapping_sub(self.held_before);
        let most = self.room.saturating_add(SLACK);
        if usize::try_from(held).unwrap_or(0) > most { Err(CodecError::Memory) } else { Ok(()) }
    }

    /// Ends the request here if it must not continue. A crate can be stopped otherwise only by an
    /// error of its reader, which it may ignore; unwinding stops every crate at once. None of them
    /// has `unsafe` code whose state unwinding could break.
    pub(super) fn beat(&self) {
        if let Err(error) = self.check() {
            resume_unwind(Box::new(Interrupted(error)));
        }
    }
}

impl fmt::Debug for Allowance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowance").field("room", &self.room).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn room_and_fuel_are_given_once() {
        let allowance = Allowance::new(10).fuelled(Some(7));
        assert!(allowance.take(10).is_ok() && allowance.take(1).is_err());
        assert!(allowance.spend(3, 2).is_ok());
        assert_eq!(allowance.fuel_left(), Some(1));
        assert!(matches!(allowance.spend(usize::MAX, u64::MAX), Err(CodecError::Fuel)));
        assert_eq!(allowance.fuel_left(), Some(0));
        assert!(Allowance::new(0).spend(usize::MAX, u64::MAX).is_ok(), "not metered");
    }

    #[test]
    fn more_than_the_room_is_noticed() {
        let allowance = Allowance::new(SLACK);
        let one = vec![1_u8; SLACK];
        assert!(allowance.check().is_ok());
        let two = vec![1_u8; SLACK + 1];
        assert!(matches!(allowance.check(), Err(CodecError::Memory)));
        drop((one, two));
        assert!(allowance.check().is_ok());
    }

    #[test]
    fn a_deadline_is_noticed() {
        let deadline = Deadline::after(Duration::ZERO);
        let allowance = Allowance::new(0).until(&deadline);
        assert!(matches!(allowance.check(), Err(CodecError::Stopped(_))));
        assert!(allowance.reserve(400, 1_000_000).is_ok());
        assert!(matches!(allowance.reserve(600, 1_000_000), Err(CodecError::Stopped(_))));
        assert!(Allowance::new(0).reserve(usize::MAX, u64::MAX).is_ok(), "no deadline");
    }
}
