//! One run, from the order to the outcome.

use std::fmt;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Store, Trap};

use crate::attached::contents::blob_path;
use crate::attached::image::LoadedImage;
use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::error::SandboxError;
use crate::host_call::account::{HostCallAccount, ProgramEnd};
use crate::host_call::keep_files::keep_files;
use crate::loaded::Sandbox;
use crate::memory::{release_native_stack, trim_heap};
use crate::preview1::Wasi;
use crate::run::capture::Capture;
use crate::run::code::{LoadedCode, MadeGuest};
use crate::run::deadline::{Deadline, Stopped};
use crate::run::ending::{crash, failure_of, is_stop};
use crate::run::guest::{self, Guest};
use crate::run::job_text::job_text;
use crate::run::meter::FuelMeter;
use crate::run::profiling;
use crate::run::timer::run_timer::{FueledTimer, RunTimer};
use crate::run::watchdog::{Watchdog, Watched};
use crate::vfs::{Errno, FileSystem, Mount, NameInWorkspace, timestamp};
use wardian_engine::code::instrumentation::Variant;
use wardian_formats::job::host::Host;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::{Conversions, RunFailure, RunOutcome, RunUsage};
use wardian_formats::job::profile::ProfileOrder;
use wardian_formats::job::{BlobMount, FuelRules, Program, RunSpec};
use wardian_vocabulary::ids::{BlobName, RunId};
use wardian_vocabulary::units::{ByteCount, Fuel};

/// The source that starts the runner in the image. It is short, because the guest compiles it in
/// every run.
const START: &[u8] = b"import _wardian; _wardian.run()";

/// The end of a run. Dropping it returns the guest's memory to its image. On the thread of the run,
/// it also releases the touched native stack to the system.
pub struct Finished {
    /// The outcome.
    pub outcome: RunOutcome,
    /// JSON text of the returned value, as the guest sent it, if the run completed.
    pub output: Vec<u8>,
    /// Kept so that the reset happens after the answer; `None` only while dropping.
    store: Option<Store<Guest>>,
}

/// If the host held more bytes than this for a run, the free heap is released to the system. Files
/// of the run and payloads of host calls count.
const LARGE: u64 = 4 << 20;

impl Drop for Finished {
    fn drop(&mut self) {
        let held = self.store.as_ref().map_or(0, |store| {
            let guest = store.data();
            let sent = u64::try_from(guest.account.largest()).unwrap_or(u64::MAX);
            guest.wasi.files.workspace_peak().saturating_add(sent)
        });
        drop(self.store.take());
        release_native_stack();
        if held > LARGE {
            self.output = Vec::new();
            trim_heap();
        }
    }
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished").field("outcome", &self.outcome.end).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Runs one program to its end.
    ///
    /// The guest's memory returns to its image when the result is dropped, so the caller can
    /// answer first.
    ///
    /// # Errors
    ///
    /// Only faults of the sandbox: a guest that misbehaves is an outcome.
    pub fn run(&mut self, spec: &RunSpec, host: Box<dyn Host>) -> Result<Finished, SandboxError> {
        run(self, spec, host)
    }
}

fn run(
    sandbox: &mut Sandbox,
    spec: &RunSpec,
    host: Box<dyn Host>,
) -> Result<Finished, SandboxError> {
    let (started, cpu) = (Instant::now(), thread_time());
    let variant = if spec.limits.fuel.is_some() { Variant::Metered } else { Variant::Timed };
    sandbox.check()?;
    let image =
        sandbox.images.for_run(&spec.tenant, spec.image, sandbox.config.keep_idle.as_usize());
    let image = image.ok_or(SandboxError::NotAttached)?;
    let code = sandbox.code(variant).ok_or(SandboxError::NotAttached)?;
    let mut store = prepare(sandbox, (code, &image), spec, (host, started))?;
    let watchdog = sandbox.watchdog.as_ref().ok_or(SandboxError::NotAttached)?;
    let end = execute(&mut store, (code, &image), spec.profile, watchdog);
    let mut finished = finish(store, &image, spec, (end, started));
    let usage = &mut finished.outcome.usage;
    usage.cpu_time = Some(thread_time().saturating_sub(cpu));
    Ok(finished)
}

