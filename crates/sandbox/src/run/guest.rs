//! A guest in its store: its imports, and the few calls into it.

use std::fmt;
use std::sync::Arc;

use wasmtime::{Caller, Engine, Instance, Linker, Memory, ResourceLimiter, Store, Trap, TypedFunc};

use crate::host_call::account::HostCallAccount;
use crate::host_call::host_calls::{HostAnswer, HostCalls};
use crate::host_call::request::TimerRequest;
use crate::memory::ControlPages;
use crate::preview1::{self, Preview1, Wasi};
use crate::profile::Sampler;
use crate::run::meter::{FuelMeter, Sampling};
use crate::run::timer::run_timer::RunTimer;
use wardian_engine::code::metering::transform::MARK_PASSED;
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::units::{ByteCount, Fuel};

/// The state of one run, which is dropped with its store.
pub struct Guest {
    pub(crate) wasi: Wasi,
    pub(crate) account: HostCallAccount,
    pub(crate) ceiling: Ceiling,
    /// Its fuel, once it is attached, if its code is metered.
    pub meter: Option<FuelMeter>,
    /// Looks at the guest in intervals of its fuel. Has to be set before the guest is attached.
    pub sampling: Option<Sampling<Self>>,
    /// Gathers the profile, if there is to be one.
    pub(crate) sampler: Option<Sampler>,
    /// Sends SIGALRM. Set once the watchdog watches the guest.
    pub(crate) timer: RunTimer,
    /// True if bytes that the host moves use fuel. Runs that repeat an old record have no such rule.
    pub(crate) charges_bytes: bool,
    budget: Option<Fuel>,
    exports: Option<Exports>,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").finish_non_exhaustive()
    }
}

/// The functions of a guest that the host calls.
#[derive(Clone)]
struct Exports {
    memory: Memory,
    host_alloc: TypedFunc<i32, i32>,
    turn: TypedFunc<(i32, i32), i32>,
}

impl Guest {
    /// A guest whose memory is `length` bytes long from the start.
    pub(crate) fn new(
        wasi: Wasi,
        account: HostCallAccount,
        limits: &RunLimits,
        length: usize,
    ) -> Self {
        let ceiling = Ceiling::new(limits, length);
        let budget = limits.fuel;
        let (meter, sampling, sampler, exports) = (None, None, None, None);
        Self {
            wasi,
            account,
            ceiling,
            meter,
            sampling,
            sampler,
            timer: RunTimer::Absent,
            charges_bytes: true,
            budget,
            exports,
        }
    }

    /// Answers the frame of a host call of a guest with this memory and this rest of its fuel. Also
    /// returns the fuel that is left after the answer.
    fn answer(
        &mut self,
        frame: &[u8],
        memory: &[u8],
        fuel: Option<u64>,
    ) -> (HostAnswer, Option<u64>) {
        let room = self.ceiling.limit.saturating_sub(memory.len());
        let Wasi { files, capture, deadline, clock_and_random: clocks, .. } = &mut self.wasi;
        let (account, timer) = (&mut self.account, Some(&mut self.timer));
        let mut calls =
            HostCalls { account, files, capture, deadline, clocks, timer, memory, room, fuel };
        let answer = calls.answer(frame);
        (answer, calls.fuel)
    }
}

impl Preview1 for Guest {
    fn wasi(&mut self) -> &mut Wasi {
        &mut self.wasi
    }

    fn memory(&self) -> Option<Memory> {
        self.exports.as_ref().map(|exports| exports.memory)
    }

    fn fuel_left(caller: &mut Caller<'_, Self>) -> Option<u64> {
        Some(caller.data().meter.as_ref()?.left())
    }

    fn charge_fuel(&mut self, cost: u64) -> wasmtime::Result<()> {
        let Some(meter) = self.meter.as_ref().filter(|_| self.charges_bytes) else { return Ok(()) };
        match meter.left().checked_sub(cost) {
            Some(left) => meter.set(left),
            None => {
                meter.set(0)?;
                Err(Trap::OutOfFuel.into())
            }
        }
    }

