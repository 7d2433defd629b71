//! The fuel of a run: the counter of metered code, seen from the host.
//!
//! The guest's [metered code](crate::engine::code::metering) keeps the counter in a global. It
//! calls the host before a call that may lead back once the counter is below the *mark*.
//!
//! INVARIANT(fuel-decides): a run completes if and only if its fuel suffices. A counter below zero
//! at the end of a run counts as used-up fuel, wherever the run has ended, unless it was stopped
//! because of its time.

use std::fmt;

use wasmtime::{AsContextMut, Caller, Global, Instance, Val};

use crate::engine::code::metering::{FUEL_EXPORT, MARK_EXPORT, MOST_FUEL};
use crate::units::Fuel;

/// The counter of one guest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FuelMeter {
    fuel: Global,
    mark: Global,
    budget: u64,
}

impl FuelMeter {
    /// Finds the counter of `instance` and sets it to `budget`. Returns `None` for code that does
    /// not count.
    pub(crate) fn start(
        mut store: impl AsContextMut,
        instance: &Instance,
        budget: Fuel,
    ) -> wasmtime::Result<Option<Self>> {
        let Some(fuel) = instance.get_global(&mut store, FUEL_EXPORT) else { return Ok(None) };
        let Some(mark) = instance.get_global(&mut store, MARK_EXPORT) else { return Ok(None) };
        let Fuel(budget) = Self::bounded(budget);
        let meter = Self { fuel, mark, budget };
        meter.set(store, budget)?;
        Ok(Some(meter))
    }

    /// A budget that the counter can hold.
    pub(crate) fn bounded(Fuel(budget): Fuel) -> Fuel {
        Fuel(budget.min(MOST_FUEL))
    }

    /// The fuel that is left.
    pub(crate) fn left(&self, store: impl AsContextMut) -> u64 {
        u64::try_from(self.counter(store)).unwrap_or(0)
    }

    /// The fuel that is used.
    pub(crate) fn used(&self, store: impl AsContextMut) -> Fuel {
        Fuel(self.budget.saturating_sub(self.left(store)))
    }

    /// True if more was used than there was.
    pub(crate) fn is_exceeded(&self, store: impl AsContextMut) -> bool {
        self.counter(store) < 0
    }

    /// Sets the fuel that is left.
    pub(crate) fn set(&self, store: impl AsContextMut, left: u64) -> wasmtime::Result<()> {
        write(store, self.fuel, left.min(MOST_FUEL))
    }

    fn counter(&self, mut store: impl AsContextMut) -> i64 {
        self.fuel.get(&mut store).i64().unwrap_or(-1)
    }
}

fn write(store: impl AsContextMut, global: Global, value: u64) -> wasmtime::Result<()> {
    global.set(store, Val::I64(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// Looks at a guest in intervals of its fuel.
///
/// The listener is called in the guest's thread, with the guest as it is in the middle of its
/// execution: its memory can be read through [`Caller`]. After the guest has used another `every`
/// units, it is called at the next repetition of a loop with calls, or before the first indirect or
/// recursive call of the next function that makes one. It is never called while a loop without
/// calls runs.
/// So the places depend on the executed instructions alone and are the same in every repetition.
/// The second argument is the number of intervals that have ended since the last call, at least
/// one; it is more if a stretch without such a place took longer. All intervals together are the
/// run's fuel, divided by `every`, except for those that end after the last of these places.
///
/// The listener must not call into the guest. A run with a listener uses the same fuel as one
/// without, and ends the same.
pub(crate) struct Sampling<T: 'static> {
    every: u64,
    /// Intervals that have ended.
    ended: u64,
    listener: Listener<T>,
}

/// Hears of intervals that have ended. See [`Sampling`].
pub(crate) type Listener<T> = Box<dyn FnMut(&mut Caller<'_, T>, u64) + Send>;

impl<T: 'static> Sampling<T> {
    /// Calls `listener` each time that `every` units were used, at least one.
    pub(crate) fn new(every: u64, listener: Listener<T>) -> Self {
        Self { every: every.max(1), ended: 0, listener }
    }

    /// Calls the listener if intervals have ended, and sets the next mark.
    pub(crate) fn look(
        &mut self,
        caller: &mut Caller<'_, T>,
        meter: &FuelMeter,
    ) -> wasmtime::Result<()> {
        let Fuel(used) = meter.used(&mut *caller);
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
        let end = self.ended.saturating_add(1).saturating_mul(self.every);
        // The guest calls when the counter is below the mark.
        let mark = meter.budget.saturating_sub(end).saturating_add(1);
        write(store, meter.mark, if end > meter.budget { 0 } else { mark })
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
