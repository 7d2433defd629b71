//! A file of the cache that was checked, and how such files are opened.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::cache::record::Record;
use crate::error::{EngineError, PathFault};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Ending of the record next to a file.
pub const RECORD: &str = ".json";

/// An open file whose content was checked.
///
/// It is open for reading only, at its start, and is no longer written to.
#[derive(Debug)]
pub struct CheckedFile {
    /// The file.
    pub file: File,
    /// The path.
    pub path: PathBuf,
    /// The file's origin and time.
    pub record: Record,
}

impl CheckedFile {
    /// Digest of its content.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.record.sha256
    }

    /// Length of its content.
    #[must_use]
    pub const fn size(&self) -> ByteCount {
        self.record.size_bytes
    }

    /// Reads its content from the beginning, at its own position: clones of a file share one
    /// position, so the file itself may have been read before.
    #[must_use]
    pub const fn content(&self) -> PositionedFile<'_> {
        PositionedFile::new(&self.file)
    }
}

/// Reads a file at its own position, so that other readers of the same descriptor (a mount,
/// another thread) keep theirs.
#[derive(Debug)]
pub struct PositionedFile<'a> {
    file: &'a File,
    position: u64,
}

impl<'a> PositionedFile<'a> {
    /// Reads `file` from its beginning.
    #[must_use]
    pub const fn new(file: &'a File) -> Self {
        Self { file, position: 0 }
    }
}

impl Read for PositionedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position = self.position.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

impl Seek for PositionedFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Turns an I/O error on `path` into an [`EngineError`].
pub fn storage(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError {
    let path = path.to_owned();
    move |cause| EngineError::Storage { what, cause: PathFault::new(&path, cause) }
}

/// Opens a file for reading unless it is a link; `None` if there is none.
pub(crate) fn open_existing(path: &Path) -> io::Result<Option<File>> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
