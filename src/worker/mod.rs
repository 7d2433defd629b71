//! The process around a sandbox: it loads an engine, locks itself down, and then runs whatever
//! the gateway sends, one guest at a time.
//!
//! Knows nothing of wasm: what it needs from a sandbox is the trait [`Runner`]. Nor does it
//! know files, network or tenants' secrets, beyond what one run brings along.
//!
//! INVARIANT(fail-stop): after an error or a panic the process ends. It never runs another guest
//! in a state that nobody has thought of; the gateway starts a fresh worker instead.
//! INVARIANT(ends-with-gateway): a worker whose gateway is gone ends, idle or busy.
//!
//! # Why one thread does everything
//!
//! The thread that runs the guest also reads and writes the socket. A thread of its own for the
//! socket would add two wake-ups to every run and every call through the door. To be cancelled,
//! a guest is interrupted now and then anyway, by the clock that stops endless loops; the
//! sandbox then asks [`GuestHost::is_cancelled`], which looks at the socket. A guest that is not
//! stopped in this way is stopped by the gateway, which kills the process.

pub mod channel;
pub mod host;
pub mod lockdown;
pub mod python;
pub mod runner;
mod syscalls;

use std::cell::RefCell;
use std::hint::black_box;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::panic::PanicHookInfo;
use std::rc::Rc;
use std::{io, panic, thread};

pub use crate::worker::channel::{Channel, ChannelError};
pub use crate::worker::host::{ChannelHost, GuestHost};
pub use crate::worker::lockdown::{LockdownError, LockdownPlan, LockdownReport, MissingWalls};
pub use crate::worker::runner::{Abilities, Ended, Runner, RunnerError};

use crate::job::RunSpec;
use crate::job::message::{FromWorker, PackedFile, Payload, ToWorker, WorkerReport};

/// Stack of the thread that runs guests. The guest's own stack is limited below this by the
/// sandbox; the rest is for the host functions that it calls.
pub const GUEST_STACK: usize = 32 << 20;

