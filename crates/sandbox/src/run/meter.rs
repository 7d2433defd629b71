//! The fuel of a run: the counter of metered code, seen from the host.
//!
//! The guest's [metered code](wardian_engine::code::metering::transform) keeps the counter in its
//! [control pages](crate::memory::ControlPages). It calls the host before a call that may
//! lead back once the counter is below the *mark*.
//!
//! INVARIANT(fuel-decides): a run completes if and only if its fuel suffices. A counter below zero
//! at the end of a run counts as used-up fuel, wherever the run has ended, unless it was stopped
//! because of its time. With a counter below zero the guest's calls of the host have no effect.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wasmtime::{AsContextMut, Caller, Global, Instance, Trap, Val};

use crate::memory::ControlPages;
use wardian_engine::code::metering::transform::{MARK_EXPORT, MOST_ADVANCE, MOST_FUEL};
use wardian_vocabulary::units::Fuel;

/// The counter of one guest.
#[derive(Debug, Clone)]
pub struct FuelMeter {
    pages: Arc<ControlPages>,
    mark: Global,
    budget: u64,
}

impl FuelMeter {
    /// Sets the counter of `instance`, which is in `pages`, to `budget`. Returns `None` for code
    /// that does not count.
    pub(crate) fn start(
        mut store: impl AsContextMut,
        instance: &Instance,
        pages: &Arc<ControlPages>,
        budget: Fuel,
    ) -> wasmtime::Result<Option<Self>> {
        let Some(mark) = instance.get_global(&mut store, MARK_EXPORT) else { return Ok(None) };
        let Fuel(budget) = Self::bounded(budget);
        let meter = Self { pages: Arc::clone(pages), mark, budget };
        meter.set(budget)?;
        Ok(Some(meter))
    }

    /// A budget that the counter can hold.
    pub fn bounded(Fuel(budget): Fuel) -> Fuel {
        Fuel(budget.min(MOST_FUEL))
    }

    /// The fuel that is left.
    pub fn left(&self) -> u64 {
        u64::try_from(self.pages.counter()).unwrap_or(0)
    }

    /// The fuel that is used.
    pub fn used(&self) -> Fuel {
        Fuel(self.budget.saturating_sub(self.left()))
    }

    /// True if more was used than there was.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.pages.counter() < 0
    }

    /// True if more was used than there was, even if the guest is in the middle of a function that
    /// may give back what it has paid in advance.
    pub(crate) fn is_surely_exceeded(&self) -> bool {
        is_surely_exceeded(&self.pages)
    }

    /// Ends a guest that calls the host although more was used than there was.
    pub(crate) fn check(&self) -> wasmtime::Result<()> {
        if self.is_exceeded() { Err(Trap::OutOfFuel.into()) } else { Ok(()) }
    }

    /// Lets the guest call the host once it has less fuel than this.
    pub(crate) fn set_mark(&self, store: impl AsContextMut, mark: u64) -> wasmtime::Result<()> {
        self.mark.set(store, Val::I64(signed(mark)))
    }

    /// Begins anew with another budget.
    pub(crate) fn restart(&mut self, budget: Fuel) -> wasmtime::Result<()> {
        let Fuel(budget) = Self::bounded(budget);
        self.set(budget)?;
        self.budget = budget;
        Ok(())
    }

    /// Sets the fuel that is left.
    pub(crate) fn set(&self, left: u64) -> wasmtime::Result<()> {
        self.pages.set_counter(signed(left.min(MOST_FUEL))).map_err(wasmtime::Error::new)
    }
}

/// As [`FuelMeter::is_surely_exceeded`], of the counter in these pages.
pub(crate) fn is_surely_exceeded(pages: &ControlPages) -> bool {
    pages.counter().saturating_add_unsigned(MOST_ADVANCE) < 0
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The times at which somebody has to look at a counter, to notice soon that it is used up.
#[derive(Debug)]
pub(crate) struct CounterWatch {
    meter: FuelMeter,
    left: u64,
    pause: Duration,
}

impl CounterWatch {
    /// The shortest time between two looks.
    const SOON: Duration = Duration::from_millis(2);
    /// Units of fuel that code hardly ever uses in a nanosecond.
    const FASTEST: u64 = 16;

    /// A watch for the counter of `meter`.
    pub(crate) fn new(meter: FuelMeter) -> Self {
        let left = meter.left();
        Self { meter, left, pause: Self::SOON }
    }

    /// The time until the next look.
    ///
    /// A guest that uses nothing, because it waits for the host, is looked at less and less often.
    pub(crate) fn next(&mut self) -> Duration {
        let left = self.meter.left();
        self.pause = if left == self.left { self.pause.saturating_mul(2) } else { Self::SOON };
        self.left = left;
        self.pause.max(Duration::from_nanos(left / Self::FASTEST))
    }

    /// True if the guest has to be stopped. Reads the counter twice, because it changes meanwhile.
    pub(crate) fn is_used_up(&self) -> bool {
        self.meter.is_surely_exceeded() && self.meter.is_surely_exceeded()
    }
}

/// Looks at a guest in intervals of its fuel.
///
/// The listener is called in the guest's thread, with the guest as it is in the middle of its
/// execution: its memory can be read through [`Caller`]. After the guest has used another `every`
/// units, it is called before the first indirect or recursive call of the next function that makes
/// one.
/// So the places depend on the executed instructions alone and are the same in every repetition.
/// The second argument is the number of intervals that have ended since the last call, at least
/// one; it is more if a stretch without such a place took longer. All intervals together are the
/// run's fuel, divided by `every`, except for those that end after the last of these places.
///
/// The listener must not call into the guest. A run with a listener uses the same fuel as one
/// without, and ends the same.
pub struct Sampling<T: 'static> {
    every: u64,
    /// Intervals that have ended.
    ended: u64,
    listener: Listener<T>,
}

/// Hears of intervals that have ended. See [`Sampling`].
pub(crate) type Listener<T> = Box<dyn FnMut(&mut Caller<'_, T>, u64) + Send>;

impl<T: 'static> Sampling<T> {
    /// Calls `listener` each time that `every` units were used, at least one.
    pub fn new(every: u64, listener: Listener<T>) -> Self {
        Self { every: every.max(1), ended: 0, listener }
    }

    /// Calls the listener if intervals have ended, and sets the next mark.
    pub(crate) fn look(
        &mut self,
        caller: &mut Caller<'_, T>,
        meter: &FuelMeter,
    ) -> wasmtime::Result<()> {
        let Fuel(used) = meter.used();
        let ended = used / self.every;
        let Some(more) = ended.checked_sub(self.ended).filter(|more| *more > 0) else {
            return Ok(());
        };
        self.ended = ended;
        (self.listener)(caller, more);
        self.set_mark(caller, meter)
    }

    /// Sets the mark at the end of the present interval. Must be called before the guest runs.
    pub(crate) fn set_mark(
        &self,
        store: impl AsContextMut,
        meter: &FuelMeter,
    ) -> wasmtime::Result<()> {
        meter.set_mark(store, self.mark(meter))
    }

    /// The mark at the end of the present interval.
    pub(crate) const fn mark(&self, meter: &FuelMeter) -> u64 {
        let end = self.ended.saturating_add(1).saturating_mul(self.every);
        // The guest calls when the counter is below the mark.
        let mark = meter.budget.saturating_sub(end).saturating_add(1);
        if end > meter.budget { 0 } else { mark }
    }
}

impl<T: 'static> fmt::Debug for Sampling<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampling").field("every", &self.every).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;
