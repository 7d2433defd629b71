//! Brings an interpreter to the state that an image keeps.

use std::fmt;
use std::time::Duration;

use wasmtime::Store;

use crate::SandboxError;
use crate::attached::image::{ImageSpec, LoadedImage};
use crate::attached::layer::batteries_mount;
use crate::attached::library::Library;
use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::host_call::account::HostCallAccount;
use crate::memory::{DirtyPages, SlotRules, Verify};
use crate::preview1::{StringTable, TurnIo};
use crate::run::capture::Capture;
use crate::run::code::{CodeSpec, LoadedCode};
use crate::run::deadline::Deadline;
use crate::run::guest::calls;
use crate::run::guest::open::process_for;
use crate::run::guest::state::{Guest, TurnState};
use crate::vfs::ImageDescriptors;
use wardian_engine::{CStack, RandomPlace};
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::layer::LayerContent;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// An order to make an image: everything that decides its content.
#[derive(Debug)]
pub struct WarmUp<'a> {
    /// The code.
    pub code: CodeSpec,
    /// The memory to start from.
    pub start: ImageSpec,
    /// The interpreter's files.
    pub library: Library,
    /// The layer of the batteries with its bytecode, for an image that has some of them.
    pub batteries: Option<(LayerContent, Option<LayerContent>)>,
    /// Bytes that are put into memory before the first instruction.
    pub presets: Vec<Preset>,
    /// The place of the interpreter's C stack.
    pub c_stack: CStack,
    /// Where SQLite notes the state of its random numbers. The image has none, so each run begins its own.
    pub sqlite: RandomPlace,
    /// Environment variables of the interpreter's start, such as `PYTHONTZPATH`.
    pub environment: &'a [(&'a str, &'a str)],
    /// Python to execute, one after another.
    pub sources: Vec<String>,
    /// Ceilings on the warm-up.
    pub limits: RunLimits,
    /// The source of time and randomness.
    pub clock_and_random: ClockAndRandomMode,
}

/// Bytes at an address of the guest's memory that are replaced before anything runs in it.
///
/// INVARIANT(expected-before): bytes are replaced only if all of `before` is found, because the
/// address means something else in the memory of another engine.
pub struct Preset {
    /// The address of the bytes.
    pub address: u32,
    /// The expected bytes.
    pub before: Vec<u8>,
    /// The new bytes.
    pub after: Vec<u8>,
}

impl Preset {
    fn ensure_expected(&self, memory: &[u8]) -> Result<(), SandboxError> {
        let start = usize::try_from(self.address).unwrap_or(usize::MAX);
        let found = memory.get(start..start.saturating_add(self.before.len()));
        if found == Some(self.before.as_slice()) && self.before.len() == self.after.len() {
            return Ok(());
        }
        Err(SandboxError::Unexpected { address: self.address })
    }
}

/// Never prints the bytes, which may be a secret.
impl fmt::Debug for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preset").field("address", &self.address).finish_non_exhaustive()
    }
}

/// An interpreter between two calls, whose memory can be written to an image.
pub struct Warmed {
    store: Store<Guest>,
    descriptors: ImageDescriptors,
}

impl Warmed {
    /// The memory, a multiple of a wasm page.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        calls::memory_of(&self.store)
    }

    /// The files that are open.
    #[must_use]
    pub const fn descriptors(&self) -> &ImageDescriptors {
        &self.descriptors
    }
}

impl fmt::Debug for Warmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Warmed").finish_non_exhaustive()
    }
}

/// Starts the interpreter on a cold image and executes the sources.
///
/// # Errors
///
/// The interpreter does not start, a source raises, or a file stays open that no run could have.
pub fn warm_up(order: WarmUp<'_>) -> Result<Warmed, SandboxError> {
    let WarmUp {
        code,
        start,
        library,
        batteries,
        presets,
        c_stack,
        sqlite,
        environment,
        sources,
        limits,
        clock_and_random,
    } = order;
    let nul = |_| SandboxError::WarmUp { reason: "a variable has a zero byte".to_owned() };
    let rules = SlotRules::new(0, Verify::Never, DirtyPages::Unknown);
    let (code, image) = (LoadedCode::load(code)?, LoadedImage::load(start, &rules)?);
    // The interpreter must not remember a time that is later than the start of a run.
    let clock_and_random =
        ClockAndRandom::new(clock_and_random, Clock::System).with_monotonic_start(Duration::ZERO);
    let (setup_limits, turn_limits) = limits.split();
    let mut mounts = library.mounts().to_vec();
    mounts
        .extend(batteries.map(|(layer, code)| batteries_mount(&layer, code.as_ref())).transpose()?);
    let mut process = process_for(&setup_limits, &mounts, clock_and_random)?;
    let variables = environment.iter().map(|(name, value)| format!("{name}={value}"));
    process.environment = StringTable::new(variables).map_err(nul)?;
    process.arguments = StringTable::new(["python"]).map_err(nul)?;

    let guest = Guest::new(process, &setup_limits, image.length());
    let mut store = Store::new(code.engine(), guest);
    store.limiter(|guest| &mut guest.lasting.ceiling);
    // Sources that belong to this program need no poll page.
    let made = code.instantiate(&mut store, &image).map_err(SandboxError::Engine)?;
    calls::attach(&mut store, &made.instance, &made.pages).map_err(SandboxError::Engine)?;
    let capture = Capture::new(turn_limits.logs);
    let io = TurnIo::new(capture, Deadline::after(turn_limits.wall_time));
    let turn = TurnState::new(io, HostCallAccount::new(Box::new(Nobody), b"{}", &turn_limits));
    calls::begin_turn(&mut store, (&made.instance, &made.pages), turn, turn_limits.fuel)
        .map_err(SandboxError::Engine)?;
    for preset in &presets {
        preset.ensure_expected(calls::memory_of(&store))?;
        calls::preset(&mut store, preset.address, &preset.after).map_err(SandboxError::Engine)?;
    }
    call(&mut store, &made.instance, "_initialize")?;
    prepare_native(&mut store, &made.instance)?;
    call(&mut store, &made.instance, "wizer.initialize")?;
    let set = set_c_stack(&mut store, &made.instance, c_stack);
    ensure_quiet(&mut store, set)?;
    for source in &sources {
        let end = calls::turn(&mut store, source.as_bytes());
        ensure_quiet(&mut store, end)?;
    }
    for export in ["reset_preopens", "clear_unused_stack"] {
        call(&mut store, &made.instance, export)?;
    }
    calls::preset(&mut store, sqlite.random_state, &[0; 4]).map_err(SandboxError::Engine)?;
    let carried = store.data_mut().lasting.process.files.image_descriptors();
    let descriptors = carried.map_err(|open| SandboxError::WarmUp { reason: open.to_string() })?;
    Ok(Warmed { store, descriptors })
}

