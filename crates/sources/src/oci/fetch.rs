//! Artifacts of OCI registries: a manifest, and layers that are archives or single files.
//!
//! INVARIANT(digests-first): a layer is unpacked only after its digest was compared with the manifest's, and a manifest
//! that was named by its digest after that one was.

use crate::archive::{ArchiveKind, unpack};
use crate::error::{SourceError, shown};
use crate::oci::artifact::{MAX_LAYER, MAX_LAYERS, OciDescriptor, OciPlace, TITLE, digest_in};
use crate::oci::session::{FetchedManifest, RegistryAccess, RegistrySession};
use crate::oci::signed;
use crate::package::skill_package::PackagedSkill;
use crate::tree::Tree;
use crate::web::Web;
use wardian_formats::provenance::skill_signature::{CLAIM_NAME, CLAIM_VERSION};
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// Adds the files of an artifact to a tree. Returns its signatures, and the digest of its manifest as its revision.
pub(crate) fn fetch(
    web: &Web,
    place: &OciPlace<'_>,
    reference: &str,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<PackagedSkill, SourceError> {
    let at = (place.registry, place.repository);
    let mut session = RegistrySession::new(web, at, place.credentials, RegistryAccess::Pull);
    let mut found = session.manifest(reference)?;
    let revision = found.digest.clone();
    if found.manifest.layers.is_empty() && !found.manifest.manifests.is_empty() {
        let [only] = found.manifest.manifests.as_slice() else {
            let problem = "the artifact is a list of several: name one of them by its digest";
            return Err(SourceError::damaged("the artifact", problem));
        };
        let digest = digest_in(&only.digest).ok_or_else(|| {
            SourceError::damaged("the artifact", "a digest is not one of SHA-256")
        })?;
        found = session.manifest(&format!("sha256:{digest}"))?;
    }
    let layers = &found.manifest.layers;
    if layers.is_empty() || layers.len() > MAX_LAYERS {
        let problem = format!("it has {} layers, not 1 to {MAX_LAYERS}", layers.len());
        return Err(SourceError::damaged("the artifact", problem));
    }
    check_tag(reference, &found)?;
    for layer in layers {
        let bytes = session.layer(layer, MAX_LAYER)?;
        add_layer(layer, bytes, tree)?;
    }
    let signatures = signed::signatures_of(&mut session, &found, notes);
    let promised = promised_in(&found);
    Ok(PackagedSkill { folder: String::new(), revision, signatures, promised })
}

/// The name and the version under which a package was published.
fn promised_in(found: &FetchedManifest) -> Option<(SkillName, SkillVersion)> {
    let annotations = &found.manifest.annotations;
    let name = SkillName::parse(annotations.get(CLAIM_NAME)?).ok()?;
    Some((name, SkillVersion::parse(annotations.get(CLAIM_VERSION)?).ok()?))
}

/// Refuses a tag that is a version and leads to the package of another one: somebody has moved it.
fn check_tag(reference: &str, found: &FetchedManifest) -> Result<(), SourceError> {
    let Some(version) = found.manifest.annotations.get(CLAIM_VERSION) else { return Ok(()) };
    if SkillVersion::parse(reference).is_err() || version == reference {
        return Ok(());
    }
    let problem =
        format!("its tag is {reference}, but its manifest has the version {}", shown(version));
    Err(SourceError::damaged("the artifact", problem))
}

fn add_layer(layer: &OciDescriptor, bytes: Vec<u8>, tree: &mut Tree) -> Result<(), SourceError> {
    let title = layer.annotations.get(TITLE);
    let is_packed = ["tar", "zip"].iter().any(|word| layer.media_type.contains(word))
        || layer
            .annotations
            .get("io.deis.oras.content.unpack")
            .is_some_and(|value| value == "true");
    let is_archive = ArchiveKind::of(&bytes).is_some();
    match title {
        Some(title) if !(is_packed && is_archive) => tree.add(title, bytes),
        _ if is_archive => unpack(&bytes, tree),
        _ => {
            let kind = shown(&layer.media_type);
            let problem = format!("a layer of the kind `{kind}` is no archive and has no name");
            Err(SourceError::damaged("the artifact", problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(kind: &str, title: Option<&str>) -> OciDescriptor {
        let annotations = title.map(|title| (TITLE.to_owned(), title.to_owned()));
        OciDescriptor {
            media_type: kind.to_owned(),
            digest: String::new(),
            size: 0,
            artifact_type: None,
            annotations: annotations.into_iter().collect(),
        }
    }

    #[test]
    fn layers_are_files_or_archives_and_their_names_are_checked() {
        let mut tree = Tree::default();
        add_layer(&layer("text/markdown", Some("pdf/SKILL.md")), b"x".to_vec(), &mut tree).unwrap();
        for title in ["../x", "/x", "pdf/skill.MD"] {
            assert!(add_layer(&layer("text/plain", Some(title)), Vec::new(), &mut tree).is_err());
        }
        assert!(add_layer(&layer("text/plain", None), Vec::new(), &mut tree).is_err());
        assert_eq!(tree.files().count(), 1);
    }
}
