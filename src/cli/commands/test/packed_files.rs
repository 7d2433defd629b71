//! Files that are handed to the runner in the sandbox as one blob.

use crate::cli::commands::test::project::hashed;
use wardian_vocabulary::units::ByteCount;

/// Files for the runner in the sandbox.
#[derive(Debug)]
pub(crate) struct PackedFiles {
    pub(crate) content: Vec<u8>,
    pub(crate) digest: String,
}

impl PackedFiles {
    pub(crate) fn new(content: Vec<u8>) -> Self {
        Self { digest: hashed(&content), content }
    }

    /// The bytes that they take as a blob.
    pub(crate) fn size(&self) -> ByteCount {
        ByteCount::bytes(u64::try_from(self.content.len()).unwrap_or(u64::MAX))
    }
}
