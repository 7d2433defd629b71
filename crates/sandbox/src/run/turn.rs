//! One turn of a guest, from the order to the outcome.

use std::borrow::Cow;
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
use crate::run::deadline::watchdog::{WatchEnd, Watchdog, Watched};
use crate::run::deadline::{Deadline, Stopped};
use crate::run::ending::{after_interruption, crash, failure_of, is_stop};
use crate::run::guest::calls;
use crate::run::guest::open::OpenGuest;
use crate::run::guest::state::{Guest, TurnPart, TurnState};
use crate::run::interrupter::Interrupter;
use crate::run::job_text::job_text;
use crate::run::meter::FuelMeter;
use crate::run::profiling;
use crate::run::signal_words::{SIGALRM, SIGINT, SignalWords};
use crate::run::stopwatch::Stopwatch;
use crate::run::timer::interval_timer::IntervalTimer;
use crate::run::timer::run_timer::{FueledTimer, RunTimer};
use crate::vfs::Harvest;
use wardian_formats::job::host::Host;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::{Conversions, RunFailure, RunOutcome, RunUsage};
use wardian_formats::job::session::asking::CallerRequests;
use wardian_formats::job::session::cell::{CellOrder, CellOutcome, INTERRUPT_GRACE};
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
    /// nothing has stopped it. To be interrupted is not to be stopped.
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
    /// an outcome. A turn that is [without a program](Turn::files) is not one for this.
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
        if turn.cell.as_ref().is_some_and(|order| order.reseed) {
            self.forget_random_state(guest)?;
        }
        let end = execute(guest, state, turn, watchdog)?;
        finish(guest, turn, end, watch)
    }
}

impl Sandbox {
    /// Lets SQLite begin a new state of its random numbers. Python has no way to do that.
    fn forget_random_state(&self, guest: &mut OpenGuest) -> Result<(), SandboxError> {
        let (Some(place), Some(_)) = (self.config.sqlite, &guest.made) else { return Ok(()) };
        calls::preset(guest.store()?, place.random_state, &[0; 4]).map_err(SandboxError::Engine)
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
    let standing = guest.standing.take();
    let clocks = &mut guest.store()?.data_mut().lasting.process.clock_and_random;
    if standing.is_some_and(|standing| !clocks.go_on_from(&standing)) {
        return Err(SandboxError::Over);
    }
    clocks.fill(&mut seed).map_err(refused)?;
    let seed = u64::from_le_bytes(seed);
    let setup = &guest.setup;
    let shown_id =
        setup.reproducible.map_or_else(|| turn.id.clone(), |run| RunId::of_seed(run.seed));
    let mut capture = Capture::new(turn.limits.logs);
    if let Some(listener) = host.listener().filter(|_| turn.stream_logs) {
        capture.tell(listener);
    }
    let cell = shown_cell(guest, turn);
    let job = job_text((setup, turn), cell.as_deref(), (&shown_id, seed));
    let job = job.map_err(SandboxError::Job)?;
    let account = HostCallAccount::new(host, &job, &turn.limits).for_cell(turn.cell.as_ref());
    guest.store()?.data_mut().lasting.process.files.begin_turn();
    let mut deadline = Deadline::at(watch.started() + turn.limits.wall_time);
    if is_soft(&guest.setup, turn) {
        deadline = deadline.with_grace(INTERRUPT_GRACE);
    }
    let mut state = TurnState::new(TurnIo::new(capture, deadline), account);
    state.part = Some(TurnPart { limits: turn.limits, watch });
    Ok(state)
}

/// The order for a cell as its guest gets it. A reproducible one counts its cells itself, so only those that were kept:
/// others leave no trace, and whether there were any may depend on the machine.
fn shown_cell<'a>(guest: &OpenGuest, turn: &'a Turn) -> Option<Cow<'a, CellOrder>> {
    let cell = turn.cell.as_ref()?;
    if guest.setup.reproducible.is_none() {
        return Some(Cow::Borrowed(cell));
    }
    Some(Cow::Owned(CellOrder { number: 0, ..cell.clone() }))
}

