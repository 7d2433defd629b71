//! Skills as packages: one archive for each version, the same bytes on every machine, and the signature of its publisher.
//!
//! A package is a plain tar: sorted names, no times, no owners, one mode, no folders, no compression. Compressors give
//! other bytes from one version and one processor to the next, and registries compress by themselves.
//!
//! INVARIANT(same-bytes): equal files have one package. INVARIANT(immutable-packages): what was published under a name and
//! a version is never replaced by other bytes.

pub(crate) mod shelf;

use crate::error::SourceError;
use crate::oci::{OciPlace, push};
use crate::source::{SkillSource, SourceKind};
use crate::web::Web;
use wardian_formats::provenance::skill_signature::{SkillClaim, SkillEnvelope, SkillSignatures};
use wardian_formats::provenance::tar::TarWriter;
use wardian_formats::provenance::{PrivateKey, ProvenanceError};
use wardian_vocabulary::ids::Digest;

/// A version of a skill that is to be published.
#[derive(Debug)]
pub struct SkillPackage {
    /// Which skill it is.
    pub claim: SkillClaim,
    /// The archive.
    pub bytes: Vec<u8>,
    /// The signature of the publisher.
    pub envelope: Option<SkillEnvelope>,
}

impl SkillPackage {
    /// Packs these files: paths and contents, in any order.
    ///
    /// # Errors
    ///
    /// Two have one path, or a path is not relative.
    pub fn pack(claim: SkillClaim, files: &[(&str, &[u8])]) -> Result<Self, ProvenanceError> {
        let mut sorted = files.to_vec();
        sorted.sort_unstable();
        let mut tar = TarWriter::new(Vec::new());
        for (path, content) in sorted {
            let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
            tar.add(path, size, &mut &*content)?;
        }
        Ok(Self { claim, bytes: tar.finish()?, envelope: None })
    }

    /// SHA-256 of the archive.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Signs the package.
    ///
    /// # Errors
    ///
    /// The claim has no canonical form.
    pub fn sign(&mut self, key: &PrivateKey) -> Result<(), ProvenanceError> {
        self.envelope = Some(SkillEnvelope::sign(&self.claim, self.digest(), key)?);
        Ok(())
    }
}

/// What publishing has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The place of the package: a file, or `oci://HOST/NAME:TAG@DIGEST`.
    pub place: String,
    /// False if the same package was there.
    pub is_new: bool,
    /// True if a signature was added that was not there.
    pub is_signature_new: bool,
}

/// Publishes a package in a registry or a folder. The target has the form of a source.
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
        SourceKind::Git(_)
        | SourceKind::Npm { .. }
        | SourceKind::Archive(_)
        | SourceKind::File(_) => Err(SourceError::NotASource(format!(
            "`{target}` is no place to publish to: name a registry (`oci://HOST/NAME`) or a folder (`./packages`)"
        ))),
    }
}

/// A package as it came from a folder or a registry.
#[derive(Debug)]
pub struct FetchedPackage {
    /// Its folder among the files that were fetched; empty for the root.
    pub folder: String,
    /// Its version and digest, or the digest of its manifest.
    pub revision: String,
    /// Its signatures. Nothing is verified yet.
    pub signatures: SkillSignatures,
}

/// Keeps an envelope that is about this package, and names one that is not.
pub(crate) fn keep_envelope(
    text: &[u8],
    package: Digest,
    signatures: &mut SkillSignatures,
    notes: &mut Vec<String>,
) {
    let read = SkillEnvelope::read(text);
    match read.and_then(|envelope| Ok((envelope.package()?, envelope))) {
        Ok((found, envelope)) if found == package => signatures.add(envelope),
        Ok(_) => notes.push("a signature of another package was left out".to_owned()),
        Err(fault) => notes.push(format!("a signature was left out: {fault}")),
    }
}

/// The error for a version that has other bytes.
pub(crate) fn taken(claim: &SkillClaim) -> SourceError {
    SourceError::Taken { skill: claim.to_string() }
}
