//! Starts the parts that runs need, in the order of their dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::{JoinHandle, block_in_place};
use tracing::warn;

use crate::assembly::blobs::{self, OwnBlobs, ServedBlobs, open_blobs};
use crate::assembly::engine::MeteredCode;
use crate::assembly::engine::files::EngineFiles;
use crate::assembly::engine::image_store::image_store;
use crate::assembly::error::AssemblyError;
use crate::assembly::metrics::RuntimeState;
use crate::assembly::packages::{open_batteries, package_access};
use crate::assembly::provision::{
    ImagesHere, ImagesOf, Provision, compile_when_asked, provide_batteries,
};
use crate::assembly::skills::{SkillsRead, open_published, registry_settings};
use crate::assembly::tools::tools_of;
use crate::assembly::worker::memory::WorkerMemory;
use wardian_config::{CgroupUse, CompileMetered, Config};
use wardian_dispatch::{AttachmentLimits, Pool, PoolConfig, WorkerCgroups, WorkerCommand};
use wardian_egress::Egress;
use wardian_egress::world::resolver::SystemResolver;
use wardian_engine::EngineArtifacts;
use wardian_engine::code::compile::CompileKey;
use wardian_engine::progress::Progress;
use wardian_formats::job::frame::outcome_max;
use wardian_formats::provenance::{EngineIdentity, MadeBy, Toolchain};
use wardian_images::{Image, ImageCache, ImageRules, PackageSet};
use wardian_service::{
    DetachPolicy, Discovery, DiscoveryParts, LimitPolicy, Metering, NetworkAccess, PackageAccess,
    Parts, Runs as _, SecretAccess, Service, Status as _,
};
use wardian_sessions::SessionsConfig;
use wardian_skills::packages::LayerStore;
use wardian_skills::registry::{Registry, RegistryError};
use wardian_stores::blobs::{BlobStoreConfig, LocalBlobStore, LocalBlobs};
use wardian_stores::secrets::Secrets;
use wardian_telemetry::Metrics;
use wardian_vocabulary::cgroup::{CgroupLimits, CgroupTree};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::CallRates;
use wardian_vocabulary::units::ByteCount;

/// Most images that are made on need. Beyond it one image with all packages is used.
const VARIETY: usize = 12;

/// Most processes and threads in the cgroup of a worker. It has three.
const THREADS_OF_A_WORKER: u32 = 16;

/// The share of a worker in the processors, which is that of any cgroup.
const USUAL_WEIGHT: u32 = 100;

/// The started parts that runs need.
#[derive(Debug)]
pub struct Runtime {
    /// The eight methods.
    pub service: Arc<Service>,
    /// The skills.
    pub registry: Arc<Registry>,
    /// The blobs on this machine: all, or the copies of those in an object store.
    pub blobs: Arc<LocalBlobStore>,
    /// The workers.
    pub pool: Arc<Pool>,
    /// The memory images in which runs begin.
    pub images: Arc<ImageCache>,
    packages: Arc<PackageAccess>,
    metering: Arc<Metering>,
    blob_settings: BlobStoreConfig,
    session_settings: SessionsConfig,
    /// Open files for workers that are started later.
    files: Arc<EngineFiles>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    sweeping: Arc<JoinHandle<()>>,
}

/// The skills and blobs, of which a separate thread reads the skills: thousands of them take a
/// second.
#[derive(Debug)]
pub struct Stores {
    reading: thread::JoinHandle<Result<Arc<Discovery>, RegistryError>>,
    blobs: Arc<LocalBlobStore>,
    /// Counts and removes blobs.
    sweeping: JoinHandle<()>,
}

impl Stores {
    /// Opens the blobs and begins to read the skills.
    ///
    /// # Errors
    ///
    /// The blobs cannot be opened, or the operating system refuses a thread.
    pub fn open(config: &Config, skills: SkillsRead) -> Result<Self, AssemblyError> {
        let blobs = ServedBlobs::Local(LocalBlobs::new(open_blobs(config)?));
        Self::open_with(config, &blobs, skills, |_| {})
    }

