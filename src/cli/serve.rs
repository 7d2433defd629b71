//! `wardian serve`: listens first, becomes ready as soon as it can, and stops when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

use crate::assembly::{MeteredCode, Provision, Runtime};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::output::print_line;
use crate::cli::prepare::{Installer, block_on, progress};
use crate::config::Config;
use crate::http::{Gate, Server, stop_on_signals};
use crate::service::Service;

/// Descriptors that are needed beside those of connections.
const OTHER_FILES: u64 = 256;

pub(crate) fn serve(config: &Config, installer: &Installer) -> Result<Exit, Failed> {
    raise_open_files(config);
    block_on(Box::pin(listen(config, installer)))
}

/// Lets this process open as many files as the system allows it. Many systems start programs with
/// 1,024, for the sake of old ones that could not count further.
fn raise_open_files(config: &Config) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(fault) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        warn!("cannot open more files than {current:?}: {fault}");
    }
    let wanted = u64::try_from(config.http.max_connections).unwrap_or(u64::MAX);
    let wanted = wanted.saturating_add(OTHER_FILES);
    if let Some(maximum) = maximum.filter(|maximum| *maximum < wanted) {
        warn!("{maximum} files may be open, `http.max_connections` may need {wanted}");
    }
}

async fn listen(config: &Config, installer: &Installer) -> Result<Exit, Failed> {
    let stop = stop_on_signals().map_err(|fault| Failed::at("listen for signals", &fault))?;
    let server = Server::bind(config.http.clone()).await?;
    let address = server.address();
    info!("listening on http://{address}");
    let gate = Arc::new(Gate::waiting_for("the engine"));
    let mut serving = tokio::spawn(server.serve(Arc::clone(&gate), stop));
    let runtime = tokio::select! {
        biased;
        // Told to stop before there was anything to serve.
        _ = &mut serving => return Ok(Exit::Done),
        started = start(config, installer, &gate, address) => started?,
    };
    serving.await.map_err(|fault| Failed::at("serve", &fault))?;
    // Runs in progress have had their time; the calls they belonged to are gone.
    runtime.shut_down(std::time::Duration::ZERO).await;
    info!("stopped");
    Ok(Exit::Done)
}

async fn start(
    config: &Config,
    installer: &Installer,
    gate: &Gate<Arc<Service>>,
    address: SocketAddr,
) -> Result<Runtime, Failed> {
    let began = Instant::now();
    installer.ensure_engine(config, MeteredCode::IfThere).await?;
    gate.wait_for("the workers");
    let runtime = Runtime::start(config, MeteredCode::IfThere, progress().as_ref()).await?;
    runtime.ready().await?;
    runtime.warn_of_missing_walls();
    gate.wait_for("the self-test");
    let stopped = runtime.service.self_test().await.map_err(|error| Failed::ours(&error))?;
    gate.open(Arc::clone(&runtime.service));
    // For programs that start a server and wait for it, above all with a port that it chose.
    print_line(&format!("listening on http://{address}"));
    let milliseconds = began.elapsed().as_millis();
    info!("ready after {milliseconds} ms; the sandbox stopped all {stopped} attempts to escape");
    let provision: Arc<dyn Provision> = Arc::new(installer.clone());
    runtime.tend(config, &provision)?;
    Ok(runtime)
}
