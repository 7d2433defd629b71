//! A file whose content is known beforehand.

use serde::{Deserialize, Serialize};

use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// A file whose content is known beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// Its path in the wheel, with `/`; for the wheel itself its file name.
    pub path: String,
    /// Digest of its content.
    pub sha256: Digest,
    /// Length of its content.
    pub size_bytes: ByteCount,
}

impl PinnedFile {
    /// The last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}
