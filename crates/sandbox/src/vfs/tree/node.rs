//! The nodes that belong to one run: the workspace, and the folders that lead to mounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::vfs::errno::Errno;
use crate::vfs::tree::content::Content;
use crate::vfs::tree::immutable::TreeNode;
use crate::vfs::tree::quota::Quota;
use crate::vfs::tree::storage::Storage;

/// Nanoseconds since the Unix epoch, as the guest's clock counts them.
pub type Timestamp = u64;

/// The time of change that guests see on everything outside of the workspace.
///
/// The start of 1980, the earliest time in zip files. It is a constant, so that no run can learn
/// the time at which a skill was installed or a blob written.
pub(crate) const MOUNT_TIME: Timestamp = 315_532_800 * 1_000_000_000;

/// Index of one of the run's own nodes.
pub(crate) type NodeIndex = u32;

/// Index of a mounted tree.
pub(crate) type TreeIndex = u32;

/// A place in the tree of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// One of the run's own nodes.
    Own(NodeIndex),
    /// A node of a mounted tree.
    Mounted {
        /// The tree.
        tree: TreeIndex,
        /// The node in it.
        node: TreeNode,
    },
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A stream or another device that is not a file.
    Device,
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

/// The parts of the tree: some can be changed, some cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    /// Fixed by the host.
    ReadOnly,
    /// `/workspace` and everything in it.
    Workspace,
}

/// The times of a node's last read, write and change. Reading leaves no trace: as on a file system
/// mounted with `noatime`, the time of access is that of creation until it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Last access.
    pub(crate) accessed: Timestamp,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of content, times or links.
    pub changed: Timestamp,
}

impl Times {
    /// All three at once.
    pub const fn all(time: Timestamp) -> Self {
        Self { accessed: time, modified: time, changed: time }
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnEntry {
    /// Names the entry in listings; never used twice in one folder.
    pub cookie: u64,
    /// The place that the name leads to.
    pub place: Place,
}

/// A folder of the run.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The place that `..` leads to.
    pub parent: Place,
    /// The entries, sorted by name.
    pub entries: BTreeMap<Arc<str>, OwnEntry>,
    next_cookie: u64,
}

/// First cookie of a named entry; `.` and `..` have the ones below.
pub(crate) const FIRST_COOKIE: u64 = 3;

impl Folder {
    pub(crate) const fn new(parent: Place) -> Self {
        Self { parent, entries: BTreeMap::new(), next_cookie: FIRST_COOKIE }
    }

    /// The cookie of the entry that is added next; all others are smaller.
    pub(crate) const fn next_cookie(&self) -> u64 {
        self.next_cookie
    }

    /// Sets the cookie of the entry that is added next.
    pub(crate) const fn go_on_at(&mut self, next_cookie: u64) {
        self.next_cookie = next_cookie;
    }

    /// Adds or replaces an entry.
    pub(crate) fn insert(&mut self, name: &str, place: Place) {
        let cookie = self.next_cookie;
        self.next_cookie = cookie.saturating_add(1);
        self.entries.insert(name.into(), OwnEntry { cookie, place });
    }
}

/// How a mounted file came to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MountedAs {
    /// A name that is not in listings: a program that reads all files of a folder reads each blob
    /// once.
    Unlisted,
    /// A name that listings show.
    Listed,
    /// The caller has put it there. Its bytes are charged, so that the program can change it.
    Placed,
}

/// The kinds of nodes.
pub(crate) enum NodeKind {
    Folder(Folder),
    File(Storage),
    Link(Box<str>),
    /// A single mounted file, such as a blob. In the workspace it becomes a file when it is opened
    /// for writing.
    Mounted {
        content: Arc<dyn Content>,
        path: Arc<str>,
        name: MountedAs,
    },
}

impl NodeKind {
    /// Length of a file; zero for others.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File(storage) => storage.size(),
            Self::Mounted { content, .. } => content.size(),
            Self::Folder(_) | Self::Link(_) => 0,
        }
    }

    /// True for a further name of a blob, at its `path`.
    pub(crate) fn is_unlisted(&self, path: &str) -> bool {
        match self {
            Self::Mounted { path: mounted, name, .. } => {
                *name == MountedAs::Unlisted && **mounted == *path
            }
            Self::File(_) | Self::Folder(_) | Self::Link(_) => false,
        }
    }

    /// True for a file that has the bytes of the mount at `path`.
    pub(crate) fn is_still(&self, path: &str) -> bool {
        match self {
            Self::File(storage) => storage.is_still(path),
            Self::Mounted { path: mounted, .. } => **mounted == *path,
            Self::Folder(_) | Self::Link(_) => false,
        }
    }
}

