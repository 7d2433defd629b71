//! Checks the folders of a root for changes and reads those that changed.
//!
//! A folder is read again when its fingerprint changes. If a file changed just before the reading,
//! the folder is read once more a second later, because two writes within one tick of the file
//! system's clock give the same fingerprint.
//!
//! A folder may be invalid while it is being written. So its previous skill is served until the
//! folder has not changed for a second.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::FileType;

use crate::registry::folders::handle::{Dir, Seen};
use crate::registry::folders::notices::{Notices, WatchId, is_remote};
use crate::registry::folders::snapshot::{RECENT, Reading, Snapshot, now, read_folder};
use crate::registry::folders::trust::SkillTrust;
use crate::registry::folders::walk::{Trouble, special_kind, walk};
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_formats::skill::path::is_left_out;
use wardian_vocabulary::ids::{Digest, SkillName};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of folders of one root.
pub(crate) const MAX_FOLDERS: usize = 32_768;

/// Most threads that read skills when all of them are read.
const MAX_READERS: usize = 8;

/// Most watches of one skill. A skill with more folders is polled instead.
const MAX_WATCHES: usize = 64;

/// A folder of skill folders, with its last known state.
#[derive(Debug)]
pub struct SkillRoot {
    path: PathBuf,
    bounds: RootBounds,
    trust: Arc<SkillTrust>,
    pub(crate) folders: BTreeMap<Arc<OsStr>, SkillFolder>,
    /// Bytes of the skills of `folders`.
    taken: u64,
    /// Number of folders that are ignored because there are too many.
    pub left_out: usize,
    /// The identity of the folder that was last listed at the path.
    place: Option<FolderId>,
    pub(crate) watch: Option<WatchId>,
}

/// What is read of a root; the rest is left out, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RootBounds {
    /// Most skill folders.
    pub folders: usize,
    /// Maximum number of bytes of the files of all skills.
    pub bytes: ByteCount,
}

/// The last known state of one skill folder.
#[derive(Debug)]
pub struct SkillFolder {
    fingerprint: Option<Digest>,
    /// True if the folder needs no further check until it changes.
    pub is_settled: bool,
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The watches of the folder and its subfolders.
    pub watches: Vec<WatchId>,
    /// True if the folder and each subfolder has a watch.
    pub(crate) is_watched: bool,
    /// The duration of the last check.
    pub cost: Duration,
    /// The time of the last check.
    pub looked: Instant,
    /// Number of checks in a row after which the folder was not settled.
    pub(crate) unsettled: u32,
    /// The size of its skill, if that was left out because it did not fit.
    unfit: Option<u64>,
}

/// Device and inode of an open folder.
pub(crate) type FolderId = (u64, u64);

/// An open root.
#[derive(Debug)]
pub struct OpenRoot {
    handle: Dir,
    pub(crate) place: FolderId,
    pub(crate) is_remote: bool,
    trust: Arc<SkillTrust>,
}

impl OpenRoot {
    pub(crate) const fn handle(&self) -> &Dir {
        &self.handle
    }

    pub(crate) fn watch(&self, notices: &Notices) -> io::Result<WatchId> {
        notices.watch(&self.handle)
    }
}

/// Sets watches, within their limit.
#[derive(Debug, Clone, Copy)]
pub struct Watcher<'w> {
    pub(crate) notices: &'w Notices,
    /// Number of watches that may still be set.
    pub left: &'w AtomicUsize,
}

impl SkillRoot {
    pub(crate) const fn new(path: PathBuf, bounds: RootBounds, trust: Arc<SkillTrust>) -> Self {
        let folders = BTreeMap::new();
        Self { path, bounds, trust, folders, taken: 0, left_out: 0, place: None, watch: None }
    }

    /// The watches of the root and of its folders.
    pub fn watches(&self) -> impl Iterator<Item = WatchId> {
        let inside = self.folders.values().flat_map(|folder| folder.watches.iter().copied());
        self.watch.into_iter().chain(inside)
    }

    pub(crate) const fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(crate) const fn bounds(&self) -> RootBounds {
        self.bounds
    }

    /// Opens the root. The path comes from the operator, so links in it are followed.
    pub(crate) fn open(&self) -> io::Result<OpenRoot> {
        let handle = Dir::open_path(&self.path)?;
        let seen = handle.see()?;
        let is_remote = is_remote(&handle);
        let trust = Arc::clone(&self.trust);
        Ok(OpenRoot { handle, place: (seen.dev(), seen.ino()), is_remote, trust })
    }

