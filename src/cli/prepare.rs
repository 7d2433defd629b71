//! Support for commands: threads, progress, the installation of the engine, and the runtime of a
//! command that runs programs by itself.

use std::future::Future;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{self, Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, setpriority_process};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::assembly::{
    self, AssemblyError, MeteredCode, Provision, ProvisionError, Runtime, SkillsRead, Stores,
};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_config::{Config, Flags};
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::{Lines, Progress, Step, StepReport, Terminal};
use wardian_images::PackageSet;
use wardian_service::{Preparation, PreparationStep};
use wardian_skills::registry::TenantFolders;
use wardian_telemetry::Metrics;
use wardian_vocabulary::cgroup::CgroupTree;

/// The interval of checking for the end of the child process.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Niceness of background work.
const LOW_PRIORITY: i32 = 10;

/// The message for a user who waits for the engine.
const FIRST_START: &str = "preparing the engine for this machine, once: this takes one to five \
    minutes, depending on its processors and their load; later starts take a second";

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

/// The configuration for one run: one worker, and a temporary blob store.
pub(crate) fn on_its_own(mut config: Config, folder: &TempDir) -> Config {
    config.blobs.folder = folder.path().join("blobs");
    // The local user has no tenant.
    config.tenant_skills = TenantFolders::default();
    config.skills.publishing = false;
    config.images.tenants = Vec::new();
    config.workers.count = 1;
    config.workers.max = 1;
    config.workers.spares = 0;
    config
}

/// Starts the runtime of a command: skills are read once, and nobody asks for metrics.
pub(crate) async fn start_once(
    config: &Config,
    metered: MeteredCode,
) -> Result<Runtime, AssemblyError> {
    let stores = Stores::open(config, SkillsRead::Once)?;
    let (metrics, progress) = (Metrics::new(), progress());
    let read = move || stores.read();
    let started = Runtime::start(config, metered, read, metrics, None, progress.as_ref());
    let runtime = Box::pin(started).await?;
    runtime.make_reproducible_images(config, progress)?;
    Ok(runtime)
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
        self.ensure_engine_telling(config, metered, |_| {}).await
    }

    /// The same, and tells how far the installation is.
    pub(crate) async fn ensure_engine_telling(
        &self,
        config: &Config,
        metered: MeteredCode,
        told: impl Fn(&StepReport) + Send + Sync + 'static,
    ) -> Result<(), Failed> {
        let Some(more) = missing(config, metered)? else { return Ok(()) };
        let child = self.start(&[more, &["--report"]].concat(), Stdio::piped(), Stdio::inherit());
        let mut installation =
            Installation::follow(child.map_err(|fault| not_started(&fault))?, false, told)?;
        match installation.ended().await? {
            None => Ok(()),
            Some(_) => {
                Err(Failed::because("the engine could not be installed: see the message above"))
            }
        }
    }

    /// The same in a process that continues when this one ends: work that has begun is finished, so
    /// that the next start finds it. It holds none of the streams of this process, whose client may
    /// wait for their end. The error says what went wrong.
    pub(crate) async fn ensure_engine_lastingly(
        &self,
        config: &Config,
        told: impl Fn(&StepReport) + Send + Sync + 'static,
    ) -> Result<(), Failed> {
        let Some(more) = missing(config, MeteredCode::IfThere)? else { return Ok(()) };
        let more = [more, &["--report", "--finish"]].concat();
        let child = self
            .start(&more, Stdio::piped(), Stdio::null())
            .map_err(|fault| not_started(&fault))?;
        note(&format!(
            "process {} does this, and finishes it if this one exits earlier",
            child.id()
        ));
        let mut installation = Installation::follow(child, true, told)?;
        installation.ended().await?.map_or(Ok(()), |why| Err(Failed::because(why)))
    }

    fn start(&self, more: &[&str], reports: Stdio, progress: Stdio) -> io::Result<Child> {
        let mut command = Command::new("/proc/self/exe");
        command.args(&self.arguments).args(more);
        for variable in &self.hidden_variables {
            command.env_remove(variable);
        }
        if more.contains(&"--finish") {
            // A signal for the client's group is none for it.
            command.process_group(0);
        }
        command.stdin(Stdio::null()).stdout(reports).stderr(progress).spawn()
    }

    /// Installs in the background, with low priority.
    fn install_beside(&self, more: &[&str]) -> Result<(), ProvisionError> {
        let child = self.start(more, Stdio::null(), Stdio::piped())?;
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

/// The arguments for what is not installed; `None` if everything is. Says that it takes a while.
fn missing(
    config: &Config,
    metered: MeteredCode,
) -> Result<Option<&'static [&'static str]>, Failed> {
    let engine = assembly::open_engine(config)?;
    let is_metered = metered == MeteredCode::Wanted;
    let has_code = engine.is_ready(Variant::Timed)?;
    if !has_code {
        note(FIRST_START);
    }
    let is_ready = has_code
        && (!is_metered || engine.is_ready(Variant::Metered)?)
        && assembly::has_images_of_tenants(config)?;
    let more: &[&str] = if is_metered { &["--metered"] } else { &[] };
    Ok((!is_ready).then_some(more))
}

