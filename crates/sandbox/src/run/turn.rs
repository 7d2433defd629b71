//! One turn of a guest, from the order to the outcome.

use std::fmt;
use std::sync::Arc;

use wasmtime::{Store, Trap};

use crate::error::SandboxError;
use crate::host_call::account::{HostCallAccount, ProgramReport};
use crate::host_call::keep_files::keep_files;
use crate::loaded::Sandbox;
use crate::preview1::TurnIo;
use crate::run::capture::Capture;
use crate::run::code::MadeGuest;
use crate::run::deadline::watchdog::{Watchdog, Watched};
use crate::run::deadline::{Deadline, Stopped};
use crate::run::ending::{crash, failure_of, is_stop};
use crate::run::guest::calls;
use crate::run::guest::open::OpenGuest;
use crate::run::guest::state::{Guest, TurnState};
use crate::run::job_text::job_text;
use crate::run::meter::FuelMeter;
use crate::run::profiling;
use crate::run::stopwatch::Stopwatch;
use crate::run::timer::run_timer::{FueledTimer, RunTimer};
use crate::vfs::Harvest;
use wardian_formats::job::host::Host;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::{Conversions, RunFailure, RunOutcome, RunUsage};
use wardian_formats::job::{KeepFiles, Setup, Turn};
use wardian_vocabulary::ids::RunId;
use wardian_vocabulary::units::{ByteCount, Fuel};

/// The source that starts the runner in the image. It is short, because the guest compiles it in
/// every turn.
const START: &[u8] = b"import _wardian; _wardian.run()";

/// The end of a turn.
pub struct TurnEnd {
    /// The outcome.
    pub outcome: RunOutcome,
    /// JSON text of the returned value, as the guest sent it; empty if the turn did not complete.
    pub output: Vec<u8>,
    /// True if the guest is whole and can have another turn: its program has returned or raised, and
    /// nothing has stopped it.
    pub can_go_on: bool,
}

impl fmt::Debug for TurnEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnEnd").field("outcome", &self.outcome.end).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Opens a guest and gives it one turn. The caller can answer before it closes the guest.
    ///
    /// # Errors
    ///
    /// As [`Self::open`] and [`Self::turn`].
    pub fn run(
        &mut self,
        setup: Arc<Setup>,
        turn: &Turn,
        host: Box<dyn Host>,
    ) -> Result<(OpenGuest, TurnEnd), SandboxError> {
        let watch = Stopwatch::start();
        let mut guest = self.open(setup)?;
        let end = self.turn(&mut guest, turn, host, watch)?;
        Ok((guest, end))
    }

    /// Runs one program in an open guest, to its end. Its time began with `watch`.
    ///
    /// # Errors
    ///
    /// Only faults of the sandbox, and orders that do not fit the guest: a guest that misbehaves is
    /// an outcome.
    pub fn turn(
        &self,
        guest: &mut OpenGuest,
        turn: &Turn,
        host: Box<dyn Host>,
        watch: Stopwatch,
    ) -> Result<TurnEnd, SandboxError> {
        if !guest.can_go_on {
            return Err(SandboxError::Over);
        }
        if turn.limits.fuel.is_some() != guest.setup.counts_fuel {
            return Err(SandboxError::Fuel);
        }
        // Until the end says otherwise: an error or a panic leaves nothing to go on with.
        guest.can_go_on = false;
        let watchdog = self.watchdog.as_ref().ok_or(SandboxError::NotAttached)?;
        let state = prepare(guest, turn, host, watch)?;
        let end = execute(guest, state, turn, watchdog)?;
        finish(guest, turn, end, watch)
    }
}

/// The state of the turn that begins: its output, its job, and the account of its host calls.
fn prepare(
    guest: &mut OpenGuest,
    turn: &Turn,
    host: Box<dyn Host>,
    watch: Stopwatch,
) -> Result<TurnState, SandboxError> {
    let mut seed = [0; 8];
    let refused = |cause| SandboxError::System { what: "provide random bytes", cause };
    let clocks = &mut guest.store()?.data_mut().lasting.process.clock_and_random;
    clocks.fill(&mut seed).map_err(refused)?;
    let seed = u64::from_le_bytes(seed);
    let setup = &guest.setup;
    let shown_id =
        setup.reproducible.map_or_else(|| turn.id.clone(), |run| RunId::of_seed(run.seed));
    let mut capture = Capture::new(turn.limits.logs);
    if let Some(listener) = host.listener().filter(|_| turn.stream_logs) {
        capture.tell(listener);
    }
    let job = job_text((setup, turn), &shown_id, seed).map_err(SandboxError::Job)?;
    let account = HostCallAccount::new(host, &job, &turn.limits).for_cell(turn.cell);
    guest.store()?.data_mut().lasting.process.files.begin_turn();
    let deadline = Deadline::at(watch.started() + turn.limits.wall_time);
    Ok(TurnState::new(TurnIo::new(capture, deadline), account))
}

/// The end of the call into a guest.
struct CallEnd {
    result: wasmtime::Result<i32>,
    /// True if the watchdog has stopped the guest, which it may have noticed or not.
    was_stopped: bool,
}

/// Runs the guest while the watchdog watches it.
fn execute(
    guest: &mut OpenGuest,
    mut state: TurnState,
    turn: &Turn,
    watchdog: &Watchdog,
) -> Result<CallEnd, SandboxError> {
    let (made, unmade) = (guest.made.clone(), guest.unmade.take());
    let store = guest.store()?;
    let Some(made) = made else {
        store.data_mut().turn = Some(state);
        let unknown = || wasmtime::Error::msg("the guest was not made");
        return Ok(CallEnd { result: Err(unmade.unwrap_or_else(unknown)), was_stopped: false });
    };
    if let Some(order) = turn.profile {
        profiling::begin(store, &mut state, &made.instance, order);
    }
    state.timer = if store.data().lasting.process.clock_and_random.counts_fuel() {
        RunTimer::Fueled(FueledTimer::default())
    } else {
        RunTimer::Live(watchdog.timer())
    };
    Ok(call(store, made, (state, turn.limits.fuel), watchdog)
        .unwrap_or_else(|error| CallEnd { result: Err(error), was_stopped: false }))
}

