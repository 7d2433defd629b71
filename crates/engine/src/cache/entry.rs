//! The cache folder for files that are slow to make: the engine, native code, memory images.
//!
//! Knows nothing of the files' content. A file appears under its name only when it is complete, and
//! is handed out only open and checked. Files that belong together are one [`CacheEntry`]; a
//! process that adds to an entry holds its lock.
//!
//! INVARIANT(own-folder): the folder belongs to this user (or to root) and no other user can write
//! to it. Native code is loaded from it, so a process that can write to it can run code as this
//! user.
//!
//! INVARIANT(complete-or-absent): no crash, full disk or second process makes a half-written file
//! appear under its final name with a record that fits.
//!
//! INVARIANT(checked): a file whose content does not match its record and the pin is never handed
//! out.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::FileType;
use tracing::{debug, warn};

use crate::cache::draft::{Draft, PARTIAL, write_record};
use crate::cache::file::{CheckedFile, RECORD, open_existing, storage};
use crate::cache::record::{Identity, Record, digest_of};
use crate::error::{EngineError, PathFault};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Hexadecimal digits of a digest that name an entry: 64 bits.
const KEY_DIGITS: usize = 16;

/// Name of every lock file.
const LOCK: &str = ".lock";

/// The interval of looking for the end of another process's work.
const LOCK_INTERVAL: Duration = Duration::from_millis(200);

/// The tag by which backup programs recognise a cache folder.
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder is kept by Wardian and can be deleted at any time.\n";

/// The parts of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Area {
    /// Files of the engine and what is made from them without compiling.
    Engine,
    /// Native code.
    Native,
    /// Memory images.
    Images,
}

impl Area {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Engine, Self::Native, Self::Images];

    /// Name of its folder.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Native => "native",
            Self::Images => "images",
        }
    }
}

/// The cache folder.
#[derive(Debug, Clone)]
pub struct CacheFolder {
    root: PathBuf,
    clock: Clock,
}

impl CacheFolder {
    /// Opens the folder, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or another user could [write to it](self).
    pub fn open(root: &Path, clock: Clock) -> Result<Self, EngineError> {
        if !root.is_absolute() {
            let cause = PathFault::new(root, io::ErrorKind::InvalidInput.into());
            return Err(EngineError::CacheFolder { problem: "must be an absolute path", cause });
        }
        let made = make_private(root).map_err(storage("create", root))?;
        ensure_own(root)?;
        if made {
            let tag = root.join("CACHEDIR.TAG");
            fs::write(&tag, CACHE_TAG).map_err(storage("write to", &tag))?;
        }
        Ok(Self { root: root.to_owned(), clock })
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The entry of `key`. Nothing is made on the disk yet.
    #[must_use]
    pub fn entry(&self, area: Area, key: &Digest) -> CacheEntry {
        let mut name = key.to_string();
        name.truncate(KEY_DIGITS);
        let path = self.root.join(area.as_str()).join(name);
        CacheEntry { path, root: self.root.clone(), clock: self.clock }
    }

    /// All entries of an area.
    ///
    /// # Errors
    ///
    /// The area's folder cannot be read.
    pub fn entries(&self, area: Area) -> Result<Vec<CacheEntry>, EngineError> {
        let folder = self.root.join(area.as_str());
        let names = names_in(&folder).map_err(storage("read", &folder))?;
        let entry = |name: String| {
            let path = folder.join(name);
            CacheEntry { path, root: self.root.clone(), clock: self.clock }
        };
        Ok(names.into_iter().filter(|name| !name.starts_with('.')).map(entry).collect())
    }

    /// Removes entries, as long as no process is adding to any. Files that are open or mapped
    /// elsewhere stay alive until they are closed. Returns the bytes that were freed.
    ///
    /// # Errors
    ///
    /// Another process is adding to the cache, or a file cannot be removed.
    pub fn remove(&self, entries: &[CacheEntry]) -> Result<ByteCount, EngineError> {
        let path = self.root.join(LOCK);
        let lock = open_lock(&path).map_err(storage("lock", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let cause = PathFault::new(&path, io::ErrorKind::WouldBlock.into());
                let problem = "is in use by another process that is adding to it";
                return Err(EngineError::CacheFolder { problem, cause });
            }
            Err(TryLockError::Error(cause)) => return Err(storage("lock", &path)(cause)),
        }
        let mut freed = ByteCount::default();
        for entry in entries {
            let size = entry.size()?;
            fs::remove_dir_all(&entry.path).map_err(storage("remove files from", &entry.path))?;
            freed = ByteCount::bytes(freed.as_u64().saturating_add(size.as_u64()));
        }
        Ok(freed)
    }
}

/// Files of the cache that belong together.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    path: PathBuf,
    root: PathBuf,
    clock: Clock,
}

