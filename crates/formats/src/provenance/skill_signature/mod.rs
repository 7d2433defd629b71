//! Signatures of skills: who vouches for which files.
//!
//! ```text
//! claim      name, version, and the digest of the files as servers compute it
//! envelope   DSSE around an in-toto statement, whose predicate is the claim; signed by `wardian skills publish`
//! cosign     what `cosign sign --key` leaves in a registry: it covers the manifest, whose annotations are the claim
//! set        all signatures of one skill, as they lie beside its files
//! ```
//!
//! A signature is checked without a network and without the package: a server has the files, and computes their digest.
//!
//! INVARIANT(signed-files): a skill counts as signed only if a trusted key covers its name, its version and the digest
//! of the files that are served.

mod claim;
mod cosign;
mod envelope;
mod signature_fault;
mod skill_key;
mod skill_signatures;

pub use crate::provenance::skill_signature::claim::SkillClaim;
pub use crate::provenance::skill_signature::cosign::{
    CLAIM_DIGEST, CLAIM_NAME, CLAIM_VERSION, CosignSignature, PACKAGE_LAYER, SIGSTORE_BUNDLE,
    SKILL_ARTIFACT,
};
pub use crate::provenance::skill_signature::envelope::{MAX_SIGNATURES_SIZE, SkillEnvelope};
pub use crate::provenance::skill_signature::signature_fault::SignatureFault;
pub use crate::provenance::skill_signature::skill_key::SkillKey;
pub use crate::provenance::skill_signature::skill_signatures::{
    SIGNATURES_FILE, SkillSignatures, SkillSigner,
};
