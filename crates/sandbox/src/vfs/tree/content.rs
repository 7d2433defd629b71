//! The bytes of read-only files: in memory, or in a file that the host opened.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// Bytes that never change while they can be read.
///
/// A mount holds them as `Arc<dyn Content>`, so that any number of runs share one copy.
pub trait Content: Send + Sync {
    /// Length in bytes.
    fn size(&self) -> u64;

    /// Reads from `offset` into the start of `into` and returns the number of bytes: fewer than fit
    /// only at the end, zero only past it or for an empty `into`.
    ///
    /// # Errors
    ///
    /// The underlying file cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Returns the bytes without copying them, if they lie in memory.
    fn shared(&self) -> Option<SharedBytes> {
        None
    }
}

/// A part of a block of bytes in memory, cheap to clone and to cut.
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    len: usize,
}

impl SharedBytes {
    /// All bytes of `owner`: a `Vec`, an `Arc<[u8]>`, a mapped file.
    ///
    /// The owner's length must not change later. Bytes that are gone read as absent.
    #[must_use]
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let len = owner.as_ref().len();
        Self { owner: Arc::new(owner), start: 0, len }
    }

    /// `len` of these bytes from `start`; `None` if there are not as many.
    #[must_use]
    pub fn part(&self, start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len)?;
        let owner = Arc::clone(&self.owner);
        (end <= self.len).then(|| Self { owner, start: self.start.saturating_add(start), len })
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        let all = (*self.owner).as_ref();
        all.get(self.start..self.start.saturating_add(self.len)).unwrap_or_default()
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// Prints the length only: the bytes may belong to a tenant.
impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBytes").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Content for SharedBytes {
    fn size(&self) -> u64 {
        u64::try_from(self.len).unwrap_or(u64::MAX)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        Ok(copy_from(self.as_slice(), offset, into))
    }

    fn shared(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Copies as many bytes from `offset` of `source` as fit. Returns their number.
pub(crate) fn copy_from(source: &[u8], offset: u64, into: &mut [u8]) -> usize {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let available = source.get(offset..).unwrap_or_default();
    let count = available.len().min(into.len());
    if let (Some(to), Some(from)) = (into.get_mut(..count), available.get(..count)) {
        to.copy_from_slice(from);
    }
    count
}

/// A part of a file that the host opened before the run; read with `pread`, never by path.
#[derive(Debug)]
pub(crate) struct FileContent {
    file: File,
    start: u64,
    size: u64,
}

impl FileContent {
    /// The whole of `file`, as long as it is now.
    ///
    /// # Errors
    ///
    /// Its length cannot be read.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, start: 0, size })
    }

    /// `size` bytes of `file` from `start`.
    #[must_use]
    #[cfg(test)]
    pub(crate) const fn part(file: File, start: u64, size: u64) -> Self {
        Self { file, start, size }
    }
}

impl Content for FileContent {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..wanted).filter(|rest| !rest.is_empty()) {
            let done = u64::try_from(filled).unwrap_or(u64::MAX);
            let from = self.start.saturating_add(offset).saturating_add(done);
            match self.file.read_at(rest, from) {
                Ok(0) => break,
                Ok(count) => filled = filled.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(content: &dyn Content, offset: u64, len: usize) -> Vec<u8> {
        let mut buffer = vec![b'?'; len];
        let count = content.read_at(offset, &mut buffer).unwrap();
        buffer.truncate(count);
        buffer
    }

    #[test]
    fn memory_and_files_read_alike() {
        let text = b"0123456789";
        let memory = SharedBytes::new(Arc::<[u8]>::from(text.as_slice()));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let whole = FileContent::new(file.try_clone().unwrap()).unwrap();
        let (memory_part, file_part) = (memory.part(2, 5).unwrap(), FileContent::part(file, 2, 5));

        for (offset, len) in [(0, 0), (0, 3), (4, 99), (9, 1), (10, 1), (11, 1), (u64::MAX, 4)] {
            assert_eq!(read(&memory, offset, len), read(&whole, offset, len), "{offset} {len}");
            assert_eq!(read(&memory_part, offset, len), read(&file_part, offset, len));
        }
        assert_eq!(read(&memory_part, 1, 99), b"3456");
        assert_eq!((memory_part.size(), file_part.size()), (5, 5));
    }

    #[test]
    fn a_part_never_reaches_outside() {
        let part = SharedBytes::new(b"0123456789".to_vec()).part(2, 5).unwrap();
        assert_eq!(part.part(0, 5).unwrap().as_slice(), b"23456");
        assert_eq!(part.part(5, 0).unwrap().as_slice(), b"");
        for (start, len) in [(0, 6), (5, 1), (6, 0), (usize::MAX, 1), (1, usize::MAX)] {
            assert!(part.part(start, len).is_none(), "{start} {len}");
        }
    }
}
