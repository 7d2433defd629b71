//! The calls between a guest and its host, both ways.

use std::sync::Arc;

use wasmtime::{Caller, Engine, Instance, Linker, Store, Trap};

use crate::host_call::host_calls::HostAnswer;
use crate::host_call::request::TimerRequest;
use crate::memory::{ControlPages, WASM_PAGE};
use crate::preview1::{self, Preview1};
use crate::run::guest::hold::{ask, hold};
use crate::run::guest::state::{Exports, Guest, TurnState};
use crate::run::meter::FuelMeter;
use crate::run::timer::run_timer::RunTimer;
use wardian_engine::code::metering::transform::MARK_PASSED;
use wardian_vocabulary::units::Fuel;

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
    let Some(exports) = caller.data().lasting.exports.clone() else {
        return Ok(FAULT);
    };
    let fuel = Guest::fuel_left(&mut caller);
    let (memory, guest) = exports.memory.data_and_store_mut(&mut caller);
    let frame = slice(memory, frame, frame_length);
    let is_about_timer = frame.is_some_and(|frame| frame.starts_with(&[TimerRequest::OPERATION]));
    let (answer, left) = match frame {
        Some(frame) => guest.answer(frame, memory.len(), fuel),
        None => (HostAnswer::Fault, fuel),
    };
    if is_about_timer {
        set_mark(&mut caller)?;
    }
    if let Some((left, meter)) = left.filter(|_| left != fuel).zip(caller.data().meter()) {
        meter.set(left)?;
    }
    let answer = match answer {
        HostAnswer::Held(requests) => {
            let answer = hold(caller.data_mut(), requests);
            // Its fuel is another one.
            set_mark(&mut caller)?;
            answer
        }
        HostAnswer::Asked(requests) => ask(caller.data_mut(), &requests),
        other => other,
    };
    let answer = match &answer {
        HostAnswer::Bytes(bytes) => bytes.as_slice(),
        HostAnswer::Shared(bytes) => bytes,
        HostAnswer::Fault | HostAnswer::Held(_) | HostAnswer::Asked(_) => return Ok(FAULT),
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

/// Answers metered code that says that its counter is below the mark: ends the turn if its fuel is
/// used up, calls the listener otherwise. Does nothing if the guest says so for no reason.
fn mark_passed(caller: &mut Caller<'_, Guest>) -> wasmtime::Result<()> {
    let Some(meter) = caller.data().meter().cloned() else { return Ok(()) };
    meter.check()?;
    let sampling = caller.data_mut().turn.as_mut().and_then(|turn| turn.sampling.take());
    if let Some(mut sampling) = sampling {
        let looked = sampling.look(caller, &meter);
        if let Some(turn) = &mut caller.data_mut().turn {
            turn.sampling = Some(sampling);
        }
        looked?;
    }
    ring_if_due(caller, &meter);
    set_mark(caller)
}

/// Tells the interpreter of a reproducible guest of its SIGALRM, if that is due.
fn ring_if_due(caller: &mut Caller<'_, Guest>, meter: &FuelMeter) {
    let Guest { lasting, turn } = caller.data_mut();
    let Some(RunTimer::Fueled(fueled)) = turn.as_mut().map(|turn| &mut turn.timer) else { return };
    let clocks = &mut lasting.process.clock_and_random;
    clocks.note_fuel(meter.left());
    let is_due = fueled.timer.take(clocks.monotonic());
    let words = is_due.then_some(fueled.words);
    let memory = lasting.exports.as_ref().map(|exports| exports.memory);
    let Some((words, memory)) = words.zip(memory) else { return };
    let memory = memory.data_mut(caller);
    for (address, bits) in words.signal() {
        let address = address.cast_signed();
        let word = slice(memory, address, 4).and_then(|word| word.try_into().ok());
        // A guest that has changed where its interpreter is gets no signals.
        if let Some(word) = word {
            put(memory, address, &(u32::from_le_bytes(word) | bits).to_le_bytes());
        }
    }
}

/// Lets metered code call the host when the profile or the timer of a reproducible guest has to
/// look.
fn set_mark(caller: &mut Caller<'_, Guest>) -> wasmtime::Result<()> {
    let Guest { lasting, turn: Some(turn) } = caller.data_mut() else { return Ok(()) };
    let RunTimer::Fueled(fueled) = &turn.timer else { return Ok(()) };
    let Some(meter) = turn.meter.clone() else { return Ok(()) };
    let left = meter.left();
    let clocks = &mut lasting.process.clock_and_random;
    clocks.note_fuel(left);
    let now = clocks.monotonic();
    // A unit of fuel is a nanosecond. A signal beyond the rest of the fuel never comes.
    let until = fueled.timer.due().map(|due| due.saturating_sub(now).as_nanos());
    let until = until.and_then(|time| u64::try_from(time).ok());
    let ring = until.and_then(|time| left.checked_sub(time)).map_or(0, |at| at.saturating_add(1));
    let sampling = turn.sampling.as_ref().map_or(0, |sampling| sampling.mark(&meter));
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

/// Finds the exports that the host needs.
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
    let lasting = &mut store.data_mut().lasting;
    lasting.exports = Some(exports);
    lasting.ceiling.watch_counter(Arc::clone(pages));
    Ok(())
}

/// Gives a guest the state of its next turn, and the turn's fuel.
///
/// INVARIANT(no-free-runs): a turn with a budget begins only if the guest's code counts. wasmtime
/// does not notice if the code of the other variant was loaded.
pub(crate) fn begin_turn(
    store: &mut Store<Guest>,
    (instance, pages): (&Instance, &Arc<ControlPages>),
    mut turn: TurnState,
    budget: Option<Fuel>,
) -> wasmtime::Result<()> {
    if let Some(budget) = budget {
        let uncounted = || wasmtime::Error::msg("the engine's code does not count fuel");
        let meter =
            FuelMeter::start(&mut *store, instance, pages, budget)?.ok_or_else(uncounted)?;
        let mark = turn.sampling.as_ref().map_or(0, |sampling| sampling.mark(&meter));
        meter.set_mark(&mut *store, mark)?;
        let clocks = &mut store.data_mut().lasting.process.clock_and_random;
        clocks.refuel(FuelMeter::bounded(budget));
        turn.meter = Some(meter);
    }
    store.data_mut().turn = Some(turn);
    Ok(())
}

/// Runs source text in the guest's interpreter. Zero means that nothing was raised.
pub(crate) fn turn(store: &mut Store<Guest>, source: &[u8]) -> wasmtime::Result<i32> {
    let detached = || wasmtime::Error::msg("the guest is not attached");
    let exports = store.data().lasting.exports.clone().ok_or_else(detached)?;
    let length = i32::try_from(source.len())?;
    let at = exports.host_alloc.call(&mut *store, length)?;
    if at == 0 || !put(exports.memory.data_mut(&mut *store), at, source) {
        return Err(wasmtime::Error::msg("the guest has no memory for its source"));
    }
    exports.turn.call(&mut *store, (at, length))
}

/// Writes into the guest's memory while nothing runs in it.
pub(crate) fn preset(store: &mut Store<Guest>, at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let detached = || wasmtime::Error::msg("the guest is not attached");
    let memory = store.data().lasting.exports.as_ref().ok_or_else(detached)?.memory;
    memory.write(store, usize::try_from(at)?, bytes).map_err(wasmtime::Error::from)
}

/// The guest's whole memory.
pub(crate) fn memory_of(store: &Store<Guest>) -> &[u8] {
    store.data().lasting.exports.as_ref().map_or(&[], |exports| exports.memory.data(store))
}

/// As [`memory_of`], to change it.
pub(crate) fn memory_mut(store: &mut Store<Guest>) -> &mut [u8] {
    match store.data().lasting.exports.as_ref().map(|exports| exports.memory) {
        Some(memory) => memory.data_mut(store),
        None => &mut [],
    }
}

/// Makes the guest's memory this long, a multiple of a wasm page.
///
/// # Errors
///
/// Its limit is lower.
pub(crate) fn grow_to(store: &mut Store<Guest>, length: usize) -> wasmtime::Result<()> {
    let detached = || wasmtime::Error::msg("the guest is not attached");
    let memory = store.data().lasting.exports.as_ref().ok_or_else(detached)?.memory;
    let more = length.saturating_sub(memory.data_size(&*store)) / WASM_PAGE;
    if more > 0 {
        memory.grow(store, u64::try_from(more)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
