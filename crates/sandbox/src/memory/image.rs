//! A memory image: the state of an interpreter as a file that can no longer be changed.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags};

use crate::memory::mapping::Mapping;
use crate::memory::{MemoryError, PAGE};

/// Size of a wasm page: linear memories, and so images, are whole multiples of it.
pub(crate) const WASM_PAGE: usize = 65_536;

/// Largest image: the largest 32-bit linear memory.
const LARGEST: usize = 4 << 30;

/// The seals that make an image immutable: no writes, no change of size, no new seals.
const SEALS: SealFlags =
    SealFlags::WRITE.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::SEAL);

/// An interpreter's memory, immutable and shared by all slots of all workers that map it.
///
/// INVARIANT(sealed-image): only a memory file with all seals is accepted. A slot sees the file
/// wherever it has no private page, so a change of the file would reach running guests.
#[derive(Debug)]
pub struct MemoryImage {
    file: OwnedFd,
    pristine: Mapping,
    length: usize,
}

impl MemoryImage {
    /// Copies `source` into a sealed memory file, which can be given to other processes.
    ///
    /// Pages of zeros become holes, which take no memory.
    ///
    /// # Errors
    ///
    /// The source cannot be read, is not a multiple of a wasm page, or memory is short.
    pub fn seal(mut source: impl Read) -> Result<OwnedFd, MemoryError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("wardian-image", flags)
            .map_err(MemoryError::system("create a memory file"))?;
        let file = File::from(file);
        let cause = |what| move |cause| MemoryError::System { what, cause };

        let mut chunk = vec![0; WASM_PAGE];
        let mut length = 0_usize;
        loop {
            let filled = fill(&mut source, &mut chunk).map_err(cause("read an image"))?;
            if filled == 0 {
                break;
            }
            if filled != WASM_PAGE || length >= LARGEST {
                return Err(MemoryError::Image { problem: "does not have the length of a memory" });
            }
            write_pages(&file, &chunk, length).map_err(cause("write to a memory file"))?;
            length = length.saturating_add(WASM_PAGE);
        }
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        file.set_len(length).map_err(cause("size a memory file"))?;
        seal(&file).map_err(MemoryError::system("seal an image"))?;
        Ok(file.into())
    }

    /// Opens a sealed memory file.
    ///
    /// # Errors
    ///
    /// The file is not sealed, or its length is not a valid length of a linear memory.
    pub fn open(file: OwnedFd) -> Result<Self, MemoryError> {
        let unsealed = MemoryError::Image { problem: "is not sealed" };
        match rustix::fs::fcntl_get_seals(&file) {
            Ok(seals) if seals.contains(SEALS) => {}
            _ => return Err(unsealed),
        }
        let status = rustix::fs::fstat(&file).map_err(MemoryError::system("inspect an image"))?;
        let length = usize::try_from(status.st_size).unwrap_or(0);
        if length == 0 || !length.is_multiple_of(WASM_PAGE) || length > LARGEST {
            return Err(MemoryError::Image { problem: "does not have the length of a memory" });
        }
        if rustix::param::page_size() != PAGE {
            return Err(MemoryError::Image { problem: "needs a machine with pages of 4 KiB" });
        }
        let pristine = Mapping::read_only(&file, length)?;
        Ok(Self { file, pristine, length })
    }

    /// Bytes of the image, a multiple of [`WASM_PAGE`].
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// The read-only mapping that resets copy from.
    pub(super) const fn pristine(&self) -> &Mapping {
        &self.pristine
    }
}

impl AsFd for MemoryImage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Reads until `chunk` is full or the source ends. Returns the number of bytes.
fn fill(source: &mut impl Read, chunk: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = chunk.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read(rest)? {
            0 => break,
            count => filled = filled.saturating_add(count),
        }
    }
    Ok(filled)
}

/// Writes the pages of `chunk` that are not zero at `start` and after.
fn write_pages(file: &File, chunk: &[u8], start: usize) -> std::io::Result<()> {
    for (index, page) in chunk.chunks(PAGE).enumerate() {
        if page.iter().any(|byte| *byte != 0) {
            let offset = start.saturating_add(index.saturating_mul(PAGE));
            file.write_all_at(page, u64::try_from(offset).unwrap_or(u64::MAX))?;
        }
    }
    Ok(())
}

/// Seals a memory file that was just written.
///
/// The kernel answers `EBUSY` while a page of the file is in use. On a busy machine the kernel
/// itself may use a page for a moment, to migrate it.
fn seal(file: &File) -> Result<(), rustix::io::Errno> {
    const ATTEMPTS: u32 = 100;
    const PAUSE: Duration = Duration::from_millis(10);
    for _ in 1..ATTEMPTS {
        match rustix::fs::fcntl_add_seals(file, SEALS) {
            Err(rustix::io::Errno::BUSY) => std::thread::park_timeout(PAUSE),
            sealed => return sealed,
        }
    }
    rustix::fs::fcntl_add_seals(file, SEALS)
}

/// Caches the size of pages, which cannot be queried after the lock-down. Images are attached after
/// it.
pub(super) fn ask_page_size() {
    rustix::param::page_size();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_image_is_the_only_kind_accepted() {
        let bytes = vec![1; WASM_PAGE];
        let image = MemoryImage::open(MemoryImage::seal(bytes.as_slice()).unwrap()).unwrap();
        assert_eq!(image.length(), WASM_PAGE);

        let open = rustix::fs::memfd_create("x", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&open, 65_536).unwrap();
        assert!(MemoryImage::open(open).is_err());
        let plain = tempfile::tempfile().unwrap();
        plain.set_len(65_536).unwrap();
        assert!(MemoryImage::open(plain.into()).is_err());
    }

    #[test]
    fn sealed_image_cannot_be_written_or_resized() {
        let image = File::from(MemoryImage::seal([7; WASM_PAGE].as_slice()).unwrap());
        assert!(image.write_all_at(b"x", 0).is_err());
        assert!(image.set_len(0).is_err());
    }

    #[test]
    fn odd_lengths_are_refused() {
        assert!(MemoryImage::seal([1; 100].as_slice()).is_err());
        assert!(MemoryImage::open(MemoryImage::seal([].as_slice()).unwrap()).is_err());
    }
}
