//! The claim of a signature.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::provenance::skill_signature::signature_fault::SignatureFault;
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

/// The skill that a signature vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillClaim {
    /// The digest of its files: SHA-256 over their sorted paths and their contents.
    pub digest: Digest,
    /// Its name.
    pub name: SkillName,
    /// Its version.
    pub version: SkillVersion,
}

impl SkillClaim {
    /// Compares what was signed with what there is.
    pub(super) fn ensure_covers(&self, found: &Self) -> Result<(), SignatureFault> {
        if (&self.name, &self.version) != (&found.name, &found.version) {
            return Err(SignatureFault::OtherSkill { signed: self.to_string() });
        }
        if self.digest != found.digest {
            return Err(SignatureFault::OtherFiles);
        }
        Ok(())
    }
}

/// Name and version.
impl fmt::Display for SkillClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}