    /// True if the path led to another folder when it was last listed.
    pub(crate) fn has_moved(&self, open: &OpenRoot) -> bool {
        self.place != Some(open.place)
    }

    /// True if the path leads to the folder that was last listed.
    pub(crate) fn is_in_place(&self) -> bool {
        let seen = Seen::at_path(&self.path);
        self.place.is_some() && seen.is_ok_and(|seen| self.place == Some((seen.dev(), seen.ino())))
    }

    /// Lists the root. Counts the ignored folders, and returns the names to check, including those
    /// of removed folders.
    pub(crate) fn list(&mut self, open: &OpenRoot) -> io::Result<BTreeSet<Arc<OsStr>>> {
        let mut known: BTreeSet<Arc<OsStr>> = self.folders.keys().map(Arc::clone).collect();
        // Known folders have priority, so that many new ones displace none. New ones follow by
        // name.
        let mut fresh: BTreeSet<OsString> = BTreeSet::new();
        let (mut present, mut left_out) = (0_usize, 0_usize);
        open.handle.entries(|name, kind| {
            if !may_be_skill(name) || kind == FileType::RegularFile {
                return ControlFlow::Continue(());
            }
            if known.contains(name) {
                present += 1;
                return ControlFlow::Continue(());
            }
            fresh.insert(name.to_owned());
            if fresh.len() > self.bounds.folders {
                fresh.pop_last();
                left_out += 1;
            }
            ControlFlow::Continue(())
        })?;
        let most = self.bounds.folders;
        while present.saturating_add(fresh.len()) > most && fresh.pop_last().is_some() {
            left_out += 1;
        }
        self.left_out = left_out;
        self.place = Some(open.place);
        known.extend(fresh.into_iter().map(Arc::from));
        Ok(known)
    }

    /// Checks every folder, with several threads. Returns true if anything changed.
    ///
    /// # Errors
    ///
    /// The root cannot be read; its state is unchanged.
    pub fn refresh(&mut self, watcher: Option<Watcher<'_>>) -> io::Result<bool> {
        let open = self.open()?;
        // Watch before listing, so that a later name causes a notice.
        self.watch =
            watcher.filter(|_| !open.is_remote).and_then(|watcher| watcher.set(&open.handle, &[]));
        let left_out = self.left_out;
        let names: Vec<Arc<OsStr>> = self.list(&open)?.into_iter().collect();
        let (next, known) = (AtomicUsize::new(0), Mutex::new(std::mem::take(&mut self.folders)));
        let found = Mutex::new((BTreeMap::new(), left_out != self.left_out));
        // The skills that there are keep their room, and new ones share the rest.
        let room = AtomicU64::new(self.room());
        // More threads than processors, because some wait for the disk.
        let readers = std::thread::available_parallelism().map_or(1, usize::from) * 2;
        std::thread::scope(|scope| {
            let read = || {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let before = known.lock().remove(name);
                    let own = before.as_ref().map_or(0, SkillFolder::size);
                    let room = Room { left: &room, own, most: self.bounds.bytes };
                    let (after, has_changed) = look_within(&open, name, before, watcher, room);
                    let mut found = found.lock();
                    found.1 |= has_changed;
                    found.0.extend(after.map(|after| (Arc::clone(name), after)));
                }
            };
            // A missing thread only makes it slower.
            let more = readers.min(MAX_READERS).min(names.len() / 64);
            for _ in 1..more {
                drop(std::thread::Builder::new().spawn_scoped(scope, read));
            }
            read();
        });
        let (folders, has_changed) = found.into_inner();
        self.taken = folders.values().fold(0, |sum: u64, one| sum.saturating_add(one.size()));
        self.folders = folders;
        Ok(has_changed)
    }

    /// True if there may be one more folder.
    pub(crate) fn has_room(&self) -> bool {
        self.folders.len() < self.bounds.folders
    }

    /// The bytes that further skills may have.
    pub const fn room(&self) -> u64 {
        self.bounds.bytes.as_u64().saturating_sub(self.taken)
    }

    /// Takes the state of a folder, which leaves its room to others until it is put back.
    pub fn take(&mut self, name: &OsStr) -> Option<SkillFolder> {
        let folder = self.folders.remove(name)?;
        self.taken = self.taken.saturating_sub(folder.size());
        Some(folder)
    }

    pub(crate) fn put(&mut self, name: &Arc<OsStr>, folder: SkillFolder) {
        self.taken = self.taken.saturating_add(folder.size());
        self.folders.insert(Arc::clone(name), folder);
    }
}

