//! Who has signed a skill that may be installed.

use serde::Serialize;

use wardian_formats::provenance::skill_signature::{
    SIGNATURES_FILE, SignatureFault, SkillClaim, SkillSignatures,
};
use wardian_skills::registry::SkillTrust;
use wardian_sources::FoundSkill;

/// The signatures that came with a skill, and the keys that are trusted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signed<'s> {
    pub(super) trust: &'s SkillTrust,
    /// Those beside its package.
    pub(super) attached: Option<&'s SkillSignatures>,
}

/// Who has signed a skill, as programs read it.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct CandidateSignature {
    /// The trusted key.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    /// Why its signatures are not enough; nothing if it has none and nobody asks for some.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_fault: Option<String>,
}

impl CandidateSignature {
    pub(super) fn signer(&self) -> Option<&str> {
        self.signer.as_deref()
    }

    /// As people read it.
    pub(super) fn line(&self) -> Option<String> {
        let signer = self.signer.as_ref().map(|key| format!("signed by: {key}"));
        signer.or_else(|| Some(format!("signature: it {}", self.signature_fault.as_ref()?)))
    }
}

impl Signed<'_> {
    /// All signatures of a skill: those beside its package, and those in its folder. And what is wrong with them.
    pub(super) fn signatures(&self, found: &FoundSkill<'_>) -> (SkillSignatures, Option<String>) {
        let mut all = self.attached.cloned().unwrap_or_default();
        let file = found.files.iter().find(|(path, _)| *path == SIGNATURES_FILE);
        match file.map(|(_, text)| SkillSignatures::read(text)) {
            Some(Ok(more)) => all.extend(more),
            Some(Err(fault)) => {
                return (all, Some(format!("`{SIGNATURES_FILE}` was left out: {fault}")));
            }
            None => {}
        }
        (all, None)
    }

    /// Judges the signatures. An error is the reason why the skill may not be installed.
    pub(super) fn judge(
        &self,
        claim: &SkillClaim,
        signatures: &SkillSignatures,
    ) -> Result<CandidateSignature, String> {
        let fault = match self.trust.signer(claim, signatures) {
            Ok(signer) => {
                let signer = Some(signer.key);
                return Ok(CandidateSignature { signer, signature_fault: None });
            }
            Err(fault) => fault,
        };
        if self.trust.is_required {
            return Err(format!("it {fault}, and `skills.require_signatures` is true"));
        }
        let is_silent = matches!(fault, SignatureFault::Unsigned | SignatureFault::NoKeys)
            && self.trust.keys_for(&claim.name).is_empty();
        let signature_fault = (!is_silent).then(|| fault.to_string());
        Ok(CandidateSignature { signer: None, signature_fault })
    }
}
