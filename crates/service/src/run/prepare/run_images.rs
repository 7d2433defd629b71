//! The memory images in which runs begin.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::error::ServiceError;
use wardian_images::{ImageCache, PinnedImages};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The images that tenants share, and those of tenants whose runs begin as no others.
#[derive(Debug, Clone)]
pub(crate) struct RunImages {
    pub(crate) shared: Arc<ImageCache>,
    of_tenants: Arc<BTreeMap<TenantId, Arc<ImageCache>>>,
    /// Those of sessions, once their store is open.
    pinned: Arc<OnceLock<PinnedImages>>,
    /// Names what images are made of by this version of the server.
    pub(crate) version: Digest,
}

impl RunImages {
    pub(crate) fn new(
        shared: Arc<ImageCache>,
        of_tenants: BTreeMap<TenantId, Arc<ImageCache>>,
        pinned: Arc<OnceLock<PinnedImages>>,
        version: Digest,
    ) -> Self {
        Self { shared, of_tenants: Arc::new(of_tenants), pinned, version }
    }

    /// The images that open sessions began as.
    ///
    /// # Errors
    ///
    /// This process keeps no sessions.
    pub(crate) fn pinned(&self) -> Result<PinnedImages, ServiceError> {
        self.pinned.get().cloned().ok_or(ServiceError::NoSessions)
    }

    /// The images in which runs of a tenant begin: its own, or those that tenants share.
    pub(crate) fn of(&self, tenant: &TenantId) -> &ImageCache {
        self.of_tenants.get(tenant).unwrap_or(&self.shared)
    }

    /// The images of the tenants that have some of their own.
    pub(crate) fn of_tenants(&self) -> impl Iterator<Item = &Arc<ImageCache>> {
        self.of_tenants.values()
    }
}