    fn check_fuel(&self) -> wasmtime::Result<()> {
        self.meter.as_ref().map_or(Ok(()), FuelMeter::check)
    }
}

/// Refuses growth past the limit and remembers that it did.
#[derive(Debug)]
pub struct Ceiling {
    limit: usize,
    /// Largest size that was granted.
    pub peak: usize,
    /// True if growth beyond the limit was refused.
    pub refused: bool,
    /// The guest's fuel, if its code is metered.
    meter: Option<FuelMeter>,
}

/// Longest table of functions: the engine's has 47,157 elements and never grows.
const MAX_TABLE: usize = 100_000;

impl Ceiling {
    fn new(limits: &RunLimits, length: usize) -> Self {
        Self { limit: limits.memory.as_usize(), peak: length, refused: false, meter: None }
    }

    /// Bytes that the memory may still grow by. It never shrinks.
    pub fn room(&self) -> u64 {
        ByteCount::from(self.limit.saturating_sub(self.peak)).as_u64()
    }
}

impl ResourceLimiter for Ceiling {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // How far memory grows without fuel must not depend on when somebody notices.
        if self.meter.as_ref().is_some_and(FuelMeter::is_surely_exceeded) {
            return Err(Trap::OutOfFuel.into());
        }
        let granted = desired <= self.limit;
        if granted {
            self.peak = self.peak.max(desired);
        } else {
            self.refused = true;
        }
        Ok(granted)
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

/// The functions that the engine's module imports.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    preview1::link(&mut linker)?;
    linker.func_wrap("host", "call", call_host)?;
    Ok(linker)
}

/// The guest is answered.
const ANSWERED: i32 = 0;
/// The frame or a pointer is malformed.
const FAULT: i32 = -2;

/// `host.call`: reads a frame, answers it, and writes the answer into memory that the guest
/// allocates.
fn call_host(
    mut caller: Caller<'_, Guest>,
    frame: i32,
    frame_length: i32,
    answer_pointer: i32,
    answer_length: i32,
) -> wasmtime::Result<i32> {
    if frame_length == MARK_PASSED {
        return mark_passed(&mut caller).map(|()| FAULT);
    }
    caller.data().check_fuel()?;
    let Some(exports) = caller.data().exports.clone() else {
        return Ok(FAULT);
    };
    let fuel = Guest::fuel_left(&mut caller);
    let (memory, guest) = exports.memory.data_and_store_mut(&mut caller);
    let frame = slice(memory, frame, frame_length);
    let is_about_timer = frame.is_some_and(|frame| frame.starts_with(&[TimerRequest::OPERATION]));
    let (answer, left) = match frame {
        Some(frame) => guest.answer(frame, memory, fuel),
        None => (HostAnswer::Fault, fuel),
    };
    if is_about_timer {
        set_mark(&mut caller)?;
    }
    if let Some((left, meter)) = left.filter(|_| left != fuel).zip(caller.data().meter.as_ref()) {
        meter.set(left)?;
    }
    let answer = match &answer {
        HostAnswer::Bytes(bytes) => bytes.as_slice(),
        HostAnswer::Shared(bytes) => bytes,
        HostAnswer::Fault => return Ok(FAULT),
        HostAnswer::Stopped(stopped) => return Err((*stopped).into()),
        HostAnswer::OutOfFuel => return Err(Trap::OutOfFuel.into()),
    };
    let Ok(length) = i32::try_from(answer.len()) else {
        return Ok(FAULT);
    };
    let at = exports.host_alloc.call(&mut caller, length)?;
    let memory = exports.memory.data_mut(&mut caller);
    let placed = at != 0
        && put(memory, at, answer)
        && put(memory, answer_pointer, &at.to_le_bytes())
        && put(memory, answer_length, &length.to_le_bytes());
    Ok(if placed { ANSWERED } else { FAULT })
}

