//! Publishes a package where a user wants it.

use crate::error::SourceError;
use crate::oci::artifact::OciPlace;
use crate::oci::push;
use crate::package::shelf;
use crate::package::skill_package::{Publication, SkillPackage};
use crate::source::{SkillSource, SourceKind};
use crate::store::place::StorePlace;
use crate::store::shelf as store_shelf;
use crate::web::Web;

/// Publishes a package in a registry, an object store or a folder. The target has the form of a source.
///
/// # Errors
///
/// The target cannot be written, is no place for packages, or has other bytes under this version.
pub fn publish(
    web: &Web,
    target: &SkillSource,
    package: &SkillPackage,
) -> Result<Publication, SourceError> {
    match &target.kind {
        SourceKind::Folder(folder) => shelf::publish(folder, package),
        SourceKind::Oci { registry, repository } => {
            let credentials = web.credentials(target.credentials.as_ref(), registry);
            let place = OciPlace { registry, repository, credentials: credentials.as_ref() };
            push::publish(web, &place, target.reference.as_deref(), package)
        }
        SourceKind::Store { bucket, key } => {
            store_shelf::publish(web, &StorePlace { bucket, key }, package)
        }
        SourceKind::Git(_)
        | SourceKind::Npm { .. }
        | SourceKind::Archive(_)
        | SourceKind::File(_) => Err(SourceError::NotASource(format!(
            "`{target}` is no place to publish to: name a registry (`oci://HOST/NAME`), an object \
             store (`s3://BUCKET/PREFIX`) or a folder (`./packages`)"
        ))),
    }
}
