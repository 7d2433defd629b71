//! A file system from the values of one that was parked.
//!
//! INVARIANT(hostile-trees): values that no file system can have are refused: nodes without a name and
//! without a descriptor, folders within themselves or with two names, names that no program can make,
//! sizes beyond the quota. So what is accepted obeys all rules that the operations of guests rely on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::vfs::FileSystem;
use crate::vfs::descriptor::{Access, Descriptor, Fd, Offset, OpenFile, OpenFolder, Source};
use crate::vfs::errno::Errno;
use crate::vfs::limits::{MAX_DEPTH, MAX_NAME};
use crate::vfs::operations::transfer::MAX_OFFSET;
use crate::vfs::parked::{
    Inode, ParkedDescriptor, ParkedEntry, ParkedKind, ParkedOpen, ParkedPlace, ParkedPosition,
    ParkedShown, ParkedTree,
};
use crate::vfs::path::{BLOBS, LastLink, ROOT, check_path};
use crate::vfs::tree::content::SharedBytes;
use crate::vfs::tree::device::Device;
use crate::vfs::tree::immutable::is_plain_name;
use crate::vfs::tree::mount::Mount;
use crate::vfs::tree::node::{
    FIRST_COOKIE, FileKind, Folder, MountedAs, NodeIndex, NodeKind, OwnEntry, Place, Region,
};
use crate::vfs::tree::quota::Quota;
use crate::vfs::tree::storage::Storage;

/// A file system while it is rebuilt. It began with the same mounts as the parked one.
pub(crate) struct Rebuild<'a> {
    files: &'a mut FileSystem,
    /// The nodes by their numbers, the read-only ones included.
    nodes: BTreeMap<Inode, NodeIndex>,
    workspace: NodeIndex,
    /// The preopened folders that every guest begins with.
    preopened: BTreeMap<Fd, OpenFolder>,
}

