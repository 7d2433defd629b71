//! Content that is hashed while it is read, so that the command can tell whether all of it arrived.

use std::io::{self, Read};

use crate::cli::commands::blobs::transfer_progress::TransferProgress;
use wardian_stores::blobs::content::blob_id::BlobHasher;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::ids::BlobId;

/// Content that is hashed while it is read.
pub(super) struct HashedContent<R> {
    content: R,
    hasher: BlobHasher,
    progress: TransferProgress,
}

impl<R: Read> HashedContent<R> {
    pub(super) fn new(content: R, kind: &BlobKind, progress: TransferProgress) -> Self {
        Self { content, hasher: BlobHasher::new(kind), progress }
    }

    /// The id of what was read.
    pub(super) fn finish(self) -> BlobId {
        self.hasher.finish()
    }
}

impl<R: Read> Read for HashedContent<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        self.progress.advance(count);
        Ok(count)
    }
}
