//! Walks a skill's folder, within limits and never outside of it.
//!
//! INVARIANT(contained): every folder and file is opened by a single name below an open handle,
//! without following links and without waiting. Its type is read from the open handle. A name that
//! is replaced between two steps is noticed, because the opened file must be the one that was seen.
//!
//! INVARIANT(walk-bounds): files, bytes, entries, depth and lengths of paths are counted before
//! anything is read, so a folder of any size costs no more than the limits.

use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;

use rustix::fs::FileType;
use sha2::{Digest as _, Sha256};

use crate::registry::folders::handle::{Dir, Seen};
use wardian_formats::provenance::skill_signature::SIGNATURES_FILE;
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_formats::skill::path::{MAX_PATH, is_left_out};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Maximum number of files of a skill.
pub const MAX_FILES: usize = 1_000;

/// Largest file of a skill.
pub const MAX_FILE: ByteCount = ByteCount::mebibytes(16);

/// Maximum number of bytes of all files of a skill.
pub const MAX_TOTAL: ByteCount = ByteCount::mebibytes(64);

/// Deepest folder of a skill, its own folder included.
pub const MAX_DEPTH: usize = 16;

/// Most names in a folder, hidden files included: they are left out, but reading them takes time.
const MAX_ENTRIES: usize = 10_000;

/// Most problems that are reported for one folder.
const MAX_PROBLEMS: usize = 20;

/// The result of walking a folder.
#[derive(Debug)]
pub struct Survey {
    /// A hash of names, sizes, times and identities. It changes when any file changes.
    pub fingerprint: Digest,
    /// The problems of its files and folders.
    pub problems: Vec<Diagnostic>,
    /// True if the walk failed because of the machine or a change meanwhile, so a retry may help.
    pub(crate) is_interrupted: bool,
    /// The time of the latest change, in seconds since the Unix epoch.
    pub newest: i64,
}

/// A regular file, to be read with [`FoundFile::read_into`].
#[derive(Debug)]
pub struct FoundFile<'w> {
    /// Path below the skill's folder.
    pub path: &'w str,
    folder: &'w Dir,
    name: &'w str,
    seen: &'w Seen,
}

/// Called for each file; an error is a problem of that file.
pub(crate) type Visit<'v> = dyn FnMut(&FoundFile<'_>) -> Result<(), Trouble> + 'v;

/// Called for each folder, the skill's own first, before its names are read, so that a watch set
/// here misses no change.
pub(crate) type Enter<'e> = dyn FnMut(&Dir) + 'e;

/// Walks the folder. Calls `visit` for every file of the skill and `enter` for every folder.
pub fn walk(folder: &Dir, enter: &mut Enter<'_>, visit: &mut Visit<'_>) -> Survey {
    let mut walk = Walk {
        enter,
        visit,
        seen: Sha256::new(),
        files: 0,
        bytes: 0,
        entries: 0,
        problems: Vec::new(),
        is_interrupted: false,
        newest: i64::MIN,
    };
    // An early end has reported its reason.
    drop(walk.folder(folder, "", 1));
    Survey {
        fingerprint: Digest::from_bytes(walk.seen.finalize().into()),
        problems: walk.problems,
        is_interrupted: walk.is_interrupted,
        newest: walk.newest,
    }
}

/// The reason why an entry could not be read.
#[derive(Debug)]
pub enum Trouble {
    /// The entry breaks a rule.
    Refused(Problem),
    /// The operating system reported an error.
    Io(io::Error),
    /// The entry changed during the walk.
    Changed,
}

impl Trouble {
    /// True if the machine or a change meanwhile is the reason, so a retry may help.
    pub(crate) fn is_interruption(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::Io(error) => error.kind() != io::ErrorKind::PermissionDenied,
            Self::Changed => true,
        }
    }

    /// Describes the problem. Of an error of the operating system only its kind is shown, since
    /// the rest may name a path of the host.
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            Self::Refused(problem) => problem,
            Self::Io(error) => {
                Problem::new("unreadable", format!("cannot be read: {}", error.kind()))
            }
            Self::Changed => Problem::new("changed", "changed while it was being read"),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A limit was reached, so the walk ends.
struct Stop;

struct Walk<'v, 'f, 'e> {
    enter: &'v mut Enter<'e>,
    visit: &'v mut Visit<'f>,
    seen: Sha256,
    files: usize,
    bytes: u64,
    entries: usize,
    problems: Vec<Diagnostic>,
    is_interrupted: bool,
    newest: i64,
}

