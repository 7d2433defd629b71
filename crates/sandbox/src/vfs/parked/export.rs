//! What a file system is between two turns, as values.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use crate::vfs::FileSystem;
use crate::vfs::descriptor::{Descriptor, Fd, OpenFile, OpenFolder, Source};
use crate::vfs::errno::Errno;
use crate::vfs::parked::{
    Inode, ParkedDescriptor, ParkedEntry, ParkedKind, ParkedNode, ParkedOpen, ParkedPlace,
    ParkedPosition, ParkedShown, ParkedTree,
};
use crate::vfs::path::{LastLink, ROOT};
use crate::vfs::tree::content::Content;
use crate::vfs::tree::node::{Folder, Node, NodeKind, Place, Region};
use crate::vfs::tree::storage::Storage;

/// The bytes of a file that a pack has to hold.
pub(crate) enum StoredBytes<'a> {
    /// Of a file of the workspace.
    File(&'a Storage),
    /// Of a file that the host has mounted during a turn.
    Shown(&'a dyn Content),
}

impl fmt::Debug for StoredBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(_) => "File",
            Self::Shown(_) => "Shown",
        })
    }
}

impl StoredBytes<'_> {
    /// Length of the file.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File(storage) => storage.size(),
            Self::Shown(content) => content.size(),
        }
    }

    /// The number of changes since the file was made. While it stays, so do the bytes.
    pub(crate) const fn edits(&self) -> u64 {
        match self {
            Self::File(storage) => storage.edits(),
            Self::Shown(_) => 0,
        }
    }

    /// Ranges of bytes, in order, outside of which all are zero.
    pub(crate) fn filled(&self) -> Vec<Range<u64>> {
        match self {
            Self::File(storage) => storage.filled().collect(),
            Self::Shown(content) => std::iter::once(0..content.size()).collect(),
        }
    }

    /// Reads from `offset`. Returns the number of bytes, fewer than fit only at the end.
    ///
    /// # Errors
    ///
    /// The underlying file cannot be read.
    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(storage) => Ok(storage.read_at(offset, into)),
            Self::Shown(content) => content.read_at(offset, into),
        }
    }
}

impl FileSystem {
    /// The paths of all mounted trees, in the order that their numbers follow from.
    pub(crate) fn tree_paths(&self) -> impl Iterator<Item = &str> {
        self.names.trees.iter().map(|mounted| &*mounted.path)
    }

    /// The nodes of the workspace, and the files that were mounted during the turns.
    ///
    /// # Errors
    ///
    /// `EIO` if the file system is not whole.
    pub(crate) fn parked_tree(&self) -> Result<ParkedTree, Errno> {
        let nodes = self.names.nodes.iter().filter(|(_, node)| node.region == Region::Workspace);
        let nodes = nodes.map(|(_, node)| Ok((node.inode, self.parked_node(node)?)));
        let mut nodes = nodes.collect::<Result<Vec<_>, Errno>>()?;
        nodes.sort_unstable_by_key(|(inode, _)| *inode);
        let shown = self.shown_nodes().map(|shown| {
            let (node, path, content) = shown?;
            Ok(ParkedShown { inode: node.inode, path: path.into(), size: content.size() })
        });
        let shown = shown.collect::<Result<Vec<_>, Errno>>()?;
        let last_inode = self.names.nodes.next_inode().saturating_sub(1);
        Ok(ParkedTree { shown, nodes, last_inode })
    }

    /// The bytes of all files that belong to the state, by the numbers of the files.
    ///
    /// # Errors
    ///
    /// As [`parked_tree`](Self::parked_tree).
    pub(crate) fn stored_bytes(&self) -> Result<Vec<(Inode, StoredBytes<'_>)>, Errno> {
        let files = self.names.nodes.iter().filter_map(|(_, node)| match &node.kind {
            NodeKind::File(storage) => Some((node.inode, StoredBytes::File(storage))),
            _ => None,
        });
        let mut found: Vec<_> = files.collect();
        for shown in self.shown_nodes() {
            let (node, _, content) = shown?;
            found.push((node.inode, StoredBytes::Shown(content)));
        }
        found.sort_unstable_by_key(|(inode, _)| *inode);
        Ok(found)
    }

