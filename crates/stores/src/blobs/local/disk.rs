//! The file system operations that the store uses, and their implementation on the local disk.
//!
//! # Why
//!
//! The store promises a consistent state after every failure. The tests replace the disk by one
//! that fails at its n-th call and loses unsynced data. The code above this trait does not
//! distinguish the two.

use std::fmt;
use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Identifies the state of a file. Equal stamps mean equal bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Device and inode.
    pub place: (u64, u64),
    /// Length in bytes.
    pub size: u64,
    /// Time of last use since the Unix epoch: the store keeps it as the time of modification.
    pub used: Duration,
    /// Seconds and nanoseconds of the last change of the inode.
    pub changed: (i64, i64),
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name. Entries whose names are not UTF-8 are not listed: the store creates no such names.
    pub name: String,
    /// True for a regular file, false for anything else.
    pub is_file: bool,
    /// Length in bytes.
    pub size: u64,
    /// Time of last use since the Unix epoch.
    pub used: Duration,
}

/// The operations of a file system that the store needs. Each can fail on its own.
#[expect(clippy::missing_errors_doc, reason = "each fails as the operating system does")]
pub trait Disk: fmt::Debug + Clone + Send + Sync + 'static {
    /// An open file.
    type File: fmt::Debug + Send + Sync;

    /// Creates a folder that only its owner can enter. Returns false if it exists already.
    fn create_folder(&self, path: &Path) -> io::Result<bool>;

    /// Restricts a folder to its owner.
    fn restrict_folder(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// The entries of a folder, in no order.
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>>;

    /// Calls `each` with every name in a folder, in no order. Names that are not UTF-8 are left
    /// out.
    fn for_each_name(&self, path: &Path, each: &mut dyn FnMut(&str)) -> io::Result<()>;

    /// Bytes that this user may still write to the file system of `path`.
    fn free(&self, path: &Path) -> io::Result<u64>;

    /// Opens and locks a file for as long as it stays open. Returns `None` if another process holds
    /// the lock.
    fn lock(&self, path: &Path) -> io::Result<Option<Self::File>>;

    /// Creates a new file for writing.
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens a regular file for reading; never follows a link, never waits.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Appends some of `bytes` and returns their number.
    fn write(&self, file: &mut Self::File, bytes: &[u8]) -> io::Result<usize>;

    /// Reads some bytes at `offset` and returns their number; 0 at the end.
    fn read_at(&self, file: &Self::File, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Makes a file's content durable.
    fn sync_file(&self, file: &Self::File) -> io::Result<()>;

    /// The file's current stamp.
    fn stamp(&self, file: &Self::File) -> io::Result<FileStamp>;

    /// Sets the time of last use.
    fn set_used(&self, file: &Self::File, time: Duration) -> io::Result<()>;

    /// Renames a file atomically. A file of the new name is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    type File = File;

    fn create_folder(&self, path: &Path) -> io::Result<bool> {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::symlink_metadata(path)?.is_dir() { Ok(false) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    fn restrict_folder(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.mode() & 0o077 == 0 {
            return Ok(());
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // The entry was removed between the two calls.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let (is_file, size) = (metadata.is_file(), metadata.len());
            entries.push(FolderEntry { name, is_file, size, used: used(&metadata) });
        }
        Ok(entries)
    }

    fn for_each_name(&self, path: &Path, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            if let Some(name) = entry?.file_name().to_str() {
                each(name);
            }
        }
        Ok(())
    }

    fn free(&self, path: &Path) -> io::Result<u64> {
        let state = rustix::fs::statvfs(path)?;
        Ok(state.f_bavail.saturating_mul(state.f_frsize))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        // Read-only from the start, because content that is named by its hash never changes.
        OpenOptions::new().write(true).read(true).create_new(true).mode(0o400).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path)?;
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
        }
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(file, bytes)
    }

    fn read_at(&self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(buffer, offset)
    }

    fn sync_file(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn stamp(&self, file: &File) -> io::Result<FileStamp> {
        let metadata = file.metadata()?;
        Ok(FileStamp {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            used: used(&metadata),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    fn set_used(&self, file: &File, time: Duration) -> io::Result<()> {
        let time = UNIX_EPOCH.checked_add(time).ok_or(io::ErrorKind::InvalidInput)?;
        file.set_times(FileTimes::new().set_modified(time))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// The time of modification; one before the Unix epoch counts as the epoch.
fn used(metadata: &fs::Metadata) -> Duration {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    modified.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Creates a private folder, or removes the rights of other users on it.
#[expect(clippy::missing_errors_doc, reason = "it fails as the operating system does")]
pub fn ensure_private_folder<D: Disk>(disk: &D, path: &Path) -> io::Result<()> {
    ensure_folder(disk, path)?;
    disk.restrict_folder(path)
}

/// Creates a folder and its parents, and makes them durable.
#[expect(clippy::missing_errors_doc, reason = "it fails as the operating system does")]
pub fn ensure_folder<D: Disk>(disk: &D, path: &Path) -> io::Result<()> {
    let is_new = match (disk.create_folder(path), path.parent()) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            ensure_folder(disk, parent)?;
            disk.create_folder(path)?
        }
        (made, _) => made?,
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match disk.sync_folder(parent.unwrap_or(Path::new("."))) {
        // Another user made it in a folder that this process may not read, and is responsible for
        // it.
        Err(error) if !is_new && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_and_files_belong_to_their_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let (folder, file) = (root.path().join("folder"), root.path().join("folder/file"));
        assert!(LocalDisk.create_folder(&folder).unwrap());
        assert!(!LocalDisk.create_folder(&folder).unwrap());
        LocalDisk.create(&file).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o400));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        LocalDisk.restrict_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert!(LocalDisk.create(&file).is_err(), "a file was replaced");
        assert!(LocalDisk.create_folder(&file).is_err(), "a file is no folder");
    }

    #[test]
    fn only_regular_files_are_opened() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        LocalDisk.create(&path("file")).unwrap();
        symlink(path("file"), path("link")).unwrap();
        symlink("nowhere", path("dangling")).unwrap();
        LocalDisk.create_folder(&path("folder")).unwrap();
        assert!(LocalDisk.open(&path("file")).is_ok());
        for name in ["link", "dangling", "folder"] {
            assert!(LocalDisk.open(&path(name)).is_err(), "opened {name}");
        }
        let mut entries = LocalDisk.list(root.path()).unwrap();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        let files: Vec<_> =
            entries.iter().map(|entry| (entry.name.as_str(), entry.is_file)).collect();
        assert_eq!(
            files,
            [("dangling", false), ("file", true), ("folder", false), ("link", false)]
        );
    }

    #[test]
    fn a_lock_is_held_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let held = LocalDisk.lock(&path).unwrap();
        assert!(held.is_some());
        assert!(LocalDisk.lock(&path).unwrap().is_none());
        drop(held);
        assert!(LocalDisk.lock(&path).unwrap().is_some());
    }

    #[test]
    fn the_time_of_last_use_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let file = LocalDisk.create(&root.path().join("file")).unwrap();
        let time = Duration::new(1_700_000_000, 123_000_000);
        LocalDisk.set_used(&file, time).unwrap();
        assert_eq!(LocalDisk.stamp(&file).unwrap().used, time);
    }
}
