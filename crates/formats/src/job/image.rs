//! A memory image in the form in which it travels to workers.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use serde_json::value::RawValue;

use crate::job::attachment::{AttachedName, AttachmentKey};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// An image's memory, sealed, and what is open in it. Made once and shared by all workers, which
/// map the same pages.
#[derive(Debug)]
pub struct ImageContent {
    name: String,
    digest: Digest,
    memory: OwnedFd,
    length: ByteCount,
    open_files: Box<RawValue>,
}

impl ImageContent {
    /// The image `name` whose `memory` has that `digest` and `length`. `open_files` is for the
    /// sandbox.
    #[must_use]
    pub fn new(
        name: String,
        digest: Digest,
        (memory, length): (OwnedFd, ByteCount),
        open_files: Box<RawValue>,
    ) -> Self {
        Self { name, digest, memory, length, open_files }
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names the attachment. All tenants share the images.
    #[must_use]
    pub const fn key(&self) -> AttachmentKey {
        AttachmentKey::shared(AttachedName::Image(self.digest))
    }

    /// Names the image.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Length of the memory: no guest that begins as this image can live in less.
    #[must_use]
    pub const fn length(&self) -> ByteCount {
        self.length
    }

    /// The memory file.
    #[must_use]
    pub fn memory(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// The files that are open in it, in the sandbox's own words.
    #[must_use]
    pub fn open_files(&self) -> &RawValue {
        &self.open_files
    }
}