/// One of the run's own nodes.
pub(crate) struct Node {
    pub kind: NodeKind,
    pub(crate) region: Region,
    /// Names that stand for it. A node without names lives until its last descriptor is closed.
    pub links: u32,
    /// Descriptors that are open on it.
    pub open: u32,
    pub inode: u64,
    pub times: Times,
    /// The turn in which it last got a name, or, if it is a file, other content.
    turn: u32,
}

impl Node {
    /// Bytes charged for the node itself, without the cost of its entries.
    pub(crate) fn charged(&self) -> u64 {
        match &self.kind {
            NodeKind::File(storage) => storage.allocated(),
            NodeKind::Mounted { content, name: MountedAs::Placed, .. } => content.size(),
            NodeKind::Link(target) => u64::try_from(target.len()).unwrap_or(u64::MAX),
            NodeKind::Folder(_) | NodeKind::Mounted { .. } => 0,
        }
    }

    pub(crate) const fn file_kind(&self) -> FileKind {
        match self.kind {
            NodeKind::Folder(_) => FileKind::Folder,
            NodeKind::File(_) | NodeKind::Mounted { .. } => FileKind::File,
            NodeKind::Link(_) => FileKind::Link,
        }
    }
}

/// All nodes of one run in one flat list, so that dropping a run's files never recurses however
/// deep a guest has nested its folders.
#[derive(Default)]
pub(crate) struct Nodes {
    slots: Vec<Option<Node>>,
    free: Vec<NodeIndex>,
    last_inode: u64,
    turn: u32,
}

impl Nodes {
    /// Adds a node that has no name yet.
    pub(crate) fn add(
        &mut self,
        kind: NodeKind,
        region: Region,
        now: Timestamp,
    ) -> Result<NodeIndex, Errno> {
        self.last_inode = self.last_inode.saturating_add(1);
        self.add_numbered(kind, region, self.last_inode, Times::all(now))
    }

    /// Adds a node that has no name yet, under a number that no other has.
    pub(crate) fn add_numbered(
        &mut self,
        kind: NodeKind,
        region: Region,
        inode: u64,
        times: Times,
    ) -> Result<NodeIndex, Errno> {
        let node = Node { kind, region, links: 0, open: 0, inode, times, turn: self.turn };
        if let Some(index) = self.free.pop() {
            if let Some(slot) = usize::try_from(index).ok().and_then(|i| self.slots.get_mut(i)) {
                *slot = Some(node);
            }
            return Ok(index);
        }
        let index = NodeIndex::try_from(self.slots.len()).ok().ok_or(Errno::NoSpace)?;
        self.slots.push(Some(node));
        Ok(index)
    }

    /// The number that the next node gets; no number is ever used twice.
    pub(crate) const fn next_inode(&self) -> u64 {
        self.last_inode.saturating_add(1)
    }

