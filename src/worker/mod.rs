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
//! socket would add two wake-ups to every run and every call through the door. The sandbox has a
//! thread that stops endless loops, which wakes up now and then during a long run and asks
//! [`GuestHost::is_cancelled`], which looks at the socket. A guest that is not stopped in this way
//! is stopped by the gateway, which kills the process.

pub mod channel;
pub mod host;
pub mod lockdown;
mod outbox;
pub mod python;
pub mod runner;
#[cfg(test)]
pub(crate) mod scripted;
mod syscalls;

use std::any::Any;
use std::cell::RefCell;
use std::hint::black_box;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;
use std::panic::PanicHookInfo;
use std::rc::Rc;
use std::{io, panic, thread};

pub use crate::worker::channel::{Channel, ChannelError};
pub use crate::worker::host::{ChannelHost, GuestHost};
pub use crate::worker::lockdown::{LockdownError, LockdownPlan, LockdownReport, MissingWalls};
pub use crate::worker::runner::{Abilities, Ended, Runner, RunnerError};

use crate::engine::code::compile::MAX_WASM_STACK;
use crate::job::RunSpec;
use crate::job::message::{FromWorker, PackedFile, Payload, ToWorker, WorkerReport};

/// Stack of the thread that runs guests, in bytes.
///
/// It has the guest's own, which the sandbox limits, and 24 MiB for the host functions that it
/// calls. It is address space that counts against `RLIMIT_AS` and `RLIMIT_DATA`; memory is what a
/// run touches, and the sandbox gives that back.
pub const GUEST_STACK: usize = MAX_WASM_STACK + (24 << 20);

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
    match lockdown::isolate(plan, &keep) {
        Ok(report) => Ok((runner, report)),
        Err(error) => {
            // Files that it owns were closed under it. Closing them again would end the process
            // before it could say why, so they are left to the end of the process.
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

/// Tells the gateway why this worker will never be ready.
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
            ToWorker::AttachImage { digest, open_files } => {
                let attached = runner.attach_image(digest, &open_files, payload);
                attached.map_err(WorkerError::Sandbox)?;
            }
            ToWorker::DetachImage { digest } => runner.detach_image(&digest),
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
    runner.check().map_err(|error| decline(&mut channel.borrow_mut(), error))
}

/// Ends the worker before it takes more work. The gateway may have sent the next run already, so it
/// is told that this run was not begun: another worker can have it.
fn decline(channel: &mut Channel, error: RunnerError) -> WorkerError {
    let reason = "the last run could not be cleaned up".to_owned();
    // A gateway that is gone needs no answer.
    channel.send(&FromWorker::Failed { reason }, &[]).ok();
    WorkerError::Sandbox(error)
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
    let text = fixed_text(panic.payload());
    let line = match panic.location() {
        Some(place) => format!("panic at {place}: {text}\n"),
        None => format!("panic: {text}\n"),
    };
    // Nobody is left to tell if stderr is closed.
    io::stderr().write_all(line.as_bytes()).ok();
}

fn fixed_text(payload: &(dyn Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("(text withheld)")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::ids::{BlobId, Digest};
    use crate::job::frame;
    use crate::job::message::{INLINE_MAX, Order, Refusal};
    use crate::job::outcome::{RunFailure, RunOutcome};
    use crate::job::socket::{self, Incoming};
    use crate::units::ByteCount;
    use crate::worker::scripted::{ScriptedRunner, script};

    /// A worker on a thread of its own, and the gateway's end of its socket.
    struct Gateway {
        socket: OwnedFd,
        incoming: Incoming,
        end: mpsc::Receiver<Result<(), WorkerError>>,
    }

    impl Gateway {
        fn open() -> Self {
            let flags = SocketFlags::CLOEXEC;
            let (near, far) =
                socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
            let (report, end) = mpsc::channel();
            thread::spawn(move || {
                report.send(attend(Channel::new(far), &mut ScriptedRunner::default())).unwrap();
            });
            Self { socket: near, incoming: Incoming::default(), end }
        }

        fn tell(&self, message: &ToWorker) {
            self.send(&frame::encode(message, &[], false).unwrap());
        }

        fn run(&self, source: &str) {
            self.send(&frame::encode(&Order::Run(&script(source)), &[], false).unwrap());
        }

        fn send(&self, bytes: &[u8]) {
            assert_eq!(socket::send(self.socket.as_fd(), bytes, None).unwrap(), bytes.len());
        }

        fn hear(&mut self) -> (FromWorker, Payload) {
            loop {
                if let Some(found) = self.incoming.take().unwrap() {
                    return found;
                }
                let flags = RecvFlags::empty();
                assert!(self.incoming.receive(self.socket.as_fd(), flags).unwrap().bytes > 0);
            }
        }

        fn outcome(&mut self) -> (RunOutcome, Payload) {
            match self.hear() {
                (FromWorker::Done(outcome), output) => (*outcome, output),
                (other, _) => panic!("said something else: {other:?}"),
            }
        }

        /// Closes the gateway's end and returns how the worker ended.
        fn close(self) -> Result<(), WorkerError> {
            drop(self.socket);
            self.end.recv_timeout(Duration::from_secs(10)).expect("the worker did not end")
        }
    }

    #[test]
    fn runs_follow_each_other_and_their_outputs_arrive() {
        let mut gateway = Gateway::open();
        gateway.run("log hello\nreturn {}");
        let (outcome, output) = gateway.outcome();
        assert_eq!((outcome.end, outcome.logs.chunks.len()), (Ok(()), 1));
        assert!(matches!(output, Payload::Inline(bytes) if bytes == b"{}"));

        let large = INLINE_MAX + 1;
        gateway.run(&format!("return-of {large}"));
        let (_, output) = gateway.outcome();
        assert!(matches!(output, Payload::Shared(_, size) if size == ByteCount::from(large)));
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_blob_is_stored_or_refused_by_the_gateway() {
        let mut gateway = Gateway::open();
        gateway.run("blob text/plain one\nblob text/plain two\nreturn {}");
        let (asked, content) = gateway.hear();
        assert!(matches!(asked, FromWorker::WriteBlob { kind } if kind == "text/plain"));
        assert!(matches!(content, Payload::Inline(bytes) if bytes == b"one"));
        gateway.tell(&ToWorker::BlobStored { id: BlobId::of_digest(&Digest::of(b"one")) });
        gateway.hear();
        let refusal = Refusal { error_type: "QuotaExceeded".into(), message: "no room".into() };
        gateway.tell(&ToWorker::Refused(refusal));
        let failure = gateway.outcome().0.end.unwrap_err();
        assert_eq!(
            (failure.error_type(), failure.to_string().as_str()),
            ("QuotaExceeded", "no room")
        );
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_cancelled_run_ends_and_the_worker_goes_on() {
        let mut gateway = Gateway::open();
        gateway.run("wait");
        gateway.tell(&ToWorker::Cancel);
        assert_eq!(gateway.outcome().0.end, Err(RunFailure::Cancelled));

        // As the answer to a question.
        gateway.run("blob text/plain x\nblob text/plain y");
        gateway.hear();
        gateway.tell(&ToWorker::Cancel);
        assert_eq!(gateway.outcome().0.end.unwrap_err().error_type(), "Cancelled");

        // Too late: it concerns no later run.
        gateway.tell(&ToWorker::Cancel);
        gateway.run("return {}");
        assert_eq!(gateway.outcome().0.end, Ok(()));
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_worker_ends_with_gateway_whether_idle_or_busy() {
        assert!(Gateway::open().close().is_ok());

        let gateway = Gateway::open();
        gateway.run("wait");
        assert!(matches!(gateway.close(), Err(WorkerError::Channel(ChannelError::Gone))));

        let mut gateway = Gateway::open();
        gateway.run("blob text/plain x");
        gateway.hear();
        assert!(matches!(gateway.close(), Err(WorkerError::Channel(ChannelError::Gone))));

        let gateway = Gateway::open();
        gateway.send(&frame::encode(&ToWorker::Cancel, &[], false).unwrap()[..5]);
        assert!(matches!(gateway.close(), Err(WorkerError::Channel(ChannelError::Gone))));
    }

    #[test]
    fn fail_stop_after_anything_unforeseen() {
        let outside = PackedFile { path: "a".into(), offset: u64::MAX, size: 2 };
        let digest = Digest::of(b"skill");
        let messages = [
            ToWorker::BlobStored { id: BlobId::of_digest(&digest) },
            ToWorker::Refused(Refusal { error_type: "X".into(), message: "x".into() }),
            ToWorker::AttachSkill { digest, files: vec![outside] },
            ToWorker::Run(script("break")),
        ];
        for message in messages {
            let gateway = Gateway::open();
            let mut bytes = frame::encode(&message, &[], false).unwrap();
            let spec = script("return {}");
            frame::encode_into(&mut bytes, &Order::Run(&spec), &[], false).unwrap();
            gateway.send(&bytes);
            let Gateway { socket, mut incoming, end } = gateway;
            let ended = end.recv_timeout(Duration::from_secs(10)).expect("it went on");
            assert!(ended.is_err(), "{message:?}");
            let more = incoming.receive(socket.as_fd(), RecvFlags::empty());
            assert!(!more.is_ok_and(|arrival| arrival.bytes > 0), "it ran after {message:?}");
        }
    }

    #[test]
    fn fail_stop_when_content_cannot_be_kept() {
        let id = BlobId::of_digest(&Digest::of(b"blob"));
        let (digest, files) = (Digest::of(b"skill"), Vec::new());
        for message in [ToWorker::AttachBlob { id }, ToWorker::AttachSkill { digest, files }] {
            let gateway = Gateway::open();
            let shorter = socket::share(b"four").unwrap();
            let bytes = frame::encode_shared(&message, ByteCount::bytes(5)).unwrap();
            socket::send(gateway.socket.as_fd(), &bytes, Some(shorter.as_fd())).unwrap();
            let end = gateway.close();
            assert!(matches!(end, Err(WorkerError::Sandbox(_))), "{message:?}: {end:?}");
        }
    }

    #[test]
    fn the_text_of_a_panic_reaches_the_log_only_if_it_is_fixed() {
        let texts: [(Box<dyn Any + Send>, &str); 2] = [
            (Box::new("fixed"), "fixed"),
            (Box::new(String::from("byte 3 is within hunter2")), "(text withheld)"),
        ];
        for (payload, expected) in texts {
            assert_eq!(fixed_text(&*payload), expected);
        }
    }
}
