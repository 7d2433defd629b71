//! Signatures that `cosign sign --key` makes of an artifact in a registry.
//!
//! Such a signature covers a small JSON text, which has the digest of the artifact's manifest. The manifest has the claim
//! in its annotations. So the manifest is kept with the signature, and no registry is needed to check it again.
//!
//! The text has one of two forms: an older one of cosign's own, and the in-toto statement in a bundle of Sigstore. What else a
//! bundle has, such as entries of a transparency log, is not read.
//!
//! A key of cosign often signs other artifacts, too, and anybody may write annotations into those. So only the manifest of a
//! package makes a claim: one of its kind, with one layer of its kind.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::provenance::signed_document::{PAYLOAD_TYPE, STATEMENT, SubjectDigest, covered};
use crate::provenance::skill_signature::claim::SkillClaim;
use crate::provenance::skill_signature::signature_fault::SignatureFault;
use crate::provenance::skill_signature::skill_key::SkillKey;
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

/// The kind of a published skill among artifacts.
pub const SKILL_ARTIFACT: &str = "application/vnd.wardian.skill.v1";

/// The kind of the only layer of such an artifact: the package.
pub const PACKAGE_LAYER: &str = "application/vnd.wardian.skill.package.v1.tar";

/// The annotation of a manifest with the digest of the skill's files.
pub const CLAIM_DIGEST: &str = "dev.wardian.skill.digest";

/// The annotation of a manifest with the skill's name.
pub const CLAIM_NAME: &str = "dev.wardian.skill.name";

/// The annotation of a manifest with the skill's version.
pub const CLAIM_VERSION: &str = "dev.wardian.skill.version";

/// How the kind of a Sigstore bundle begins; its version follows.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// The predicate of a statement that only says that an artifact is signed. Others describe it, such as how it was built.
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

/// The type of the signed text.
const TYPE: &str = "cosign container image signature";

/// A signature of cosign, with all that it covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CosignSignature {
    /// The manifest of the artifact, in Base64.
    manifest: String,
    /// The signed text, in Base64.
    payload: String,
    /// The signature, in Base64.
    signature: String,
    /// The kind of the signed text, if it was in the envelope of a bundle.
    #[serde(default, rename = "payloadType", skip_serializing_if = "Option::is_none")]
    payload_type: Option<String>,
}

/// What is read of a bundle.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SigstoreBundle {
    verification_material: VerificationMaterial,
    dsse_envelope: Option<BundleEnvelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerificationMaterial {
    /// A hint to the key. Others have certificates.
    public_key: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundleEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<BundleSignature>,
}

#[derive(Deserialize)]
struct BundleSignature {
    sig: String,
}

/// What is read of the statement in a bundle.
#[derive(Deserialize)]
struct SignedStatement {
    #[serde(rename = "_type")]
    kind: String,
    #[serde(rename = "predicateType")]
    predicate: String,
    subject: Vec<SignedSubject>,
}

#[derive(Deserialize)]
struct SignedSubject {
    digest: SubjectDigest,
}

/// What is read of the signed text.
#[derive(Deserialize)]
struct SimpleSigning {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: SignedImage,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct SignedImage {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// What is read of a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedManifest {
    #[serde(default)]
    artifact_type: String,
    #[serde(default)]
    layers: Vec<SignedLayer>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedLayer {
    #[serde(default)]
    media_type: String,
}

impl CosignSignature {
    /// A signature as it came from a registry. `signature` is Base64 already. Nothing is verified yet.
    #[must_use]
    pub fn new(manifest: &[u8], payload: &[u8], signature: &str) -> Self {
        Self {
            manifest: BASE64.encode(manifest),
            payload: BASE64.encode(payload),
            signature: signature.to_owned(),
            payload_type: None,
        }
    }

    /// The signature in a bundle of Sigstore; `None` if it has none of a key. Nothing is verified yet.
    #[must_use]
    pub fn of_bundle(manifest: &[u8], bundle: &[u8]) -> Option<Self> {
        let bundle: SigstoreBundle = serde_json::from_slice(bundle).ok()?;
        bundle.verification_material.public_key?;
        let envelope = bundle.dsse_envelope?;
        let [signature] = envelope.signatures.as_slice() else { return None };
        Some(Self {
            manifest: BASE64.encode(manifest),
            payload: envelope.payload,
            signature: signature.sig.clone(),
            payload_type: Some(envelope.payload_type),
        })
    }

    /// True if the key has signed the text.
    pub(super) fn is_signed_by(&self, key: &SkillKey) -> bool {
        let payload = BASE64.decode(self.payload.as_bytes());
        let signature = BASE64.decode(self.signature.as_bytes());
        let (Ok(payload), Ok(signature)) = (payload, signature) else { return false };
        match self.payload_type.as_deref() {
            None => key.is_signature(&payload, &signature),
            Some(PAYLOAD_TYPE) => key.is_signature(&covered(&payload), &signature),
            Some(_) => false,
        }
    }

    /// The claim that the signed manifest makes.
    pub(super) fn claim(&self) -> Result<SkillClaim, SignatureFault> {
        let malformed = |what: &'static str| SignatureFault::Malformed(what.to_owned());
        let payload = BASE64.decode(self.payload.as_bytes()).ok();
        let signed = payload.and_then(|text| match self.payload_type {
            None => digest_in_simple(&text),
            Some(_) => digest_in_statement(&text),
        });
        let Some(signed) = signed else {
            return Err(malformed("a text that cosign signed is not of its format"));
        };
        let manifest = BASE64.decode(self.manifest.as_bytes()).ok();
        let manifest = manifest.ok_or_else(|| malformed("a manifest is not Base64"))?;
        if signed != Digest::of(&manifest) {
            return Err(malformed("a signature of cosign is for another manifest"));
        }
        let manifest: SignedManifest = serde_json::from_slice(&manifest)
            .map_err(|_fault| malformed("a manifest is not of its format"))?;
        claim_in(&manifest).ok_or(SignatureFault::NoClaim)
    }
}

/// The digest of the signed manifest in cosign's own form of the text.
fn digest_in_simple(text: &[u8]) -> Option<Digest> {
    let SimpleSigning { critical } = serde_json::from_slice(text).ok()?;
    let digest = critical.image.digest.strip_prefix("sha256:")?;
    (critical.kind == TYPE).then(|| Digest::parse(digest).ok()).flatten()
}

/// The digest of the signed manifest in a statement.
fn digest_in_statement(text: &[u8]) -> Option<Digest> {
    let statement: SignedStatement = serde_json::from_slice(text).ok()?;
    let [subject] = statement.subject.as_slice() else { return None };
    let is_signature = statement.kind == STATEMENT && statement.predicate == SIGNED;
    is_signature.then_some(subject.digest.sha256)
}

/// The claim in the annotations of a package's manifest; `None` for that of another artifact.
fn claim_in(manifest: &SignedManifest) -> Option<SkillClaim> {
    let [layer] = manifest.layers.as_slice() else { return None };
    if manifest.artifact_type != SKILL_ARTIFACT || layer.media_type != PACKAGE_LAYER {
        return None;
    }
    let annotations = &manifest.annotations;
    Some(SkillClaim {
        digest: Digest::parse(annotations.get(CLAIM_DIGEST)?).ok()?,
        name: SkillName::parse(annotations.get(CLAIM_NAME)?).ok()?,
        version: SkillVersion::parse(annotations.get(CLAIM_VERSION)?).ok()?,
    })
}
