//! Content that a run sends to its worker: skills' files and blobs.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use wardian_formats::job::attachment::{AttachedName, AttachmentKey, Owner, PackedFile};
use wardian_formats::job::socket;
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The files of one snapshot of a skill, packed into one piece.
///
/// Made once for each snapshot and shared by all workers: they map the same sealed memory file.
#[derive(Debug)]
pub struct SkillContent {
    owner: Owner,
    digest: Digest,
    files: Vec<PackedFile>,
    pack: Arc<[u8]>,
    shared: OnceLock<OwnedFd>,
}

impl SkillContent {
    /// Content of `owner`, named by `digest`, whose `files` lie in `pack`.
    #[must_use]
    pub const fn new(
        owner: Owner,
        digest: Digest,
        files: Vec<PackedFile>,
        pack: Arc<[u8]>,
    ) -> Self {
        Self { owner, digest, files, pack, shared: OnceLock::new() }
    }

    /// Names the attachment. Two tenants that have the same skill have two attachments.
    #[must_use]
    pub fn key(&self) -> AttachmentKey {
        let (owner, name) = (self.owner.clone(), AttachedName::Skill(self.digest));
        AttachmentKey { owner, name }
    }

    /// The runs that may see it: those of one tenant if the skill is the tenant's own.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Names the snapshot.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The place of each file in the pack.
    #[must_use]
    pub fn files(&self) -> &[PackedFile] {
        &self.files
    }

    /// The bytes of all files.
    #[must_use]
    pub fn pack(&self) -> &[u8] {
        &self.pack
    }

    /// Makes the memory file that workers map, which copies the whole pack: for threads that may wait.
    /// Without it the first run makes the file, and has the error if there is one.
    pub fn share_ahead(&self) {
        self.shared().ok();
    }

    /// The memory file that workers map, made at the first call.
    ///
    /// # Errors
    ///
    /// The operating system refuses the file or its memory.
    pub(super) fn shared(&self) -> io::Result<BorrowedFd<'_>> {
        if let Some(file) = self.shared.get() {
            return Ok(file.as_fd());
        }
        // Two concurrent callers make two files, and one of the files is dropped.
        let file = socket::share(&self.pack)?;
        Ok(self.shared.get_or_init(|| file).as_fd())
    }
}

/// A stored blob that a run may read.
#[derive(Debug, Clone)]
pub struct BlobSource {
    /// The tenant that stored the blob.
    pub tenant: TenantId,
    /// Names the blob.
    pub id: BlobId,
    /// Its content from the first byte on, open for reading only.
    pub file: Arc<File>,
    /// Length of the content.
    pub size: ByteCount,
}

impl BlobSource {
    /// Names the attachment: it belongs to the blob's tenant.
    #[must_use]
    pub fn key(&self) -> AttachmentKey {
        let owner = Owner::Tenant(self.tenant.clone());
        AttachmentKey { owner, name: AttachedName::Blob(self.id.clone()) }
    }
}
