//! A template from the gateway's side: a process that has loaded the engine, and forks workers.
//!
//! INVARIANT(no-zombies): every process that a template has forked is waited for, also if the
//! template ends before it could name it. A forked worker is a child of this process and begins in
//! the process group of its template. It gets its own group when it is known here. So the rest
//! of the group is what nobody knows, and is ended with the template.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, setpgid, waitid};

use crate::supervisor::cgroups::{Placed, PoolCgroups};
use crate::supervisor::spawned::Spawned;
use crate::worker::process::Process;
use wardian_formats::job::frame::{self, FrameError};
use wardian_formats::job::socket::{self, Incoming};
use wardian_formats::job::template::{FromTemplate, ToTemplate};
use wardian_vocabulary::cgroup::ProcessCgroup;
use wardian_vocabulary::units::ByteCount;

/// How long a template may take to load the engine.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a template may take to fork a worker.
const FORK_TIMEOUT: Duration = Duration::from_secs(5);

/// The age at which a template is replaced. Workers of one template have their code at the same
/// addresses, so a template must not live as long as the server.
const MAX_AGE: Duration = Duration::from_hours(1);

/// Longest message of a template.
const MESSAGE: usize = 16 << 10;

/// The reason why a template is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemplateError {
    /// The operating system refuses the process, or the socket to it.
    #[error("the operating system refuses it")]
    System(#[from] io::Error),
    /// The template sent the reason.
    #[error("{reason}")]
    Reported { reason: String },
    /// Its messages cannot be read.
    #[error("it does not follow its protocol")]
    Frame(#[from] FrameError),
    /// Its messages do not belong here.
    #[error("it sent an unexpected message")]
    OutOfTurn,
    /// It closed its socket; most likely its process ended.
    #[error("it is gone")]
    Gone,
}

/// A template that is ready. Dropping it kills the process; its workers continue.
#[derive(Debug)]
pub(crate) struct Template {
    group: Pid,
    socket: UnixStream,
    incoming: Incoming,
    born: Instant,
    cgroup: Option<Arc<ProcessCgroup>>,
}

impl Template {
    /// Starts a template and waits until it has loaded the engine, which blocks this thread.
    pub(crate) fn start(
        mut command: Command,
        cgroups: &mut PoolCgroups,
    ) -> Result<Self, TemplateError> {
        let (near, far) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(io::Error::from)?;
        // A template never has data of a guest, so it may write to the log of the gateway itself.
        let child = command.stdin(Stdio::from(far)).stderr(Stdio::inherit()).spawn()?;
        // It holds the other end of the socket, whose closing tells of the end of the template.
        drop(command);
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or(io::Error::from(io::ErrorKind::InvalidInput))?;
        let (socket, incoming) = (UnixStream::from(near), Incoming::with_limit(MESSAGE));
        let mut template = Self { group, socket, incoming, born: Instant::now(), cgroup: None };
        // It loads the engine meanwhile.
        template.cgroup = cgroups.place(Placed::Template, child.id())?;
        template.socket.set_read_timeout(Some(STARTUP_TIMEOUT))?;
        match template.receive()? {
            FromTemplate::Ready => {}
            FromTemplate::Failed { reason } => return Err(TemplateError::Reported { reason }),
            FromTemplate::Forked { .. } => return Err(TemplateError::OutOfTurn),
        }
        template.socket.set_read_timeout(Some(FORK_TIMEOUT))?;
        template.socket.set_write_timeout(Some(FORK_TIMEOUT))?;
        Ok(template)
    }

    /// The process.
    #[cfg(test)]
    pub(crate) fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// True if another template should take its place.
    pub(crate) fn is_old(&self) -> bool {
        self.born.elapsed() >= MAX_AGE
    }

    /// Forks a worker.
    pub(crate) fn fork(&mut self, cgroups: &mut PoolCgroups) -> Result<Spawned, TemplateError> {
        let (near, far) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(io::Error::from)?;
        let (stderr, stderr_end) = io::pipe()?;
        self.send(ToTemplate::StandardError, &stderr_end.into())?;
        self.send(ToTemplate::Fork, &far)?;
        drop(far);
        let process = match self.receive()? {
            FromTemplate::Forked { process } => process,
            FromTemplate::Failed { reason } => return Err(TemplateError::Reported { reason }),
            FromTemplate::Ready => return Err(TemplateError::OutOfTurn),
        };
        let mut child = Process::forked(process)?;
        child.cgroup = cgroups.place(Placed::Worker, child.id)?;
        // Until here, dropping the template ends the child too.
        let own_group = Pid::from_raw(process);
        if let Err(error) = setpgid(own_group, own_group) {
            // Nobody else knows the child, so nobody else would give its cgroup up.
            if let Some(cgroup) = &child.cgroup {
                cgroup.note_end();
            }
            return Err(io::Error::from(error).into());
        }
        Ok(Spawned { socket: near, stderr: Some(stderr.into()), process: child })
    }

    fn send(&self, message: ToTemplate, descriptor: &OwnedFd) -> Result<(), TemplateError> {
        let bytes = frame::encode_shared(&message, ByteCount::default())?;
        let mut rest = bytes.as_slice();
        let mut descriptor = Some(descriptor.as_fd());
        while !rest.is_empty() {
            let sent = socket::send(self.socket.as_fd(), rest, descriptor.take())?;
            rest = rest.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<FromTemplate, TemplateError> {
        loop {
            if let Some((message, _)) = self.incoming.take()? {
                return Ok(message);
            }
            let arrival = self.incoming.receive(self.socket.as_fd(), RecvFlags::empty())?;
            if arrival.bytes == 0 {
                return Err(TemplateError::Gone);
            }
        }
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        // The group exists until its last process was waited for, so its number is still its own.
        kill_process_group(self.group, Signal::KILL).ok();
        let ended = || waitid(WaitId::Pgid(Some(self.group)), WaitIdOptions::EXITED);
        // All of them were killed, so each call returns soon. The last one finds no process.
        while rustix::io::retry_on_intr(ended).is_ok() {}
        if let Some(cgroup) = &self.cgroup {
            cgroup.note_end();
        }
    }
}
