//! Opens files that operators name, without waiting for anything: a pipe would wait for somebody at
//! its other end, for as long as nobody comes.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a regular file for reading. A pipe, a folder or a device is an error.
///
/// Links are followed: mounts of Kubernetes consist of them.
///
/// # Errors
///
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = open_now(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Opens whatever is there for reading.
///
/// # Errors
///
/// It cannot be opened.
pub fn open_now(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// The error of something else than a regular file.
pub fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, mkfifoat};

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let mut text = String::new();
        open_regular(&link).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        for other in [&pipe, folder.path(), Path::new("/dev/null")] {
            assert!(open_regular(other).unwrap_err().to_string().contains("regular"), "{other:?}");
        }
        let missing = open_regular(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
