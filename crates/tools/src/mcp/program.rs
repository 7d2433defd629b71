//! A server that is a program of this machine: a child process with messages on its standard input and output.
//!
//! It has a process group of its own, which ends with it, and no variables but those of its configuration. It
//! starts with the first call, and again after it has ended, with growing pauses.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use crate::credentials::{CredentialSource, Credentials};
use crate::fault::{Fault, told};
use crate::mcp::asked::{Asked, ChangeMark};
use crate::mcp::lines::LineConnection;
use crate::mcp::message::{agreed_revision, initialize};

/// The pause before the second start; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A program that has lived for so long has not failed at its start.
const SETTLED: Duration = Duration::from_secs(60);

/// What a program may take to begin a session, within the time of the call. Some fetch themselves first.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Calls in a row without an answer in time after which the program is started anew.
const MAX_LATE: u32 = 3;

/// Bytes of the standard error that are logged.
const MAX_LOGGED: usize = 64 << 10;

/// A program and its arguments.
#[derive(Debug, Clone)]
pub(crate) struct ProgramCommand {
    /// The name of the server, for the log.
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The folder that it works in.
    pub(crate) folder: PathBuf,
    /// Longest line that it may send, in bytes.
    pub(crate) longest_line: usize,
}

/// The server.
#[derive(Debug)]
pub(crate) struct ProgramServer {
    command: ProgramCommand,
    environment: CredentialSource,
    change: Arc<ChangeMark>,
    state: tokio::sync::Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Arc<RunningProgram>>,
    /// The pause before the next start, and when it may begin.
    pause: Option<Duration>,
    next_start: Option<Instant>,
}

#[derive(Debug)]
struct RunningProgram {
    connection: LineConnection,
    credentials: Arc<Credentials>,
    /// Calls in a row without an answer in time.
    late: AtomicU32,
    started: Instant,
    _process: ProcessGroup,
}

/// A process and those that it has started. Dropping this kills all of them.
#[derive(Debug)]
struct ProcessGroup(Child);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The number belongs to the process until somebody waits for it, which only its own drop does.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // What has ended cannot be killed.
            kill_process_group(id, Signal::KILL).ok();
        }
    }
}

impl ProgramServer {
    pub(crate) fn new(command: ProgramCommand, environment: CredentialSource) -> Self {
        let (change, state) = (Arc::default(), tokio::sync::Mutex::default());
        Self { command, environment, change, state }
    }

    pub(crate) fn take_change(&self) -> bool {
        self.change.take()
    }

    /// Sends a request, and returns the result.
    pub(crate) async fn ask(&self, asked: Asked<'_>) -> Result<Box<RawValue>, Fault> {
        let running = timeout_at(asked.deadline, self.running(&asked)).await;
        let running = running.unwrap_or(Err(Fault::Late))?;
        let connection = &running.connection;
        let answered = connection.ask(asked.method, asked.params, asked.deadline).await;
        match &answered {
            Err(Fault::Late) => self.note_late(&running).await,
            _ => running.late.store(0, Ordering::Relaxed),
        }
        let answered = answered.map_err(|fault| running.credentials.cover_fault(fault))?;
        if answered.get().len() > asked.bound.as_usize() {
            return Err(Fault::TooLarge);
        }
        let mut text = String::from(Box::<str>::from(answered));
        running.credentials.cover(&mut text);
        let unreadable = |_| Fault::broken("its server shows its credentials");
        RawValue::from_string(text).map_err(unreadable)
    }

    /// Gives a program up that has not answered several calls in a row.
    async fn note_late(&self, running: &Arc<RunningProgram>) {
        let late = running.late.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if late < MAX_LATE {
            return;
        }
        let mut state = self.state.lock().await;
        if state.running.as_ref().is_some_and(|now| Arc::ptr_eq(now, running)) {
            state.running = None;
        }
    }

