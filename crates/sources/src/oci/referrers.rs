//! What refers to a manifest, as registries and their clients list it.

use crate::error::SourceError;
use crate::oci::artifact::{MAX_MANIFEST, OciDescriptor, OciManifest};
use crate::oci::session::{RegistryRequest, RegistrySession};

/// The kind of an envelope, and of the artifact that has it.
pub(super) const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// The tag under which clients keep what refers to a manifest.
pub(super) fn fallback_tag(digest: &str) -> String {
    digest.replace(':', "-")
}

/// What refers to a manifest: as the registry lists it, or as its clients do where it cannot.
pub(super) fn referrers(
    session: &mut RegistrySession<'_>,
    digest: &str,
) -> Result<Vec<OciDescriptor>, SourceError> {
    let url = session.url(&format!("referrers/{digest}"));
    let response = session.send(&url, RegistryRequest::default())?;
    if response.status() == 200 {
        let bytes = response.whole(MAX_MANIFEST)?;
        let index: OciManifest = serde_json::from_slice(&bytes)
            .map_err(|fault| SourceError::damaged("the list of referrers", fault))?;
        return Ok(index.manifests);
    }
    drop(response);
    let index = session.find_manifest(&fallback_tag(digest))?;
    Ok(index.map(|index| index.manifest.manifests).unwrap_or_default())
}
