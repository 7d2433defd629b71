//! The state that a guest's store holds, in two halves: what lasts as long as the guest, and what
//! belongs to one turn.

use std::fmt;
use std::sync::Arc;

use wasmtime::{Caller, Memory, ResourceLimiter, Trap, TypedFunc};

use crate::host_call::account::HostCallAccount;
use crate::host_call::host_calls::{HostAnswer, HostCalls};
use crate::memory::ControlPages;
use crate::preview1::{GuestProcess, Preview1, TurnIo};
use crate::profile::Sampler;
use crate::run::meter::{FuelMeter, Sampling, is_surely_exceeded};
use crate::run::stopwatch::Stopwatch;
use crate::run::timer::run_timer::RunTimer;
use wardian_formats::job::{SetupLimits, TurnLimits};
use wardian_vocabulary::units::ByteCount;

/// The state of a guest, which is dropped with its store.
pub struct Guest {
    pub(crate) lasting: Lasting,
    /// The turn that the guest has; `None` before the first one.
    pub(crate) turn: Option<TurnState>,
}

/// What a guest keeps from one turn to the next, besides its memory.
pub(crate) struct Lasting {
    pub(crate) process: GuestProcess,
    pub(crate) ceiling: Ceiling,
    /// True if bytes that the host moves use fuel. Runs that repeat an old record have no such rule.
    pub(crate) charges_bytes: bool,
    pub(super) exports: Option<Exports>,
}

/// What begins and ends with one turn.
pub(crate) struct TurnState {
    pub(crate) io: TurnIo,
    pub(crate) account: HostCallAccount,
    /// The turn's fuel, if the guest's code is metered.
    pub(crate) meter: Option<FuelMeter>,
    /// Looks at the guest in intervals of its fuel. Has to be set before the turn begins.
    pub(crate) sampling: Option<Sampling<Guest>>,
    /// Gathers the profile, if there is to be one.
    pub(crate) sampler: Option<Sampler>,
    /// Sends SIGALRM. Set once the watchdog watches the guest.
    pub(crate) timer: RunTimer,
    /// The limits and the time of the present part of the turn, which is another turn for its caller.
    pub(crate) part: Option<TurnPart>,
}

/// A part of a turn: from its beginning, or from answers of its caller, to the end or to other requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnPart {
    pub(crate) limits: TurnLimits,
    pub(crate) watch: Stopwatch,
}

/// The functions of a guest that the host calls.
#[derive(Clone)]
pub(super) struct Exports {
    pub(super) memory: Memory,
    pub(super) host_alloc: TypedFunc<i32, i32>,
    pub(super) turn: TypedFunc<(i32, i32), i32>,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").finish_non_exhaustive()
    }
}

impl TurnState {
    /// A turn that is not measured, profiled or timed.
    pub(crate) const fn new(io: TurnIo, account: HostCallAccount) -> Self {
        let (meter, sampling, sampler, part) = (None, None, None, None);
        Self { io, account, meter, sampling, sampler, timer: RunTimer::Absent, part }
    }
}

impl Guest {
    /// A guest whose memory is `length` bytes long from the start.
    pub(crate) fn new(process: GuestProcess, limits: &SetupLimits, length: usize) -> Self {
        let ceiling = Ceiling::new(limits, length);
        let lasting = Lasting { process, ceiling, charges_bytes: true, exports: None };
        Self { lasting, turn: None }
    }

    /// The fuel of the present turn, if it is counted.
    pub(crate) fn meter(&self) -> Option<&FuelMeter> {
        self.turn.as_ref()?.meter.as_ref()
    }

    /// Answers the frame of a host call of a guest with so many bytes of memory and this rest of its
    /// fuel. Also returns the fuel that is left after the answer.
    pub(super) fn answer(
        &mut self,
        frame: &[u8],
        memory: usize,
        fuel: Option<u64>,
    ) -> (HostAnswer, Option<u64>) {
        let Self { lasting, turn: Some(turn) } = self else { return (HostAnswer::Fault, fuel) };
        let room = lasting.ceiling.limit.saturating_sub(memory);
        let GuestProcess { files, clock_and_random: clocks, .. } = &mut lasting.process;
        let TurnState { io, account, timer, .. } = turn;
        let TurnIo { capture, deadline, .. } = io;
        let timer = Some(timer);
        let mut calls = HostCalls { account, files, capture, deadline, clocks, timer, room, fuel };
        let answer = calls.answer(frame);
        (answer, calls.fuel)
    }
}

impl Preview1 for Guest {
    fn parts(&mut self) -> (&mut GuestProcess, Option<&mut TurnIo>) {
        (&mut self.lasting.process, self.turn.as_mut().map(|turn| &mut turn.io))
    }