/// Why a worker ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The engine cannot be loaded or started.
    #[error("the sandbox cannot start")]
    Start(#[source] RunnerError),
    /// The operating system refuses the guest's thread.
    #[error("the guest's thread cannot start")]
    Thread(#[source] io::Error),
    /// The process could not be locked down.
    #[error("the worker cannot be locked down")]
    Lockdown(#[from] LockdownError),
    /// The gateway cannot be reached or understood.
    #[error("the gateway cannot be served")]
    Channel(#[from] ChannelError),
    /// A message that makes no sense now.
    #[error("the gateway sent a message that does not belong here")]
    Unexpected,
    /// The sandbox broke.
    #[error("the sandbox broke")]
    Sandbox(#[source] RunnerError),
    /// A panic; the place was written to stderr.
    #[error("the worker panicked")]
    Panic,
}

/// The socket that a gateway passes as standard input, under another number. Locking down closes
/// standard input itself.
///
/// # Errors
///
/// Standard input is closed.
pub fn socket_from_standard_input() -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?)
}

/// Serves the gateway over `channel` until it closes its end. The caller should end the process
/// then, whatever the result.
///
/// `load` runs first, with all rights of the process and on its only thread: it opens every file
/// that will be needed and starts no thread.
///
/// # Errors
///
/// The worker could not start, or the gateway or the sandbox broke. A reason for not starting has
/// been sent to the gateway.
pub fn serve<R: Runner>(
    channel: OwnedFd,
    plan: &LockdownPlan,
    load: impl FnOnce() -> Result<R, RunnerError>,
) -> Result<(), WorkerError> {
    panic::set_hook(Box::new(report_panic));
    let mut channel = Channel::new(channel);
    let (runner, report) = match load_and_isolate(&channel, plan, load) {
        Ok(loaded) => loaded,
        Err(error) => return Err(give_up(&mut channel, error)),
    };
    thread::scope(|scope| {
        thread::Builder::new()
            .name("guest".to_owned())
            .stack_size(GUEST_STACK)
            .spawn_scoped(scope, || seal_and_attend(channel, runner, plan, report))
            .map_err(WorkerError::Thread)?
            .join()
            .unwrap_or(Err(WorkerError::Panic))
    })
}

fn load_and_isolate<R: Runner>(
    channel: &Channel,
    plan: &LockdownPlan,
    load: impl FnOnce() -> Result<R, RunnerError>,
) -> Result<(R, LockdownReport), WorkerError> {
    let runner = load().map_err(WorkerError::Start)?;
    let mut keep = runner.kept_descriptors();
    keep.push(channel.raw_descriptor());
    let report = lockdown::isolate(plan, &keep)?;
    Ok((runner, report))
}

fn seal_and_attend<R: Runner>(
    mut channel: Channel,
    mut runner: R,
    plan: &LockdownPlan,
    report: LockdownReport,
) -> Result<(), WorkerError> {
    let descriptor = channel.raw_descriptor();
    let started = runner.start().map_err(WorkerError::Start);
    let sealed = started.and_then(|()| Ok(lockdown::seal(plan, report, descriptor)?));
    match sealed {
        Ok(report) => {
            channel.send(&FromWorker::Ready(describe(runner.abilities(), &report)), &[])?;
            attend(channel, &mut runner)
        }
        Err(error) => Err(give_up(&mut channel, error)),
    }
}

/// Tells the gateway why this worker will never be ready.
fn give_up(channel: &mut Channel, error: WorkerError) -> WorkerError {
    let reason = crate::error::CauseChain(&error).to_string();
    match channel.send(&FromWorker::Failed { reason }, &[]) {
        Ok(()) => error,
        Err(unsent) => unsent.into(),
    }
}

fn describe(abilities: Abilities, lockdown: &LockdownReport) -> WorkerReport {
    let missing = |(wall, reason): &(lockdown::Wall, String)| format!("{wall}: {reason}");
    WorkerReport {
        images: abilities.images,
        reset: abilities.reset,
        lockdown: lockdown.active.iter().map(ToString::to_string).collect(),
        missing: lockdown.missing.iter().map(missing).collect(),
    }
}

/// Does what the gateway says until it closes its end.
///
/// # Errors
///
/// The gateway or the sandbox broke.
pub fn attend(channel: Channel, runner: &mut impl Runner) -> Result<(), WorkerError> {
    let channel = Rc::new(RefCell::new(channel));
    loop {
        let received = channel.borrow_mut().receive()?;
        let Some((message, payload)) = received else { return Ok(()) };
        match message {
            ToWorker::AttachSkill { digest, files } => {
                ensure_within(&files, &payload)?;
                runner.attach_skill(digest, files, payload).map_err(WorkerError::Sandbox)?;
            }
            ToWorker::AttachBlob { id } => {
                runner.attach_blob(id, payload).map_err(WorkerError::Sandbox)?;
            }
            ToWorker::DetachSkill { digest } => runner.detach_skill(&digest),
            ToWorker::DetachBlob { id } => runner.detach_blob(&id),
            ToWorker::Run(spec) => perform(&channel, runner, *spec)?,
            // The run that it meant ended while the message was on its way.
            ToWorker::Cancel => {}
            ToWorker::BlobStored { .. } | ToWorker::Refused(_) => {
                return Err(WorkerError::Unexpected);
            }
        }
    }
}

fn ensure_within(files: &[PackedFile], content: &Payload) -> Result<(), WorkerError> {
    let end = content.size().as_u64();
    let fits = |file: &PackedFile| file.offset.checked_add(file.size).is_some_and(|to| to <= end);
    if files.iter().all(fits) { Ok(()) } else { Err(WorkerError::Unexpected) }
}

fn perform(
    channel: &Rc<RefCell<Channel>>,
    runner: &mut impl Runner,
    spec: RunSpec,
) -> Result<(), WorkerError> {
    let host = ChannelHost::new(channel);
    let ended = runner.run(&spec, host.clone()).map_err(WorkerError::Sandbox)?;
    host.close()?;
    forget_secrets(spec);
    let output = ended.output.unwrap_or_default();
    channel.borrow_mut().send(&FromWorker::Done(Box::new(ended.outcome)), &output)?;
    // The gateway has its answer: cleaning up delays nobody now.
    drop(ended.remains);
    Ok(())
}

/// Overwrites the values of the environment, so that no later guest finds them in freed memory.
fn forget_secrets(spec: RunSpec) {
    for value in spec.environment.into_values() {
        let mut bytes = value.into_bytes();
        bytes.fill(0);
        black_box(&bytes);
    }
}

/// Writes where a panic happened, and its text only if it is fixed: a formatted text may quote a
/// guest's data, which must not reach a log.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let text = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(text withheld)");
    let line = match panic.location() {
        Some(place) => format!("panic at {place}: {text}\n"),
        None => format!("panic: {text}\n"),
    };
    // Nobody is left to tell if stderr is closed.
    io::stderr().write_all(line.as_bytes()).ok();
}
