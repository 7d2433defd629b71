//! The folder that keeps what is slow to make: the engine, native code, memory images.
//!
//! Knows nothing of what the files are. A file appears under its name only when it is complete,
//! and is handed out only open and checked. What belongs together lies on one [`Shelf`]; who adds
//! to a shelf holds its lock.
//!
//! INVARIANT(own-folder): the folder belongs to this user (or to root) and nobody else can write
//! to it. Native code is loaded from it, so whoever can write to it can run code as this user.
//!
//! INVARIANT(complete-or-absent): no crash, full disk or second process makes a half-written file
//! appear under its final name with a record that fits.
//!
//! INVARIANT(checked): a file whose content is not what its record or the pin says is never
//! handed out.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tracing::{debug, warn};

use crate::clock::Clock;
use crate::engine::draft::{Draft, PARTIAL, write_record};
use crate::engine::record::{Identity, Record, digest_of};
use crate::engine::{EngineError, PathFault};
use crate::ids::Digest;
use crate::units::ByteCount;

/// Hexadecimal digits of a digest that name a shelf: 64 bits.
const KEY_DIGITS: usize = 16;

/// Name of every lock file.
const LOCK: &str = ".lock";

/// Ending of the record beside a file.
pub(super) const RECORD: &str = ".json";

/// What backup programs look for in a folder that is not worth saving.
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
    /// Opens the folder, and makes it if it is not there.
    ///
    /// # Errors
    ///
    /// It cannot be made, or is not [ours alone](self).
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

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The shelf of `key`. Nothing is made on the disk yet.
    #[must_use]
    pub fn shelf(&self, area: Area, key: &Digest) -> Shelf {
        let mut name = key.to_string();
        name.truncate(KEY_DIGITS);
        let path = self.root.join(area.as_str()).join(name);
        Shelf { path, root: self.root.clone(), clock: self.clock }
    }

    /// All shelves of an area.
    ///
    /// # Errors
    ///
    /// The area's folder cannot be read.
    pub fn shelves(&self, area: Area) -> Result<Vec<Shelf>, EngineError> {
        let folder = self.root.join(area.as_str());
        let names = names_in(&folder).map_err(storage("read", &folder))?;
        let shelf = |name: String| {
            let path = folder.join(name);
            Shelf { path, root: self.root.clone(), clock: self.clock }
        };
        Ok(names.into_iter().filter(|name| !name.starts_with('.')).map(shelf).collect())
    }

    /// Removes shelves, as long as nobody is adding to any. Files that are open or mapped
    /// elsewhere stay alive until they are closed. Returns the bytes that were freed.
    ///
    /// # Errors
    ///
    /// Somebody is adding to the cache, or a file cannot be removed.
    pub fn remove(&self, shelves: &[Shelf]) -> Result<ByteCount, EngineError> {
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
        for shelf in shelves {
            let size = shelf.size().map_err(storage("read", &shelf.path))?;
            fs::remove_dir_all(&shelf.path).map_err(storage("remove files from", &shelf.path))?;
            freed = ByteCount::bytes(freed.as_u64().saturating_add(size.as_u64()));
        }
        Ok(freed)
    }
}

/// Files of the cache that belong together.
#[derive(Debug, Clone)]
pub struct Shelf {
    path: PathBuf,
    root: PathBuf,
    clock: Clock,
}

/// An open file whose content was checked.
///
/// It is open for reading only, at its start, and nobody writes to it any more.
#[derive(Debug)]
pub struct CheckedFile {
    /// The file.
    pub file: File,
    /// Where it lies.
    pub path: PathBuf,
    /// What it was made from and when.
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
}

/// What a full check of one file found.
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

