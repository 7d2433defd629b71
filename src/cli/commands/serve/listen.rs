//! `wardian serve`: listens, prepares the engine and the workers, and serves until it is stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinError, JoinHandle, JoinSet, block_in_place, spawn_blocking};
use tokio::time::MissedTickBehavior;
use tracing::{info, warn};

use crate::assembly::{
    self, MeteredCode, Provision, Runtime, ServedBlobs, SkillsRead, Stores, check_settings,
    fleet_parts,
};
use crate::cli::args::ServeArgs;
use crate::cli::commands::serve::cgroups::{TakenCgroups, check_cgroups, take_cgroups};
use crate::cli::commands::serve::folders::{
    DataFolderLock, check_own_database, check_unchanged, open_folders,
};
use crate::cli::commands::serve::records::ServerJournal;
use crate::cli::commands::serve::reload::{ConfigSource, Reloader, SkillsSeat};
use crate::cli::commands::skills::skills_lock::SkillsLock;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{Installer, block_on, progress, step_of};
use crate::cli::terminal::output::print_line;
use wardian_config::{Config, GatewayMemory};
use wardian_dispatch::Isolation;
use wardian_edges::console;
use wardian_edges::http::{EXPOSED, InputEnd, Readiness, Server, stop_on_signals};
use wardian_edges::mcp;
use wardian_engine::progress::StepReport;
use wardian_service::{
    Authentication, Discovery, FleetParts, FleetTasks, Gate, Journal, Preparation, Runs as _,
    SessionObserver,
};
use wardian_sessions::Sessions;
use wardian_stores::database::KeyDatabase;
use wardian_stores::tenants::KeyTable;
use wardian_telemetry::{Metrics, SAMPLE_INTERVAL};
use wardian_vocabulary::budget::{MemoryBudget, OPEN_BLOBS};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::heap::{give_back_free_memory, map_large_buffers};
use wardian_vocabulary::units::ByteCount;

/// Warns if a tenant without a run may have to wait for the end of a long run of others.
fn warn_of_long_turns(config: &Config) {
    let (longest, patience) = (config.limits.max.wall_time, config.workers.queue_wait);
    let has_reserve = config.workers.max > config.workers.count;
    if config.isolation == Isolation::Process && !has_reserve && longest > patience {
        warn!(
            "no worker is kept for tenants without a run (`workers.max` is `workers.count`), and runs \
             may last {} s: the next run of such a tenant may have to wait that long; raise \
             `workers.max`, lower `limits.max.timeout`, or set `tenants.running`",
            longest.as_secs()
        );
    }
}

/// The interval of checking for memory to release to the system.
const TRIM_INTERVAL: Duration = Duration::from_secs(2);

/// The interval of counting sessions, and of looking for those whose time is over.
const SESSION_CHECKS: Duration = Duration::from_secs(15);

/// The least freed memory that is released to the system.
const WORTH_TRIMMING: ByteCount = ByteCount::mebibytes(4);

/// Descriptors that are needed in addition to those of connections and blobs.
const OTHER_FILES: u64 = 256;

pub(crate) fn serve(
    config: &Config,
    installer: &Installer,
    source: ConfigSource,
    args: &ServeArgs,
) -> Result<Exit, Failed> {
    if let Some(reason) = config.exposure() {
        return Err(Failed::usage(reason));
    }
    check_settings(config)?;
    let lock = SkillsLock::read_named(args.locked.as_ref())?;
    if lock.is_some() && !config.tenant_skills.roots.is_empty() {
        return Err(Failed::usage(
            "`--locked` does not cover the skills of tenants: omit it, or remove `tenants.skills` \
            from the configuration",
        ));
    }
    // What callers publish has no digest in the lock.
    let config = &mut config.clone();
    config.skills.publishing &= lock.is_none();
    raise_open_files(config);
    map_large_buffers();
    let input = if args.end_with_input { InputEnd::Stops } else { InputEnd::Ignored };
    block_on(Box::pin(listen(config, installer, source, (lock, input))))
}

/// Logs the most memory that the gateway takes.
fn note_memory(config: &Config) {
    let memory = GatewayMemory::of(config);
    info!(
        "the gateway takes at most {} and the files of skills: {} at rest, {} for requests and \
         answers, {} for outputs, {} for connections, {} for runs, {} for the queue, {} for the network of runs, {} for \
         records",
        memory.total(),
        memory.at_rest,
        memory.budget,
        memory.outputs,
        memory.connections,
        memory.runs,
        memory.queue,
        memory.network,
        memory.records
    );
}

