//! Starts worker processes.
//!
//! INVARIANT(no-orphans): no worker outlives the gateway. A worker asks the kernel to be killed
//! when the thread that started it ends. That is the thread of [`WorkerSpawner`], which ends with
//! the pool or with the whole process, in whatever way either ends. A worker also ends by itself
//! when its socket is closed.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::{io, thread};

use parking_lot::Mutex;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::sync::oneshot;

use crate::dispatch::worker::process::Process;

/// The command that starts a worker.
///
/// The worker gets an empty environment, `/` as its folder, the socket as standard input,
/// `/dev/null` as standard output, and a pipe to the gateway's log as standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. Every user of the machine can see them, so they hold no secrets.
    pub arguments: Vec<OsString>,
}

impl WorkerCommand {
    /// The program that is running now, even if its file has been replaced meanwhile.
    #[must_use]
    pub fn same_program(arguments: Vec<OsString>) -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments }
    }

    fn spawn(&self) -> io::Result<Spawned> {
        let (near, far) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            // Ctrl-C in a terminal reaches only the gateway, which shuts its workers down.
            .process_group(0)
            .stdin(Stdio::from(far))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take();
        match Process::of(&child) {
            Ok(process) => Ok(Spawned { socket: near, stderr, process, child }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }
}

/// A process that was just started.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) socket: OwnedFd,
    pub(crate) stderr: Option<ChildStderr>,
    pub(crate) process: Process,
    pub(crate) child: Child,
}

/// The thread that starts processes. Threads of the asynchronous runtime may end, which would kill
/// the workers that they started, and forking would block them.
#[derive(Debug)]
pub(crate) struct WorkerSpawner {
    requests: mpsc::Sender<Request>,
    command: Arc<Mutex<WorkerCommand>>,
}

type Request = oneshot::Sender<io::Result<Spawned>>;

impl WorkerSpawner {
    /// Starts the thread. It ends when this value is dropped, and every worker that is still alive
    /// is killed with it.
    pub(crate) fn open(command: WorkerCommand) -> io::Result<Self> {
        let (requests, received) = mpsc::channel::<Request>();
        let command = Arc::new(Mutex::new(command));
        let current = Arc::clone(&command);
        thread::Builder::new().name("worker-spawner".to_owned()).spawn(move || {
            for request in received {
                // The caller may have gone away; the process is killed then.
                let command = current.lock().clone();
                if let Err(Ok(unwanted)) = request.send(command.spawn()) {
                    discard(unwanted);
                }
            }
        })?;
        Ok(Self { requests, command })
    }

    /// Starts workers with `command` from now on.
    pub(crate) fn change(&self, command: WorkerCommand) {
        *self.command.lock() = command;
    }

    /// Starts a process. Cancellation: a process that was started meanwhile is killed.
    pub(crate) async fn spawn(&self) -> io::Result<Spawned> {
        let (reply, spawned) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts workers is gone");
        self.requests.send(reply).ok().ok_or_else(gone)?;
        spawned.await.ok().ok_or_else(gone)?
    }
}

fn discard(mut unwanted: Spawned) {
    unwanted.process.kill();
    // The process was killed, so this returns soon; without it a zombie would stay.
    unwanted.child.wait().ok();
}
