//! The memory images in which runs begin.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_images::ImageCache;
use wardian_vocabulary::ids::TenantId;

/// The images that tenants share, and those of tenants whose runs begin as no others.
#[derive(Debug, Clone)]
pub(crate) struct RunImages {
    pub(crate) shared: Arc<ImageCache>,
    of_tenants: Arc<BTreeMap<TenantId, Arc<ImageCache>>>,
}

impl RunImages {
    pub(crate) fn new(
        shared: Arc<ImageCache>,
        of_tenants: BTreeMap<TenantId, Arc<ImageCache>>,
    ) -> Self {
        Self { shared, of_tenants: Arc::new(of_tenants) }
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
