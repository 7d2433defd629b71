//! A disk in memory that fails on request and loses unsynced data.
//!
//! It gives weaker guarantees than any real file system: each change of a folder is kept or lost on
//! its own, a rename is two changes, and unsynced content survives in part, with zeros, or not at
//! all.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test may panic; that is how it fails"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::blobs::local::disk::{Disk, FileStamp, FolderEntry};

/// The ways in which a disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails and does nothing.
    Once(i32),
    /// The call has its effect and reports a failure nevertheless.
    OnceAfterEffect(i32),
    /// From this call on the disk is full: every call that needs room fails.
    Full,
    /// If the call writes, it writes one byte only. This is not a failure.
    ShortWrite,
    /// If the call reads or writes, a signal interrupts it. This is not a failure.
    Interrupted,
    /// The power is cut: this call and all later ones fail.
    PowerCut,
}

/// The kinds of calls that faults distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Write,
    Read,
    /// Takes room on the disk.
    Grow,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    content: Vec<u8>,
    /// The content as it was when it was last synced.
    durable: Vec<u8>,
    used: Duration,
    changed: i64,
}

/// A change of a folder that was not synced yet.
#[derive(Debug, Clone)]
struct Change {
    path: PathBuf,
    /// The node that has the name now; `None` if the name is free.
    node: Option<Node>,
}

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<PathBuf, Node>,
    durable: BTreeMap<PathBuf, Node>,
    pending: Vec<Change>,
    inodes: Vec<Inode>,
    locked: BTreeSet<PathBuf>,
    calls: u64,
    fault: Option<(u64, Fault)>,
    ticks: i64,
}

/// The disk. Clones share its state.
#[derive(Debug, Clone, Default)]
pub struct FaultyDisk(Arc<Mutex<State>>);

/// An open file.
#[derive(Debug)]
pub struct FaultyFile {
    disk: FaultyDisk,
    inode: usize,
    lock: Option<PathBuf>,
}

impl Drop for FaultyFile {
    fn drop(&mut self) {
        if let Some(path) = &self.lock {
            self.disk.0.lock().locked.remove(path);
        }
    }
}