    /// All open descriptors, by their numbers.
    ///
    /// # Errors
    ///
    /// As [`parked_tree`](Self::parked_tree).
    pub(crate) fn parked_descriptors(&self) -> Result<Vec<ParkedDescriptor>, Errno> {
        let mut positions = HashMap::new();
        let parked = self.descriptors.iter().map(|(fd, descriptor)| {
            let nonblocking = self.descriptors.is_nonblocking(fd);
            let what = match descriptor {
                Descriptor::Input => ParkedOpen::Input,
                Descriptor::Output(stream) => ParkedOpen::Output(*stream),
                Descriptor::Device(device) => ParkedOpen::Device(*device),
                Descriptor::Folder(OpenFolder { place, preopened, listed }) => {
                    let place = self.parked_place(*place)?;
                    let (preopened, listed) = (preopened.clone(), listed.clone());
                    ParkedOpen::Folder { place, preopened, listed }
                }
                Descriptor::File(file) => self.parked_file(fd, file, &mut positions)?,
            };
            Ok(ParkedDescriptor { fd, nonblocking, what })
        });
        parked.collect()
    }

    /// `positions` has the descriptors so far, by the places of their positions in memory.
    fn parked_file(
        &self,
        fd: Fd,
        file: &OpenFile,
        positions: &mut HashMap<usize, Fd>,
    ) -> Result<ParkedOpen, Errno> {
        let OpenFile { source, offset, access, appends } = file;
        let first = *positions.entry(offset.identity()).or_insert(fd);
        let position = match first == fd {
            true => ParkedPosition::At(offset.get()),
            false => ParkedPosition::SharedWith(first),
        };
        let (place, reads) = match source {
            Source::Workspace(index) => (Place::Own(*index), None),
            Source::Mounted(content, place) => {
                let is_there = self.mounted_content(*place)?;
                let is_there = is_there.is_some_and(|there| Arc::ptr_eq(there, content));
                (*place, if is_there { None } else { Some(self.inode_of(content)?) })
            }
        };
        let (place, access, appends) = (self.parked_place(place)?, *access, *appends);
        Ok(ParkedOpen::File { place, reads, position, access, appends })
    }

    fn parked_node(&self, node: &Node) -> Result<ParkedNode, Errno> {
        let kind = match &node.kind {
            NodeKind::Folder(folder) => ParkedKind::Folder {
                next_cookie: folder.next_cookie(),
                entries: self.parked_entries(folder)?,
            },
            NodeKind::File(storage) => ParkedKind::File(storage.shape()),
            NodeKind::Link(target) => ParkedKind::Link(target.clone()),
            NodeKind::Mounted { content, path, name } => ParkedKind::Mounted {
                blob: self.inode_of(content)?,
                path: Arc::clone(path),
                name: *name,
            },
        };
        Ok(ParkedNode { times: node.times, kind })
    }

    fn parked_entries(&self, folder: &Folder) -> Result<Vec<ParkedEntry>, Errno> {
        let entries = folder.entries.iter().map(|(name, entry)| {
            // Mounts are never below the workspace.
            let Place::Own(index) = entry.place else { return Err(Errno::InputOutput) };
            let inode = self.names.nodes.find(index)?.inode;
            Ok(ParkedEntry { name: Arc::clone(name), cookie: entry.cookie, inode })
        });
        entries.collect()
    }

    fn parked_place(&self, place: Place) -> Result<ParkedPlace, Errno> {
        match place {
            Place::Own(index) => Ok(ParkedPlace::Own(self.names.nodes.find(index)?.inode)),
            Place::Mounted { tree, node } => {
                let path = self.names.tree(tree)?.tree.path_of(node).into();
                Ok(ParkedPlace::Mounted { tree, path })
            }
        }
    }

    /// The number of the mounted file with this content.
    fn inode_of(&self, content: &Arc<dyn Content>) -> Result<Inode, Errno> {
        let mut nodes = self.names.nodes.iter().filter(|(_, node)| {
            let is_mount = node.region == Region::ReadOnly;
            let is_it = |kind: &NodeKind| {
                matches!(kind, NodeKind::Mounted { content: other, .. } if Arc::ptr_eq(other, content))
            };
            is_mount && is_it(&node.kind)
        });
        nodes.next().map(|(_, node)| node.inode).ok_or(Errno::InputOutput)
    }

    /// The nodes, paths and contents of the files that were mounted during the turns.
    fn shown_nodes(&self) -> impl Iterator<Item = Result<(&Node, &str, &dyn Content), Errno>> {
        self.shown.iter().map(|mount| {
            let place = self.names.resolve(ROOT, mount.path(), LastLink::Keep)?;
            let Place::Own(index) = place else { return Err(Errno::InputOutput) };
            let node = self.names.nodes.find(index)?;
            match &node.kind {
                NodeKind::Mounted { content, .. } => Ok((node, mount.path(), &**content)),
                _ => Err(Errno::InputOutput),
            }
        })
    }
}
