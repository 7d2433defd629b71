//! Starts a worker: sets up a fresh process, and then serves the gateway.

use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;
use std::{io, panic, thread};

use crate::engine::code::compile::MAX_WASM_STACK;
use crate::job::message::{FromWorker, WorkerReport};
use crate::worker::attend::attend;
use crate::worker::error::WorkerError;
use crate::worker::link::channel::Channel;
use crate::worker::lockdown::{self, LockdownPlan, LockdownReport};
use crate::worker::panics::report_panic;
use crate::worker::runner::{Abilities, Runner, RunnerError};

/// Stack of the thread that runs guests, in bytes.
///
/// It holds the guest's native stack, which the sandbox limits, and 24 MiB for host functions. It
/// is address space that counts against `RLIMIT_AS` and `RLIMIT_DATA`. Only touched pages take
/// memory, and the sandbox releases them after a run.
pub const GUEST_STACK: usize = MAX_WASM_STACK + (24 << 20);

/// Duplicates the socket that a gateway passes as standard input, because the lock-down closes
/// standard input.
///
/// # Errors
///
/// Standard input is closed.
pub fn socket_from_standard_input() -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?)
}

/// Serves the gateway over `channel` until the gateway closes its end. The caller must then end the
/// process, also after an error.
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
    match lockdown::isolate(plan, &keep) {
        Ok(report) => Ok((runner, report)),
        Err(error) => {
            // Descriptors of the runner were closed by `isolate`. Dropping the runner would close
            // them again, which aborts the process before it could report the error.
            let _unusable = ManuallyDrop::new(runner);
            Err(error.into())
        }
    }
}

fn seal_and_attend<R: Runner>(
    mut channel: Channel,
    mut runner: R,
    plan: &LockdownPlan,
    report: LockdownReport,
) -> Result<(), WorkerError> {
    let sealed = runner.start().map_err(WorkerError::Start).and_then(|()| {
        let outbox = channel.outbox_descriptor()?;
        Ok(lockdown::seal(plan, report, channel.raw_descriptor(), outbox)?)
    });
    match sealed {
        Ok(report) => {
            channel.send(&FromWorker::Ready(describe(runner.abilities(), &report)), &[])?;
            attend(channel, &mut runner)
        }
        Err(error) => Err(give_up(&mut channel, error)),
    }
}

/// Sends the gateway the reason why this worker does not become ready.
fn give_up(channel: &mut Channel, error: WorkerError) -> WorkerError {
    let reason = crate::error::CauseChain(&error).to_string();
    match channel.send(&FromWorker::Failed { reason }, &[]) {
        Ok(()) => error,
        Err(unsent) => unsent.into(),
    }
}

fn describe(abilities: Abilities, lockdown: &LockdownReport) -> WorkerReport {
    let named = |(wall, reason): &(lockdown::Wall, String)| format!("{wall}: {reason}");
    WorkerReport {
        code: abilities.code,
        reset: abilities.reset,
        lockdown: lockdown.active.iter().map(ToString::to_string).collect(),
        missing: lockdown.missing.iter().map(named).collect(),
        partial: lockdown.partial.iter().map(named).collect(),
        huge_pages: if lockdown.has_small_pages { "off" } else { "not controlled" }.to_owned(),
    }
}