/// True if a turn is interrupted before it is stopped, so that its state can be kept: a cell, unless it has
/// to repeat. Where a signal arrives depends on the machine.
const fn is_soft(setup: &Setup, turn: &Turn) -> bool {
    turn.cell.is_some() && setup.reproducible.is_none()
}

/// The end of the call into a guest.
struct CallEnd {
    result: wasmtime::Result<i32>,
    /// What the watchdog has done to the guest, which it may have noticed or not.
    watch: WatchEnd,
}

impl CallEnd {
    /// The end of a call that was not begun.
    fn unbegun(error: wasmtime::Error) -> Self {
        Self { result: Err(error), watch: WatchEnd::default() }
    }
}

/// Runs the guest while the watchdog watches it.
fn execute(
    guest: &mut OpenGuest,
    mut state: TurnState,
    turn: &Turn,
    watchdog: &Watchdog,
) -> Result<CallEnd, SandboxError> {
    let (made, unmade) = (guest.made.clone(), guest.unmade.take());
    let keeps_state = is_soft(&guest.setup, turn);
    let store = guest.store()?;
    let Some(made) = made else {
        store.data_mut().turn = Some(state);
        let unknown = || wasmtime::Error::msg("the guest was not made");
        return Ok(CallEnd::unbegun(unmade.unwrap_or_else(unknown)));
    };
    if let Some(order) = turn.profile {
        profiling::begin(store, &mut state, &made.instance, order);
    }
    let words = |signal| SignalWords::find(&made.signals, calls::memory_of(store), signal);
    let (alarm, interrupt) = (words(SIGALRM), words(SIGINT));
    let counts_fuel = store.data().lasting.process.clock_and_random.counts_fuel();
    state.timer = match alarm {
        None => RunTimer::Absent,
        Some(words) if counts_fuel => {
            let (timer, watch) = (IntervalTimer::default(), watchdog.timer());
            RunTimer::Fueled(FueledTimer { timer, words, watch })
        }
        Some(_) => RunTimer::Live(watchdog.timer()),
    };
    let signals = GuestSignals { alarm, interrupt: interrupt.filter(|_| keeps_state) };
    Ok(call(store, made, (state, turn.limits.fuel), (watchdog, signals))
        .unwrap_or_else(CallEnd::unbegun))
}

/// The words by which the watchdog sends signals.
struct GuestSignals {
    alarm: Option<SignalWords>,
    interrupt: Option<SignalWords>,
}

/// The call into the guest. Errors are those of its beginning.
fn call(
    store: &mut Store<Guest>,
    MadeGuest { instance, pages, interrupter, .. }: MadeGuest,
    (state, budget): (TurnState, Option<Fuel>),
    (watchdog, signals): (&Watchdog, GuestSignals),
) -> wasmtime::Result<CallEnd> {
    let is_cancelled = state.account.is_cancelled();
    let is_interrupted = state.account.is_interrupted();
    let deadline = state.io.deadline.clone();
    if let Interrupter::Epoch(_) = interrupter {
        // Epochs may have begun since the guest was made, to stop others.
        store.set_epoch_deadline(1);
    }
    calls::begin_turn(store, (&instance, &pages), state, budget)?;
    let meter = store.data().meter().cloned();
    let watched = Watched {
        interrupter,
        is_cancelled,
        is_interrupted,
        meter: meter.clone(),
        pages,
        words: signals.alarm,
        soft: signals.interrupt,
    };
    let armed = watchdog.arm(watched, &deadline);
    let end = calls::turn(store, START);
    let watch = armed.disarm();
    let stopped = watch.stopped;
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
    Ok(CallEnd { result, watch })
}

