//! From a configuration to a running whole: the only place that builds the parts.

mod engine_files;
mod provision;
mod worker_memory;

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::{JoinHandle, block_in_place};
use tracing::{info, warn};

use crate::assembly::engine_files::EngineFiles;
use crate::assembly::provision::{ImagesOf, compile_when_asked};
use crate::blobs::{BlobError, BlobStore};
use crate::clock::Clock;
use crate::config::Config;
use crate::dispatch::{DispatchError, Pool, PoolConfig};
use crate::engine::compile::Variant;
use crate::engine::fetch::Origin;
use crate::engine::progress::{Progress, Silent};
use crate::engine::{EngineError, EngineStore};
use crate::error::CauseChain;
use crate::images::{ImageError, ImageStock, ImageStore, Made, Needs, StockRules};
use crate::job::frame::outcome_max;
use crate::registry::cursor::CursorKey;
use crate::registry::{BuiltIn, Registry, RegistryConfig, RegistryError, Watching};
use crate::service::{LimitPolicy, Metering, Methods as _, Parts, Service};
use crate::skill::GUIDE_NAME;
use crate::worker::python::{PythonRunner, WorkerSetup};
use crate::worker::{LockdownPlan, MissingWalls, WorkerError};

pub use crate::assembly::engine_files::MeteredCode;
pub use crate::assembly::provision::Provision;

/// How often expired blobs are looked for.
const SWEEP: Duration = Duration::from_secs(600);

/// Different images that are made because runs need them, beyond which one serves all.
const VARIETY: usize = 12;

/// Why something could not be made beside the calls.
pub type ProvisionError = Box<dyn Error + Send + Sync>;