impl Walk<'_, '_, '_> {
    fn folder(&mut self, folder: &Dir, prefix: &str, depth: usize) -> Result<(), Stop> {
        let shown = if prefix.is_empty() { "." } else { prefix.trim_end_matches('/') };
        if depth > MAX_DEPTH {
            self.refuse(shown, "too-deep", format!("is deeper than {MAX_DEPTH} folders"));
            return Err(Stop);
        }
        (self.enter)(folder);
        let (mut names, mut has_more) = (Vec::new(), false);
        let room = MAX_ENTRIES.saturating_sub(self.entries);
        let listed = folder.entries(|name, kind| {
            has_more = names.len() == room;
            if has_more {
                return ControlFlow::Break(());
            }
            names.push((name.to_owned(), kind));
            ControlFlow::Continue(())
        });
        if let Err(error) = listed {
            self.report(shown, Trouble::Io(error));
        }
        self.entries = self.entries.saturating_add(names.len());
        if has_more {
            let message =
                format!("there are more than {MAX_ENTRIES} entries, hidden ones included");
            self.refuse(shown, "too-many-files", message);
            return Err(Stop);
        }
        // The time is read after the names, so it covers every name that came or went before.
        match folder.see() {
            Ok(seen) => self.newest = self.newest.max(seen.changed().0),
            Err(error) => self.report(shown, Trouble::Io(error)),
        }
        names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (name, kind) in names {
            if is_left_out(&name.to_string_lossy()) {
                self.remember_signatures(folder, (prefix, name.as_os_str()));
                continue;
            }
            let Some(name) = name.to_str() else {
                let shown = format!("{prefix}{}", name.to_string_lossy());
                self.refuse(&shown, "file-name", "has a name that is not UTF-8");
                continue;
            };
            self.entry(folder, prefix, (name, kind), depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        folder: &Dir,
        prefix: &str,
        (name, kind): (&str, FileType),
        depth: usize,
    ) -> Result<(), Stop> {
        let path = format!("{prefix}{name}");
        if path.len() > MAX_PATH {
            self.refuse(prefix, "file-name", format!("has a path longer than {MAX_PATH} bytes"));
            return Ok(());
        }
        if name.contains(|letter: char| letter.is_control() || letter == '\\') {
            self.refuse(&path, "file-name", "has a control character or `\\` in its name");
            return Ok(());
        }
        if kind == FileType::Directory {
            match open_folder(folder, name) {
                Ok((inner, seen)) => {
                    self.remember(&path, &seen);
                    self.folder(&inner, &format!("{path}/"), depth + 1)?;
                }
                Err(trouble) => self.report(&path, trouble),
            }
            return Ok(());
        }
        let seen = match folder.see_entry(OsStr::new(name)) {
            Ok(seen) => seen,
            Err(error) => {
                self.report(&path, Trouble::Io(error));
                return Ok(());
            }
        };
        self.remember(&path, &seen);
        if seen.is_dir() {
            // Some file systems do not report types when they list names.
            match open_folder(folder, name) {
                Ok((inner, opened)) if is_same(&seen, &opened) => {
                    self.folder(&inner, &format!("{path}/"), depth + 1)?;
                }
                Ok(_) => self.report(&path, Trouble::Changed),
                Err(trouble) => self.report(&path, trouble),
            }
            return Ok(());
        }
        if let Err(problem) = check_file(&seen) {
            self.report(&path, Trouble::Refused(problem));
            return Ok(());
        }
        self.count_file(&path, seen.len())?;
        let found = FoundFile { path: &path, folder, name, seen: &seen };
        if let Err(trouble) = (self.visit)(&found) {
            self.report(&path, trouble);
        }
        Ok(())
    }

    fn count_file(&mut self, path: &str, size: u64) -> Result<(), Stop> {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
        if self.files > MAX_FILES {
            self.refuse(".", "too-many-files", format!("has more than {MAX_FILES} files"));
            return Err(Stop);
        }
        if self.bytes > MAX_TOTAL.as_u64() {
            let message = format!("from here on, the skill has more than {MAX_TOTAL}");
            self.refuse(path, "too-large", message);
            return Err(Stop);
        }
        Ok(())
    }

    /// The signatures of a skill are no part of it, but whether it is served depends on them.
    fn remember_signatures(&mut self, folder: &Dir, (prefix, name): (&str, &OsStr)) {
        if prefix.is_empty()
            && name == SIGNATURES_FILE
            && let Ok(seen) = folder.see_entry(name)
        {
            self.remember(SIGNATURES_FILE, &seen);
        }
    }

    fn remember(&mut self, path: &str, seen: &Seen) {
        self.newest = self.newest.max(seen.changed().0);
        self.seen.update(path.len().to_le_bytes());
        self.seen.update(path.as_bytes());
        let identity = [seen.dev(), seen.ino(), u64::from(seen.mode())];
        identity.iter().for_each(|number| self.seen.update(number.to_le_bytes()));
        if seen.is_dir() {
            // Hidden files change the times of a folder, so they are left out. Its entries are
            // hashed one by one.
            return;
        }
        self.seen.update(seen.len().to_le_bytes());
        self.seen.update(seen.nlink().to_le_bytes());
        for (seconds, nanoseconds) in [seen.modified(), seen.changed()] {
            self.seen.update(seconds.to_le_bytes());
            self.seen.update(nanoseconds.to_le_bytes());
        }
    }

    fn refuse(&mut self, path: &str, code: &'static str, message: impl Into<String>) {
        self.report(path, Trouble::Refused(Problem::new(code, message)));
    }

    fn report(&mut self, path: &str, trouble: Trouble) {
        self.is_interrupted |= trouble.is_interruption();
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Diagnostic::about(Severity::Error, path, trouble.into_problem()));
        }
    }
}