/// The result of a full check of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The content is what it should be.
    Good,
    /// The content is something else.
    Damaged,
    /// There is no such file.
    Missing,
}

impl CacheEntry {
    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file and checks its content against its record, and the record against `pinned` if
    /// that is given. A file that was checked before and has not changed since is not read again.
    ///
    /// Returns `None` if the file is missing or damaged; damage is logged. The caller makes the
    /// file again in both cases.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read.
    pub fn open_checked(
        &self,
        name: &str,
        pinned: Option<&Digest>,
    ) -> Result<Option<CheckedFile>, EngineError> {
        let Some((file, record)) = self.open_recorded(name)? else { return Ok(None) };
        let path = self.path.join(name);
        let metadata = file.metadata().map_err(storage("read", &path))?;
        let Some(mut record) = record else {
            warn!(file = name, "`{name}` has no record in the cache and is rebuilt");
            return Ok(None);
        };
        if pinned.is_some_and(|pinned| *pinned != record.sha256) {
            warn!(file = name, "`{name}` in the cache is not the pinned one and is rebuilt");
            return Ok(None);
        }
        if !record.has_seen(&metadata) {
            let (found, _) = digest_of(&file, |_| {}).map_err(storage("read", &path))?;
            if found != record.sha256 {
                warn!(file = name, "`{name}` in the cache is damaged and is rebuilt");
                return Ok(None);
            }
            record.seen = Identity::of(&metadata);
            if let Err(error) = write_record(&self.path, name, &record) {
                // A read-only cache is fine; it only costs the next start a full check.
                debug!(file = name, %error, "the verification of `{name}` cannot be recorded");
            }
        }
        Ok(Some(CheckedFile { file, path, record }))
    }

    /// Reads a whole file, even if it was checked before, and reports its state.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read.
    pub fn verify(
        &self,
        name: &str,
        pinned: Option<&Digest>,
        advanced: impl FnMut(ByteCount),
    ) -> Result<Finding, EngineError> {
        let Some((file, record)) = self.open_recorded(name)? else { return Ok(Finding::Missing) };
        let path = self.path.join(name);
        let (found, size) = digest_of(&file, advanced).map_err(storage("read", &path))?;
        let right = record.is_some_and(|record| {
            record.sha256 == found
                && record.size_bytes == size
                && pinned.is_none_or(|pinned| *pinned == found)
        });
        Ok(if right { Finding::Good } else { Finding::Damaged })
    }

    /// The record of a file, unchecked: for reports.
    ///
    /// # Errors
    ///
    /// The record is there and cannot be read.
    pub fn find_record(&self, name: &str) -> Result<Option<Record>, EngineError> {
        Ok(self.open_recorded(name)?.and_then(|(_, record)| record))
    }

    fn open_recorded(&self, name: &str) -> Result<Option<(File, Option<Record>)>, EngineError> {
        let path = self.path.join(name);
        let Some(file) = open_existing(&path).map_err(storage("read", &path))? else {
            return Ok(None);
        };
        let path = self.path.join(format!("{name}{RECORD}"));
        let record = match open_existing(&path).map_err(storage("read", &path))? {
            Some(record) => Record::read(&record).map_err(storage("read", &path))?,
            None => None,
        };
        Ok(Some((file, record)))
    }

