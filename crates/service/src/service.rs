//! The service and its parts.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, Weak};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::member::Fleet;
use crate::run::access::network::NetworkAccess;
use crate::run::access::secrets::SecretAccess;
use crate::run::background::detach_policy::DetachPolicy;
use crate::run::execute::execution::Execution;
use crate::run::execute::host::BlobWrites;
use crate::run::packages::compiler::Compiler;
use crate::run::packages::locked::PackageAccess;
use crate::run::prepare::limits::LimitPolicy;
use crate::run::prepare::metering::Metering;
use crate::run::prepare::run_images::RunImages;
use crate::run::prepare::supplies::Supplies;
use crate::run::result::make_answer::Answers;
use crate::start::Discovery;
use wardian_dispatch::{Pool, PoolReport};
use wardian_formats::provenance::Toolchain;
use wardian_formats::skill::manifest::tool_pattern::ToolGlob;
use wardian_images::ImageCache;
use wardian_skills::packages::layer::LayerKey;
use wardian_stores::blobs::Blobs;
use wardian_stores::results::{KeptValues, ResultsConfig};
use wardian_telemetry::Metrics;
use wardian_tools::Catalogue;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{Digest, TenantId};

/// The implementation of the Skills Protocol, called by every edge.
pub struct Service {
    /// The skills, the blobs and the records.
    pub(crate) discovery: Arc<Discovery>,
    /// What operators decide about runs.
    pub(crate) policy: OperatorPolicy,
    /// What runs are prepared from.
    pub(crate) supplies: Supplies,
    /// Where they are executed.
    pub(crate) execution: Execution,
    /// What their answers are made with.
    pub(crate) answers: Answers,
    /// The fleet that this server is in, once it has joined one.
    pub(crate) fleet: OnceLock<Arc<Fleet>>,
    /// Runs in the background keep the service alive.
    pub(crate) itself: Weak<Service>,
}

/// What operators decide about runs.
#[derive(Debug, Clone)]
pub(crate) struct OperatorPolicy {
    pub(crate) limits: LimitPolicy,
    pub(crate) detach: DetachPolicy,
    /// The skills that code of a call may execute.
    pub(crate) skills_of_code: Vec<ToolGlob>,
}

/// The parts of a [`Service`].
#[derive(Debug)]
pub struct Parts {
    /// The skills, the blobs and the records.
    pub discovery: Arc<Discovery>,
    /// The workers.
    pub pool: Arc<Pool>,
    /// The memory images in which runs begin.
    pub images: Arc<ImageCache>,
    /// The images of tenants whose runs begin as no others.
    pub tenant_images: BTreeMap<TenantId, Arc<ImageCache>>,
    /// Names what images are made of by this version of the program.
    pub image_version: Digest,
    /// The limits of runs.
    pub limits: LimitPolicy,
    /// What is decided about runs in the background.
    pub detach: DetachPolicy,
    /// The skills that code of a call may execute.
    pub skills_of_code: Vec<ToolGlob>,
    /// The state of the code that counts fuel.
    pub metering: Arc<Metering>,
    /// What runs may reach.
    pub network: NetworkAccess,
    /// The tools of the operator's servers.
    pub tools: Catalogue,
    /// The packages of skills, and the batteries.
    pub packages: Arc<PackageAccess>,
    /// The secrets that runs may get.
    pub secrets: Arc<SecretAccess>,
    /// The metrics in which runs are counted.
    pub metrics: Arc<Metrics>,
    /// The programs and the interpreter that execute runs.
    pub toolchain: Toolchain,
    /// The bounds of results that are kept.
    pub results: ResultsConfig,
}