/// Raises the limit of open files to the allowed maximum. Many systems start programs with 1,024,
/// because `select(2)` of old programs cannot handle more.
fn raise_open_files(config: &Config) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(fault) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        warn!("cannot open more files than {current:?}: {fault}");
    }
    let egress = config.network.egress.max_open_connections;
    let transfers = config.http.max_transfers.saturating_mul(2);
    let wanted = config.http.max_connections.saturating_add(egress);
    let wanted = wanted.saturating_add(OPEN_BLOBS).saturating_add(transfers);
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    if let Some(maximum) = maximum.filter(|maximum| *maximum < wanted) {
        warn!("{maximum} files may be open, connections and blobs may need {wanted}");
    }
}

/// The address for operators, if there is one.
async fn bind_admin(config: &Config, server: &Server) -> Result<Option<Server>, Failed> {
    match config.http.admin_listen {
        Some(address) => Ok(Some(server.bind_admin(address).await?)),
        None => Ok(None),
    }
}

async fn listen(
    config: &Config,
    installer: &Installer,
    source: ConfigSource,
    (lock, input): (Option<SkillsLock>, InputEnd),
) -> Result<Exit, Failed> {
    let unheard = |fault| Failed::at("listen for signals", &fault);
    // A file that becomes larger than the system allows is an error of one upload. Without a handler
    // the signal would end the server.
    let _too_large = signal(SignalKind::from_raw(libc::SIGXFSZ)).map_err(unheard)?;
    let stop = stop_on_signals(input).map_err(unheard)?;
    let hangups = signal(SignalKind::hangup()).map_err(unheard)?;
    // Nothing is changed on the disk before the certificate and the address are there, and the
    // folders can be used.
    let server = Server::bind(config.http.clone()).await?;
    let admin = bind_admin(config, &server).await?;
    check_stores(config).await?;
    // The lock and the cgroups are released last.
    let (cgroups, lock_of_data) = block_in_place(|| prepare(config))?;
    let installer = &installer.clone().with_cgroups(cgroups.tree());
    let KeyDatabase { keys, blob_ids, sessions } = assembly::open_key_database(config).await?;
    let blobs = assembly::open_served_blobs(config, blob_ids).await?;
    let sessions = assembly::open_sessions(config, sessions).await?;
    let authentication = open_callers(config, &keys, server.metrics()).await?;
    let records = ServerJournal::open(config, lock_of_data.server(), server.metrics()).await?;
    let fleet = fleet_parts(config, records.table(), &authentication, server.budget())?;
    let server = server.with_authentication(authentication.clone()).with_audit(records.audit());
    let server = server.with_traces(records.tracer());
    let pages = config.http.serves_console.then(console::pages);
    let server = pages.into_iter().fold(server, Server::with_pages);
    let url = format!("{}://{}", config.http.scheme(), server.address());
    note_start(config, &authentication, &url);
    let mut tasks = JoinSet::new();
    tasks.spawn(follow_keys(authentication.clone()));
    tasks.spawn(take_samples(Arc::clone(server.metrics())));
    tasks.spawn(trim(Arc::clone(server.budget())));
    let observed = observed(sessions.as_ref(), &records, server.metrics());
    tasks.spawn(tend_sessions(observed.clone()));
    let readiness = Arc::new(Readiness::waiting_for("the skills"));
    let skills = SkillsSeat::default();
    let reloader = Reloader::new(source, config.clone(), &server, Arc::clone(&skills));
    tasks.spawn(reloader.run(hangups));
    let administering = admin.map(|admin| {
        info!("metrics are at http://{}/metrics", admin.address());
        tokio::spawn(admin.serve_admin(Arc::clone(&readiness), stop.clone()))
    });
    let metrics = Arc::clone(server.metrics());
    let further = mcp::routes_of(config.mcp);
    let mut serving = tokio::spawn(server.serve_with(Arc::clone(&readiness), stop, further));
    let (runtime, fleet) = tokio::select! {
        biased;
        ended = &mut serving => {
            records.close().await;
            return stopped_early(ended);
        }
        started = start(StartParts { config, lock, blobs: &blobs, sessions: observed, fleet }, installer, &readiness, &records, metrics, &url) => started?,
    };
    skills.set(Arc::clone(&runtime.registry)).ok();
    serving.await.map_err(|fault| Failed::at("serve", &fault))?;
    tasks.abort_all();
    administering.iter().for_each(JoinHandle::abort);
    write_last_uses(&authentication).await;
    keys.close().await;
    end_runs(&runtime, fleet).await;
    end_sessions(sessions).await;
    blobs.close().await;
    let exit = records.close().await;
    info!("stopped");
    Ok(exit)
}