    /// As [`open`](Self::open), with these blobs. The thread that reads the skills calls `opened` with the result.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(
        config: &Config,
        blobs: &ServedBlobs,
        skills: SkillsRead,
        opened: impl FnOnce(&Arc<Discovery>) + Send + 'static,
    ) -> Result<Self, AssemblyError> {
        let (settings, built_in) = registry_settings(config, skills)?;
        let (served, local) = (blobs.interfaces(), blobs.local());
        let sweeping = tokio::spawn(blobs.clone().tend());
        let rates = CallRates::of(&config.tenants);
        let max_transfers = config.http.max_transfers;
        let published = open_published(config)?;
        let read = move || {
            let registry = Arc::new(Registry::open(settings, &built_in)?);
            let parts = DiscoveryParts { registry, blobs: served, rates, max_transfers, published };
            let discovery = Discovery::new(parts);
            opened(&discovery);
            Ok(discovery)
        };
        let reading = thread::Builder::new().name("skills".to_owned()).spawn(read);
        let refused = |cause| AssemblyError::System { what: "start a thread", cause };
        Ok(Self { reading: reading.map_err(refused)?, blobs: local, sweeping })
    }

    /// Waits until all skills are read. Blocks the thread that it is on.
    ///
    /// # Errors
    ///
    /// A folder of skills cannot be read.
    pub fn read(self) -> Result<ReadStores, AssemblyError> {
        let ended_early = |_panic| AssemblyError::System {
            what: "read the skills",
            cause: io::Error::other("a thread exited early"),
        };
        let Self { reading, blobs, sweeping } = self;
        let discovery = block_in_place(|| reading.join()).map_err(ended_early)??;
        Ok(ReadStores { discovery, blobs, sweeping: Arc::new(sweeping) })
    }
}

/// The skills, the blobs and the records of runs.
#[derive(Debug, Clone)]
pub struct ReadStores {
    /// The methods that need no engine.
    pub discovery: Arc<Discovery>,
    blobs: Arc<LocalBlobStore>,
    sweeping: Arc<JoinHandle<()>>,
}

impl Runtime {
    /// Prepares the engine and begins to start workers. This takes a fraction of a second if the
    /// engine is installed, and otherwise minutes, which `progress` shows. Workers get their own
    /// cgroups in
    /// `cgroups`.
    ///
    /// Needs a runtime with several threads, since it blocks the one that it is on.
    ///
    /// # Errors
    ///
    /// A part cannot be opened or prepared.
    #[expect(clippy::unused_async, reason = "workers are started on the runtime of the caller")]
    pub async fn start(
        config: &Config,
        metered: MeteredCode,
        stores: impl FnOnce() -> Result<ReadStores, AssemblyError>,
        metrics: Arc<Metrics>,
        cgroups: Option<Arc<CgroupTree>>,
        progress: &dyn Progress,
    ) -> Result<Self, AssemblyError> {
        // A default fuel limit applies to every run, so the metered code is needed from the start.
        let is_wanted = config.limits.default.fuel.is_some();
        let metered = if is_wanted { MeteredCode::Wanted } else { metered };
        let (files, base) = block_in_place(|| EngineFiles::prepare(config, metered, progress))?;
        let limits = limit_policy(config, &base);
        let metering = metering(config, &files);
        let tenant_images = block_in_place(|| images_of_tenants(config, &files, progress))?;
        let images = shared_images(config, &files, base)?;
        let pool = Arc::new(Pool::start(pool_config(config, files.command(config)?, cgroups))?);
        let packages = Arc::new(package_access(config, &files.timed)?);
        // Reproducible runs count fuel, and are refused without the batteries.
        if let Err(error) = block_in_place(|| open_batteries(config, &packages, metered)) {
            warn!("there are no batteries: {}", CauseChain(&*error));
        }
        let ReadStores { discovery, blobs, sweeping } = stores()?;
        let registry = Arc::clone(discovery.registry());
        let (images, metering) = (Arc::new(images), Arc::new(metering));
        let resolver = Arc::new(SystemResolver::default());
        let egress = block_in_place(|| Egress::new(config.network.egress.clone(), resolver))?;
        metrics.add(RuntimeState {
            pool: Arc::clone(&pool),
            images: Arc::clone(&images),
            tenant_images: tenant_images.values().map(Arc::clone).collect(),
            registry: Arc::clone(&registry),
        });
        let service = Service::new(Parts {
            discovery,
            pool: Arc::clone(&pool),
            images: Arc::clone(&images),
            tenant_images,
            image_version: image_store(config, &files.engine, &files.timed)?.version(),
            limits,
            metrics,
            toolchain: toolchain(&files.timed),
            detach: detach_policy(config),
            skills_of_code: config.skills.from_code.clone(),
            metering: Arc::clone(&metering),
            tools: tools_of(config, &egress),
            network: NetworkAccess::new(egress, config.network.code.clone()),
            packages: Arc::clone(&packages),
            secrets: Arc::new(secret_access(config)),
            results: config.results,
        });
        let (tasks, files) = (Mutex::default(), Arc::new(files));
        let blob_settings = blobs::settings(config);
        let session_settings = config.sessions.store.clone();
        Ok(Self {
            service,
            registry,
            blobs,
            pool,
            images,
            packages,
            metering,
            blob_settings,
            session_settings,
            files,
            tasks,
            sweeping,
        })
    }

