//! Starts a worker: sets up a fresh process, and then serves the gateway.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;
use std::{io, panic, thread};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::attend::attend;
use crate::error::WorkerError;
use crate::link::channel::Channel;
use crate::lockdown::{self, LockdownPlan, LockdownReport};
use crate::panics::report_panic;
use crate::runner::{Abilities, Runner, RunnerError};
use crate::template::{TemplateChannel, ensure_single_threaded};
use wardian_formats::job::message::{FromWorker, WorkerReport};
use wardian_formats::job::template::FromTemplate;
use wardian_sandbox::GUEST_STACK;
use wardian_vocabulary::heap::wipe_freed_memory;

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
    wipe_freed_memory();
    let mut channel = Channel::new(channel);
    match load().map_err(WorkerError::Start) {
        Ok(runner) => isolate_and_attend(channel, runner, plan),
        Err(error) => Err(give_up(&mut channel, error)),
    }
}

/// Forks workers for the gateway, as it asks for them over `control`, until it closes its end. The
/// call returns in each worker as [`serve`] does, and in the template.
///
/// `load` is that of [`serve`]. It is called once, in the template.
///
/// # Errors
///
/// The template could not start, which the gateway has been told, or could not fork. In a worker as
/// [`serve`].
pub fn serve_forks<R: Runner>(
    control: OwnedFd,
    plan: &LockdownPlan,
    load: impl FnOnce() -> Result<R, RunnerError>,
) -> Result<(), WorkerError> {
    panic::set_hook(Box::new(report_panic));
    wipe_freed_memory();
    let mut control = TemplateChannel::new(control);
    let prepared = load().map_err(WorkerError::Start).and_then(|runner| {
        let mut keep = runner.kept_descriptors();
        keep.push(control.raw_descriptor());
        // Descriptors that are closed may belong to the runner of a template that fails, which must
        // not close them again.
        let runner = ManuallyDrop::new(runner);
        ensure_single_threaded()?;
        lockdown::isolate_template(plan, &keep)?;
        Ok(ManuallyDrop::into_inner(runner))
    });
    let forked = prepared.and_then(|runner| {
        control.send(&FromTemplate::Ready)?;
        Ok((runner, control.fork_workers()?))
    });
    let (mut runner, worker) = match forked {
        Ok((_, None)) => return Ok(()),
        Ok((runner, Some(worker))) => (runner, worker),
        Err(error) => {
            let reason = wardian_vocabulary::error::CauseChain(&error).to_string();
            control.send(&FromTemplate::Failed { reason })?;
            return Err(error);
        }
    };
    // This process is a worker. It must not speak for the template.
    drop(control);
    let channel = Channel::new(worker.settle().map_err(WorkerError::Fork)?);
    runner.enter_process();
    isolate_and_attend(channel, runner, plan)
}

fn isolate_and_attend<R: Runner>(
    mut channel: Channel,
    runner: R,
    plan: &LockdownPlan,
) -> Result<(), WorkerError> {
    let mut keep = runner.kept_descriptors();
    keep.push(channel.raw_descriptor());
    let report = match lockdown::isolate(plan, &keep) {
        Ok(report) => report,
        Err(error) => {
            // Descriptors of the runner were closed by `isolate`. Dropping the runner would close
            // them again, which aborts the process before it could report the error.
            let _unusable = ManuallyDrop::new(runner);
            return Err(give_up(&mut channel, error.into()));
        }
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
    let reason = wardian_vocabulary::error::CauseChain(&error).to_string();
    let message = if may_pass(&error) {
        FromWorker::Failed { reason }
    } else {
        FromWorker::CannotStart { reason }
    };
    match channel.send(&message, &[]) {
        Ok(()) => error,
        Err(unsent) => unsent.into(),
    }
}

/// True if another worker may start a little later: the machine is short of something, or the fault
/// is not known.
fn may_pass(error: &WorkerError) -> bool {
    if !matches!(error, WorkerError::Start(_) | WorkerError::Lockdown(_)) {
        return true;
    }
    let is_limited = |number: Errno| number == Errno::NOMEM && has_limited_addresses();
    let mut next = Some(error as &(dyn Error + 'static));
    while let Some(cause) = next {
        let of_system = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        let number = cause.downcast_ref::<Errno>().map(|errno| errno.raw_os_error());
        let number = of_system.or(number).map(Errno::from_raw_os_error);
        if let Some(number) = number.filter(|number| SHORTAGES.contains(number)) {
            return !is_limited(number);
        }
        next = cause.source();
    }
    false
}

/// True if this process has been given a limit on its addresses, as by `ulimit -v`. The lock-down sets
/// one as well, after everything that takes many.
fn has_limited_addresses() -> bool {
    getrlimit(Resource::As).current.is_some() || getrlimit(Resource::Data).current.is_some()
}

/// Errors of a system that is short of memory, processes, descriptors or space.
const SHORTAGES: [Errno; 7] = [
    Errno::AGAIN,
    Errno::NOMEM,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOSPC,
    Errno::INTR,
    Errno::BUSY,
];

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
