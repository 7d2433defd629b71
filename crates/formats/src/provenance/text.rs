//! Texts of a record: by their digest, and by their value unless they are long.

use serde::{Deserialize, Serialize};

use crate::provenance::fault::ProvenanceError;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Longest text that a document has by value, in bytes.
const MAX_INLINE: usize = 1 << 20;

/// A text of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentText {
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// Its length.
    pub size_bytes: u64,
    /// The text itself; none if it is longer than 1 MiB.
    pub text: Option<String>,
}

impl DocumentText {
    /// Describes a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self {
            sha256: Digest::of(text.as_bytes()),
            size_bytes: ByteCount::from(text.len()).as_u64(),
            text: (text.len() <= MAX_INLINE).then(|| text.to_owned()),
        }
    }

    /// True if `text` is the text that is described.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        ByteCount::from(text.len()).as_u64() == self.size_bytes
            && Digest::of(text.as_bytes()) == self.sha256
    }

    /// Checks that the value has the digest.
    pub(crate) fn check(&self, what: &str) -> Result<(), ProvenanceError> {
        let problem = match &self.text {
            Some(text) if text.len() > MAX_INLINE => "is longer than an inline text may be",
            Some(text) if !self.is(text) => "does not match its digest and size",
            None if self.size_bytes <= ByteCount::from(MAX_INLINE).as_u64() => "is missing",
            _ => return Ok(()),
        };
        Err(ProvenanceError::Malformed(format!("the text of `{what}` {problem}")))
    }
}