/// Notes where the server listens and the memory that settings allow, and warns of those that work and do not keep what
/// a server promises.
fn note_start(config: &Config, authentication: &Authentication, url: &str) {
    info!("listening on {url}");
    note_memory(config);
    if config.http.is_exposed() && !authentication.is_required() {
        warn!("{EXPOSED}");
    }
    warn_of_long_turns(config);
}

/// Checks a database and an object store that are not in the data folder, before anything is changed there.
async fn check_stores(config: &Config) -> Result<(), Failed> {
    check_own_database(config)?;
    assembly::fleet_key(config)?;
    assembly::check_database(config).await?;
    Ok(assembly::check_object_store(config).await?)
}

/// Checks the folders and the cgroups, and then takes both.
fn prepare(config: &Config) -> Result<(TakenCgroups, DataFolderLock), Failed> {
    check_unchanged(config)?;
    check_cgroups(config)?;
    let lock = DataFolderLock::take(&config.data_dir)?;
    open_folders(config)?;
    Ok((take_cgroups(config)?, lock))
}

/// The end of a server that was not ready yet: it was stopped, or has failed.
fn stopped_early(ended: Result<(), JoinError>) -> Result<Exit, Failed> {
    ended.map(|()| Exit::Done).map_err(|fault| Failed::at("serve", &fault))
}

/// Opens the keys and tokens by which callers are known.
async fn open_callers(
    config: &Config,
    keys: &KeyTable,
    metrics: &Metrics,
) -> Result<Authentication, Failed> {
    let authentication = assembly::open_authentication(config, keys).await?;
    if let Some(state) = assembly::TokenKeysState::of(&authentication) {
        metrics.add(state);
    }
    Ok(authentication)
}

/// Follows the changes of keys that commands make.
async fn follow_keys(authentication: Authentication) {
    if let Some(keys) = authentication.keys() {
        keys.follow().await;
    }
}

/// Keeps the numbers of the last day, for the overview of operators.
async fn take_samples(metrics: Arc<Metrics>) {
    let mut clock = tokio::time::interval(SAMPLE_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        metrics.take_sample();
    }
}

async fn write_last_uses(authentication: &Authentication) {
    if let Some(keys) = authentication.keys()
        && let Err(fault) = keys.write_uses().await
    {
        warn!("the last use of keys is not written: {}", CauseChain(&fault));
    }
}

/// The sessions, and who is told of their events.
fn observed(
    sessions: Option<&Sessions>,
    records: &ServerJournal,
    metrics: &Arc<Metrics>,
) -> Option<(Sessions, SessionObserver)> {
    let observer = || SessionObserver::new(records.audit(), Arc::clone(metrics));
    sessions.map(|sessions| (sessions.clone(), observer()))
}

/// Makes what sessions have kept survive a loss of power.
async fn end_sessions(sessions: Option<Sessions>) {
    if let Some(sessions) = sessions
        && let Err(cause) = sessions.shut_down().await
    {
        warn!(
            "the last states of sessions may not survive a loss of power: {}",
            CauseChain(&cause)
        );
    }
}

/// Ends sessions whose time is over, and counts the others, from time to time.
async fn tend_sessions(observed: Option<(Sessions, SessionObserver)>) {
    let Some((sessions, observer)) = observed else { return };
    let mut clock = tokio::time::interval(SESSION_CHECKS);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        match observer.tend(&sessions).await {
            Ok(0) => {}
            Ok(count) => info!(count, "sessions expired: {count}"),
            Err(cause) => warn!("what is left of ended sessions stays: {}", CauseChain(&cause)),
        }
    }
}

/// Releases memory to the system after bursts.
async fn trim(budget: Arc<MemoryBudget>) {
    let mut clock = tokio::time::interval(TRIM_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let freed = budget.take_peak().as_u64().saturating_sub(budget.used().as_u64());
        if freed >= WORTH_TRIMMING.as_u64() {
            // An error is ignored: the next interval tries again.
            spawn_blocking(give_back_free_memory).await.ok();
        }
    }
}

/// What a server has opened before it prepares what calls need.
struct StartParts<'p> {
    config: &'p Config,
    lock: Option<SkillsLock>,
    blobs: &'p ServedBlobs,
    sessions: Option<(Sessions, SessionObserver)>,
    fleet: Option<FleetParts>,
}

/// Gives back what waits, and ends the workers. Calls in progress have ended or timed out, so their runs need no more
/// time.
async fn end_runs(runtime: &Runtime, fleet: Option<FleetTasks>) {
    if let Some(fleet) = fleet {
        fleet.leave().await;
    }
    runtime.shut_down(Duration::ZERO).await;
}

