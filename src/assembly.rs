//! From a configuration to a running whole: the only place that builds the parts.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use tokio::task::{JoinHandle, block_in_place};
use tracing::{info, warn};

use crate::blobs::{BlobError, BlobStore};
use crate::clock::Clock;
use crate::config::Config;
use crate::dispatch::{DispatchError, Pool, PoolConfig, WorkerCommand};
use crate::engine::compile::Variant;
use crate::engine::fetch::Origin;
use crate::engine::progress::Progress;
use crate::engine::{EngineArtifacts, EngineError, EngineStore};
use crate::error::CauseChain;
use crate::ids::Digest;
use crate::images::{Image, ImageError, ImageStore, Profile};
use crate::registry::cursor::CursorKey;
use crate::registry::{BuiltIn, Registry, RegistryConfig, RegistryError};
use crate::service::{LimitPolicy, Metering, Service};
use crate::skill::GUIDE_NAME;
use crate::units::ByteCount;
use crate::worker::python::{ImageSetup, PythonRunner, WorkerSetup};
use crate::worker::{LockdownPlan, MissingWalls, WorkerError};

/// Shortest time between two looks at the folders of skills.
const REFRESH: Duration = Duration::from_secs(1);

/// How often expired blobs are looked for.
const SWEEP: Duration = Duration::from_secs(600);

/// Private memory that a worker may keep between runs: what a usual pandas program touches.
const KEEP: ByteCount = ByteCount::mebibytes(16);

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

/// What is said of an image that runs start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSummary {
    /// Its name.
    pub name: String,
    /// Length of its memory.
    pub length: ByteCount,
    /// Digest of its memory.
    pub digest: Digest,
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
    /// The images.
    pub images: Vec<ImageSummary>,
    /// Open for the workers that are started later.
    _files: EngineFiles,
    sweeper: JoinHandle<()>,
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
    pub async fn start(config: &Config, progress: &dyn Progress) -> Result<Self, AssemblyError> {
        let registry = Arc::new(open_registry(config)?);
        let blobs = Arc::new(open_blobs(config)?);
        let files = block_in_place(|| EngineFiles::prepare(config, progress))?;
        let image = &files.image;
        let images = vec![ImageSummary {
            name: image.name.clone(),
            length: image.length,
            digest: image.digest,
        }];
        let limits = LimitPolicy {
            default: config.limits.default,
            cap: config.limits.max,
            least_memory: image.length,
            metering: if files.metered.is_some() { Metering::Ready } else { Metering::Missing },
        };
        let setup = files.setup(config)?;
        let setup = serde_json::to_string(&setup).map_err(AssemblyError::Setup)?;
        let arguments = ["worker", "--setup", &setup].map(OsString::from).to_vec();
        let command = WorkerCommand::same_program(arguments);
        let mut settings = PoolConfig::new(command, config.workers.count);
        settings.spares = config.workers.spares;
        settings.queue = config.workers.queue;
        settings.queue_wait = config.workers.queue_wait;
        let pool = Arc::new(Pool::start(settings)?);
        let service =
            Service::new(Arc::clone(&registry), Arc::clone(&blobs), Arc::clone(&pool), limits);
        let sweeper = tokio::spawn(sweep(Arc::clone(&blobs)));
        let service = Arc::new(service);
        Ok(Self { service, registry, blobs, pool, images, _files: files, sweeper })
    }

    /// Waits until all workers are ready.
    ///
    /// # Errors
    ///
    /// A worker does not start: the causes say why.
    pub async fn ready(&self) -> Result<(), AssemblyError> {
        Ok(self.pool.ready().await?)
    }

    /// Lets no new run in, gives those in progress until `patience` is over, and ends the
    /// workers.
    pub async fn shut_down(&self, patience: Duration) {
        self.sweeper.abort();
        self.pool.shut_down(patience).await;
    }
}

/// The engine's files and its image, open in this process and inherited by workers.
#[derive(Debug)]
struct EngineFiles {
    timed: EngineArtifacts,
    /// The code that counts fuel, if it was compiled.
    metered: Option<EngineArtifacts>,
    image: Image,
}