impl SkillFolder {
    /// The size of its skill.
    fn size(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.memory().as_u64())
    }
}

/// The bytes that the skills of a root may still have.
#[derive(Debug, Clone, Copy)]
pub struct Room<'r> {
    pub(crate) left: &'r AtomicU64,
    /// The bytes of the folder's skill so far. They are its own.
    pub own: u64,
    /// The bound, for the message.
    pub most: ByteCount,
}

/// As [`look`]. A skill for which there is no room is dropped, and read again when it fits.
pub(crate) fn look_within(
    root: &OpenRoot,
    name: &OsStr,
    mut known: Option<SkillFolder>,
    watcher: Option<Watcher<'_>>,
    room: Room<'_>,
) -> (Option<SkillFolder>, bool) {
    let Room { left, own, most } = room;
    let unfit = known.as_mut().and_then(|known| {
        let fits = known.unfit.is_some_and(|size| size <= left.load(Ordering::Relaxed));
        known.fingerprint = known.fingerprint.filter(|_| !fits);
        known.unfit
    });
    let (mut found, has_changed) = look(root, name, known, watcher);
    let size = found.as_ref().map_or(0, SkillFolder::size);
    let more = |left: u64| left.saturating_add(own).checked_sub(size);
    let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    let Some(folder) = found.as_mut().filter(|_| taken.is_err()) else {
        return (found, has_changed);
    };
    left.fetch_add(own, Ordering::Relaxed);
    folder.snapshot = None;
    folder.unfit = Some(size);
    folder.diagnostics = vec![full(most)];
    (found, unfit != Some(size))
}

/// The reason why a skill is left out for its size.
pub fn full(most: ByteCount) -> Diagnostic {
    let message = format!("all skills together would have more than {most}");
    Diagnostic::about(Severity::Error, ".", Problem::new("registry-full", message))
}

/// True if an entry of a root may be a skill. Some valid names of skills look like names of files
/// that Python generates.
pub(crate) fn may_be_skill(name: &OsStr) -> bool {
    let shown = name.to_string_lossy();
    !is_left_out(&shown) || SkillName::parse(&shown).is_ok()
}

/// Checks one folder, and reads it if it changed. Returns its state, or `None` if it is gone or a
/// plain file, and true if anything changed.
fn look(
    root: &OpenRoot,
    name: &OsStr,
    known: Option<SkillFolder>,
    watcher: Option<Watcher<'_>>,
) -> (Option<SkillFolder>, bool) {
    let started = Instant::now();
    let had_any = known.is_some();
    let held: Vec<WatchId> = known.as_ref().map(|known| known.watches.clone()).unwrap_or_default();
    let folder = match open_skill(&root.handle, name) {
        Ok(Some(folder)) => folder,
        Ok(None) => return (None, had_any),
        Err(trouble) => {
            let (mut folder, has_changed) = refused(trouble, known, started);
            // A link or a device has no watch, but the watch of the root reports its change.
            folder.is_watched = watcher.is_some() && !root.is_remote;
            return (Some(folder), has_changed);
        }
    };
    let mut watches = Vec::new();
    let mut is_watched = watcher.is_some() && !root.is_remote && is_on(&folder, root.place.0);
    let mut enter = |folder: &Dir| {
        let Some(watcher) = watcher.filter(|_| is_watched) else { return };
        match watcher.set(folder, &held) {
            Some(watch) if watches.contains(&watch) => {}
            Some(watch) if watches.len() < MAX_WATCHES => watches.push(watch),
            Some(watch) => {
                is_watched = false;
                watcher.notices.unwatch(watch);
            }
            None => is_watched = false,
        }
    };
    let shown = name.to_string_lossy();
    let (mut found, has_changed) = match known {
        Some(mut known) if known.is_settled => {
            let survey = walk(&folder, &mut enter, &mut |_| Ok(()));
            if known.fingerprint == Some(survey.fingerprint) {
                known.looked = started;
                (known, false)
            } else {
                let reading = read_folder(&shown, &folder, &mut enter, &root.trust);
                judge(reading, Some(known), started)
            }
        }
        known => judge(read_folder(&shown, &folder, &mut enter, &root.trust), known, started),
    };
    found.watches = watches;
    found.is_watched = is_watched;
    found.cost = started.elapsed();
    (Some(found), has_changed)
}