/// Prepares everything that calls need. With a lock the skills are those that it has, and their
/// changes are not followed.
async fn start(
    parts: StartParts<'_>,
    installer: &Installer,
    readiness: &Arc<Readiness<Arc<Gate>>>,
    records: &ServerJournal,
    metrics: Arc<Metrics>,
    url: &str,
) -> Result<(Runtime, Option<FleetTasks>), Failed> {
    let StartParts { config, lock, blobs, sessions, fleet } = parts;
    let began = Instant::now();
    let skills = if lock.is_some() { SkillsRead::Once } else { SkillsRead::Followed };
    let lock = Arc::new(lock);
    let announced = Arc::new(Announced::new(Arc::clone(readiness)));
    let opening = (Arc::clone(&announced), Arc::clone(&lock), records.journal(), sessions);
    let shown = Arc::clone(&metrics);
    let stores = Stores::open_with(config, blobs, skills, move |discovery| {
        let (announced, lock, journal, sessions) = opening;
        if let Some((sessions, observer)) = sessions {
            discovery.sessions().open(sessions, observer);
            shown.add(assembly::SessionsState(Arc::clone(discovery)));
        }
        open_discovery(discovery, &announced, lock.as_ref().as_ref(), journal);
    })?;
    let preparing = Arc::clone(&announced);
    let told = move |report: &StepReport| preparing.tell(step_of(report));
    installer.ensure_engine_telling(config, MeteredCode::IfThere, told).await?;
    announced.tell(Preparation::of("the workers"));
    let runtime = Runtime::start(
        config,
        MeteredCode::IfThere,
        move || stores.read(),
        metrics,
        installer.cgroups(),
        progress().as_ref(),
    )
    .await?;
    if let Some(lock) = lock.as_ref() {
        lock.check(&runtime.registry.current())?;
    }
    runtime.ready().await?;
    runtime.warn_of_missing_walls();
    announced.tell(Preparation::of("the self-test"));
    let stopped = runtime.service.self_test().await.map_err(|error| Failed::ours(&error))?;
    let fleet = fleet.map(|parts| runtime.service.join_fleet(parts));
    if let Some(gate) = readiness.methods() {
        gate.open(Arc::clone(&runtime.service));
    }
    // For programs that start a server on port 0 and read its address.
    print_line(&format!("listening on {url}"));
    let milliseconds = began.elapsed().as_millis();
    info!("ready after {milliseconds} ms; the sandbox stopped all {stopped} attempts to escape");
    let provision: Arc<dyn Provision> = Arc::new(installer.clone());
    runtime.start_background(config, &provision, skills)?;
    Ok((runtime, fleet))
}

/// Answers calls that execute nothing from now on, unless the skills are not those of the lock: then
/// the start fails.
fn open_discovery(
    discovery: &Arc<Discovery>,
    announced: &Announced,
    lock: Option<&SkillsLock>,
    journal: Journal,
) {
    let registry = discovery.registry();
    if lock.is_some_and(|lock| lock.check(&registry.current()).is_err()) {
        return;
    }
    if lock.is_none()
        && let Err(fault) = registry.follow()
    {
        warn!("changes of skills cannot be watched: {fault}");
    }
    discovery.runs().open(journal);
    announced.open(discovery);
}

/// What clients learn about the preparation. It may have begun before there is a gate, while the
/// skills are still read, and a long step is reported once.
struct Announced {
    readiness: Arc<Readiness<Arc<Gate>>>,
    last: Mutex<Preparation>,
}

impl Announced {
    fn new(readiness: Arc<Readiness<Arc<Gate>>>) -> Self {
        Self { readiness, last: Mutex::new(Preparation::of("the engine")) }
    }

    /// Tells clients what is being prepared.
    fn tell(&self, preparation: Preparation) {
        let mut last = self.last.lock();
        last.clone_from(&preparation);
        if let Some(gate) = self.readiness.methods() {
            gate.report(preparation);
        }
    }

    /// Answers calls that execute nothing, and the others with the last report.
    fn open(&self, discovery: &Arc<Discovery>) {
        let last = self.last.lock();
        self.readiness.open(Gate::closed(Arc::clone(discovery), last.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_fails_before_it_is_ready_is_no_success() {
        let stopped = tokio::spawn(async {}).await;
        assert_eq!(stopped_early(stopped).unwrap(), Exit::Done);
        let failed = tokio::spawn(async { panic!("on purpose") }).await;
        assert_eq!(stopped_early(failed).unwrap_err().exit, Exit::OurFault);
    }
}