impl FoundFile<'_> {
    /// Appends the file's content to `content` and returns its length.
    pub(crate) fn read_into(&self, content: &mut Vec<u8>) -> Result<u64, Trouble> {
        let file = self.folder.open_file(OsStr::new(self.name))?;
        if !is_same(self.seen, &Seen::of(&file)?) {
            return Err(Trouble::Changed);
        }
        let before = content.len();
        // One byte more than the known size, to notice a file that grows.
        let room = ByteCount::bytes(self.seen.len()).as_usize().saturating_add(1);
        content.resize(before.saturating_add(room), 0);
        let mut length = 0_usize;
        while let Some(rest) = content.get_mut(before.saturating_add(length)..) {
            let offset = ByteCount::from(length).as_u64();
            match file.read_at(rest, offset) {
                Ok(read) => {
                    length = length.saturating_add(read);
                    // A read of a regular file is only short at its end.
                    if read < rest.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if length >= room {
                break;
            }
        }
        content.truncate(before.saturating_add(length));
        let is_whole = ByteCount::from(length).as_u64() == self.seen.len()
            && times(self.seen) == times(&Seen::of(&file)?);
        if is_whole { Ok(self.seen.len()) } else { Err(Trouble::Changed) }
    }
}

fn times(seen: &Seen) -> ((i64, u32), u64) {
    (seen.changed(), seen.len())
}

/// Opens a folder that its parent lists. If the name is no longer a folder, it has changed.
fn open_folder(parent: &Dir, name: &str) -> Result<(Dir, Seen), Trouble> {
    let folder = parent.open_folder(OsStr::new(name)).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => Trouble::Changed,
        _ => Trouble::Io(error),
    })?;
    let seen = folder.see()?;
    Ok((folder, seen))
}

fn is_same(seen: &Seen, opened: &Seen) -> bool {
    let identity = |found: &Seen| (found.dev(), found.ino(), found.mode());
    identity(seen) == identity(opened)
}

/// Accepts only a regular file without other hard links.
fn check_file(seen: &Seen) -> Result<(), Problem> {
    const SET_ID: u16 = 0o6000;
    if let Some(kind) = special_kind(seen.kind()) {
        let problem = Problem::new("special-file", format!("is {kind}"));
        return Err(problem.help("a skill may contain only regular files and folders"));
    }
    if seen.nlink() > 1 {
        let problem = Problem::new("hard-link", "has another name elsewhere (a hard link)");
        return Err(problem.help("put a copy here"));
    }
    if seen.mode() & SET_ID != 0 {
        return Err(Problem::new("special-file", "has a set-user-id or set-group-id bit"));
    }
    if seen.len() > MAX_FILE.as_u64() {
        let message = format!("has {} bytes, more than {MAX_FILE}", seen.len());
        return Err(Problem::new("too-large", message));
    }
    Ok(())
}

/// The type of an entry that is neither a regular file nor a folder.
pub(crate) const fn special_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile | FileType::Directory => None,
        FileType::Symlink => Some("a symbolic link"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        FileType::BlockDevice | FileType::CharacterDevice => Some("a device"),
        FileType::Unknown => Some("not a regular file"),
    }
}