impl Shelf {
    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file and checks its content: against `pinned` if it is given, else against its
    /// record. A file that was seen to be right before and has not changed is not read again.
    ///
    /// `None` if there is no such file or if it is damaged, which is logged; either way it has
    /// to be made again.
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
            warn!(file = name, "`{name}` has no record in the cache and is made again");
            return Ok(None);
        };
        if pinned.is_some_and(|pinned| *pinned != record.sha256) {
            warn!(file = name, "`{name}` in the cache is another than the pinned one");
            return Ok(None);
        }
        if !record.has_seen(&metadata) {
            let (found, _) = digest_of(&file, |_| {}).map_err(storage("read", &path))?;
            if found != record.sha256 {
                warn!(file = name, "`{name}` in the cache is damaged and is made again");
                return Ok(None);
            }
            record.seen = Identity::of(&metadata);
            if let Err(error) = write_record(&self.path, name, &record) {
                // A read-only cache is fine; it only costs the next start a full check.
                debug!(file = name, %error, "the check of `{name}` cannot be recorded");
            }
        }
        Ok(Some(CheckedFile { file, path, record }))
    }

    /// Reads a whole file, whatever its record remembers, and says if it is right.
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
    /// The shelf cannot be read.
    pub fn names(&self) -> Result<Vec<String>, EngineError> {
        let names = names_in(&self.path).map_err(storage("read", &self.path))?;
        Ok(names.iter().filter_map(|name| name.strip_suffix(RECORD)).map(str::to_owned).collect())
    }

    fn size(&self) -> io::Result<ByteCount> {
        let mut size = 0_u64;
        for name in names_in(&self.path)? {
            // Blocks, not length: an image has holes.
            let blocks = fs::symlink_metadata(self.path.join(name))?.blocks();
            size = size.saturating_add(blocks.saturating_mul(512));
        }
        Ok(ByteCount::bytes(size))
    }

    /// Takes the shelf's lock, making the shelf if it is not there. Calls `waits` if another
    /// process has the lock, and then waits for it: what that process makes is there afterwards,
    /// so look again before making anything.
    ///
    /// Removes what an interrupted process left unfinished.
    ///
    /// # Errors
    ///
    /// The cache cannot be written to.
    pub fn lock(&self, waits: impl FnOnce()) -> Result<ShelfLock<'_>, EngineError> {
        let path = self.root.join(LOCK);
        let users = open_lock(&path).map_err(storage("lock", &path))?;
        users.lock_shared().map_err(storage("lock", &path))?;

        make_private(&self.path).map_err(storage("create", &self.path))?;
        let path = self.path.join(LOCK);
        let own = open_lock(&path).map_err(storage("lock", &path))?;
        match own.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waits();
                own.lock().map_err(storage("lock", &path))?;
            }
            Err(TryLockError::Error(cause)) => return Err(storage("lock", &path)(cause)),
        }
        for name in names_in(&self.path).map_err(storage("read", &self.path))? {
            if name.ends_with(PARTIAL) {
                let path = self.path.join(name);
                remove_any(&path).map_err(storage("remove files from", &path))?;
            }
        }
        Ok(ShelfLock { shelf: self, _users: users, _own: own })
    }
}

/// The right to add to a shelf. The system releases it if the process dies.
#[derive(Debug)]
pub struct ShelfLock<'a> {
    shelf: &'a Shelf,
    _own: File,
    _users: File,
}

impl ShelfLock<'_> {
    /// The shelf.
    #[must_use]
    pub const fn shelf(&self) -> &Shelf {
        self.shelf
    }

    /// Begins a file that will be called `name`.
    ///
    /// # Errors
    ///
    /// The cache cannot be written to.
    pub fn draft(&self, name: &str) -> Result<Draft, EngineError> {
        Draft::new(&self.shelf.path, name, self.shelf.clock)
    }
}

/// Turns an I/O error on `path` into an error of ours.
pub(super) fn storage(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EngineError {
    let path = path.to_owned();
    move |cause| EngineError::Storage { what, cause: PathFault { path, cause } }
}

/// Makes a folder that only this user can enter, with its parents; true if it was not there.
fn make_private(path: &Path) -> io::Result<bool> {
    if path.try_exists()? {
        return Ok(false);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    Ok(true)
}

fn ensure_own(root: &Path) -> Result<(), EngineError> {
    let metadata = fs::metadata(root).map_err(storage("read", root))?;
    let problem = if !metadata.is_dir() {
        "is not a folder"
    } else if ![0, rustix::process::geteuid().as_raw()].contains(&metadata.uid()) {
        "belongs to another user"
    } else if metadata.mode() & 0o022 != 0 {
        "can be written to by other users; take that right away with `chmod go-w`"
    } else {
        return Ok(());
    };
    let cause = PathFault::new(root, io::ErrorKind::PermissionDenied.into());
    Err(EngineError::CacheFolder { problem, cause })
}

/// Opens a file for reading unless it is a link; `None` if there is none.
pub(super) fn open_existing(path: &Path) -> io::Result<Option<File>> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