    /// Names of the files that have a record, in order.
    ///
    /// # Errors
    ///
    /// The entry cannot be read.
    pub fn names(&self) -> Result<Vec<String>, EngineError> {
        let names = names_in(&self.path).map_err(storage("read", &self.path))?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(RECORD)).map(str::to_owned).collect())
    }

    /// Disk space that its files take.
    ///
    /// # Errors
    ///
    /// The entry cannot be read.
    pub fn size(&self) -> Result<ByteCount, EngineError> {
        let mut size = 0_u64;
        for name in names_in(&self.path).map_err(storage("read", &self.path))? {
            let path = self.path.join(name);
            // Blocks, not length: an image has holes.
            let blocks = fs::symlink_metadata(&path).map_err(storage("read", &path))?.blocks();
            size = size.saturating_add(blocks.saturating_mul(512));
        }
        Ok(ByteCount::bytes(size))
    }

    /// Takes the entry's lock, and creates the entry if it is missing. While another process has the
    /// lock, calls `waits` a few times a second. The other process may have made the file meanwhile, so
    /// the caller looks for it again.
    ///
    /// Removes unfinished files of interrupted processes.
    ///
    /// # Errors
    ///
    /// The cache cannot be written to.
    pub fn lock(&self, mut waits: impl FnMut()) -> Result<CacheEntryLock<'_>, EngineError> {
        let path = self.root.join(LOCK);
        let users = open_lock(&path).map_err(storage("lock", &path))?;
        users.lock_shared().map_err(storage("lock", &path))?;

        make_private(&self.path).map_err(storage("create", &self.path))?;
        let path = self.path.join(LOCK);
        let own = open_lock(&path).map_err(storage("lock", &path))?;
        loop {
            match own.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    waits();
                    thread::park_timeout(LOCK_INTERVAL);
                }
                Err(TryLockError::Error(cause)) => return Err(storage("lock", &path)(cause)),
            }
        }
        for name in names_in(&self.path).map_err(storage("read", &self.path))? {
            if name.ends_with(PARTIAL) {
                let path = self.path.join(name);
                remove_any(&path).map_err(storage("remove files from", &path))?;
            }
        }
        Ok(CacheEntryLock { entry: self, _users: users, _own: own })
    }
}

/// The right to add to an entry. The system releases it if the process dies.
#[derive(Debug)]
pub struct CacheEntryLock<'a> {
    entry: &'a CacheEntry,
    _own: File,
    _users: File,
}

impl CacheEntryLock<'_> {
    /// The entry.
    #[must_use]
    pub const fn entry(&self) -> &CacheEntry {
        self.entry
    }

    /// Begins a file that will be called `name`.
    ///
    /// # Errors
    ///
    /// The cache cannot be written to.
    pub fn draft(&self, name: &str) -> Result<Draft, EngineError> {
        Draft::new(&self.entry.path, name, self.entry.clock)
    }
}

/// Creates a folder that only this user can enter, with its parents. Returns false if it exists.
fn make_private(path: &Path) -> io::Result<bool> {
    if path.try_exists()? {
        return Ok(false);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    Ok(true)
}

fn ensure_own(root: &Path) -> Result<(), EngineError> {
    let metadata = fs::metadata(root).map_err(storage("read", root))?;
    let me = rustix::process::geteuid().as_raw();
    match problem_with(metadata.mode(), metadata.uid(), me) {
        None => Ok(()),
        Some(problem) => {
            let cause = PathFault::new(root, io::ErrorKind::PermissionDenied.into());
            Err(EngineError::CacheFolder { problem, cause })
        }
    }
}

/// The reason why `me` must not trust a folder of this mode and owner. Folders of root are trusted:
/// they are installations for the whole machine, and root can do anything anyway.
fn problem_with(mode: u32, owner: u32, me: u32) -> Option<&'static str> {
    if !FileType::from_raw_mode(mode).is_dir() {
        Some("is not a folder")
    } else if owner != me && owner != 0 {
        Some("belongs to another user")
    } else if mode & 0o022 != 0 {
        Some("is writable by other users; fix it with `chmod go-w`")
    } else {
        None
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn remove_any(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Names in a folder, in order; none if there is no such folder.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let mut names = Vec::new();
    for each in found {
        names.extend(each?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
