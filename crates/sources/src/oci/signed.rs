//! The signatures of an artifact in a registry: referrers with envelopes, and those of cosign.
//!
//! A registry that hides or damages signatures makes a package an unsigned one, and nothing more. So what cannot be read is
//! noted, and does not end the command.

use crate::error::SourceError;
use crate::oci::artifact::{EMPTY, OciDescriptor, digest_in};
use crate::oci::referrers::{ENVELOPE, fallback_tag, referrers};
use crate::oci::session::{FetchedManifest, RegistrySession};
use crate::package::skill_package::{MAX_READ_BYTES, MAX_READ_SIGNATURES, keep_envelope};
use wardian_formats::provenance::skill_signature::{
    CosignSignature, MAX_SIGNATURES_SIZE, SIGSTORE_BUNDLE, SkillSignatures,
};

/// Largest manifest that is kept with a signature of cosign.
const MAX_KEPT_MANIFEST: usize = 64 << 10;

/// Largest text that cosign has signed. Such a text has some 300 bytes.
const MAX_PAYLOAD: u64 = 64 << 10;

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
    match referrers(session, &found.digest) {
        Ok(all) => {
            add_envelopes(session, found, &all, &mut signatures, notes);
            add_bundles(session, found, &all, &mut signatures, notes);
        }
        Err(fault) => notes.push(format!("the signatures cannot be read: {fault}")),
    }
    if let Err(fault) = add_cosign(session, found, &mut signatures, notes) {
        notes.push(format!("the signatures of cosign cannot be read: {fault}"));
    }
    signatures
}

fn add_envelopes(
    session: &mut RegistrySession<'_>,
    found: &FetchedManifest,
    all: &[OciDescriptor],
    signatures: &mut SkillSignatures,
    notes: &mut Vec<String>,
) {
    // An envelope is about one package.
    let [layer] = found.manifest.layers.as_slice() else { return };
    let Some(package) = digest_in(&layer.digest) else { return };
    let is_envelope =
        |one: &&OciDescriptor| one.artifact_type.as_deref().is_none_or(|kind| kind == ENVELOPE);
    let all: Vec<&OciDescriptor> = all.iter().filter(is_envelope).collect();
    let mut room = MAX_READ_BYTES;
    for (count, referrer) in all.iter().enumerate() {
        if count >= MAX_READ_SIGNATURES || room == 0 {
            let left = all.len().saturating_sub(count);
            notes.push(format!("{left} further signatures were not read"));
            break;
        }
        // One that is damaged hides no other.
        match layer_of(session, referrer, &|kind| kind == ENVELOPE) {
            Ok(Some(text)) => {
                room = room.saturating_sub(u64::try_from(text.len()).unwrap_or(u64::MAX));
                keep_envelope(&text, package, signatures, notes);
            }
            Ok(None) => {}
            Err(fault) => notes.push(format!("a signature was left out: {fault}")),
        }
    }
}

/// Adds the signatures of keys in bundles of Sigstore, as newer versions of cosign write them.
fn add_bundles(
    session: &mut RegistrySession<'_>,
    found: &FetchedManifest,
    all: &[OciDescriptor],
    signatures: &mut SkillSignatures,
    notes: &mut Vec<String>,
) {
    if found.bytes.len() > MAX_KEPT_MANIFEST {
        return;
    }
    // Some versions of cosign list a bundle by the kind of its configuration.
    let may_be_bundle = |one: &&OciDescriptor| {
        let kind = one.artifact_type.as_deref().unwrap_or(EMPTY);
        kind.starts_with(SIGSTORE_BUNDLE) || kind == EMPTY
    };
    for referrer in all.iter().filter(may_be_bundle).take(MAX_READ_SIGNATURES) {
        match layer_of(session, referrer, &|kind| kind.starts_with(SIGSTORE_BUNDLE)) {
            Ok(Some(text)) => match CosignSignature::of_bundle(&found.bytes, &text) {
                Some(signature) => {
                    if !signatures.gather_cosign(signature) {
                        let note = "a signature of cosign was left out: there are too many";
                        notes.push(note.to_owned());
                    }
                }
                None => notes.push(
                    "a bundle of Sigstore was left out: it has no signature of a key".to_owned(),
                ),
            },
            Ok(None) => {}
            Err(fault) => notes.push(format!("a signature of cosign was left out: {fault}")),
        }
    }
}

/// The text of the layer of a kind that a referrer has; `None` if it has none.
fn layer_of(
    session: &mut RegistrySession<'_>,
    referrer: &OciDescriptor,
    is_kind: &dyn Fn(&str) -> bool,
) -> Result<Option<Vec<u8>>, SourceError> {
    if digest_in(&referrer.digest).is_none() {
        return Err(SourceError::damaged("a referrer", "its digest is not one of SHA-256"));
    }
    let Some(signed) = session.find_manifest(&referrer.digest)? else { return Ok(None) };
    let layer = signed.manifest.layers.iter().find(|one| is_kind(&one.media_type));
    layer.map(|layer| session.layer(layer, MAX_SIGNATURES_SIZE.as_u64())).transpose()
}

fn add_cosign(
    session: &mut RegistrySession<'_>,
    found: &FetchedManifest,
    signatures: &mut SkillSignatures,
    notes: &mut Vec<String>,
) -> Result<(), SourceError> {
    if found.bytes.len() > MAX_KEPT_MANIFEST {
        return Ok(());
    }
    let tag = format!("{}.sig", fallback_tag(&found.digest));
    let Some(signed) = session.find_manifest(&tag)? else { return Ok(()) };
    let layers = signed.manifest.layers.iter().filter(|layer| layer.media_type == SIMPLE_SIGNING);
    for layer in layers.take(MAX_READ_SIGNATURES) {
        let Some(signature) = layer.annotations.get(COSIGN_SIGNATURE) else { continue };
        match session.layer(layer, MAX_PAYLOAD) {
            Ok(payload) => {
                let signature = CosignSignature::new(&found.bytes, &payload, signature);
                if !signatures.gather_cosign(signature) {
                    notes.push("a signature of cosign was left out: there are too many".to_owned());
                }
            }
            Err(fault) => notes.push(format!("a signature of cosign was left out: {fault}")),
        }
    }
    Ok(())
}