/// The call into the guest. Errors are those of its beginning.
fn call(
    store: &mut Store<Guest>,
    MadeGuest { instance, pages, interrupter }: MadeGuest,
    (state, budget): (TurnState, Option<Fuel>),
    watchdog: &Watchdog,
) -> wasmtime::Result<CallEnd> {
    let is_cancelled = state.account.is_cancelled();
    let deadline = state.io.deadline.clone();
    calls::begin_turn(store, (&instance, &pages), state, budget)?;
    let meter = store.data().meter().cloned();
    let watched = Watched { interrupter, is_cancelled, meter: meter.clone(), pages };
    let armed = watchdog.arm(watched, &deadline);
    let end = calls::turn(store, START);
    let stopped = armed.disarm();
    let is_exceeded = meter.as_ref().is_some_and(FuelMeter::is_exceeded);
    let result = match end {
        // A turn may reach its deadline before somebody looks at its fuel.
        Err(_) if meter.as_ref().is_some_and(FuelMeter::is_surely_exceeded) => {
            Err(Trap::OutOfFuel.into())
        }
        // Polls and charges fault when their page is closed. Other faults are caused by the guest.
        Err(error) if stopped.is_some() && is_stop(&error) => {
            Err(stopped.map_or(error, wasmtime::Error::from))
        }
        Err(error) if error.is::<Stopped>() => Err(error),
        _ if is_exceeded => Err(Trap::OutOfFuel.into()),
        end => end,
    };
    Ok(CallEnd { result, was_stopped: stopped.is_some() })
}

/// Stores the files that the turn left, and gathers its outcome.
fn finish(
    guest: &mut OpenGuest,
    turn: &Turn,
    CallEnd { result, was_stopped }: CallEnd,
    watch: Stopwatch,
) -> Result<TurnEnd, SandboxError> {
    let wall_time = watch.wall_time();
    let limits = RunLimits::of(guest.setup.limits, turn.limits);
    let can_go_on = matches!(result, Ok(0)) && !was_stopped;
    if turn.cell.is_some() && can_go_on {
        guest.clear_stack()?;
    }
    let store = guest.store()?;
    let fuel = used_fuel(store.data(), turn);
    let profile = profiling::finish(store, fuel);
    let Guest { lasting, turn: Some(state) } = store.data_mut() else {
        return Err(SandboxError::Over);
    };
    let refused = lasting.ceiling.take_refusal();
    let room = lasting.ceiling.room();
    let files = &lasting.process.files;
    let wish = (&turn.keep_files, harvest(turn));
    let files = keep_files(files, &mut state.account, wish, room);
    let cell = state.account.take_cell().map(Box::new);
    let blob_names = state.account.take_names();
    let (report, host_calls) = state.account.take_report();
    let mut conversions = Conversions::default();
    let (end, output) = match (result, report) {
        (Ok(0), Some(ProgramReport::Returned(output, converted))) => {
            conversions = converted;
            (Ok(()), output)
        }
        (Ok(0), Some(ProgramReport::Raised(raised))) => {
            (Err(raised.into_failure(&limits, refused)), Vec::new())
        }
        (Ok(_), _) => (Err(silent_end(refused, limits.memory)), Vec::new()),
        (Err(error), _) => (Err(failure_of(&error, &limits, refused)), Vec::new()),
    };
    let memory_peak = ByteCount::from(lasting.ceiling.peak());
    let nothing = Capture::new(ByteCount::default());
    let logs = std::mem::replace(&mut state.io.capture, nothing).into_logs();
    let largest = state.account.largest();
    guest.largest = guest.largest.max(largest);
    guest.can_go_on = can_go_on;
    let cpu_time = Some(watch.cpu_time());
    let last_reset = None;
    let usage = RunUsage { wall_time, cpu_time, fuel, memory_peak, host_calls, last_reset };
    let outcome = RunOutcome { end, logs, files, blob_names, conversions, usage, profile, cell };
    Ok(TurnEnd { outcome, output, can_go_on })
}

/// The files that a turn leaves: a cell those that it has made or changed. Patterns that a call chooses
/// are for all.
const fn harvest(turn: &Turn) -> Harvest {
    match (turn.cell, &turn.keep_files) {
        (
            Some(_),
            KeepFiles::Nothing | KeepFiles::All | KeepFiles::Figures | KeepFiles::Usual(_),
        ) => Harvest::OfTurn,
        (Some(_), KeepFiles::Matching(_)) | (None, _) => Harvest::All,
    }
}

/// The fuel that a turn has used, if it was counted. A turn never uses more than its limit.
fn used_fuel(guest: &Guest, turn: &Turn) -> Option<Fuel> {
    let limit = turn.limits.fuel?;
    let Some(meter) = guest.meter() else { return Some(Fuel(0)) };
    Some(if meter.is_exceeded() { limit } else { meter.used() })
}

/// The failure of a runner that ended without a report: the program has damaged it, or memory ran
/// out at a point at which the runner could not report it.
fn silent_end(refused_memory: bool, limit: ByteCount) -> RunFailure {
    if refused_memory {
        RunFailure::MemoryLimit { limit, traceback: None }
    } else {
        crash("the program ended without a result")
    }
}