/// Stores the files that the turn left, and gathers its outcome.
fn finish(
    guest: &mut OpenGuest,
    turn: &Turn,
    CallEnd { result, watch: WatchEnd { stopped, interrupted, was_noticed } }: CallEnd,
    watch: Stopwatch,
) -> Result<TurnEnd, SandboxError> {
    let part = guest.store()?.data().turn.as_ref().and_then(|state| state.part);
    let TurnPart { limits, watch } = part.unwrap_or(TurnPart { limits: turn.limits, watch });
    let (wall_time, fuel_limit) = (watch.wall_time(), limits.fuel);
    let limits = RunLimits::of(guest.setup.limits, limits);
    let can_go_on = matches!(result, Ok(0)) && stopped.is_none();
    if turn.cell.is_some() && can_go_on {
        guest.clear_stack()?;
    }
    let store = guest.store()?;
    let fuel = used_fuel(store.data(), fuel_limit);
    let profile = profiling::finish(store, fuel);
    let Guest { lasting, turn: Some(state) } = store.data_mut() else {
        return Err(SandboxError::Over);
    };
    let refused = lasting.ceiling.take_refusal();
    let room = lasting.ceiling.room();
    let files = &lasting.process.files;
    let wish = (&turn.keep_files, harvest(turn));
    let files = keep_files(files, &mut state.account, wish, room);
    let reason = interrupted.or(stopped);
    let was_sent = matches!(reason, Some(Stopped::Interrupted | Stopped::Deadline));
    let cell = state.account.take_cell();
    let blob_names = state.account.take_names();
    let (report, host_calls) = state.account.take_report();
    let waits = can_go_on && matches!(report, Some(ProgramReport::Waits));
    let interrupted_cell = if waits { was_noticed } else { was_sent };
    let cell = cell.map(|cell| {
        let requests = if waits { cell.requests } else { CallerRequests::default() };
        Box::new(CellOutcome { interrupted: interrupted_cell, requests, ..cell })
    });
    let mut conversions = Conversions::default();
    let (end, output) = match (result, report) {
        (Ok(0), Some(ProgramReport::Returned(output, converted))) => {
            conversions = converted;
            (Ok(()), output)
        }
        (Ok(0), Some(ProgramReport::Raised(raised))) => {
            let failure = raised.into_failure(&limits, refused);
            (Err(after_interruption(failure, interrupted, limits.wall_time)), Vec::new())
        }
        (Ok(0), Some(ProgramReport::Waits)) if waits => (Ok(()), b"null".to_vec()),
        (Ok(_), _) => (Err(silent_end(refused, limits.memory)), Vec::new()),
        (Err(error), _) => (Err(failure_of(&error, &limits, refused)), Vec::new()),
    };
    let memory_peak = ByteCount::from(lasting.ceiling.peak());
    // No time passes between two cells, whether the guest is kept meanwhile or parked.
    let clocks = lasting.process.clock_and_random.parked();
    let standing = (turn.cell.is_some() && clocks.seeded.is_none()).then_some(clocks);
    let nothing = Capture::new(ByteCount::default());
    let logs = std::mem::replace(&mut state.io.capture, nothing).into_logs();
    let largest = state.account.largest();
    guest.largest = guest.largest.max(largest);
    guest.can_go_on = can_go_on;
    guest.standing = standing;
    let cpu_time = Some(watch.cpu_time());
    let last_reset = None;
    let usage =
        RunUsage { wall_time, cpu_time, fuel, memory_peak, host_calls, last_reset, resumed: None };
    let outcome = RunOutcome { end, logs, files, blob_names, conversions, usage, profile, cell };
    Ok(TurnEnd { outcome, output, can_go_on })
}

/// The files that a turn leaves: a cell those that it has made or changed, a whole program all. Patterns
/// that a call chooses are for all.
const fn harvest(turn: &Turn) -> Harvest {
    match (&turn.cell, &turn.keep_files) {
        (
            Some(CellOrder { program: false, .. }),
            KeepFiles::Nothing | KeepFiles::All | KeepFiles::Figures | KeepFiles::Usual(_),
        ) => Harvest::OfTurn,
        (Some(_) | None, _) => Harvest::All,
    }
}

/// The fuel that a turn has used, if it was counted. A turn never uses more than its limit.
fn used_fuel(guest: &Guest, limit: Option<Fuel>) -> Option<Fuel> {
    let limit = limit?;
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
