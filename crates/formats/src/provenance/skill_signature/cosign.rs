//! Signatures that `cosign sign --key` makes of an artifact in a registry.
//!
//! Such a signature covers a small JSON text, which has the digest of the artifact's manifest. The manifest has the claim
//! in its annotations. So the manifest is kept with the signature, and no registry is needed to check it again.
//!
//! A key of cosign often signs other artifacts, too, and anybody may write annotations into those. So only the manifest of a
//! package makes a claim: one of its kind, with one layer of its kind.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

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
        }
    }

    /// True if the key has signed the text.
    pub(super) fn is_signed_by(&self, key: &SkillKey) -> bool {
        let payload = BASE64.decode(self.payload.as_bytes());
        let signature = BASE64.decode(self.signature.as_bytes());
        let (Ok(payload), Ok(signature)) = (payload, signature) else { return false };
        key.is_signature(&payload, &signature)
    }

    /// The claim that the signed manifest makes.
    pub(super) fn claim(&self) -> Result<SkillClaim, SignatureFault> {
        let malformed = |what: &'static str| SignatureFault::Malformed(what.to_owned());
        let payload = BASE64.decode(self.payload.as_bytes()).ok();
        let payload = payload.and_then(|text| serde_json::from_slice::<SimpleSigning>(&text).ok());
        let Some(SimpleSigning { critical }) = payload else {
            return Err(malformed("a text that cosign signed is not of its format"));
        };
        let manifest = BASE64.decode(self.manifest.as_bytes()).ok();
        let manifest = manifest.ok_or_else(|| malformed("a manifest is not Base64"))?;
        let digest = format!("sha256:{}", Digest::of(&manifest));
        if critical.kind != TYPE || critical.image.digest != digest {
            return Err(malformed("a signature of cosign is for another manifest"));
        }
        let manifest: SignedManifest = serde_json::from_slice(&manifest)
            .map_err(|_fault| malformed("a manifest is not of its format"))?;
        claim_in(&manifest).ok_or(SignatureFault::NoClaim)
    }
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