    /// The program as it runs, or a new start of it.
    async fn running(&self, asked: &Asked<'_>) -> Result<Arc<RunningProgram>, Fault> {
        let mut state = self.state.lock().await;
        if let Some(running) = &state.running {
            if !running.connection.is_closed() {
                return Ok(Arc::clone(running));
            }
            if running.started.elapsed() >= SETTLED {
                state.pause = None;
                state.next_start = None;
            }
            state.running = None;
        }
        let now = Instant::now();
        if let Some(next) = state.next_start.filter(|next| *next > now) {
            let seconds = next.duration_since(now).as_secs().saturating_add(1);
            let text = format!("its server has ended and starts again in {seconds} s");
            return Err(Fault::Broken(text));
        }
        let is_restart = state.pause.is_some();
        let pause = state.pause.map_or(FIRST_PAUSE, |pause| pause.saturating_mul(2));
        let pause = pause.min(LONGEST_PAUSE);
        state.pause = Some(pause);
        // Also if the caller goes away meanwhile.
        state.next_start = Some(now + pause);
        let started = Box::pin(self.start(asked)).await;
        if let Err(fault) = &started {
            let name = &self.command.name;
            warn!(tools.server = %name, "the server of tools `{name}` did not start: {fault:?}");
        }
        let running = Arc::new(started?);
        if is_restart {
            // What was listed may have changed with the program.
            self.change.set();
        }
        state.running = Some(Arc::clone(&running));
        Ok(running)
    }

    /// Starts the program and begins a session of the protocol.
    async fn start(&self, asked: &Asked<'_>) -> Result<RunningProgram, Fault> {
        let credentials = Arc::new(self.environment.find(asked.tenant, asked.memory).await?);
        let started = Instant::now();
        let mut process = ProcessGroup(self.spawn(&credentials)?);
        let child = &mut process.0;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(unstarted()) };
        if let Some(errors) = child.stderr.take() {
            let name = self.command.name.clone();
            drop(tokio::spawn(log_errors(name, errors, Arc::clone(&credentials))));
        }
        let longest = self.command.longest_line;
        let connection = LineConnection::open(output, input, longest, Arc::clone(&self.change));
        let deadline = asked.deadline.min(started + START_TIMEOUT);
        let agreed = connection.ask("initialize", &initialize()?, deadline).await;
        let agreed = agreed.and_then(|agreed| agreed_revision(&agreed));
        agreed.map_err(|fault| credentials.cover_fault(fault))?;
        let none = RawValue::from_string("{}".to_owned()).map_err(|_error| unstarted())?;
        connection.notify("notifications/initialized", &none).await?;
        let late = AtomicU32::new(0);
        Ok(RunningProgram { connection, credentials, late, started, _process: process })
    }

    fn spawn(&self, credentials: &Credentials) -> Result<Child, Fault> {
        let mut command = Command::new(&self.command.program);
        command
            .args(&self.command.arguments)
            .env_clear()
            .envs(credentials.values.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.command.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.spawn().map_err(|error| {
            let name = &self.command.name;
            warn!(tools.server = %name, "the program of `{name}` cannot be started: {error}");
            unstarted()
        })
    }
}

fn unstarted() -> Fault {
    Fault::broken("its program cannot be started")
}

/// Logs what a program says on its standard error, up to a bound. It is read to its end, so that the program can go
/// on to write.
async fn log_errors(name: String, mut errors: ChildStderr, credentials: Arc<Credentials>) {
    let (mut piece, mut logged) = ([0; 1_024], 0_usize);
    while let Ok(read @ 1..) = errors.read(&mut piece).await {
        if logged < MAX_LOGGED {
            let said = piece.get(..read).unwrap_or_default();
            let mut text = String::from_utf8_lossy(said).into_owned();
            credentials.cover(&mut text);
            debug!(tools.server = %name, "`{name}` says: {}", told(&text));
        }
        logged = logged.saturating_add(read);
    }
}
