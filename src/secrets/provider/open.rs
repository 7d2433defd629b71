//! Opens files of operators without waiting for anything, and reads them bounded.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

/// Opens a regular file. A pipe or device is an error and is not waited for.
///
/// Links are followed: mounts of Kubernetes consist of them.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

/// Reads up to `most` bytes and one more, by which the caller sees that there are too many.
pub(crate) fn read_bounded(file: File, most: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    // Room for all of it, so that no piece of the content stays in memory that was outgrown.
    let length = file.metadata()?.len().min(limit);
    let room = usize::try_from(length).unwrap_or(most).saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
