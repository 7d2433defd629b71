//! A part of a file that several contents share.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::vfs::tree::content::Content;

/// A part of a file that several contents share.
pub(crate) struct FilePart {
    file: Arc<File>,
    start: u64,
    size: u64,
}

impl FilePart {
    /// `size` bytes of `file` from `start`.
    pub(crate) const fn new(file: Arc<File>, start: u64, size: u64) -> Self {
        Self { file, start, size }
    }
}

impl Content for FilePart {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        let into = into.get_mut(..wanted).unwrap_or_default();
        self.file.read_at(into, self.start.saturating_add(offset))
    }
}