/// Processor time of this thread. A run has no other thread that works for it: the watchdog sleeps
/// nearly all of the time.
fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// A store with everything that the run needs.
fn prepare(
    sandbox: &Sandbox,
    (code, image): (&LoadedCode, &LoadedImage),
    spec: &RunSpec,
    (host, started): (Box<dyn Host>, Instant),
) -> Result<Store<Guest>, SandboxError> {
    let mut mounts = sandbox.library.mounts().to_vec();
    mounts.extend(sandbox.attachments.mounts(spec)?);
    let budget = FuelMeter::bounded(spec.limits.fuel.unwrap_or(Fuel(u64::MAX)));
    let mode = spec.reproducible.map(|run| ClockAndRandomMode::of_reproducible(run, budget));
    let mode = mode.unwrap_or(sandbox.config.clock_and_random);
    let clock_and_random = ClockAndRandom::new(mode, sandbox.config.clock);
    let deadline = Deadline::at(started + spec.limits.wall_time);
    let mut wasi = wasi_for(&spec.limits, &mounts, clock_and_random, deadline)?;
    name_blobs(&mut wasi, spec).map_err(SandboxError::Descriptors)?;
    wasi.files.restore_descriptors(image.descriptors()).map_err(SandboxError::Descriptors)?;
    let mut seed = [0; 8];
    let refused = |cause| SandboxError::System { what: "provide random bytes", cause };
    wasi.clock_and_random.fill(&mut seed).map_err(refused)?;
    let seed = u64::from_le_bytes(seed);
    let shown_id =
        spec.reproducible.map_or_else(|| spec.run_id.clone(), |run| RunId::of_seed(run.seed));
    if let Some(listener) = host.listener().filter(|_| spec.stream_logs) {
        wasi.capture.tell(listener);
    }
    let job = job_text(spec, &shown_id, seed).map_err(SandboxError::Job)?;
    let account = HostCallAccount::new(host, &job, &spec.limits);
    let mut guest = Guest::new(wasi, account, &spec.limits, image.length());
    let rules = spec.reproducible.map_or(FuelRules::PRESENT, |run| run.fuel_rules);
    guest.charges_bytes = rules >= FuelRules::BYTES;

    let mut store = Store::new(code.engine(), guest);
    store.limiter(|guest| &mut guest.ceiling);
    Ok(store)
}

/// Lets the program open mounted blobs by their names.
///
/// Python finds modules in the workspace. The caller of a skill chooses names and contents of blobs
/// and must not choose code that the skill imports by accident, so those names are left out there.
fn name_blobs(wasi: &mut Wasi, spec: &RunSpec) -> Result<(), Errno> {
    let now = timestamp(wasi.clock_and_random.realtime());
    let is_skill = matches!(spec.program, Program::Skill { .. });
    let mut add = |blob: &BlobMount, name: &BlobName, shown| {
        let name = name.as_str();
        let is_absent = is_skill && can_be_imported(name);
        let shown = if is_absent { NameInWorkspace::Absent } else { shown };
        wasi.files.name_blob(&blob_path(&blob.id), name, shown, now)
    };
    for blob in &spec.blobs {
        blob.name.iter().try_for_each(|name| add(blob, name, NameInWorkspace::Listed))?;
    }
    // What is shown has precedence where there is little room.
    for blob in &spec.blobs {
        blob.other_names.iter().try_for_each(|name| add(blob, name, NameInWorkspace::Unlisted))?;
    }
    Ok(())
}

/// True for names of files that Python imports.
fn can_be_imported(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| matches!(ending.as_str(), "py" | "pyc" | "pyw" | "so"))
}

/// The files, output, clocks and limits of one run.
pub(crate) fn wasi_for(
    limits: &RunLimits,
    mounts: &[Mount],
    mut clock_and_random: ClockAndRandom,
    deadline: Deadline,
) -> Result<Wasi, SandboxError> {
    let now = timestamp(clock_and_random.realtime());
    let files = FileSystem::for_run(limits, mounts, now)?;
    Ok(Wasi::new(files, Capture::new(limits.logs), clock_and_random, deadline))
}