impl Watcher<'_> {
    /// Watches a folder. Returns `None` if the limit is reached.
    fn set(&self, folder: &Dir, held: &[WatchId]) -> Option<WatchId> {
        let take = |left: usize| left.checked_sub(1);
        if held.is_empty() && self.left.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let watch = self.notices.watch(folder).ok()?;
        if held.contains(&watch) {
            return Some(watch);
        }
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            self.notices.unwatch(watch);
            return None;
        }
        Some(watch)
    }
}

/// The state of a folder that cannot be opened. After a failure of the machine it keeps its skill.
fn refused(trouble: Trouble, known: Option<SkillFolder>, looked: Instant) -> (SkillFolder, bool) {
    let is_interrupted = trouble.is_interruption();
    let diagnostics = vec![Diagnostic::about(Severity::Error, ".", trouble.into_problem())];
    let has_changed = known.as_ref().is_none_or(|known| known.diagnostics != diagnostics);
    let unsettled = if is_interrupted { next_try(known.as_ref()) } else { 0 };
    let snapshot = known.filter(|_| is_interrupted).and_then(|known| known.snapshot);
    let folder = SkillFolder {
        fingerprint: None,
        is_settled: !is_interrupted,
        snapshot,
        diagnostics,
        watches: Vec::new(),
        is_watched: false,
        cost: looked.elapsed(),
        looked,
        unsettled,
        unfit: None,
    };
    (folder, has_changed)
}

fn judge(reading: Reading, known: Option<SkillFolder>, looked: Instant) -> (SkillFolder, bool) {
    let Reading { snapshot, diagnostics, fingerprint, is_interrupted, newest, .. } = reading;
    let is_rested = known.as_ref().is_some_and(|known| known.fingerprint == Some(fingerprint));
    let is_settled = (is_rested || newest.saturating_add(RECENT) < now()) && !is_interrupted;
    let unsettled = if is_interrupted { next_try(known.as_ref()) } else { 1 };
    let before = known.as_ref().and_then(|known| known.snapshot.clone());
    let snapshot = match (snapshot, before) {
        (Some(new), Some(old)) if is_same(&new, &old) => Some(old),
        (Some(new), _) => Some(new),
        (None, old) => old.filter(|_| !is_settled),
    };
    let has_changed = known.is_none_or(|known| {
        let is_same = match (&known.snapshot, &snapshot) {
            (Some(one), Some(other)) => is_same(one, other),
            (None, None) => true,
            _ => false,
        };
        !is_same || known.diagnostics != diagnostics
    });
    let folder = SkillFolder {
        fingerprint: Some(fingerprint),
        is_settled,
        snapshot,
        diagnostics,
        watches: Vec::new(),
        is_watched: false,
        cost: Duration::ZERO,
        looked,
        unsettled,
        unfit: None,
    };
    (folder, has_changed)
}

/// True for the same files, with the same trusted signature.
fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    one.digest() == other.digest() && one.signer() == other.signer()
}

fn next_try(known: Option<&SkillFolder>) -> u32 {
    known.map_or(1, |known| known.unsettled.saturating_add(1))
}

/// True if the folder is on this device. A mounted file system may be of any type.
fn is_on(folder: &Dir, device: u64) -> bool {
    folder.see().is_ok_and(|seen| seen.dev() == device)
}

/// Opens a skill's folder; a link is an error. Returns `None` if it is gone or a plain file, such
/// as a README.
fn open_skill(root: &Dir, name: &OsStr) -> Result<Option<Dir>, Trouble> {
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(None),
        _ => Err(Trouble::Io(error)),
    };
    match root.open_folder(name) {
        Ok(folder) => return Ok(Some(folder)),
        // A link fails in this way as well.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
        Err(error) => return missing(error),
    }
    let seen = match root.see_entry(name) {
        Ok(seen) => seen,
        Err(error) => return missing(error),
    };
    match special_kind(seen.kind()) {
        None if seen.kind() == FileType::RegularFile => Ok(None),
        None => Err(Trouble::Changed),
        Some(kind) => {
            let problem = Problem::new("special-file", format!("is {kind}"));
            Err(Trouble::Refused(problem.help("put the skill's actual folder here")))
        }
    }
}