/// Why the program cannot start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssemblyError {
    /// The engine cannot be made ready.
    #[error("the engine cannot be made ready")]
    Engine(#[from] EngineError),
    /// A memory image cannot be made.
    #[error("the engine's memory image cannot be made")]
    Image(#[from] ImageError),
    /// Blobs cannot be kept.
    #[error("the blob store cannot be opened")]
    Blobs(#[from] BlobError),
    /// Skills cannot be read.
    #[error("the skills cannot be opened")]
    Registry(#[from] RegistryError),
    /// Workers cannot be started.
    #[error("the workers cannot be started")]
    Workers(#[from] DispatchError),
    /// This process is a worker and broke.
    #[error("the worker broke")]
    Worker(#[from] WorkerError),
    /// A worker was started with something else than its gateway would say.
    #[error("a worker's setup cannot be read; workers are started by `wardian serve`, not by hand")]
    Setup(#[source] serde_json::Error),
    /// The operating system refused something.
    #[error("the operating system refused to {what}")]
    System {
        /// What was asked for, as the end of a sentence.
        what: &'static str,
        /// Its answer.
        #[source]
        cause: io::Error,
    },
}

/// Everything that runs need, started.
#[derive(Debug)]
pub struct Runtime {
    /// The eight methods.
    pub service: Arc<Service>,
    /// The skills.
    pub registry: Arc<Registry>,
    /// The blobs.
    pub blobs: Arc<BlobStore>,
    /// The workers.
    pub pool: Arc<Pool>,
    /// What runs begin as.
    pub images: Arc<ImageStock>,
    metering: Arc<Metering>,
    /// Open for the workers that are started later.
    files: Arc<EngineFiles>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Runtime {
    /// Opens the stores, prepares the engine and begins to start workers. On a machine that has
    /// the engine it takes a fraction of a second; else minutes, which `progress` shows.
    ///
    /// Needs a runtime with several threads, since it blocks the one that it is on.
    ///
    /// # Errors
    ///
    /// Whatever cannot be opened or prepared.
    #[expect(clippy::unused_async, reason = "workers are started on the runtime of the caller")]
    pub async fn start(
        config: &Config,
        metered: MeteredCode,
        skills: SkillsRead,
        progress: &dyn Progress,
    ) -> Result<Self, AssemblyError> {
        // Beside the engine and the workers: thousands of skills take a second.
        let (settings, built_in) = registry_settings(config, skills)?;
        let registry = thread::Builder::new()
            .name("skills".to_owned())
            .spawn(move || Registry::open(settings, &built_in))
            .map_err(|cause| AssemblyError::System { what: "start a thread", cause })?;
        let blobs = Arc::new(open_blobs(config)?);
        let sweeping = tokio::spawn(sweep(Arc::clone(&blobs)));
        // An operator who gives every run a budget wants it counted, whatever compiling costs.
        let is_wanted = config.limits.default.fuel.is_some();
        let metered = if is_wanted { MeteredCode::Wanted } else { metered };
        let (files, base) = block_in_place(|| EngineFiles::prepare(config, metered, progress))?;
        let limits = LimitPolicy {
            default: config.limits.default,
            cap: config.limits.max,
            least_memory: base.content.length(),
        };
        let metering = if files.has_metered() { Metering::ready() } else { Metering::missing() };
        let images = ImageStock::new(
            files.engine.clone(),
            Arc::clone(&files.timed),
            base,
            stock_rules(config),
        );
        let mut settings = PoolConfig::new(files.command(config)?, config.workers.count);
        settings.spares = config.workers.spares;
        settings.queue = config.workers.queue;
        settings.queue_wait = config.workers.queue_wait;
        settings.max_message = outcome_max(config.limits.max.logs);
        let pool = Arc::new(Pool::start(settings)?);
        let registry =
            block_in_place(|| registry.join()).map_err(|_panic| AssemblyError::System {
                what: "read the skills",
                cause: io::Error::other("a thread ended early"),
            })??;
        let registry = Arc::new(registry);
        let (images, metering) = (Arc::new(images), Arc::new(metering));
        let service = Arc::new(Service::new(Parts {
            registry: Arc::clone(&registry),
            blobs: Arc::clone(&blobs),
            pool: Arc::clone(&pool),
            images: Arc::clone(&images),
            limits,
            metering: Arc::clone(&metering),
        }));
        let tasks = Mutex::new(vec![sweeping]);
        let files = Arc::new(files);
        Ok(Self { service, registry, blobs, pool, images, metering, files, tasks })
    }

    /// Begins to make beside the calls what they turn out to need: for a server, once it is
    /// ready.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn tend(
        &self,
        config: &Config,
        provision: &Arc<dyn Provision>,
    ) -> Result<(), AssemblyError> {
        let refused = |cause| AssemblyError::System { what: "start a thread", cause };
        self.registry.follow().map_err(refused)?;
        self.images.start(Box::new(ImagesOf(Arc::clone(provision)))).map_err(refused)?;
        let (files, pool, metering) = (&self.files, &self.pool, &self.metering);
        let compiling = compile_when_asked(config, files, pool, metering, Arc::clone(provision));
        self.tasks.lock().push(compiling);
        Ok(())
    }

    /// Waits until all workers are ready.
    ///
    /// # Errors
    ///
    /// A worker does not start: the causes say why.
    pub async fn ready(&self) -> Result<(), AssemblyError> {
        Ok(self.pool.ready().await?)
    }

    /// Says in the log which walls around guests this machine does not offer.
    pub fn warn_of_missing_walls(&self) {
        for warning in self.service.warnings() {
            warn!("{warning}");
        }
        let report = self.pool.report();
        let partial: BTreeSet<&String> =
            report.workers.iter().flat_map(|worker| &worker.report.partial).collect();
        for gap in partial {
            warn!("a wall of the lock-down has a gap on this kernel: {gap}");
        }
    }

    /// Lets no new run in, gives those in progress until `patience` is over, and ends the
    /// workers.
    pub async fn shut_down(&self, patience: Duration) {
        self.tasks.lock().drain(..).for_each(|task| task.abort());
        self.images.note_usage();
        self.pool.shut_down(patience).await;
    }
}

/// Fetches and compiles the engine and makes images, as far as that was not done before.
///
/// # Errors
///
/// The engine cannot be had, or cannot be compiled here.
pub fn install_engine(
    config: &Config,
    metered: MeteredCode,
    images: &[Needs],
    progress: &dyn Progress,
) -> Result<(), AssemblyError> {
    let engine = open_engine(config)?;
    let artifacts = engine.ensure(Variant::Timed, progress)?;
    let store = ImageStore::new(&engine, &artifacts);
    for needs in [&Needs::NONE].into_iter().chain(&config.images.profiles).chain(images) {
        store.ensure(*needs, progress)?;
    }
    if metered == MeteredCode::Wanted {
        engine.ensure(Variant::Metered, progress)?;
    }
    Ok(())
}

/// The images on the disk that this program would use.
///
/// # Errors
///
/// The engine is not installed, or the cache cannot be read.
pub fn images_made(config: &Config) -> Result<Vec<Made>, AssemblyError> {
    let engine = open_engine(config)?;
    if !engine.is_ready(Variant::Timed)? {
        return Ok(Vec::new());
    }
    let artifacts = engine.ensure(Variant::Timed, &Silent)?;
    Ok(ImageStore::new(&engine, &artifacts).made()?)
}

fn stock_rules(config: &Config) -> StockRules {
    StockRules {
        profiles: config.images.profiles.clone(),
        on_need: config.images.on_need,
        variety: VARIETY,
        memory: config.images.memory,
        disk: config.images.disk,
        max_age: config.images.max_age,
    }
}

/// Opens the engine's cache; nothing is fetched or compiled yet.
///
/// # Errors
///
/// The cache folder cannot be used.
pub fn open_engine(config: &Config) -> Result<EngineStore, AssemblyError> {
    let origin = match &config.engine.source {
        Some(path) => Origin::Path(path.clone()),
        None => Origin::Registry { python: config.engine.python.clone() },
    };
    Ok(EngineStore::open(&config.cache_dir, origin, Clock::System)?)
}

/// A skill's name and its files: paths and contents.
type BundledSkill = (&'static str, &'static [(&'static str, &'static [u8])]);

/// Skills that are part of the program, with their files.
const BUNDLED: &[BundledSkill] = include!(concat!(env!("OUT_DIR"), "/bundled_skills.rs"));

/// True for the name of a skill that is part of the program.
#[must_use]
pub fn is_bundled(name: &str) -> bool {
    BUNDLED.iter().any(|(bundled, _)| *bundled == name)
}

/// How long the skills that are read will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillsRead {
    /// For as long as the process lives: changes are followed.
    Followed,
    /// As they are now.
    Once,
}

/// Reads all skills as they are now. The guide is always among them.
///
/// # Errors
///
/// A folder of skills cannot be read.
pub fn open_registry(config: &Config) -> Result<Registry, AssemblyError> {
    let (settings, built_in) = registry_settings(config, SkillsRead::Once)?;
    Ok(Registry::open(settings, &built_in)?)
}

fn registry_settings(
    config: &Config,
    read: SkillsRead,
) -> Result<(RegistryConfig, Vec<BuiltIn>), AssemblyError> {
    let own = config.data_dir.join("skills");
    for root in config.skills.roots.iter().filter(|root| **root == own) {
        std::fs::create_dir_all(root)
            .map_err(|cause| AssemblyError::System { what: "create the skills folder", cause })?;
    }
    let cursor_key = CursorKey::generate()
        .map_err(|cause| AssemblyError::System { what: "give random bytes", cause })?;
    let settings = RegistryConfig {
        roots: config.skills.roots.clone(),
        watching: Watching {
            max_folders: config.skills.max_folders,
            max_watches: config.skills.max_watches,
        },
        is_followed: read == SkillsRead::Followed,
        cursor_key,
    };
    let built_in = BUNDLED
        .iter()
        .filter(|(name, _)| config.skills.bundled || *name == GUIDE_NAME)
        .map(|(name, files)| BuiltIn { name, files })
        .collect();
    Ok((settings, built_in))
}

/// Opens the blob store, which belongs to one process at a time.
///
/// # Errors
///
/// Another process has it, or the folder cannot be used.
pub fn open_blobs(config: &Config) -> Result<BlobStore, AssemblyError> {
    let settings = crate::blobs::BlobsConfig {
        blob_max: config.blobs.max_size,
        tenant_bytes: config.blobs.quota,
        ttl: config.blobs.ttl,
        ..crate::blobs::BlobsConfig::at(config.blobs.folder.clone())
    };
    Ok(BlobStore::open(settings, Clock::System)?)
}

/// Counts the blobs before somebody stores one, then removes expired ones now and then.
async fn sweep(blobs: Arc<BlobStore>) {
    let counted = Arc::clone(&blobs);
    let counted = tokio::task::spawn_blocking(move || counted.count_all()).await;
    if let Ok(Err(error)) = counted {
        warn!("blobs could not be counted: {}", CauseChain(&error));
    }
    let mut clock = tokio::time::interval(SWEEP);
    loop {
        clock.tick().await;
        let blobs = Arc::clone(&blobs);
        let swept = tokio::task::spawn_blocking(move || blobs.sweep(Clock::System.now())).await;
        match swept {
            Ok(Ok(report)) if report.expired > 0 => {
                info!(expired = report.expired, "removed {} expired blobs", report.expired);
            }
            Ok(Ok(_)) | Err(_) => {}
            Ok(Err(error)) => warn!("blobs could not be swept: {}", CauseChain(&error)),
        }
    }
}

/// Is a worker until the gateway closes the socket on standard input.
///
/// # Errors
///
/// The setup cannot be read, or the worker broke.
pub fn work(setup: &str) -> Result<(), AssemblyError> {
    let setup: WorkerSetup = serde_json::from_str(setup).map_err(AssemblyError::Setup)?;
    let socket = crate::worker::socket_from_standard_input()
        .map_err(|cause| AssemblyError::System { what: "give the worker its socket", cause })?;
    let walls = if setup.requires_lockdown { MissingWalls::Refuse } else { MissingWalls::Report };
    let plan = LockdownPlan {
        uid: setup.uid,
        gid: setup.gid,
        memory: Some(setup.memory),
        addresses: Some(setup.addresses),
        file_size: setup.file_size,
        missing_walls: walls,
    };
    Ok(crate::worker::serve(socket, &plan, || PythonRunner::load(&setup))?)
}