/// Runs the guest while the watchdog watches it.
fn execute(
    store: &mut Store<Guest>,
    (code, image): (&LoadedCode, &LoadedImage),
    profile: Option<ProfileOrder>,
    watchdog: &Watchdog,
) -> wasmtime::Result<i32> {
    let MadeGuest { instance, pages, interrupter } = code.instantiate(store, image)?;
    if let Some(order) = profile {
        profiling::begin(store, &instance, order);
    }
    guest::attach(store, &instance, &pages)?;
    let guest = store.data_mut();
    guest.timer = if guest.wasi.clock_and_random.counts_fuel() {
        RunTimer::Fueled(FueledTimer::default())
    } else {
        RunTimer::Live(watchdog.timer())
    };
    let watched = Watched {
        interrupter,
        is_cancelled: guest.account.is_cancelled(),
        meter: guest.meter.clone(),
        pages,
    };
    let armed = watchdog.arm(watched, &guest.wasi.deadline);
    let end = guest::turn(store, START);
    let stopped = armed.disarm();
    let meter = store.data().meter.as_ref();
    let is_exceeded = meter.is_some_and(FuelMeter::is_exceeded);
    match end {
        // A run may reach its deadline before somebody looks at its fuel.
        Err(_) if meter.is_some_and(FuelMeter::is_surely_exceeded) => Err(Trap::OutOfFuel.into()),
        // Polls and charges fault when their page is closed. Other faults are caused by the guest.
        Err(error) if stopped.is_some() && is_stop(&error) => {
            Err(stopped.map_or(error, wasmtime::Error::from))
        }
        Err(error) if error.is::<Stopped>() => Err(error),
        _ if is_exceeded => Err(Trap::OutOfFuel.into()),
        end => end,
    }
}

fn finish(
    mut store: Store<Guest>,
    image: &LoadedImage,
    spec: &RunSpec,
    (end, started): (wasmtime::Result<i32>, Instant),
) -> Finished {
    let wall_time = started.elapsed();
    let fuel = used_fuel(&mut store, spec);
    let profile = profiling::finish(&mut store, fuel);
    let guest = store.data_mut();
    let refused = guest.ceiling.refused;
    let room = guest.ceiling.room();
    let files = keep_files(&guest.wasi.files, &mut guest.account, &spec.keep_files, room);
    let blob_names = guest.account.take_names();
    let (ending, host_calls) = guest.account.take_ending();
    let mut conversions = Conversions::default();
    let (end, output) = match (end, ending) {
        (Ok(0), Some(ProgramEnd::Returned(output, converted))) => {
            conversions = converted;
            (Ok(()), output)
        }
        (Ok(0), Some(ProgramEnd::Raised(raised))) => {
            (Err(raised.into_failure(&spec.limits, refused)), Vec::new())
        }
        (Ok(_), _) => (Err(silent_end(refused, spec)), Vec::new()),
        (Err(error), _) => (Err(failure_of(&error, &spec.limits, refused)), Vec::new()),
    };
    let peak = guest.ceiling.peak.max(image.length());
    let memory_peak = ByteCount::from(peak);
    let last_reset = None;
    let usage = RunUsage { wall_time, cpu_time: None, fuel, memory_peak, host_calls, last_reset };
    let outcome = RunOutcome {
        end,
        logs: std::mem::replace(&mut guest.wasi.capture, Capture::new(ByteCount::default()))
            .into_logs(),
        files,
        blob_names,
        conversions,
        usage,
        profile,
    };
    Finished { outcome, output, store: Some(store) }
}

/// The fuel that a run has used, if it was counted. A run never uses more than its limit.
fn used_fuel(store: &mut Store<Guest>, spec: &RunSpec) -> Option<Fuel> {
    let limit = spec.limits.fuel?;
    let Some(meter) = &store.data().meter else { return Some(Fuel(0)) };
    Some(if meter.is_exceeded() { limit } else { meter.used() })
}

/// The failure of a runner that ended without a report: the program has damaged it, or memory ran
/// out at a point at which the runner could not report it.
fn silent_end(refused_memory: bool, spec: &RunSpec) -> RunFailure {
    if refused_memory {
        RunFailure::MemoryLimit { limit: spec.limits.memory, traceback: None }
    } else {
        crash("the program ended without a result")
    }
}
