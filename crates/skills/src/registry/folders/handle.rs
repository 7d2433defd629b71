//! Open folders. An entry is opened by a single name, and links are never followed.
//!
//! The functions call the system directly, because a start makes some thirty calls for each skill.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom, Statx, StatxFlags};
use rustix::io::Errno;

/// Size of the buffer for names, in bytes.
const BUFFER: usize = 32 << 10;

/// An open folder.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// The identity of a file or folder, and the time of its last change.
#[derive(Debug, Clone, Copy)]
pub struct Seen(Statx);

impl Dir {
    /// Opens the folder at a path from the operator. Links in the path are followed.
    pub(crate) fn open_path(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens the folder in which this one lies; the root of the file system lies in itself.
    pub(crate) fn open_parent(&self) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(&self.0, c"..", flags, Mode::empty())?))
    }

    /// Opens the folder called `name`. A link to a folder is an error.
    pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        self.open(name, OFlags::DIRECTORY).map(Self)
    }

    /// Opens the file called `name` without waiting for the other end of a pipe.
    pub(crate) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, OFlags::NOCTTY).map(File::from)
    }

    fn open(&self, name: &OsStr, more: OFlags) -> io::Result<OwnedFd> {
        ensure_single(name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?)
    }

    /// Returns the state of the entry called `name`. A link is not followed.
    pub(crate) fn see_entry(&self, name: &OsStr) -> io::Result<Seen> {
        ensure_single(name)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Ok(Seen(rustix::fs::statx(&self.0, name, flags, StatxFlags::BASIC_STATS)?))
    }

    /// Returns the state of the folder itself.
    pub(crate) fn see(&self) -> io::Result<Seen> {
        Seen::of(self)
    }

    /// Calls `each` for every entry, from the first on, until it breaks.
    pub(crate) fn entries(
        &self,
        mut each: impl FnMut(&OsStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        rustix::fs::seek(&self.0, SeekFrom::Start(0))?;
        let mut buffer = [MaybeUninit::<u8>::uninit(); BUFFER];
        let mut entries = RawDir::new(&self.0, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                let found = each(OsStr::from_bytes(name), entry.file_type());
                if found.is_break() {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Seen {
    /// The current state of an open file or folder.
    pub(crate) fn of(file: impl AsFd) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH;
        Ok(Self(rustix::fs::statx(file, c"", flags, StatxFlags::BASIC_STATS)?))
    }

    /// The state at a path from the operator. Links in the path are followed.
    pub(crate) fn at_path(path: &Path) -> io::Result<Self> {
        let flags = AtFlags::empty();
        Ok(Self(rustix::fs::statx(rustix::fs::CWD, path, flags, StatxFlags::BASIC_STATS)?))
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(u32::from(self.0.stx_mode))
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub(crate) const fn mode(&self) -> u16 {
        self.0.stx_mode
    }

    pub(crate) fn dev(&self) -> u64 {
        rustix::fs::makedev(self.0.stx_dev_major, self.0.stx_dev_minor)
    }

    pub(crate) const fn ino(&self) -> u64 {
        self.0.stx_ino
    }

    pub(crate) const fn nlink(&self) -> u32 {
        self.0.stx_nlink
    }

    pub(crate) const fn len(&self) -> u64 {
        self.0.stx_size
    }

    /// Time of the last change of content, in seconds and nanoseconds.
    pub const fn modified(&self) -> (i64, u32) {
        (self.0.stx_mtime.tv_sec, self.0.stx_mtime.tv_nsec)
    }

    /// Time of the last change of content or metadata, in seconds and nanoseconds.
    pub const fn changed(&self) -> (i64, u32) {
        (self.0.stx_ctime.tv_sec, self.0.stx_ctime.tv_nsec)
    }
}

/// Refuses a name that could lead out of the folder. The kernel never lists such a name.
fn ensure_single(name: &OsStr) -> io::Result<()> {
    let name = name.as_bytes();
    if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn contained_handles_take_single_names_and_no_links() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("skills/inner")).unwrap();
        fs::write(root.path().join("secret"), "x").unwrap();
        fs::write(root.path().join("skills/file"), "x").unwrap();
        symlink("inner", root.path().join("skills/link")).unwrap();
        symlink("file", root.path().join("skills/file-link")).unwrap();
        let folder = Dir::open_path(&root.path().join("skills")).unwrap();
        for name in ["", ".", "..", "../secret", "/etc", "inner/../../secret", "inner/"] {
            let name = OsStr::new(name);
            assert!(folder.see_entry(name).is_err(), "{name:?}");
            assert!(folder.open_folder(name).is_err(), "{name:?}");
            assert!(folder.open_file(name).is_err(), "{name:?}");
        }
        assert!(folder.open_folder(OsStr::new("link")).is_err());
        assert!(folder.open_file(OsStr::new("file-link")).is_err());
        assert!(folder.open_folder(OsStr::new("inner")).is_ok());
        assert!(folder.open_file(OsStr::new("file")).is_ok());
        let link = folder.see_entry(OsStr::new("link")).unwrap();
        assert_eq!(link.kind(), FileType::Symlink);
    }

    #[test]
    fn entries_are_read_from_the_first_every_time() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..3_000 {
            fs::write(root.path().join(format!("file-{number}")), "").unwrap();
        }
        let folder = Dir::open_path(root.path()).unwrap();
        for most in [3_000, 10, 3_000] {
            let mut names = std::collections::BTreeSet::new();
            let each = |name: &OsStr, _| {
                names.insert(name.to_owned());
                if names.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            folder.entries(each).unwrap();
            assert_eq!(names.len(), most);
        }
    }
}
