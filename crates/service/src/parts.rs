//! The service and its parts.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use crate::run::access::network::NetworkAccess;
use crate::run::access::secrets::SecretAccess;
use crate::run::background::detach_policy::DetachPolicy;
use crate::run::execute::host::BlobWrites;
use crate::run::packages::locked::PackageAccess;
use crate::run::prepare::limits::LimitPolicy;
use crate::run::prepare::metering::Metering;
use crate::run::prepare::mounted_skill::Contents;
use crate::start::Discovery;
use wardian_dispatch::{Pool, PoolReport};
use wardian_formats::protocol::methods::execution::RunResult;
use wardian_formats::provenance::Toolchain;
use wardian_images::ImageCache;
use wardian_stores::blobs::Blobs;
use wardian_stores::results::{KeptValues, ResultsConfig};
use wardian_telemetry::Metrics;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::TenantId;

/// The implementation of the Skills Protocol, called by every edge.
pub struct Service {
    pub(super) discovery: Arc<Discovery>,
    pub(super) pool: Arc<Pool>,
    pub(super) detach: DetachPolicy,
    pub(super) images: Arc<ImageCache>,
    pub(super) tenant_images: BTreeMap<TenantId, Arc<ImageCache>>,
    pub(super) limits: LimitPolicy,
    pub(super) metering: Arc<Metering>,
    pub(super) network: NetworkAccess,
    pub(super) packages: Arc<PackageAccess>,
    pub(super) secrets: Arc<SecretAccess>,
    pub(super) contents: Arc<Contents>,
    pub(super) blob_writes: BlobWrites,
    pub(super) metrics: Arc<Metrics>,
    pub(super) results: Arc<KeptValues<RunResult>>,
    pub(super) toolchain: Toolchain,
    /// Runs in the background keep the service alive.
    pub(super) itself: Weak<Service>,
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
    /// The limits of runs.
    pub limits: LimitPolicy,
    /// What is decided about runs in the background.
    pub detach: DetachPolicy,
    /// The state of the code that counts fuel.
    pub metering: Arc<Metering>,
    /// What runs may reach.
    pub network: NetworkAccess,
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
            limits,
            detach,
            metering,
            network,
            packages,
            secrets,
            metrics,
            toolchain,
            results,
        } = parts;
        let contents = Arc::default();
        let blob_writes = BlobWrites::at_most(pool.size());
        Self {
            discovery,
            pool,
            images,
            tenant_images,
            limits,
            detach,
            metering,
            network,
            packages,
            secrets,
            contents,
            blob_writes,
            metrics,
            results: Arc::new(KeptValues::new(results, Clock::System)),
            toolchain,
            itself,
        }
    }

    /// A service with the same parts and with other blobs. Its runs and those of this one see
    /// nothing of what the others store.
    #[must_use]
    pub fn with_blobs(&self, blobs: Blobs, max_transfers: usize) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            discovery: self.discovery.with_blobs(blobs, max_transfers),
            pool: Arc::clone(&self.pool),
            images: Arc::clone(&self.images),
            tenant_images: self.tenant_images.clone(),
            limits: self.limits,
            detach: self.detach.clone(),
            metering: Arc::clone(&self.metering),
            network: self.network.clone(),
            packages: Arc::clone(&self.packages),
            secrets: Arc::clone(&self.secrets),
            contents: Arc::clone(&self.contents),
            blob_writes: self.blob_writes.clone(),
            metrics: Arc::clone(&self.metrics),
            // Their blobs are others.
            results: Arc::new(KeptValues::new(ResultsConfig::default(), Clock::System)),
            toolchain: self.toolchain.clone(),
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
        &self.images
    }

    /// The images in which runs of a tenant begin: its own, or those that tenants share.
    pub(crate) fn images_of(&self, tenant: &TenantId) -> &ImageCache {
        self.tenant_images.get(tenant).unwrap_or(&self.images)
    }

    /// The images of the tenants that have some of their own.
    pub fn images_of_tenants(&self) -> impl Iterator<Item = &Arc<ImageCache>> {
        self.tenant_images.values()
    }

    /// The report about the workers.
    #[must_use]
    pub fn workers(&self) -> PoolReport {
        self.pool.report()
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
        f.debug_struct("Service").field("limits", &self.limits).finish_non_exhaustive()
    }
}
