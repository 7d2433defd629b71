//! The state of a file system between two turns, as plain values, and a file system from them.
//!
//! Names of nodes are their numbers, which guests see as `st_ino` and which are never used twice.
//! Mounts are not part of the state: the order makes them again. What the values say is believed as
//! little as what a guest says, because they may come from a pack that somebody has changed.
//!
//! INVARIANT(same-files): what was rebuilt answers every call as the original would, the used quota
//! and the cookies of listings included.

mod export;
mod rebuild;

use std::sync::Arc;

use crate::vfs::descriptor::{Access, Fd};
use crate::vfs::tree::device::Device;
use crate::vfs::tree::node::{MountedAs, Times};
use crate::vfs::tree::storage::StorageShape;
use wardian_formats::job::outcome::Stream;

pub(crate) use crate::vfs::parked::export::StoredBytes;
pub(crate) use crate::vfs::parked::rebuild::Rebuild;

/// The number of a node, as guests see it.
pub(crate) type Inode = u64;

/// The files of a guest, without the bytes of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedTree {
    /// The files that the host has mounted during the turns, in order.
    pub(crate) shown: Vec<ParkedShown>,
    /// All nodes of the workspace by their numbers, unlinked open ones included.
    pub(crate) nodes: Vec<(Inode, ParkedNode)>,
    /// The last number that was given to a node.
    pub(crate) last_inode: Inode,
}

/// A file that the host has mounted during a turn: a blob that the guest had written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedShown {
    pub(crate) inode: Inode,
    pub(crate) path: Arc<str>,
    pub(crate) size: u64,
}

/// A node of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedNode {
    pub(crate) times: Times,
    pub(crate) kind: ParkedKind,
}

/// The kinds of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParkedKind {
    Folder {
        next_cookie: u64,
        /// Sorted by name.
        entries: Vec<ParkedEntry>,
    },
    File(StorageShape),
    Link(Box<str>),
    /// A blob that is seen in the workspace.
    Mounted {
        /// The number of the blob.
        blob: Inode,
        /// The name that it has been given.
        path: Arc<str>,
        name: MountedAs,
    },
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedEntry {
    pub(crate) name: Arc<str>,
    pub(crate) cookie: u64,
    pub(crate) inode: Inode,
}

/// A descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedDescriptor {
    pub(crate) fd: Fd,
    pub(crate) nonblocking: bool,
    pub(crate) what: ParkedOpen,
}

/// What a descriptor is open on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParkedOpen {
    Input,
    Output(Stream),
    Device(Device),
    Folder {
        place: ParkedPlace,
        /// The path of a preopened folder.
        preopened: Option<Arc<str>>,
        /// The cookie and the name of the last listed entry.
        listed: Option<(u64, Arc<str>)>,
    },
    File {
        place: ParkedPlace,
        /// Where the bytes come from, if not from the file at that place: a program has given a
        /// blob of the workspace bytes of its own while this was open. The number of the blob.
        reads: Option<Inode>,
        position: ParkedPosition,
        access: Access,
        appends: bool,
    },
}

/// A position in an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParkedPosition {
    At(u64),
    /// The same as that of a descriptor with a lower number, of which this is a duplicate.
    SharedWith(Fd),
}

/// A place that a descriptor is open on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParkedPlace {
    Own(Inode),
    /// In a mounted tree, by its place among all of them.
    Mounted {
        tree: u32,
        path: Box<str>,
    },
}
