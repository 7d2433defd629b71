//! Makes memory files for payloads that are too large for a frame.
//!
//! Memory files belong to no process, so the limits of a process bound only the size of each file
//! and not their number. So a locked-down worker can write to one descriptor number only, and the
//! filter on system calls prevents duplicating or mapping the file under that number. A compromised
//! worker has to close one file before it can write another.

use std::fs::File;
use std::io::{self, BufRead, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::{MemfdFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::link::error::ChannelError;
use wardian_formats::job::socket::IMMUTABLE;
use wardian_vocabulary::units::ByteCount;

/// Tries to get a number: there are no more descriptors than this.
const ATTEMPTS: usize = 4_096;

/// A descriptor number that is reserved for memory files.
#[derive(Debug)]
pub(super) struct Outbox {
    number: RawFd,
    /// Reserves the number while there is no file.
    placeholder: Option<OwnedFd>,
    /// Occupy lower numbers, which the kernel would assign first.
    fillers: Vec<OwnedFd>,
    /// The largest file that this process may write. The system would end it at a larger one.
    most: u64,
}

impl Outbox {
    /// Reserves a number.
    ///
    /// # Errors
    ///
    /// The operating system refuses a memory file.
    pub(super) fn open() -> io::Result<Self> {
        let placeholder = memory_file()?;
        let number = placeholder.as_raw_fd();
        let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        Ok(Self { number, placeholder: Some(placeholder), fillers: Vec::new(), most })
    }

    /// The number, for the filter on system calls.
    pub(super) const fn number(&self) -> RawFd {
        self.number
    }

    /// Copies `size` bytes of `content` to a sealed memory file, and passes it to `post`.
    ///
    /// # Errors
    ///
    /// [`ChannelError::Content`] if the file cannot be made or would be too large, or the error of
    /// `post`.
    pub(super) fn share(
        &mut self,
        size: u64,
        content: &mut dyn BufRead,
        post: impl FnOnce(BorrowedFd<'_>) -> Result<(), ChannelError>,
    ) -> Result<(), ChannelError> {
        if size > self.most {
            return Err(ChannelError::Content(io::ErrorKind::FileTooLarge.into()));
        }
        drop(self.placeholder.take());
        let file = self.next()?;
        let filled = fill(file, size, content).map_err(ChannelError::Content);
        let posted = filled.and_then(|file| post(file.as_fd()));
        self.placeholder = Some(self.next()?);
        posted
    }

    /// An empty memory file under the number.
    fn next(&mut self) -> io::Result<OwnedFd> {
        for _ in 0..ATTEMPTS {
            let file = memory_file()?;
            if file.as_raw_fd() == self.number {
                return Ok(file);
            }
            if file.as_raw_fd() > self.number {
                break;
            }
            self.fillers.push(file);
        }
        Err(io::Error::other("the number for memory files is taken"))
    }
}

/// A sealed memory file with `size` bytes of `content`, under any number.
pub(super) fn filled(size: u64, content: &mut dyn BufRead) -> io::Result<File> {
    fill(memory_file()?, size, content)
}

/// Copies without a buffer of its own: writes the pieces directly from `content`.
fn fill(file: OwnedFd, size: u64, content: &mut dyn BufRead) -> io::Result<File> {
    let (mut file, mut left) = (File::from(file), ByteCount::bytes(size).as_usize());
    while left > 0 {
        let piece = content.fill_buf()?;
        let piece = piece.get(..left.min(piece.len())).unwrap_or_default();
        if piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_all(piece)?;
        let written = piece.len();
        content.consume(written);
        left = left.saturating_sub(written);
    }
    fcntl_add_seals(&file, IMMUTABLE)?;
    Ok(file)
}

fn memory_file() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match memfd_create(c"payload", flags | MemfdFlags::NOEXEC_SEAL) {
        // Kernels before 6.3 do not know the flag.
        Err(Errno::INVAL) => memfd_create(c"payload", flags),
        other => other,
    };
    Ok(file?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_system_would_end_the_process_for_is_refused() {
        let mut outbox = Outbox { most: 10, ..Outbox::open().unwrap() };
        let mut is_posted = false;
        let post = |_: BorrowedFd<'_>| {
            is_posted = true;
            Ok(())
        };
        let refused = outbox.share(11, &mut &[0; 11][..], post);
        assert!(matches!(refused, Err(ChannelError::Content(_))), "{refused:?}");
        assert!(!is_posted && outbox.placeholder.is_some());
    }
}