/// Answers metered code that says that its counter is below the mark: ends the run if its fuel is
/// used up, calls the listener otherwise. Does nothing if the guest says so for no reason.
fn mark_passed(caller: &mut Caller<'_, Guest>) -> wasmtime::Result<()> {
    let Some(meter) = caller.data().meter.clone() else { return Ok(()) };
    meter.check()?;
    if let Some(mut sampling) = caller.data_mut().sampling.take() {
        let looked = sampling.look(caller, &meter);
        caller.data_mut().sampling = Some(sampling);
        looked?;
    }
    ring_if_due(caller, &meter);
    set_mark(caller)
}

/// Tells the interpreter of a reproducible run of its SIGALRM, if that is due.
fn ring_if_due(caller: &mut Caller<'_, Guest>, meter: &FuelMeter) {
    let guest = caller.data_mut();
    let RunTimer::Fueled(fueled) = &mut guest.timer else { return };
    guest.wasi.clock_and_random.note_fuel(meter.left());
    let is_due = fueled.timer.take(guest.wasi.clock_and_random.monotonic());
    let words = fueled.words.filter(|_| is_due);
    let memory = guest.exports.as_ref().map(|exports| exports.memory);
    let Some((words, memory)) = words.zip(memory) else { return };
    let memory = memory.data_mut(caller);
    for (address, bits) in words.bits() {
        let address = address.cast_signed();
        let word = slice(memory, address, 4).and_then(|word| word.try_into().ok());
        // A guest that has changed where its interpreter is gets no signals.
        if let Some(word) = word {
            put(memory, address, &(u32::from_le_bytes(word) | bits).to_le_bytes());
        }
    }
}

/// Lets metered code call the host when the profile or the timer of a reproducible run has to look.
fn set_mark(caller: &mut Caller<'_, Guest>) -> wasmtime::Result<()> {
    let guest = caller.data_mut();
    let RunTimer::Fueled(fueled) = &guest.timer else { return Ok(()) };
    let Some(meter) = guest.meter.clone() else { return Ok(()) };
    let left = meter.left();
    guest.wasi.clock_and_random.note_fuel(left);
    let now = guest.wasi.clock_and_random.monotonic();
    // A unit of fuel is a nanosecond. A signal beyond the rest of the fuel never comes.
    let until = fueled.timer.due().map(|due| due.saturating_sub(now).as_nanos());
    let until = until.and_then(|time| u64::try_from(time).ok());
    let ring = until.and_then(|time| left.checked_sub(time)).map_or(0, |at| at.saturating_add(1));
    let sampling = guest.sampling.as_ref().map_or(0, |sampling| sampling.mark(&meter));
    meter.set_mark(caller, ring.max(sampling))
}

/// The bytes of guest memory at an address that the guest gave.
fn slice(memory: &[u8], at: i32, length: i32) -> Option<&[u8]> {
    let start = usize::try_from(at.cast_unsigned()).ok()?;
    let length = usize::try_from(length.cast_unsigned()).ok()?;
    memory.get(start..start.checked_add(length)?)
}

/// Writes `bytes` at an address that the guest gave; false if they do not fit there.
fn put(memory: &mut [u8], at: i32, bytes: &[u8]) -> bool {
    let target = usize::try_from(at.cast_unsigned())
        .ok()
        .and_then(|start| memory.get_mut(start..start.checked_add(bytes.len())?));
    match target {
        Some(target) => {
            target.copy_from_slice(bytes);
            true
        }
        None => false,
    }
}

/// Finds the exports that the host needs, and gives the guest its fuel.
///
/// INVARIANT(no-free-runs): a guest with a budget is attached only if its code counts. wasmtime does
/// not notice if the code of the other variant was loaded.
pub(crate) fn attach(
    store: &mut Store<Guest>,
    instance: &Instance,
    pages: &Arc<ControlPages>,
) -> wasmtime::Result<()> {
    let missing = || wasmtime::Error::msg("the engine's module has no memory");
    let exports = Exports {
        memory: instance.get_memory(&mut *store, "memory").ok_or_else(missing)?,
        host_alloc: instance.get_typed_func(&mut *store, "host_alloc")?,
        turn: instance.get_typed_func(&mut *store, "turn")?,
    };
    store.data_mut().exports = Some(exports);
    let Some(budget) = store.data().budget else { return Ok(()) };
    let uncounted = || wasmtime::Error::msg("the engine's code does not count fuel");
    let meter = FuelMeter::start(&mut *store, instance, pages, budget)?.ok_or_else(uncounted)?;
    store.data_mut().ceiling.meter = Some(meter.clone());
    store.data_mut().meter = Some(meter.clone());
    if let Some(sampling) = store.data_mut().sampling.take() {
        sampling.set_mark(&mut *store, &meter)?;
        store.data_mut().sampling = Some(sampling);
    }
    Ok(())
}