fn call(
    store: &mut Store<Guest>,
    instance: &wasmtime::Instance,
    export: &str,
) -> Result<(), SandboxError> {
    let end = instance
        .get_typed_func::<(), ()>(&mut *store, export)
        .and_then(|function| function.call(&mut *store, ()));
    ensure_quiet(store, end.map(|()| 0))
}

/// Prepares the native modules of packages, which are built into the interpreter: it has to know them
/// before it starts.
fn prepare_native(
    store: &mut Store<Guest>,
    instance: &wasmtime::Instance,
) -> Result<(), SandboxError> {
    let prepare = instance.get_typed_func::<(), i32>(&mut *store, "prepare_native");
    let end = prepare.and_then(|function| function.call(&mut *store, ()));
    ensure_quiet(store, end)
}

/// Sets the bounds of the interpreter's C stack. Zero means success.
fn set_c_stack(
    store: &mut Store<Guest>,
    instance: &wasmtime::Instance,
    stack: CStack,
) -> wasmtime::Result<i32> {
    let current = instance.get_typed_func::<(), i32>(&mut *store, "current_thread_state")?;
    let set = instance.get_typed_func::<(i32, i32, i32), i32>(&mut *store, "set_c_stack")?;
    let thread = current.call(&mut *store, ())?;
    let (base, size) = (stack.base.cast_signed(), stack.size_bytes.cast_signed());
    set.call(&mut *store, (thread, base, size))
}

/// Takes the interpreter's output as the reason of a failed call. A failed call makes no image.
fn ensure_quiet(store: &mut Store<Guest>, end: wasmtime::Result<i32>) -> Result<(), SandboxError> {
    let next = Capture::new(ByteCount::mebibytes(1));
    let turn = store.data_mut().turn.as_mut();
    let said = turn.map(|turn| std::mem::replace(&mut turn.io.capture, next).into_logs());
    let said = said.map_or_else(Vec::new, |logs| logs.chunks);
    let said: String = said.into_iter().map(|chunk| chunk.text).collect();
    match end {
        Ok(0) => Ok(()),
        Ok(_) => Err(SandboxError::WarmUp { reason: said }),
        Err(error) => Err(SandboxError::WarmUp { reason: format!("{said}{error}") }),
    }
}

/// The host while an image is made: it refuses every request.
struct Nobody;

impl Host for Nobody {
    fn write_blob(&mut self, _kind: &str, _content: &[u8]) -> Result<BlobId, Refusal> {
        let message = "an image cannot write blobs".to_owned();
        Err(Refusal { error_type: "PolicyDenied".to_owned(), message })
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_before_bytes_are_checked_before_they_are_replaced() {
        let preset = |address, before: &[u8], after: &[u8]| {
            let preset = Preset { address, before: before.to_vec(), after: after.to_vec() };
            preset.ensure_expected(b"0123456789").map_err(|error| error.to_string())
        };
        assert_eq!(preset(2, b"234", b"abc"), Ok(()));
        assert_eq!(preset(9, b"9", b"x"), Ok(()));
        for (address, before, after) in [
            (2, "235", "abc"),
            (3, "234", "abc"),
            (9, "9a", "xy"),
            (10, "x", "y"),
            (u32::MAX, "x", "y"),
            (2, "234", "ab"),
            (2, "234", "abcd"),
        ] {
            let refused = preset(address, before.as_bytes(), after.as_bytes()).unwrap_err();
            assert!(refused.contains(&address.to_string()), "{refused}");
        }
    }
}