impl EngineFiles {
    fn prepare(config: &Config, progress: &dyn Progress) -> Result<Self, AssemblyError> {
        let engine = open_engine(config)?;
        let timed = engine.ensure(Variant::Timed, progress)?;
        let image = ImageStore::new(&engine).ensure(&Profile::base(), &timed, progress)?;
        // An operator who gives every run a budget wants it counted, whatever compiling costs.
        let is_wanted = config.limits.default.fuel.is_some();
        let metered = if is_wanted || engine.is_ready(Variant::Metered)? {
            Some(engine.ensure(Variant::Metered, progress)?)
        } else {
            None
        };
        Ok(Self { timed, metered, image })
    }

    /// What workers are told; makes the descriptors inheritable.
    fn setup(&self, config: &Config) -> Result<WorkerSetup, AssemblyError> {
        let pages = self.timed.facts.memory_min_pages;
        // Both variants compute the same, so one image serves both.
        let image = |artifacts: &EngineArtifacts| -> Result<ImageSetup, AssemblyError> {
            Ok(ImageSetup {
                name: self.image.name.clone(),
                variant: artifacts.variant,
                native: inheritable(&artifacts.native.file)?,
                memory: inheritable(&self.image.memory)?,
                descriptors: self.image.descriptors.clone(),
                declared_pages: usize::try_from(pages).unwrap_or(usize::MAX),
            })
        };
        let variants = [Some(&self.timed), self.metered.as_ref()];
        Ok(WorkerSetup {
            library: inheritable(&self.timed.library.file)?,
            images: variants.into_iter().flatten().map(image).collect::<Result<_, _>>()?,
            keep: KEEP,
            is_paranoid: false,
            uid: config.workers.uid,
            gid: config.workers.gid,
            requires_lockdown: config.workers.require_lockdown,
        })
    }
}

/// Lets the workers inherit a descriptor under the number that it has here.
fn inheritable(file: &impl AsFd) -> Result<RawFd, AssemblyError> {
    let descriptor = file.as_fd();
    fcntl_setfd(descriptor, FdFlags::empty()).map_err(|errno| AssemblyError::System {
        what: "hand a file to the workers",
        cause: errno.into(),
    })?;
    Ok(descriptor.as_raw_fd())
}

/// Fetches and compiles the engine and makes its base image, as far as that was not done before.
///
/// # Errors
///
/// The engine cannot be had, or cannot be compiled here.
pub fn install_engine(
    config: &Config,
    variants: &[Variant],
    progress: &dyn Progress,
) -> Result<(), AssemblyError> {
    let engine = open_engine(config)?;
    for variant in variants {
        let artifacts = engine.ensure(*variant, progress)?;
        ImageStore::new(&engine).ensure(&Profile::base(), &artifacts, progress)?;
    }
    Ok(())
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

/// Reads all skills. The guide is always among them.
///
/// # Errors
///
/// A folder of skills cannot be read.
pub fn open_registry(config: &Config) -> Result<Registry, AssemblyError> {
    let own = config.data_dir.join("skills");
    for root in config.skills.roots.iter().filter(|root| **root == own) {
        std::fs::create_dir_all(root)
            .map_err(|cause| AssemblyError::System { what: "create the skills folder", cause })?;
    }
    let cursor_key = CursorKey::generate()
        .map_err(|cause| AssemblyError::System { what: "give random bytes", cause })?;
    let settings = RegistryConfig {
        roots: config.skills.roots.clone(),
        refresh_interval: REFRESH,
        cursor_key,
    };
    let built_in: Vec<BuiltIn> = BUNDLED
        .iter()
        .filter(|(name, _)| config.skills.bundled || *name == GUIDE_NAME)
        .map(|(name, files)| BuiltIn { name, files })
        .collect();
    Ok(Registry::open(settings, &built_in)?)
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

/// Removes expired blobs now and then.
async fn sweep(blobs: Arc<BlobStore>) {
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
        missing_walls: walls,
        ..LockdownPlan::default()
    };
    Ok(crate::worker::serve(socket, &plan, || PythonRunner::load(&setup))?)
}