/// A step of an installation, as clients see it.
pub(crate) fn step_of(report: &StepReport) -> Preparation {
    let step = PreparationStep {
        text: report.to_string(),
        percent: report.percent(),
        remaining: report.remaining(),
    };
    Preparation::Going { part: "the engine", step: Some(step) }
}

fn not_started(fault: &io::Error) -> Failed {
    Failed::at("start the installation of the engine", fault)
}

/// What an installation tells the process that has started it, each as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum InstallMessage {
    /// It has come this far.
    Step(StepReport),
    /// It has failed.
    Failed {
        /// The reason.
        failed: String,
    },
}

impl InstallMessage {
    /// Writes the message to the process that has started this one, which may have gone away.
    pub(crate) fn send(&self) {
        if let Ok(line) = serde_json::to_string(self) {
            let mut out = io::stdout().lock();
            writeln!(out, "{line}").and_then(|()| out.flush()).ok();
        }
    }
}

/// An installation in progress. Dropping it kills the process, unless it is one that finishes its work.
struct Installation {
    child: Child,
    finishes: bool,
    state: Arc<Mutex<InstallState>>,
    reading: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct InstallState {
    last: Option<StepReport>,
    failed: Option<String>,
}

impl Installation {
    /// Reads what the process tells, on a separate thread.
    fn follow(
        mut child: Child,
        finishes: bool,
        told: impl Fn(&StepReport) + Send + 'static,
    ) -> Result<Self, Failed> {
        let state = Arc::new(Mutex::new(InstallState::default()));
        let (out, noted) = (child.stdout.take(), Arc::clone(&state));
        let read = move || {
            for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()) {
                match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
                    Some(InstallMessage::Step(report)) => {
                        noted.lock().last = Some(report);
                        told(&report);
                    }
                    Some(InstallMessage::Failed { failed }) => noted.lock().failed = Some(failed),
                    None => {}
                }
            }
        };
        let reading = thread::Builder::new().name("installation".to_owned()).spawn(read);
        let mut installation = Self { child, finishes, state, reading: None };
        installation.reading = Some(reading.map_err(|fault| not_started(&fault))?);
        Ok(installation)
    }

    /// Waits for the end of the process; the reason if it has failed.
    async fn ended(&mut self) -> Result<Option<String>, Failed> {
        let status = loop {
            if let Some(status) = self.child.try_wait().map_err(|fault| not_started(&fault))? {
                break status;
            }
            sleep(POLL_INTERVAL).await;
        };
        if let Some(reading) = self.reading.take() {
            // It ends with the process, and does not panic.
            reading.join().ok();
        }
        let ended_early =
            || format!("the installation ended with {status}; compiling takes 2 GB of memory");
        let failed = self.state.lock().failed.take();
        Ok((!status.success()).then(|| failed.unwrap_or_else(ended_early)))
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let last = self.state.lock().last;
        let is_elsewhere =
            last.is_none_or(|report| report.is_elsewhere || report.step == Step::Wait);
        if self.finishes && !is_elsewhere {
            let step = last.map(|report| report.to_string()).unwrap_or_default();
            let process = self.child.id();
            note(&format!(
                "process {process} finishes the engine in the background, for the next start ({step}); \
                 `kill {process}` stops it"
            ));
            return;
        }
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}
