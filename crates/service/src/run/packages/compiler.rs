//! What compiles the Python of skills and packages: runs that see nothing else.

use std::sync::Arc;

use crate::run::packages::locked::PackageAccess;
use crate::run::prepare::limits::LimitPolicy;
use crate::run::prepare::run_images::RunImages;
use wardian_dispatch::Pool;

/// Compiles the Python of skills and packages.
#[derive(Debug, Clone)]
pub(crate) struct Compiler {
    pub(crate) pool: Arc<Pool>,
    pub(crate) images: RunImages,
    pub(crate) limits: LimitPolicy,
    pub(crate) packages: Arc<PackageAccess>,
}