    /// The same runtime for runs with their own blobs. `room` is added to their quota, for blobs
    /// that the caller adds itself.
    ///
    /// # Errors
    ///
    /// A folder for the blobs cannot be made.
    pub fn with_own_blobs(&self, room: ByteCount) -> Result<OwnBlobs, AssemblyError> {
        let settings = (&self.blob_settings, &self.session_settings);
        blobs::own_blobs(&self.service, settings, room)
    }

    /// Starts the background work of a server that is ready: following skills unless they are read
    /// once, making images, and compiling the metered code.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn start_background(
        &self,
        config: &Config,
        provision: &Arc<dyn Provision>,
        skills: SkillsRead,
    ) -> Result<(), AssemblyError> {
        let refused = |cause| AssemblyError::System { what: "start a thread", cause };
        if skills == SkillsRead::Followed {
            self.registry.follow().map_err(refused)?;
        }
        let maker = ImagesOf { provision: Arc::clone(provision), turn: Arc::default() };
        for images in [&self.images].into_iter().chain(self.service.images_of_tenants()) {
            images.start(Box::new(maker.clone())).map_err(refused)?;
        }
        let (files, pool, metering) = (&self.files, &self.pool, &self.metering);
        let compiling = compile_when_asked(config, files, pool, metering, Arc::clone(provision));
        let batteries = provide_batteries(&self.service, &self.packages, Arc::clone(provision));
        self.tasks.lock().extend([compiling, batteries]);
        // No other server has a file of SQLite.
        if config.database.url_file.is_some() {
            let followed = Arc::clone(self.service.discovery());
            let following =
                tokio::spawn(async move { followed.runs().follow_cancellations().await });
            self.tasks.lock().push(following);
        }
        Ok(())
    }

    /// Makes the images that reproducible runs turn out to need, in this process: for a command.
    ///
    /// # Errors
    ///
    /// The operating system refuses a thread.
    pub fn make_reproducible_images(
        &self,
        config: &Config,
        progress: Box<dyn Progress>,
    ) -> Result<(), AssemblyError> {
        let maker = ImagesHere { config: config.clone(), progress };
        let started = self.images.start_for_reproducible(Box::new(maker));
        started.map_err(|cause| AssemblyError::System { what: "start a thread", cause })
    }

    /// Searches packages of skills in a folder with layers, before those of this machine: for a run
    /// whose layers are compared with a record.
    pub fn add_layers_of_record(&self, folder: PathBuf) {
        self.packages.add_layers_of_record(LayerStore::at(folder));
    }

    /// Waits until all workers are ready.
    ///
    /// # Errors
    ///
    /// A worker does not start.
    pub async fn ready(&self) -> Result<(), AssemblyError> {
        Ok(self.pool.ready().await?)
    }

    /// Logs the missing and partial parts of the lock-down.
    pub fn warn_of_missing_walls(&self) {
        for warning in self.service.warnings() {
            warn!("{warning}");
        }
        let report = self.pool.report();
        let partial: BTreeSet<&String> =
            report.workers.iter().flat_map(|worker| &worker.report.partial).collect();
        for gap in partial {
            warn!("the lock-down is partial on this kernel: {gap}");
        }
    }

    /// Refuses new runs, gives those in progress `patience` to end, and ends the workers.
    pub async fn shut_down(&self, patience: Duration) {
        self.tasks.lock().drain(..).for_each(|task| task.abort());
        self.sweeping.abort();
        self.images.note_usage();
        self.pool.shut_down(patience).await;
    }
}