impl Service {
    /// Builds the service from its parts.
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self::of(parts, itself.clone()))
    }

    fn of(parts: Parts, itself: Weak<Self>) -> Self {
        let Parts {
            discovery,
            pool,
            images,
            tenant_images,
            image_version,
            limits,
            detach,
            skills_of_code,
            metering,
            network,
            tools,
            packages,
            secrets,
            metrics,
            toolchain,
            results,
        } = parts;
        let tools = Arc::new(tools);
        let blobs = Arc::clone(&discovery.blobs.store);
        let blob_writes = BlobWrites::at_most(pool.size());
        discovery.sessions().places().bound(pool.most_held_cells());
        let pinned = Arc::clone(discovery.sessions().pinned());
        let images = RunImages::new(images, tenant_images, pinned, image_version);
        let compiler = Compiler {
            pool: Arc::clone(&pool),
            images: images.clone(),
            limits,
            packages: Arc::clone(&packages),
        };
        let results = Arc::new(KeptValues::new(results, Clock::System));
        Self {
            discovery,
            policy: OperatorPolicy { limits, detach, skills_of_code },
            supplies: Supplies {
                contents: Arc::default(),
                packages,
                secrets,
                images,
                metering,
                compiler,
            },
            execution: Execution {
                pool,
                network,
                tools,
                blobs: Arc::clone(&blobs),
                blob_writes,
                metrics,
            },
            answers: Answers { blobs, results, toolchain },
            fleet: OnceLock::new(),
            itself,
        }
    }

    /// A service with the same parts and with other blobs. Its runs and those of this one see
    /// nothing of what the others store.
    #[must_use]
    pub fn with_blobs(&self, blobs: Blobs, max_transfers: usize) -> Arc<Self> {
        let Execution { pool, network, tools, blob_writes, metrics, .. } = &self.execution;
        Arc::new_cyclic(|itself| Self {
            discovery: self.discovery.with_blobs(blobs.clone(), max_transfers),
            policy: self.policy.clone(),
            supplies: self.supplies.clone(),
            execution: Execution {
                pool: Arc::clone(pool),
                network: network.clone(),
                tools: Arc::clone(tools),
                blobs: Arc::clone(&blobs.store),
                blob_writes: blob_writes.clone(),
                metrics: Arc::clone(metrics),
            },
            answers: Answers {
                blobs: blobs.store,
                // Their blobs are others.
                results: Arc::new(KeptValues::new(ResultsConfig::default(), Clock::System)),
                toolchain: self.answers.toolchain.clone(),
            },
            fleet: OnceLock::new(),
            itself: itself.clone(),
        })
    }

    /// The part that needs no engine.
    #[must_use]
    pub const fn discovery(&self) -> &Arc<Discovery> {
        &self.discovery
    }

    /// The memory images in which runs begin.
    #[must_use]
    pub fn images(&self) -> &ImageCache {
        &self.supplies.images.shared
    }

    /// The images of the tenants that have some of their own.
    pub fn images_of_tenants(&self) -> impl Iterator<Item = &Arc<ImageCache>> {
        self.supplies.images.of_tenants()
    }

    /// Compiles the batteries in the background, if they exist and were not compiled before.
    pub fn compile_batteries_beside(&self) {
        self.supplies.compiler.compile_beside(self.supplies.packages.batteries().as_slice());
    }

    /// Compiles the batteries, unless they are missing or were compiled before.
    ///
    /// # Errors
    ///
    /// No worker can run the compiler, or the disk is full.
    pub async fn compile_batteries(&self) -> Result<(), ServiceError> {
        match self.supplies.packages.batteries() {
            Some(layer) => self.supplies.compiler.compile_now(&layer).await,
            None => Ok(()),
        }
    }

    /// Compiles a layer of this machine, unless it was compiled before.
    ///
    /// # Errors
    ///
    /// No worker can run the compiler, or the disk is full.
    pub async fn compile_layer(&self, caller: &Caller, key: LayerKey) -> Result<(), ServiceError> {
        match self.supplies.packages.open_layer(caller, key).await? {
            Some(layer) => self.supplies.compiler.compile_now(&layer).await,
            None => Ok(()),
        }
    }

    /// The report about the workers.
    #[must_use]
    pub fn workers(&self) -> PoolReport {
        self.execution.pool.report()
    }
}

/// Runs use the skills, blobs and records as their own.
impl Deref for Service {
    type Target = Discovery;

    fn deref(&self) -> &Discovery {
        &self.discovery
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("policy", &self.policy).finish_non_exhaustive()
    }
}