/// Runs source text in the guest's interpreter. Zero means that nothing was raised.
pub(crate) fn turn(store: &mut Store<Guest>, source: &[u8]) -> wasmtime::Result<i32> {
    let detached = || wasmtime::Error::msg("the guest is not attached");
    let exports = store.data().exports.clone().ok_or_else(detached)?;
    let length = i32::try_from(source.len())?;
    let at = exports.host_alloc.call(&mut *store, length)?;
    if at == 0 || !put(exports.memory.data_mut(&mut *store), at, source) {
        return Err(wasmtime::Error::msg("the guest has no memory for its source"));
    }
    exports.turn.call(&mut *store, (at, length))
}

/// Writes into the guest's memory before anything runs in it.
pub(crate) fn preset(store: &mut Store<Guest>, at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let detached = || wasmtime::Error::msg("the guest is not attached");
    let memory = store.data().exports.as_ref().ok_or_else(detached)?.memory;
    memory.write(store, usize::try_from(at)?, bytes).map_err(wasmtime::Error::from)
}

/// The guest's whole memory.
pub fn memory_of(store: &Store<Guest>) -> &[u8] {
    store.data().exports.as_ref().map_or(&[], |exports| exports.memory.data(store))
}

#[cfg(test)]
mod tests {
    use wasmtime::Module;

    use super::*;
    use wardian_engine::code::compile;
    use wardian_engine::code::instrumentation::Variant;

    #[test]
    fn addresses_outside_of_memory_are_refused() {
        let mut memory = vec![0; 16];
        assert_eq!(slice(&memory, 4, 4).map(<[u8]>::len), Some(4));
        for (at, length) in [(16, 1), (-1, 1), (0, 17), (i32::MAX, i32::MAX), (8, -1), (-1, -1)] {
            assert_eq!(slice(&memory, at, length), None, "{at} {length}");
        }
        assert!(put(&mut memory, 12, &[1; 4]));
        assert!(!put(&mut memory, 13, &[1; 4]));
        assert!(!put(&mut memory, -4, &[1; 4]));
    }

    #[test]
    fn growth_past_the_ceiling_is_refused_and_remembered() {
        let mut ceiling = Ceiling::new(&RunLimits::DEFAULT, 65_536);
        assert!(ceiling.memory_growing(0, 512 << 20, None).unwrap());
        assert!(!ceiling.refused);
        assert!(!ceiling.memory_growing(0, (512 << 20) + 1, None).unwrap());
        assert!(ceiling.refused && ceiling.peak == 512 << 20);
    }

    /// True if a module can be instantiated where a guest is, after so many others.
    fn fits(text: &str, others: usize) -> bool {
        let engine = compile::start(Variant::Timed).unwrap();
        let module = Module::new(&engine, wat::parse_str(text).unwrap()).unwrap();
        let mut store = Store::new(&engine, Ceiling::new(&RunLimits::DEFAULT, 0));
        store.limiter(|ceiling| ceiling);
        for _ in 0..others {
            Instance::new(&mut store, &module, &[]).unwrap();
        }
        Instance::new(&mut store, &module, &[]).is_ok()
    }

    #[test]
    fn a_store_has_room_for_one_guest_and_no_more() {
        assert!(fits("(module (memory 640) (table 47157 funcref))", 0));
        assert!(!fits("(module)", 1), "a second instance");
        assert!(!fits("(module (table 1 funcref) (table 1 funcref))", 0), "a second table");
        assert!(!fits("(module (table 100001 funcref))", 0), "a table that is too long");
        assert!(!fits("(module (memory 8193))", 0), "a memory above the limit");
    }
}