    /// Begins a turn: what was made or changed before is not [of the turn](Self::is_of_turn).
    pub(crate) const fn begin_turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
    }

    /// True for a node that got a name in this turn, and for a file whose content has changed in it.
    pub(crate) const fn is_of_turn(&self, node: &Node) -> bool {
        node.turn == self.turn
    }

    /// Lets numbers go on after this one.
    pub(crate) const fn number_after(&mut self, last_inode: u64) {
        self.last_inode = last_inode;
    }

    /// All nodes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeIndex, &Node)> {
        (0..).zip(&self.slots).filter_map(|(index, slot)| Some((index, slot.as_ref()?)))
    }

    /// Forgets the nodes of the workspace, but for the workspace itself. Nothing may lead to them any
    /// more.
    pub(crate) fn forget_workspace(&mut self, workspace: NodeIndex) {
        for (index, slot) in (0..).zip(&mut self.slots) {
            let is_forgotten = |node: &mut Node| node.region == Region::Workspace;
            if index != workspace && slot.take_if(is_forgotten).is_some() {
                self.free.push(index);
            }
        }
    }

    /// The node of that index; a node that is pointed at always exists.
    pub(crate) fn find(&self, index: NodeIndex) -> Result<&Node, Errno> {
        let index = usize::try_from(index).ok().ok_or(Errno::InputOutput)?;
        self.slots.get(index).and_then(Option::as_ref).ok_or(Errno::InputOutput)
    }

    /// As [`find`](Self::find), to change it.
    pub(crate) fn find_mut(&mut self, index: NodeIndex) -> Result<&mut Node, Errno> {
        let index = usize::try_from(index).ok().ok_or(Errno::InputOutput)?;
        self.slots.get_mut(index).and_then(Option::as_mut).ok_or(Errno::InputOutput)
    }

    /// The folder of that index.
    pub(crate) fn folder(&self, index: NodeIndex) -> Result<&Folder, Errno> {
        match &self.find(index)?.kind {
            NodeKind::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotFolder),
        }
    }

    /// As [`folder`](Self::folder), to change it.
    pub(crate) fn folder_mut(&mut self, index: NodeIndex) -> Result<&mut Folder, Errno> {
        match &mut self.find_mut(index)?.kind {
            NodeKind::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotFolder),
        }
    }

    /// The file of that index in the workspace.
    pub(crate) fn storage_mut(&mut self, index: NodeIndex) -> Result<&mut Storage, Errno> {
        match &mut self.find_mut(index)?.kind {
            NodeKind::File(storage) => Ok(storage),
            _ => Err(Errno::BadDescriptor),
        }
    }

    /// Notes that the content of a file, or the entries of a folder, have changed.
    pub(crate) fn touch(&mut self, index: NodeIndex, now: Timestamp) -> Result<(), Errno> {
        let turn = self.turn;
        let node = self.find_mut(index)?;
        node.times.modified = now;
        node.times.changed = now;
        if node.file_kind() == FileKind::File {
            node.turn = turn;
        }
        Ok(())
    }

    /// Notes that one more name stands for the node.
    pub(crate) fn add_link(&mut self, index: NodeIndex, now: Timestamp) -> Result<(), Errno> {
        let node = self.find_mut(index)?;
        node.links = node.links.saturating_add(1);
        self.rename(index, now)
    }

    /// Notes that another name stands for the node.
    pub(crate) fn rename(&mut self, index: NodeIndex, now: Timestamp) -> Result<(), Errno> {
        let turn = self.turn;
        let node = self.find_mut(index)?;
        node.times.changed = now;
        node.turn = turn;
        Ok(())
    }

    /// Notes that a name of the node is gone, and frees the node if that was the last use.
    pub(crate) fn drop_link(
        &mut self,
        index: NodeIndex,
        quota: &mut Quota,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let node = self.find_mut(index)?;
        node.links = node.links.saturating_sub(1);
        node.times.changed = now;
        if node.links == 0
            && let NodeKind::Folder(folder) = &mut node.kind
        {
            // The parent may be freed and its index used again while this folder is still open.
            folder.parent = Place::Own(index);
        }
        self.free_if_unused(index, quota);
        Ok(())
    }

    /// Notes that one more descriptor is open on the node.
    pub(crate) fn add_open(&mut self, index: NodeIndex) -> Result<(), Errno> {
        let node = self.find_mut(index)?;
        node.open = node.open.saturating_add(1);
        Ok(())
    }

    /// Notes that a descriptor was closed, and frees the node if that was the last use.
    pub(crate) fn drop_open(&mut self, index: NodeIndex, quota: &mut Quota) {
        if let Ok(node) = self.find_mut(index) {
            node.open = node.open.saturating_sub(1);
            self.free_if_unused(index, quota);
        }
    }

    /// Frees a node that no name and no descriptor leads to.
    pub(crate) fn free_if_unused(&mut self, index: NodeIndex, quota: &mut Quota) {
        let slot = usize::try_from(index).ok().and_then(|i| self.slots.get_mut(i));
        let unused = |node: &mut Node| node.links == 0 && node.open == 0;
        if let Some(node) = slot.and_then(|slot| slot.take_if(unused)) {
            quota.release(node.charged());
            self.free.push(index);
        }
    }
}
