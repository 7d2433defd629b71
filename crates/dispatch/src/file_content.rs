//! The content of a file on its way to the workspace of a guest.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use wardian_formats::job::socket;
use wardian_vocabulary::units::ByteCount;

/// The content of a file, for a turn that writes it.
#[derive(Debug, Clone)]
pub struct SealedContent(pub(crate) Arc<OwnedFd>, pub(crate) ByteCount);

/// Content that arrives in pieces. It is in memory, which the caller has to account for.
#[derive(Debug)]
pub struct FileDraft {
    file: File,
    size: u64,
}

impl FileDraft {
    /// Content without a byte.
    ///
    /// # Errors
    ///
    /// The operating system refuses the memory file.
    pub fn begin() -> io::Result<Self> {
        Ok(Self { file: socket::memory_file()?, size: 0 })
    }

    /// Appends a piece.
    ///
    /// # Errors
    ///
    /// The operating system refuses the memory.
    pub fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.size = self.size.saturating_add(ByteCount::from(piece.len()).as_u64());
        Ok(())
    }

    /// Bytes so far.
    #[must_use]
    pub const fn size(&self) -> ByteCount {
        ByteCount::bytes(self.size)
    }

    /// Ends the content, which nobody can change any more.
    ///
    /// # Errors
    ///
    /// The operating system refuses it.
    pub fn finish(self) -> io::Result<SealedContent> {
        let size = self.size();
        Ok(SealedContent(Arc::new(socket::seal(self.file)?), size))
    }
}

impl SealedContent {
    /// Its length in bytes.
    #[must_use]
    pub const fn size(&self) -> ByteCount {
        self.1
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    #[test]
    fn pieces_follow_each_other_and_are_sealed() {
        let mut draft = FileDraft::begin().unwrap();
        for piece in [&b"one "[..], b"", b"two"] {
            draft.append(piece).unwrap();
        }
        let content = draft.finish().unwrap();
        assert_eq!(content.size(), ByteCount::bytes(7));
        let file = File::from(content.0.try_clone().unwrap());
        let mut bytes = [0; 7];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"one two");
        assert!(file.write_at(b"x", 0).is_err() && file.set_len(9).is_err());
    }
}