fn failure(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

impl FaultyDisk {
    /// Lets the `at`-th call from now on fail, counted from 0.
    pub fn fail_at(&self, at: u64, fault: Fault) {
        let mut state = self.0.lock();
        state.fault = Some((state.calls + at, fault));
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.0.lock().fault = None;
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.0.lock().calls
    }

    /// Names of the files in a folder.
    pub fn files(&self, folder: &Path) -> Vec<String> {
        let state = self.0.lock();
        let inside = state.names.keys().filter(|path| path.parent() == Some(folder));
        inside.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    /// The disk after a loss of power: `choose` decides about each change that was not synced.
    pub fn after_power_loss(&self, mut choose: impl FnMut(usize) -> usize) -> Self {
        let state = self.0.lock();
        let mut names = state.durable.clone();
        for change in &state.pending {
            if choose(2) == 1 {
                apply(&mut names, change);
            }
        }
        // The entries of a lost folder are lost with it.
        let is_reachable = |path: &Path| {
            path.ancestors()
                .skip(1)
                .all(|above| above.parent().is_none() || names.get(above) == Some(&Node::Folder))
        };
        let reachable: BTreeMap<_, _> = names
            .iter()
            .filter(|(path, _)| is_reachable(path))
            .map(|(path, node)| (path.clone(), *node))
            .collect();
        let inodes = state.inodes.iter().map(|inode| surviving(inode, &mut choose)).collect();
        Self(Arc::new(Mutex::new(State {
            durable: reachable.clone(),
            names: reachable,
            inodes,
            ..State::default()
        })))
    }

    /// Counts a call and decides whether it fails: before it does anything, or after.
    fn call(&self, operation: Operation) -> io::Result<Option<io::Error>> {
        let mut state = self.0.lock();
        let at = state.calls;
        state.calls += 1;
        let Some((from, fault)) = state.fault else { return Ok(None) };
        match fault {
            Fault::Once(code) if at == from => Err(failure(code)),
            Fault::OnceAfterEffect(code) if at == from => Ok(Some(failure(code))),
            Fault::Full if at >= from => match operation {
                Operation::Write | Operation::Grow => Err(failure(libc::ENOSPC)),
                Operation::Read | Operation::Other => Ok(None),
            },
            Fault::Interrupted if at == from => match operation {
                Operation::Write | Operation::Read => Err(failure(libc::EINTR)),
                Operation::Grow | Operation::Other => Ok(None),
            },
            Fault::PowerCut if at >= from => Err(failure(libc::EIO)),
            _ => Ok(None),
        }
    }

    /// Counts and performs a call. Fails before or after it if a fault is due.
    fn act<T>(
        &self,
        operation: Operation,
        act: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        let afterwards = self.call(operation)?;
        let done = act(&mut self.0.lock())?;
        afterwards.map_or(Ok(done), Err)
    }
}

fn apply(names: &mut BTreeMap<PathBuf, Node>, change: &Change) {
    match change.node {
        Some(node) => names.insert(change.path.clone(), node),
        None => names.remove(&change.path),
    };
}

/// The rest of a file's content: all, a beginning, a beginning and zeros, or the synced part.
fn surviving(inode: &Inode, choose: &mut impl FnMut(usize) -> usize) -> Inode {
    let content = if inode.content == inode.durable {
        inode.durable.clone()
    } else {
        let kept = choose(inode.content.len() + 1);
        let mut partial = inode.content[..kept].to_vec();
        match choose(3) {
            0 => inode.durable.clone(),
            1 => partial,
            _ => {
                partial.resize(inode.content.len(), 0);
                partial
            }
        }
    };
    Inode { durable: content.clone(), content, used: inode.used, changed: 0 }
}

impl State {
    fn change(&mut self, path: &Path, node: Option<Node>) {
        let change = Change { path: path.to_owned(), node };
        apply(&mut self.names, &change);
        self.pending.push(change);
    }

    fn has_folder(&self, path: &Path) -> bool {
        path.parent().is_none() || self.names.get(path) == Some(&Node::Folder)
    }

    fn inode(&mut self, index: usize) -> &mut Inode {
        self.ticks += 1;
        let inode = &mut self.inodes[index];
        inode.changed = self.ticks;
        inode
    }

    fn new_file(&mut self, path: &Path) -> io::Result<usize> {
        if self.names.contains_key(path) {
            return Err(failure(libc::EEXIST));
        }
        if !path.parent().is_some_and(|parent| self.has_folder(parent)) {
            return Err(failure(libc::ENOENT));
        }
        self.inodes.push(Inode::default());
        let index = self.inodes.len() - 1;
        self.change(path, Some(Node::File(index)));
        Ok(index)
    }
}

impl Disk for FaultyDisk {
    type File = FaultyFile;

    fn create_folder(&self, path: &Path) -> io::Result<bool> {
        self.act(Operation::Grow, |state| match state.names.get(path) {
            Some(Node::Folder) => Ok(false),
            Some(Node::File(_)) => Err(failure(libc::EEXIST)),
            None if path.parent().is_some_and(|parent| state.has_folder(parent)) => {
                state.change(path, Some(Node::Folder));
                Ok(true)
            }
            None => Err(failure(libc::ENOENT)),
        })
    }

    fn restrict_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Other, |state| {
            if state.has_folder(path) { Ok(()) } else { Err(failure(libc::ENOENT)) }
        })
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Other, |state| {
            if !state.has_folder(path) {
                return Err(failure(libc::ENOENT));
            }
            let pending = std::mem::take(&mut state.pending);
            for change in pending {
                if change.path.parent() == Some(path) {
                    apply(&mut state.durable, &change);
                } else {
                    state.pending.push(change);
                }
            }
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        self.act(Operation::Other, |state| {
            if !state.has_folder(path) {
                return Err(failure(libc::ENOENT));
            }
            let inside = state.names.iter().filter(|(name, _)| name.parent() == Some(path));
            Ok(inside
                .map(|(name, node)| {
                    let name = name.file_name().unwrap().to_str().unwrap().to_owned();
                    let (is_file, size, used) = match node {
                        Node::Folder => (false, 0, Duration::ZERO),
                        Node::File(index) => {
                            let inode = &state.inodes[*index];
                            (true, inode.content.len() as u64, inode.used)
                        }
                    };
                    FolderEntry { name, is_file, size, used }
                })
                .collect())
        })
    }

    fn for_each_name(&self, path: &Path, each: &mut dyn FnMut(&str)) -> io::Result<()> {
        self.list(path)?.iter().for_each(|entry| each(&entry.name));
        Ok(())
    }

    fn free(&self, _: &Path) -> io::Result<u64> {
        self.act(Operation::Other, |_| Ok(u64::MAX))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<FaultyFile>> {
        let inode = self.act(Operation::Grow, |state| match state.names.get(path) {
            Some(Node::File(index)) => Ok(*index),
            _ => state.new_file(path),
        })?;
        let is_free = self.0.lock().locked.insert(path.to_owned());
        let lock = Some(path.to_owned());
        Ok(is_free.then(|| FaultyFile { disk: self.clone(), inode, lock }))
    }

    fn create(&self, path: &Path) -> io::Result<FaultyFile> {
        let inode = self.act(Operation::Grow, |state| state.new_file(path))?;
        Ok(FaultyFile { disk: self.clone(), inode, lock: None })
    }

    fn open(&self, path: &Path) -> io::Result<FaultyFile> {
        let inode = self.act(Operation::Other, |state| match state.names.get(path) {
            Some(Node::File(index)) => Ok(*index),
            Some(Node::Folder) => Err(failure(libc::EISDIR)),
            None => Err(failure(libc::ENOENT)),
        })?;
        Ok(FaultyFile { disk: self.clone(), inode, lock: None })
    }

    fn write(&self, file: &mut FaultyFile, bytes: &[u8]) -> io::Result<usize> {
        self.act(Operation::Write, |state| {
            let is_short = state.fault == Some((state.calls - 1, Fault::ShortWrite));
            let bytes = if is_short { &bytes[..1] } else { bytes };
            state.inode(file.inode).content.extend_from_slice(bytes);
            Ok(bytes.len())
        })
    }

    fn read_at(&self, file: &FaultyFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.act(Operation::Read, |state| {
            let content = &state.inodes[file.inode].content;
            let start = usize::try_from(offset).unwrap().min(content.len());
            let count = buffer.len().min(content.len() - start);
            buffer[..count].copy_from_slice(&content[start..start + count]);
            Ok(count)
        })
    }

    fn sync_file(&self, file: &FaultyFile) -> io::Result<()> {
        self.act(Operation::Grow, |state| {
            let inode = &mut state.inodes[file.inode];
            inode.durable = inode.content.clone();
            Ok(())
        })
    }

    fn stamp(&self, file: &FaultyFile) -> io::Result<FileStamp> {
        self.act(Operation::Other, |state| {
            let inode = &state.inodes[file.inode];
            Ok(FileStamp {
                place: (0, file.inode as u64),
                size: inode.content.len() as u64,
                used: inode.used,
                changed: (inode.changed, 0),
            })
        })
    }

    fn set_used(&self, file: &FaultyFile, time: Duration) -> io::Result<()> {
        self.act(Operation::Other, |state| {
            state.inode(file.inode).used = time;
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act(Operation::Grow, |state| {
            let node = *state.names.get(from).ok_or_else(|| failure(libc::ENOENT))?;
            state.change(to, Some(node));
            state.change(from, None);
            if let Node::File(index) = node {
                state.inode(index);
            }
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.act(Operation::Other, |state| match state.names.get(path) {
            Some(Node::File(_)) => {
                state.change(path, None);
                Ok(())
            }
            _ => Err(failure(libc::ENOENT)),
        })
    }
}
