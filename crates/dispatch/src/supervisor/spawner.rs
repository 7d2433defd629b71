//! Starts worker processes: forks them from a template, or starts each by itself.
//!
//! INVARIANT(no-orphans): no worker and no template outlives the gateway. Each asks the kernel to be
//! killed when the thread that started it ends. For a forked worker this is the thread that started
//! its template. That is the thread of [`WorkerSpawner`], which ends with the pool or with the whole
//! process, in whatever way either ends. Both also end by themselves when their socket is closed.
//!
//! # When there is no template
//!
//! A template that cannot start or fork is given up, with a line in the log, and workers are started
//! by themselves, which takes longer and is the same otherwise. Another template is tried later.
//!
//! Workers that are forked from one template have their code and their first data at the same
//! addresses. A worker that crashes may have guessed at these, so its template is replaced: a guess
//! cannot be tried again, as with workers that are started by themselves.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use parking_lot::Mutex;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use crate::supervisor::cgroups::{Placed, PoolCgroups, WorkerCgroups};
use crate::supervisor::spawned::Spawned;
use crate::supervisor::template::{Template, TemplateError};
use crate::worker::process::Process;
use wardian_vocabulary::error::CauseChain;

/// How long no template is tried after one that failed.
const PAUSE: Duration = Duration::from_secs(60);

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
    /// The arguments with which the program is a template of such workers. Without them, each
    /// worker is started by itself.
    pub template: Option<Vec<OsString>>,
}

impl WorkerCommand {
    /// The program that is running now, even if its file has been replaced meanwhile.
    #[must_use]
    pub fn same_program(arguments: Vec<OsString>) -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments, template: None }
    }

    /// Forks workers from a template, which is started with `arguments`.
    #[must_use]
    pub fn with_template(self, arguments: Vec<OsString>) -> Self {
        Self { template: Some(arguments), ..self }
    }

    fn spawn(&self, cgroups: &mut PoolCgroups) -> io::Result<Spawned> {
        let (near, far) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let mut command = self.process(&self.arguments);
        let mut child = command.stdin(Stdio::from(far)).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().map(Into::into);
        let placed = Process::of(&child).and_then(|mut process| {
            process.cgroup = cgroups.place(Placed::Worker, process.id)?;
            Ok(process)
        });
        match placed {
            Ok(process) => Ok(Spawned { socket: near, stderr, process }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    fn process(&self, arguments: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        // Ctrl-C in a terminal reaches only the gateway, which shuts its workers down.
        command.args(arguments).env_clear().current_dir("/").process_group(0);
        command.stdout(Stdio::null());
        command
    }
}

/// The thread that starts processes. Threads of the asynchronous runtime may end, which would kill
/// the workers that they started, and forking would block them.
#[derive(Debug)]
pub(crate) struct WorkerSpawner {
    requests: mpsc::Sender<Request>,
    command: Arc<Mutex<WorkerCommand>>,
    is_crashed: Arc<AtomicBool>,
    /// The present template, for tests.
    #[cfg(test)]
    template: Arc<Mutex<Option<u32>>>,
}

type Request = oneshot::Sender<io::Result<Spawned>>;

impl WorkerSpawner {
    /// Starts the thread. It ends when this value is dropped, and every worker that is still alive
    /// is killed with it. `open` is closed when no process of the thread is left.
    pub(crate) fn open(
        command: WorkerCommand,
        cgroups: Option<WorkerCgroups>,
        open: watch::Sender<()>,
    ) -> io::Result<Self> {
        let (requests, received) = mpsc::channel::<Request>();
        let command = Arc::new(Mutex::new(command));
        let is_crashed = Arc::<AtomicBool>::default();
        let mut source = WorkerSource {
            command: Arc::clone(&command),
            is_crashed: Arc::clone(&is_crashed),
            template: None,
            paused_until: None,
            cgroups: PoolCgroups::new(cgroups),
        };
        #[cfg(test)]
        let (template, seen) = {
            let template = Arc::<Mutex<Option<u32>>>::default();
            (Arc::clone(&template), template)
        };
        thread::Builder::new().name("worker-spawner".to_owned()).spawn(move || {
            for request in received {
                // The caller may have gone away; the process is killed then.
                if let Err(Ok(unwanted)) = request.send(source.start()) {
                    unwanted.discard();
                }
                source.cgroups.remove_ended();
                #[cfg(test)]
                {
                    *seen.lock() = source.template.as_ref().map(|(_, template)| template.id());
                }
            }
            source.template = None;
            source.cgroups.remove_all();
            drop(source);
            drop(open);
        })?;
        Ok(Self {
            requests,
            command,
            is_crashed,
            #[cfg(test)]
            template,
        })
    }

    /// Starts workers with `command` from now on.
    pub(crate) fn change(&self, command: WorkerCommand) {
        *self.command.lock() = command;
    }

    /// Notes that a worker has crashed. The next one comes from another template.
    pub(crate) fn note_crash(&self) {
        self.is_crashed.store(true, Ordering::Relaxed);
    }

    /// The process of the present template.
    #[cfg(test)]
    pub(crate) fn template(&self) -> Option<u32> {
        *self.template.lock()
    }

    /// Starts a process. Cancellation: a process that was started meanwhile is killed.
    pub(crate) async fn spawn(&self) -> io::Result<Spawned> {
        let (reply, spawned) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts workers has exited");
        self.requests.send(reply).ok().ok_or_else(gone)?;
        spawned.await.ok().ok_or_else(gone)?
    }
}

/// The source of worker processes.
#[derive(Debug)]
struct WorkerSource {
    command: Arc<Mutex<WorkerCommand>>,
    is_crashed: Arc<AtomicBool>,
    /// The template, and the command that it was started with.
    template: Option<(WorkerCommand, Template)>,
    /// The time before which no template is tried.
    paused_until: Option<Instant>,
    cgroups: PoolCgroups,
}

impl WorkerSource {
    fn start(&mut self) -> io::Result<Spawned> {
        let command = self.command.lock().clone();
        match self.fork(&command) {
            Some(forked) => Ok(forked),
            None => command.spawn(&mut self.cgroups),
        }
    }

    /// Forks a worker, if there is a template or one can be started.
    fn fork(&mut self, command: &WorkerCommand) -> Option<Spawned> {
        let arguments = command.template.as_ref()?;
        let is_crashed = self.is_crashed.swap(false, Ordering::Relaxed);
        let is_usable =
            |made: &WorkerCommand, template: &Template| made == command && !template.is_old();
        self.template.take_if(|(made, template)| is_crashed || !is_usable(made, template));
        if self.paused_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        if let Some((_, template)) = &mut self.template {
            match template.fork(&mut self.cgroups) {
                Ok(forked) => return Some(forked),
                Err(error) => {
                    warn!("the template of workers is replaced: {}", CauseChain(&error));
                    self.template = None;
                }
            }
        }
        match Self::start_template(command, arguments, &mut self.cgroups) {
            Ok((template, forked)) => {
                self.template = Some((command.clone(), template));
                Some(forked)
            }
            Err(error) => {
                let cause = CauseChain(&error);
                warn!("workers are started one by one, because there is no template: {cause}");
                self.paused_until = Some(Instant::now() + PAUSE);
                None
            }
        }
    }

    fn start_template(
        command: &WorkerCommand,
        arguments: &[OsString],
        cgroups: &mut PoolCgroups,
    ) -> Result<(Template, Spawned), TemplateError> {
        let mut template = Template::start(command.process(arguments), cgroups)?;
        let forked = template.fork(cgroups)?;
        info!("workers are forked from a template");
        Ok((template, forked))
    }
}
