//! A template: a process that has loaded the engine and forks workers.
//!
//! Loading the engine takes more than a tenth of a second, and a forked worker has it at once. A
//! template has one thread, has never run a guest, and never gets data of one: the gateway sends it
//! only the descriptors of new workers.
//!
//! INVARIANT(single-threaded): a template forks only while it has one thread. So no lock is held
//! by a thread that the child does not have.
//!
//! # The parent of a forked worker
//!
//! A worker is forked as a child of the gateway, and not of the template (`CLONE_PARENT`). So the
//! gateway learns how it ends, as with any of its children. Workers continue when their template
//! ends, and end when the thread of the gateway ends that has started the template.
//!
//! # Equal to a worker that was started by itself
//!
//! The child drops what it does not need of the template, and then takes the same steps as any
//! worker, the whole lock-down included. The lock-down of the template stays in force below it.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
#[cfg(any(test, feature = "testing"))]
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::net::RecvFlags;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::WorkerError;
use crate::link::error::ChannelError;
use crate::lockdown::count_threads;
use wardian_formats::job::frame;
use wardian_formats::job::message::Payload;
use wardian_formats::job::socket::{self, Incoming};
use wardian_formats::job::template::{FromTemplate, ToTemplate};

/// The template's end of its socket to the gateway.
#[derive(Debug)]
pub(super) struct TemplateChannel {
    socket: OwnedFd,
    incoming: Incoming,
}

/// The descriptors of a new worker.
#[derive(Debug)]
pub(super) struct NewWorker {
    /// Its socket to the gateway.
    pub(super) socket: OwnedFd,
    /// Its standard error.
    stderr: OwnedFd,
}

/// The two processes after a fork.
enum Side {
    Template { child: i32 },
    Worker,
}

impl TemplateChannel {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, incoming: Incoming::default() }
    }

    /// The socket's number.
    pub(super) fn raw_descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(super) fn send(&self, message: &FromTemplate) -> Result<(), ChannelError> {
        let bytes = frame::encode(message, &[], false)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let sent = socket::send(self.socket.as_fd(), rest, None)?;
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Forks a worker for each order of the gateway. Returns its descriptors in each worker, and
    /// `None` in the template when the gateway has closed its end.
    pub(super) fn fork_workers(&mut self) -> Result<Option<NewWorker>, WorkerError> {
        let mut stderr = None;
        loop {
            let Some((message, payload)) = self.receive()? else { return Ok(None) };
            let Payload::Shared(descriptor, _) = payload else {
                return Err(WorkerError::Unexpected);
            };
            match (message, stderr.take()) {
                (ToTemplate::StandardError, None) => stderr = Some(descriptor),
                (ToTemplate::Fork, Some(stderr)) => match fork_beside()? {
                    Side::Worker => return Ok(Some(NewWorker { socket: descriptor, stderr })),
                    // The descriptors are the worker's alone.
                    Side::Template { child } => {
                        self.send(&FromTemplate::Forked { process: child })?;
                    }
                },
                _ => return Err(WorkerError::Unexpected),
            }
        }
    }

    fn receive(&mut self) -> Result<Option<(ToTemplate, Payload)>, ChannelError> {
        loop {
            if let Some(found) = self.incoming.take()? {
                return Ok(Some(found));
            }
            let arrival = self.incoming.receive(self.socket.as_fd(), RecvFlags::empty())?;
            if arrival.bytes == 0 {
                return Ok(None);
            }
        }
    }
}

impl NewWorker {
    /// Makes this process, which was just forked, like one that the gateway has started. Returns the
    /// socket.
    pub(super) fn settle(self) -> io::Result<OwnedFd> {
        replace_stderr(&self.stderr)?;
        // The lock-down opens files of `/proc/self`, which otherwise belong to root. It makes the
        // process undumpable again.
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        Ok(self.socket)
    }
}

#[expect(unsafe_code, reason = "a safe wrapper would need the ownership of standard error")]
fn replace_stderr(stderr: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are open descriptors. Nothing owns standard error but the C library and the
    // standard library, which write to it by its number.
    let result = unsafe { libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) };
    if result == libc::STDERR_FILENO { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks this process. The child has the same parent.
#[expect(unsafe_code, reason = "no wrapper knows `CLONE_PARENT`")]
fn fork_beside() -> Result<Side, WorkerError> {
    ensure_single_threaded()?;
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: without `CLONE_VM` and without a stack, the child gets a copy of this process and
    // continues here, as after `fork`. This is the only thread, as was just checked, so every lock
    // is free and every invariant of the heap holds in the copy. Compared with `fork` of glibc,
    // handlers for forks are not called, of which this program has none, and the number of this
    // thread that glibc keeps is that of the template. glibc compares that number with those of
    // other owners of its recursive locks, and threads of the child have other numbers.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match i32::try_from(child) {
        Ok(0) => Ok(Side::Worker),
        Ok(child) if child > 0 => Ok(Side::Template { child }),
        _ => Err(WorkerError::Fork(io::Error::last_os_error())),
    }
}

/// The threads of a harness of tests, which only wait. A feature of this crate that tests need is also
/// on in the program that they start, so this is a fact of the process and not of the build.
#[cfg(any(test, feature = "testing"))]
pub(crate) static HARNESS_THREADS: AtomicUsize = AtomicUsize::new(0);

/// The threads that a template has.
fn allowed_threads() -> usize {
    #[cfg(any(test, feature = "testing"))]
    return HARNESS_THREADS.load(Ordering::Relaxed).saturating_add(1);
    #[cfg(not(any(test, feature = "testing")))]
    return 1;
}

/// Checks that this process has one thread.
pub(super) fn ensure_single_threaded() -> Result<(), WorkerError> {
    match count_threads() {
        Ok(threads) if threads == allowed_threads() => Ok(()),
        Ok(threads) => Err(WorkerError::Threads { threads }),
        Err(cause) => Err(WorkerError::Fork(cause)),
    }
}

/// Plays a template that forks a process for the first order, writes the number of its group to
/// `note`, and ends without an answer.
///
/// # Panics
///
/// The gateway does not do its part.
#[cfg(feature = "testing")]
#[expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]
pub fn forks_and_ends(note: &mut impl io::Write) {
    HARNESS_THREADS.store(1, Ordering::Relaxed);
    let socket = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3).unwrap();
    let mut channel = TemplateChannel::new(socket);
    channel.send(&FromTemplate::Ready).unwrap();
    for _ in 0..2 {
        channel.receive().unwrap().unwrap();
    }
    write!(note, "{}", std::process::id()).unwrap();
    match fork_beside().unwrap() {
        Side::Worker => std::thread::park_timeout(std::time::Duration::from_secs(60)),
        Side::Template { .. } => {}
    }
}