fn limit_policy(config: &Config, base: &Image) -> LimitPolicy {
    LimitPolicy {
        default: config.limits.default,
        cap: config.limits.max,
        reproducible_memory: config.limits.reproducible_memory,
        least_memory: base.content.length(),
        keep_files: config.limits.keep_files,
    }
}

fn toolchain(engine: &EngineArtifacts) -> Toolchain {
    let CompileKey { module, transform, wasmtime, .. } = engine.key;
    let (wardian, wasmtime) = (env!("CARGO_PKG_VERSION").to_owned(), wasmtime.to_owned());
    let library = engine.library.digest();
    Toolchain {
        made_by: MadeBy { wardian, wasmtime },
        engine: EngineIdentity { module, transform, library },
    }
}

fn secret_access(config: &Config) -> SecretAccess {
    SecretAccess::new(Secrets::new(&config.secrets), config.secrets.hosts.clone())
}

/// The images that tenants share.
fn shared_images(
    config: &Config,
    files: &EngineFiles,
    base: Image,
) -> Result<ImageCache, AssemblyError> {
    let kept = image_store(config, &files.engine, &files.timed)?.sparing(&config.images.tenants);
    Ok(ImageCache::new(Box::new(kept), base, image_rules(config)))
}

/// The images of tenants that have some of their own: a base image each, and no further ones.
fn images_of_tenants(
    config: &Config,
    files: &EngineFiles,
    progress: &dyn Progress,
) -> Result<BTreeMap<TenantId, Arc<ImageCache>>, AssemblyError> {
    let shared = image_store(config, &files.engine, &files.timed)?;
    let none = ByteCount::default();
    let rules = ImageRules {
        profiles: Vec::new(),
        on_need: false,
        variety: 0,
        memory: none,
        // The shared images are removed first, and these never.
        disk: ByteCount::bytes(u64::MAX),
        max_age: config.images.max_age,
    };
    let of_tenant = |tenant: &TenantId| {
        let kept = shared.of_tenant(tenant);
        let base = kept.ensure(PackageSet::NONE, progress)?;
        let cache = ImageCache::new(Box::new(kept), base, rules.clone());
        Ok((tenant.clone(), Arc::new(cache)))
    };
    config.images.tenants.iter().map(of_tenant).collect()
}

fn detach_policy(config: &Config) -> DetachPolicy {
    let (tenants, longest_wait) = (config.tenants.clone(), config.workers.detached_wait);
    DetachPolicy { tenants, longest_wait }
}

fn metering(config: &Config, files: &EngineFiles) -> Metering {
    match config.engine.compile_metered {
        _ if files.has_metered() => Metering::ready(),
        CompileMetered::OnDemand => Metering::missing(),
        CompileMetered::Never => Metering::not_installed(),
    }
}

fn pool_config(
    config: &Config,
    command: WorkerCommand,
    cgroups: Option<Arc<CgroupTree>>,
) -> PoolConfig {
    let most = WorkerMemory::of(config);
    let cgroups = cgroups.map(|tree| WorkerCgroups {
        tree,
        limits: CgroupLimits {
            memory: most.taken,
            processes: THREADS_OF_A_WORKER,
            weight: USUAL_WEIGHT,
        },
        is_required: config.workers.cgroups == CgroupUse::Require,
    });
    PoolConfig {
        cgroups,
        most_runs: config.workers.max,
        most_held: config.sessions.warm,
        held_memory: Some(config.sessions.warm_memory),
        spares: config.workers.spares,
        isolation: config.isolation,
        queue: config.workers.queue,
        memory: config.workers.memory,
        tenants: config.tenants.clone(),
        queue_wait: config.workers.queue_wait,
        first_wait: config.workers.detached_wait,
        attachments: AttachmentLimits { mapped: most.mapped, ..AttachmentLimits::default() },
        max_message: outcome_max(config.limits.max.logs),
        ..PoolConfig::new(command, config.workers.count)
    }
}

fn image_rules(config: &Config) -> ImageRules {
    ImageRules {
        profiles: config.images.profiles.clone(),
        on_need: config.images.on_need,
        variety: VARIETY,
        memory: config.images.memory,
        disk: config.images.disk,
        max_age: config.images.max_age,
    }
}
