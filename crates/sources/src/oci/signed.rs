//! The signatures of an artifact in a registry: referrers with envelopes, and those of cosign.
//!
//! A registry that hides or damages signatures makes a package an unsigned one, and nothing more. So what cannot be read is
//! noted, and does not end the command.

use crate::error::SourceError;
use crate::oci::artifact::OciDescriptor;
use crate::oci::referrers::{ENVELOPE, fallback_tag, referrers};
use crate::oci::session::{FetchedManifest, RegistrySession};
use crate::package::skill_package::keep_envelope;
use wardian_formats::provenance::skill_signature::{
    CosignSignature, MAX_SIGNATURES_SIZE, SkillSignatures,
};
use wardian_vocabulary::ids::Digest;

/// Most signatures of each kind that are fetched.
const MAX_SIGNATURES: usize = 16;

/// Largest manifest that is kept with a signature of cosign.
const MAX_KEPT_MANIFEST: usize = 64 << 10;

/// The kind of a text that cosign has signed.
const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The annotation of its layer with the signature.
const COSIGN_SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// The signatures of an artifact. Nothing is verified yet.
pub(super) fn signatures_of(
    session: &mut RegistrySession<'_>,
    found: &FetchedManifest,
    notes: &mut Vec<String>,
) -> SkillSignatures {
    let mut signatures = SkillSignatures::default();
    if let Err(fault) = add_envelopes(session, found, &mut signatures, notes) {
        notes.push(format!("the signatures cannot be read: {fault}"));
    }
    if let Err(fault) = add_cosign(session, found, &mut signatures) {
        notes.push(format!("the signatures of cosign cannot be read: {fault}"));
    }
    signatures
}

fn add_envelopes(
    session: &mut RegistrySession<'_>,
    found: &FetchedManifest,
    signatures: &mut SkillSignatures,
    notes: &mut Vec<String>,
) -> Result<(), SourceError> {
    // An envelope is about one package.
    let [layer] = found.manifest.layers.as_slice() else { return Ok(()) };
    let hex = layer.digest.strip_prefix("sha256:").and_then(|hex| Digest::parse(hex).ok());
    let Some(package) = hex else { return Ok(()) };
    let is_envelope =
        |one: &&OciDescriptor| one.artifact_type.as_deref().is_none_or(|kind| kind == ENVELOPE);
    let all = referrers(session, &found.digest)?;
    for referrer in all.iter().filter(is_envelope).take(MAX_SIGNATURES) {
        let Some(signed) = session.find_manifest(&referrer.digest)? else { continue };
        let envelopes = signed.manifest.layers.iter().filter(|one| one.media_type == ENVELOPE);
        for layer in envelopes.take(1) {
            let text = session.layer(layer, MAX_SIGNATURES_SIZE.as_u64())?;
            keep_envelope(&text, package, signatures, notes);
        }
    }
    Ok(())
}

fn add_cosign(
    session: &mut RegistrySession<'_>,
    found: &FetchedManifest,
    signatures: &mut SkillSignatures,
) -> Result<(), SourceError> {
    if found.bytes.len() > MAX_KEPT_MANIFEST {
        return Ok(());
    }
    let tag = format!("{}.sig", fallback_tag(&found.digest));
    let Some(signed) = session.find_manifest(&tag)? else { return Ok(()) };
    let layers = signed.manifest.layers.iter().filter(|layer| layer.media_type == SIMPLE_SIGNING);
    for layer in layers.take(MAX_SIGNATURES) {
        let Some(signature) = layer.annotations.get(COSIGN_SIGNATURE) else { continue };
        let payload = session.layer(layer, MAX_SIGNATURES_SIZE.as_u64())?;
        signatures.add_cosign(CosignSignature::new(&found.bytes, &payload, signature));
    }
    Ok(())
}