    fn memory(&self) -> Option<Memory> {
        self.lasting.exports.as_ref().map(|exports| exports.memory)
    }

    fn fuel_left(caller: &mut Caller<'_, Self>) -> Option<u64> {
        Some(caller.data().meter()?.left())
    }

    fn charge_fuel(&mut self, cost: u64) -> wasmtime::Result<()> {
        let Some(meter) = self.meter().filter(|_| self.lasting.charges_bytes) else {
            return Ok(());
        };
        match meter.left().checked_sub(cost) {
            Some(left) => meter.set(left),
            None => {
                meter.set(0)?;
                Err(Trap::OutOfFuel.into())
            }
        }
    }

    fn check_fuel(&self) -> wasmtime::Result<()> {
        self.meter().map_or(Ok(()), FuelMeter::check)
    }
}

/// The limit on a guest's memory, and how large it has become.
#[derive(Debug)]
pub(crate) struct Ceiling {
    limit: usize,
    /// Largest size that was granted.
    peak: usize,
    /// True if growth beyond the limit was refused since somebody asked.
    was_refused: bool,
    /// The pages with the guest's counter, once it has its memory.
    pages: Option<Arc<ControlPages>>,
}

/// Longest table of functions: the engine's has 48,830 elements and never grows.
const MAX_TABLE: usize = 100_000;

impl Ceiling {
    fn new(limits: &SetupLimits, length: usize) -> Self {
        let limit = limits.memory.as_usize();
        Self { limit, peak: length, was_refused: false, pages: None }
    }

    /// Refuses growth from now on once the counter in `pages` is used up.
    pub(super) fn watch_counter(&mut self, pages: Arc<ControlPages>) {
        self.pages = Some(pages);
    }

    /// Largest size that was granted. Memory never shrinks, so it is also the present one.
    pub(crate) const fn peak(&self) -> usize {
        self.peak
    }

    /// True if growth beyond the limit was refused since the last call.
    pub(crate) const fn take_refusal(&mut self) -> bool {
        std::mem::replace(&mut self.was_refused, false)
    }

    /// Bytes that the memory may still grow by. It never shrinks.
    pub(crate) fn room(&self) -> u64 {
        ByteCount::from(self.limit.saturating_sub(self.peak)).as_u64()
    }
}

/// Refuses growth past the limit and remembers that it did.
impl ResourceLimiter for Ceiling {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // How far memory grows without fuel must not depend on when somebody notices.
        if self.pages.as_deref().is_some_and(is_surely_exceeded) {
            return Err(Trap::OutOfFuel.into());
        }
        let is_granted = desired <= self.limit;
        if is_granted {
            self.peak = self.peak.max(desired);
        } else {
            self.was_refused = true;
        }
        Ok(is_granted)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE)
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        // The guest's own, that of its counter, and the collector's heap that exceptions need.
        3
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Instance, Module, Store};

    use super::*;
    use wardian_engine::code::compile;
    use wardian_engine::code::instrumentation::Variant;

    #[test]
    fn growth_past_the_ceiling_is_refused_and_remembered() {
        let mut ceiling = Ceiling::new(&SetupLimits::DEFAULT, 65_536);
        assert!(ceiling.memory_growing(0, 512 << 20, None).unwrap());
        assert!(!ceiling.take_refusal());
        assert!(!ceiling.memory_growing(0, (512 << 20) + 1, None).unwrap());
        assert!(ceiling.take_refusal());
        assert_eq!(ceiling.peak(), 512 << 20);
        assert!(!ceiling.take_refusal(), "the next turn was refused nothing");
    }

    /// True if a module can be instantiated where a guest is, after so many others.
    fn fits(text: &str, others: usize) -> bool {
        let engine = compile::start(Variant::Timed).unwrap();
        let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
        let mut store = Store::new(&engine, Ceiling::new(&SetupLimits::DEFAULT, 0));
        store.limiter(|ceiling| ceiling);
        for _ in 0..others {
            Instance::new(&mut store, &module, &[]).unwrap();
        }
        Instance::new(&mut store, &module, &[]).is_ok()
    }

    #[test]
    fn a_store_has_room_for_one_guest_and_no_more() {
        assert!(fits("(module (memory 651) (table 48830 funcref))", 0));
        assert!(!fits("(module)", 1), "a second instance");
        assert!(!fits("(module (table 1 funcref) (table 1 funcref))", 0), "a second table");
        assert!(!fits("(module (table 100001 funcref))", 0), "a table that is too long");
        assert!(!fits("(module (memory 8193))", 0), "a memory above the limit");
    }
}
