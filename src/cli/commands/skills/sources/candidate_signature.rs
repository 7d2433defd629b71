//! Who has signed a skill that may be installed.

use serde::Serialize;

use wardian_formats::provenance::skill_signature::{
    SIGNATURES_FILE, SignatureFault, SkillClaim, SkillSignatures,
};
use wardian_skills::registry::SkillTrust;
use wardian_sources::{FoundSkill, PackagedSkill};

/// The signatures that came with a skill, and the keys that are trusted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signed<'s> {
    pub(super) trust: &'s SkillTrust,
    /// The package as which it came.
    pub(super) package: Option<&'s PackagedSkill>,
}

/// The signatures that are installed with a skill.
#[derive(Debug)]
pub(super) struct ChosenSignatures {
    pub(super) kept: SkillSignatures,
    pub(super) outcome: CandidateSignature,
    pub(super) notes: Vec<String>,
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
    /// Chooses the signatures that are installed, and judges those. An error is the reason why the skill may not be
    /// installed.
    pub(super) fn choose(
        &self,
        found: &FoundSkill<'_>,
        claim: &SkillClaim,
    ) -> Result<ChosenSignatures, String> {
        self.ensure_promised(claim)?;
        let (mut kept, mut notes) = self.signatures(found);
        let dropped = kept.keep_best(claim, self.trust.keys_for(&claim.name));
        if dropped > 0 {
            let bound = "a skill has at most 16 of each form, and 256 KiB";
            notes.push(format!("{dropped} signatures were left out: {bound}"));
        }
        let outcome = self.judge(claim, &kept)?;
        Ok(ChosenSignatures { kept, outcome, notes })
    }

    /// Compares name and version with those under which the package was published.
    fn ensure_promised(&self, claim: &SkillClaim) -> Result<(), String> {
        match self.package.and_then(|package| package.promised.as_ref()) {
            Some((name, version)) if (name, version) != (&claim.name, &claim.version) => {
                Err(format!("its package was published as {name}@{version}, and has {claim}"))
            }
            _ => Ok(()),
        }
    }

    /// All signatures of a skill: those beside its package, and those in its folder. And what is wrong with them.
    fn signatures(&self, found: &FoundSkill<'_>) -> (SkillSignatures, Vec<String>) {
        let mut all = self.package.map(|package| package.signatures.clone()).unwrap_or_default();
        let mut notes = Vec::new();
        let file = found.files.iter().find(|(path, _)| *path == SIGNATURES_FILE);
        match file.map(|(_, text)| SkillSignatures::read(text)) {
            Some(Ok(more)) => {
                let lost = all.gather_all(more);
                if lost > 0 {
                    notes.push(format!("{lost} signatures were left out: there are too many"));
                }
            }
            Some(Err(fault)) => notes.push(format!("`{SIGNATURES_FILE}` was left out: {fault}")),
            None => {}
        }
        (all, notes)
    }

    /// Judges the signatures. An error is the reason why the skill may not be installed.
    fn judge(
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
