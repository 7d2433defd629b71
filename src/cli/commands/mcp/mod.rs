//! `wardian mcp`: the Model Context Protocol on standard input and output.

pub(crate) mod args;
mod bridge;
mod code_mode;
mod command_words;
mod folders;
mod upstream_file;
mod upstreams;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::task::JoinError;
use tokio::time::{sleep, timeout};

use crate::assembly::{self, MeteredCode, Provision, ReadStores, Runtime, SkillsRead, Stores};
use crate::cli::commands::mcp::args::McpArgs;
use crate::cli::commands::mcp::bridge::Bridge;
use crate::cli::commands::mcp::code_mode::code_mode;
use crate::cli::commands::mcp::folders::local_folders;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{Installer, block_on_until_interrupted, on_its_own, progress, step_of};
use crate::cli::terminal::output::note;
use wardian_config::{Config, Surroundings};
use wardian_edges::mcp::{StdioLimits, serve_lines};
use wardian_engine::progress::StepReport;
use wardian_service::{Gate, Preparation, SessionObserver};
use wardian_telemetry::Metrics;

/// The pause after the first attempt to prepare the engine that fails.
const FIRST_PAUSE: Duration = Duration::from_secs(15);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The shortest pause, for calls that ask again.
const LEAST_PAUSE: Duration = Duration::from_secs(5);

/// The longest time for which calls wait until servers have listed their tools, in code mode.
const LONGEST_WAIT_FOR_TOOLS: Duration = Duration::from_secs(20);

/// Serves the client that has started this program.
pub(crate) fn mcp(
    mut config: Config,
    installer: &Installer,
    args: &McpArgs,
    surroundings: &Surroundings,
) -> Result<Exit, Failed> {
    let limits = limits_of(&config);
    if let Some(url) = &args.url {
        let (key_file, api_key) = (args.key_file.as_deref(), surroundings.api_key());
        return Bridge::to(url, key_file, api_key, limits.max_message)?.serve();
    }
    let code_mode =
        args.code_mode.then(|| code_mode(&mut config, args, surroundings)).transpose()?;
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let local = local_folders(args)?;
    let protocol = (config.mcp, local, code_mode);
    let config = on_its_own(config, &folder);
    block_on_until_interrupted(Box::pin(async {
        let stores = Stores::open(&config, SkillsRead::Once)?.read()?;
        // Several of these processes share a data folder, and a client begins its own sessions.
        if let Some(sessions) = assembly::open_own_sessions(&config, folder.path()).await? {
            stores.discovery.sessions().open(sessions, SessionObserver::default());
        }
        let gate = Gate::closed(Arc::clone(&stores.discovery), Preparation::of("the engine"));
        let input = io::BufReader::new(io::stdin());
        let served = serve_lines(Arc::clone(&gate), protocol, limits, input, io::stdout());
        let mut serving = tokio::spawn(served);
        let runtime = tokio::select! {
            biased;
            ended = &mut serving => return ended_with(ended),
            prepared = prepare((&config, args.code_mode), installer, &stores, &gate) => prepared,
        };
        let ended = serving.await;
        runtime.shut_down(Duration::ZERO).await;
        ended_with(ended)
    }))
}

fn ended_with(ended: Result<io::Result<()>, JoinError>) -> Result<Exit, Failed> {
    let served = ended.map_err(|fault| Failed::at("serve the client", &fault))?;
    served.map_err(|fault| Failed::at("read messages", &fault))?;
    Ok(Exit::Done)
}

/// Prepares what runs need, and lets calls pass then. What fails is tried again after a pause that
/// grows, or when a call asks for it.
async fn prepare(
    (config, is_code_mode): (&Config, bool),
    installer: &Installer,
    stores: &ReadStores,
    gate: &Arc<Gate>,
) -> Runtime {
    let mut pause = FIRST_PAUSE;
    loop {
        let failed = match attempt((config, is_code_mode), installer, stores, gate).await {
            Ok(runtime) => return runtime,
            Err(failed) => failed,
        };
        let reason = format!("{failed}; you can also run `wardian engine install` in a terminal");
        let failure = Preparation::Failed { reason, retry: pause };
        note(&format!("warning: {failure}"));
        gate.report(failure);
        tokio::select! {
            () = sleep(pause) => {}
            () = async { sleep(LEAST_PAUSE).await; gate.asked_again().await; } => {}
        }
        gate.report(Preparation::of("the engine"));
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

async fn attempt(
    (config, is_code_mode): (&Config, bool),
    installer: &Installer,
    stores: &ReadStores,
    gate: &Arc<Gate>,
) -> Result<Runtime, Failed> {
    let (shown, step, told) = (progress(), Mutex::new(None), Arc::clone(gate));
    let tell = move |report: &StepReport| {
        match step.lock().replace(report.step) {
            Some(last) if last == report.step => shown.advance(report),
            _ => shown.begin(report),
        }
        told.report(step_of(report));
    };
    installer.ensure_engine_lastingly(config, tell).await?;
    gate.report(Preparation::of("the workers"));
    let (stores, metrics) = (stores.clone(), Metrics::new());
    let (metered, shown) = (MeteredCode::IfThere, progress());
    let started =
        Runtime::start(config, metered, move || Ok(stores), metrics, None, shown.as_ref());
    let runtime = Box::pin(started).await?;
    if is_code_mode {
        gate.report(Preparation::of("the servers of tools"));
        let service = Arc::clone(&runtime.service);
        // Those that need longer start all the same, beside the first calls.
        let preparing = tokio::spawn(async move { service.prepare_tools().await });
        timeout(LONGEST_WAIT_FOR_TOOLS, preparing).await.ok();
    }
    gate.open(Arc::clone(&runtime.service));
    // A client keeps this program for hours: the images that its runs need are worth making.
    let provision: Arc<dyn Provision> = Arc::new(installer.clone());
    runtime.start_background(config, &provision, SkillsRead::Once)?;
    Ok(runtime)
}

const fn limits_of(config: &Config) -> StdioLimits {
    StdioLimits { max_message: config.http.max_body, memory: config.http.memory }
}