impl fmt::Debug for Rebuild<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rebuild").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl<'a> Rebuild<'a> {
    /// Empties the workspace of a file system that has just begun, and closes its descriptors.
    ///
    /// # Errors
    ///
    /// `EIO` if the file system is not whole.
    pub(crate) fn begin(files: &'a mut FileSystem) -> Result<Self, Errno> {
        let Place::Own(workspace) = files.workspace else { return Err(Errno::InputOutput) };
        let mut preopened = BTreeMap::new();
        let open: Vec<_> = files.descriptors.iter().map(|(fd, one)| (fd, one.clone())).collect();
        for (fd, descriptor) in open {
            files.close(fd)?;
            if let Descriptor::Folder(folder) = descriptor
                && folder.preopened.is_some()
            {
                preopened.insert(fd, folder);
            }
        }
        files.names.nodes.forget_workspace(workspace);
        let entries = &mut files.names.nodes.folder_mut(workspace)?.entries;
        entries.clear();
        files.quota = Quota::new(files.quota.max_bytes(), files.quota.max_entries());
        let nodes = files.names.nodes.iter().map(|(index, node)| (node.inode, index)).collect();
        Ok(Self { files, nodes, workspace, preopened })
    }

    /// Makes all nodes of the workspace, files as zeros.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if the quota does not suffice, `EINVAL` for a tree that no program can make.
    pub(crate) fn add_tree(&mut self, tree: &ParkedTree) -> Result<(), Errno> {
        let root = self.files.names.nodes.find(self.workspace)?.inode;
        let mut has_root = false;
        for (inode, node) in &tree.nodes {
            if *inode == root {
                has_root = matches!(node.kind, ParkedKind::Folder { .. });
                continue;
            }
            let kind = self.kind_of(&node.kind)?;
            let nodes = &mut self.files.names.nodes;
            let index = nodes.add_numbered(kind, Region::Workspace, *inode, node.times)?;
            self.number(*inode, index)?;
        }
        if !has_root {
            return Err(Errno::Invalid);
        }
        for (inode, node) in &tree.nodes {
            if let ParkedKind::Folder { next_cookie, entries } = &node.kind {
                self.add_entries(*inode, *next_cookie, entries)?;
            }
        }
        self.ensure_one_tree()?;
        // Entries have changed the times of what they lead to.
        for (inode, node) in &tree.nodes {
            let index = self.index_of(*inode)?;
            self.files.names.nodes.find_mut(index)?.times = node.times;
        }
        let highest = self.nodes.last_key_value().map_or(0, |(inode, _)| *inode);
        let shown = tree.shown.iter().map(|shown| shown.inode).max().unwrap_or_default();
        if tree.last_inode < highest.max(shown) {
            return Err(Errno::Invalid);
        }
        self.files.names.nodes.number_after(tree.last_inode);
        Ok(())
    }

    /// Puts bytes into a file of the workspace.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the file has no memory.
    pub(crate) fn fill(&mut self, inode: Inode, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let index = self.index_of(inode)?;
        self.files.names.nodes.storage_mut(index)?.fill(offset, bytes)
    }

    /// Mounts a file as the host has during a turn. In the order of the parked tree.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if the quota does not suffice, `EEXIST` if the path is taken, `EINVAL` for a number
    /// that another node has.
    pub(crate) fn show(&mut self, shown: &ParkedShown, content: Vec<u8>) -> Result<(), Errno> {
        let name = shown.path.strip_prefix('/').and_then(|path| path.strip_prefix(BLOBS));
        let name = name.and_then(|name| name.strip_prefix('/'));
        if !name.is_some_and(is_plain_name) {
            return Err(Errno::Invalid);
        }
        let nodes = &mut self.files.names.nodes;
        let last = nodes.next_inode().saturating_sub(1);
        nodes.number_after(shown.inode.checked_sub(1).ok_or(Errno::Invalid)?);
        let mount = Mount::file(Arc::clone(&shown.path), Arc::new(SharedBytes::new(content)));
        self.files.mount_charged(&mount, shown.size)?;
        self.files.names.nodes.number_after(last);
        match self.files.names.resolve(ROOT, &shown.path, LastLink::Keep)? {
            Place::Own(index) => self.number(shown.inode, index),
            Place::Mounted { .. } => Err(Errno::Invalid),
        }
    }

    /// Opens all descriptors. The last step.
    ///
    /// # Errors
    ///
    /// `EMFILE` beyond the limit, `EINVAL` for descriptors that no program can have, among others if a
    /// node has neither a name nor a descriptor.
    pub(crate) fn open_all(mut self, descriptors: &[ParkedDescriptor]) -> Result<(), Errno> {
        for ParkedDescriptor { fd, nonblocking, what } in descriptors {
            let descriptor = self.opened(*fd, what)?;
            let used = match &descriptor {
                Descriptor::Folder(OpenFolder { place: Place::Own(used), .. })
                | Descriptor::File(OpenFile {
                    source: Source::Workspace(used) | Source::Mounted(_, Place::Own(used)),
                    ..
                }) => Some(*used),
                _ => None,
            };
            self.files.descriptors.set(*fd, descriptor)?;
            if let Some(used) = used {
                self.files.names.nodes.add_open(used)?;
            }
            self.files.descriptors.set_nonblocking(*fd, *nonblocking)?;
        }
        let mut nodes = self.files.names.nodes.iter();
        if nodes.any(|(_, node)| node.links == 0 && node.open == 0) {
            return Err(Errno::Invalid);
        }
        Ok(())
    }

    fn kind_of(&mut self, kind: &ParkedKind) -> Result<NodeKind, Errno> {
        let files = &mut *self.files;
        Ok(match kind {
            // The place of its parent follows from the entry that leads to it.
            ParkedKind::Folder { .. } => NodeKind::Folder(Folder::new(ROOT)),
            ParkedKind::File(shape) => NodeKind::File(Storage::of_shape(shape, &mut files.quota)?),
            ParkedKind::Link(target) => {
                check_path(target).ok().ok_or(Errno::Invalid)?;
                files.quota.charge(u64::try_from(target.len()).unwrap_or(u64::MAX))?;
                NodeKind::Link(target.clone())
            }
            ParkedKind::Mounted { blob, path, name } => {
                let blob = Place::Own(*self.nodes.get(blob).ok_or(Errno::Invalid)?);
                let content = files.mounted_content(blob)?.ok_or(Errno::Invalid)?;
                let (content, path) = (Arc::clone(content), Arc::clone(path));
                if *name == MountedAs::Placed {
                    files.quota.charge(content.size())?;
                }
                NodeKind::Mounted { content, path, name: *name }
            }
        })
    }

    fn add_entries(
        &mut self,
        folder: Inode,
        next_cookie: u64,
        entries: &[ParkedEntry],
    ) -> Result<(), Errno> {
        let folder = self.index_of(folder)?;
        let mut cookies = BTreeSet::new();
        let files = &mut *self.files;
        for ParkedEntry { name, cookie, inode } in entries {
            let is_known = (FIRST_COOKIE..next_cookie).contains(cookie) && cookies.insert(*cookie);
            if !is_known || !is_plain_name(name) {
                return Err(Errno::Invalid);
            }
            let index = *self.nodes.get(inode).ok_or(Errno::Invalid)?;
            files.quota.charge_entry(name)?;
            let node = files.names.nodes.find_mut(index)?;
            if node.region != Region::Workspace || index == self.workspace {
                return Err(Errno::Invalid);
            }
            if let NodeKind::Folder(child) = &mut node.kind {
                if node.links > 0 {
                    return Err(Errno::Invalid);
                }
                child.parent = Place::Own(folder);
            }
            node.links = node.links.checked_add(1).ok_or(Errno::Invalid)?;
            let entry = OwnEntry { cookie: *cookie, place: Place::Own(index) };
            let into = files.names.nodes.folder_mut(folder)?;
            if into.entries.insert(Arc::clone(name), entry).is_some() {
                return Err(Errno::Invalid);
            }
        }
        if next_cookie < FIRST_COOKIE {
            return Err(Errno::Invalid);
        }
        files.names.nodes.folder_mut(folder)?.go_on_at(next_cookie);
        Ok(())
    }

    /// Refuses folders that have entries and do not hang on the workspace, and those that lie too
    /// deep. A folder that was removed and is still open is its own parent and has no entries.
    fn ensure_one_tree(&mut self) -> Result<(), Errno> {
        let nodes = &mut self.files.names.nodes;
        let mut reached = BTreeSet::new();
        let mut level = vec![self.workspace];
        let mut depth = 1_usize;
        while !level.is_empty() {
            if depth > MAX_DEPTH {
                return Err(Errno::NameTooLong);
            }
            depth = depth.saturating_add(1);
            let mut below = Vec::new();
            for folder in level {
                reached.insert(folder);
                let entries = nodes.folder(folder)?.entries.values();
                below.extend(entries.filter_map(|entry| match entry.place {
                    Place::Own(child) if nodes.folder(child).is_ok() => Some(child),
                    _ => None,
                }));
            }
            level = below;
        }
        for index in self.nodes.values() {
            let node = nodes.find_mut(*index)?;
            if node.region != Region::Workspace || reached.contains(index) {
                continue;
            }
            if let NodeKind::Folder(folder) = &mut node.kind {
                if node.links > 0 || !folder.entries.is_empty() {
                    return Err(Errno::Invalid);
                }
                folder.parent = Place::Own(*index);
            }
        }
        Ok(())
    }

    fn opened(&mut self, fd: Fd, what: &ParkedOpen) -> Result<Descriptor, Errno> {
        match what {
            ParkedOpen::Input => Ok(Descriptor::Input),
            ParkedOpen::Output(stream) => Ok(Descriptor::Output(*stream)),
            ParkedOpen::Device(Device::Input | Device::Output(_)) => Err(Errno::Invalid),
            ParkedOpen::Device(device) => Ok(Descriptor::Device(*device)),
            ParkedOpen::Folder { place, preopened, listed } => {
                let place = self.place_of(place)?;
                if self.files.names.kind(place)? != FileKind::Folder {
                    return Err(Errno::Invalid);
                }
                if let Some(path) = preopened {
                    let known = self.preopened.remove(&fd).ok_or(Errno::Invalid)?;
                    if known.place != place || known.preopened.as_ref() != Some(path) {
                        return Err(Errno::Invalid);
                    }
                }
                if listed.as_ref().is_some_and(|(_, name)| name.len() > MAX_NAME) {
                    return Err(Errno::Invalid);
                }
                let (preopened, listed) = (preopened.clone(), listed.clone());
                Ok(Descriptor::Folder(OpenFolder { place, preopened, listed }))
            }
            ParkedOpen::File { place, reads, position, access, appends } => {
                let place = self.place_of(place)?;
                self.ensure_file(place)?;
                let source = match reads {
                    None => self.files.source(place)?,
                    Some(inode) => {
                        let mount = Place::Own(self.index_of(*inode)?);
                        let content = self.files.mounted_content(mount)?.ok_or(Errno::Invalid)?;
                        Source::Mounted(Arc::clone(content), place)
                    }
                };
                self.file(source, *position, (*access, *appends))
            }
        }
    }

    fn file(
        &self,
        source: Source,
        position: ParkedPosition,
        (access, appends): (Access, bool),
    ) -> Result<Descriptor, Errno> {
        if access.write && matches!(source, Source::Mounted(..)) {
            return Err(Errno::Invalid);
        }
        let offset = match position {
            ParkedPosition::At(offset) if offset <= MAX_OFFSET => Offset::at(offset),
            ParkedPosition::At(_) => return Err(Errno::Invalid),
            // Descriptors ascend, so the other one is open, if the values are those of a guest.
            ParkedPosition::SharedWith(fd) => match self.files.descriptors.find(fd) {
                Ok(Descriptor::File(file)) => file.offset.clone(),
                _ => return Err(Errno::Invalid),
            },
        };
        Ok(Descriptor::File(OpenFile { source, offset, access, appends }))
    }

    fn ensure_file(&self, place: Place) -> Result<(), Errno> {
        if self.files.names.kind(place)? == FileKind::File { Ok(()) } else { Err(Errno::Invalid) }
    }

    fn place_of(&self, place: &ParkedPlace) -> Result<Place, Errno> {
        match place {
            ParkedPlace::Own(inode) => self.index_of(*inode).map(Place::Own),
            ParkedPlace::Mounted { tree, path } => {
                let mounted = &self.files.names.tree(*tree).ok().ok_or(Errno::Invalid)?.tree;
                let mut names = path.split('/').filter(|name| !name.is_empty());
                let node = names.try_fold(0, |node, name| mounted.child(node, name));
                node.map(|node| Place::Mounted { tree: *tree, node }).ok_or(Errno::NotFound)
            }
        }
    }

    fn index_of(&self, inode: Inode) -> Result<NodeIndex, Errno> {
        self.nodes.get(&inode).copied().ok_or(Errno::Invalid)
    }

    fn number(&mut self, inode: Inode, index: NodeIndex) -> Result<(), Errno> {
        // Beyond 2^32 are the numbers of mounted trees.
        let is_new = inode > 0 && inode <= u64::from(u32::MAX) && !self.nodes.contains_key(&inode);
        if !is_new {
            return Err(Errno::Invalid);
        }
        self.nodes.insert(inode, index);
        Ok(())
    }
}
