//! Why a signature is not enough.

/// The reason why no trusted key vouches for a skill. Each is the end of a sentence that begins with the skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// The skill is unsigned.
    #[error("is not signed")]
    Unsigned,
    /// No key is trusted for the name of the skill.
    #[error("has a name for which no key is trusted")]
    NoKeys,
    /// No trusted key has signed it.
    #[error("is signed by {by}, which is not trusted for its name")]
    Foreign {
        /// The key, as the signature names it.
        by: String,
    },
    /// The signature names a trusted key, and is none of it.
    #[error("has a signature that was changed, or whose content was")]
    Changed,
    /// The signature is for another skill, or another version of it.
    #[error("has a signature for {signed}, not for itself")]
    OtherSkill {
        /// Name and version that were signed.
        signed: String,
    },
    /// The files are not those that were signed.
    #[error("has other files than those that were signed")]
    OtherFiles,
    /// The manifest that cosign signed is not that of a package, or does not name the digest of the files.
    #[error("is signed by cosign, but its manifest is not one of `wardian skills publish`")]
    NoClaim,
    /// The signatures cannot be read.
    #[error("has signatures that cannot be read: {0}")]
    Malformed(String),
}

impl SignatureFault {
    /// How much a fault says: of several signatures, the one that is nearest to be right tells most.
    pub(super) const fn weight(&self) -> u8 {
        match self {
            Self::Unsigned | Self::NoKeys => 0,
            Self::Foreign { .. } => 1,
            Self::Malformed(_) => 2,
            Self::Changed => 3,
            Self::NoClaim => 4,
            Self::OtherSkill { .. } => 5,
            Self::OtherFiles => 6,
        }
    }
}
