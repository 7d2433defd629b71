//! Support for commands: threads, progress, and the installation of the engine.

use std::future::Future;
use std::io::{self, IsTerminal as _};
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, setpriority_process};
use tokio::time::sleep;

use crate::assembly::{self, MeteredCode, Provision, ProvisionError};
use crate::cgroup::CgroupTree;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use crate::config::{Config, Flags};
use crate::engine::code::instrumentation::Variant;
use crate::engine::progress::{Lines, Progress, Terminal};
use crate::images::PackageSet;

/// The interval of checking for the end of the child process.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Niceness of background work.
const LOW_PRIORITY: i32 = 10;

/// What a user is told who waits for the engine.
const FIRST_START: &str = "the engine is made ready for this machine, once: that takes one to three minutes, and later \
                           starts take a second";

/// The time that blocking work gets at the end of the program.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

/// Shows progress on standard error in the way that fits there.
pub(crate) fn progress() -> Box<dyn Progress> {
    if io::stderr().is_terminal() {
        Box::new(Terminal::stderr())
    } else {
        Box::new(Lines::new(io::stderr()))
    }
}

/// Runs a future on a new runtime with several threads.
pub(crate) fn block_on(future: impl Future<Output = Result<Exit, Failed>>) -> Result<Exit, Failed> {
    let threads = thread::available_parallelism().map_or(2, usize::from).clamp(2, 16);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|fault| Failed::at("start threads", &fault))?;
    let ended = runtime.block_on(future);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    ended
}

/// As [`block_on`], until Ctrl-C. Then the future is dropped, which removes its temporary files and
/// ends its workers.
pub(crate) fn block_on_until_interrupted(
    future: impl Future<Output = Result<Exit, Failed>>,
) -> Result<Exit, Failed> {
    let interrupted = async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Ok(Exit::Interrupted),
            Err(fault) => Err(Failed::at("listen for signals", &fault)),
        }
    };
    block_on(async {
        tokio::select! {
            ended = future => ended,
            stopped = interrupted => stopped,
        }
    })
}

/// Installs the engine in a child process of the same program. Compiling takes 2 GB of memory, most
/// of which the compiling process never releases.
#[derive(Debug, Clone)]
pub(crate) struct Installer {
    arguments: Vec<String>,
    /// Variables that hold secrets, which the child does not get.
    hidden_variables: Vec<String>,
    /// Where its processes have low priority among those of the server.
    cgroups: Option<Arc<CgroupTree>>,
}

impl Installer {
    /// An installer with the flags of this process.
    pub(crate) fn new(flags: &Flags, hidden_variables: Vec<String>) -> Self {
        let mut arguments = Vec::new();
        if let Some(file) = &flags.file {
            arguments.extend(["--config".to_owned(), file.to_string_lossy().into_owned()]);
        }
        for (key, text) in &flags.settings {
            arguments.extend(["--set".to_owned(), format!("{key}={text}")]);
        }
        arguments.extend(["engine", "install", "--end-with-parent"].map(str::to_owned));
        arguments.push(process::id().to_string());
        Self { arguments, hidden_variables, cgroups: None }
    }

    /// An installer whose background work is in the cgroup for it.
    pub(crate) fn with_cgroups(self, cgroups: Option<Arc<CgroupTree>>) -> Self {
        Self { cgroups, ..self }
    }

    /// The cgroups of the server whose work it does.
    pub(crate) fn cgroups(&self) -> Option<Arc<CgroupTree>> {
        self.cgroups.clone()
    }

    /// Makes the engine ready if it is not. Dropping the future stops the installation.
    pub(crate) async fn ensure_engine(
        &self,
        config: &Config,
        metered: MeteredCode,
    ) -> Result<(), Failed> {
        let engine = assembly::open_engine(config)?;
        let is_metered = metered == MeteredCode::Wanted;
        let is_ready = engine.is_ready(Variant::Timed)?
            && (!is_metered || engine.is_ready(Variant::Metered)?)
            && assembly::has_images_of_tenants(config)?;
        if is_ready {
            return Ok(());
        }
        if !engine.is_ready(Variant::Timed)? {
            note(FIRST_START);
        }
        let failed = |fault: io::Error| Failed::at("start the installation of the engine", &fault);
        let more: &[&str] = if is_metered { &["--metered"] } else { &[] };
        let mut installation = Installation(self.start(more, Stdio::inherit()).map_err(failed)?);
        let status = installation.ended().await.map_err(failed)?;
        if status.success() {
            return Ok(());
        }
        Err(Failed::because("the engine could not be installed: see the message above"))
    }

    fn start(&self, more: &[&str], progress: Stdio) -> io::Result<Child> {
        let mut command = Command::new("/proc/self/exe");
        command.args(&self.arguments).args(more);
        for variable in &self.hidden_variables {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(progress).spawn()
    }

    /// Installs in the background, with low priority.
    fn install_beside(&self, more: &[&str]) -> Result<(), ProvisionError> {
        let child = self.start(more, Stdio::piped())?;
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // An error is ignored: the installation works with normal priority too.
        setpriority_process(process, LOW_PRIORITY).ok();
        if let Some(cgroups) = &self.cgroups {
            // As above.
            cgroups.move_to_background(child.id()).ok();
        }
        let ended = child.wait_with_output()?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let last = said.lines().last().unwrap_or_default().trim();
        Err(format!("the installation ended with {}: {last}", ended.status).into())
    }
}

impl Provision for Installer {
    fn image(&self, packages: PackageSet) -> Result<(), ProvisionError> {
        self.install_beside(&["--image", &packages.to_string()])
    }

    fn batteries(&self) -> Result<(), ProvisionError> {
        self.install_beside(&[])
    }

    fn metered_code(&self) -> Result<(), ProvisionError> {
        self.install_beside(&["--metered"])
    }
}

/// An installation in progress. Dropping it kills the process.
#[derive(Debug)]
struct Installation(Child);

impl Installation {
    async fn ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.0.kill().and_then(|()| self.0.wait()).ok();
        }
    }
}
