//! Making and removing names in the workspace.

use crate::vfs::errno::Errno;
use crate::vfs::limits::MAX_DEPTH;
use crate::vfs::path::{Last, LastLink, Names, Purpose, ROOT, Walked, check_path};
use crate::vfs::tree::node::{FileKind, Folder, NodeIndex, NodeKind, Place, Region, Timestamp};
use crate::vfs::{At, FileSystem};

impl FileSystem {
    /// Makes a folder.
    ///
    /// # Errors
    ///
    /// As `mkdirat` on Linux, and `ENAMETOOLONG` beyond [`MAX_DEPTH`].
    pub fn make_folder(&mut self, at: At<'_>, now: Timestamp) -> Result<(), Errno> {
        let walked = self.walk_name(at)?;
        let name = new_name(&walked)?;
        let parent = self.names.writable(walked.folder)?;
        self.names.ensure_linked(parent)?;
        if self.names.depth(walked.folder)? >= MAX_DEPTH {
            return Err(Errno::NameTooLong);
        }
        let folder = NodeKind::Folder(Folder::new(Place::Own(parent)));
        self.add_node(walked.folder, name, folder, now).map(|_| ())
    }

    /// Makes a symbolic link at `at`. Its target need not exist.
    ///
    /// # Errors
    ///
    /// As `symlinkat` on Linux.
    pub fn make_link(&mut self, target: &str, at: At<'_>, now: Timestamp) -> Result<(), Errno> {
        check_path(target)?;
        let walked = self.walk_name(at)?;
        let name = new_name(&walked)?;
        if walked.wants_folder {
            return Err(Errno::NotFound);
        }
        self.names.writable(walked.folder)?;
        let length = u64::try_from(target.len()).unwrap_or(u64::MAX);
        self.quota.charge(length)?;
        let made = self.add_node(walked.folder, name, NodeKind::Link(target.into()), now);
        if made.is_err() {
            self.quota.release(length);
        }
        made.map(|_| ())
    }

    /// Gives the file at `from` a second name, `to`.
    ///
    /// # Errors
    ///
    /// As `linkat` on Linux: `EXDEV` unless both are in the workspace, `EPERM` for folders.
    pub fn add_name(
        &mut self,
        from: At<'_>,
        last_link: LastLink,
        to: At<'_>,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let start = self.descriptors.folder(from.folder)?.place;
        let file = self.names.resolve(start, from.path, last_link)?;
        let walked = self.walk_name(to)?;
        let name = new_name(&walked)?;
        if walked.wants_folder {
            return Err(Errno::NotFound);
        }
        let (file, folder) = match (self.names.writable(file), self.names.writable(walked.folder)) {
            (Ok(file), Ok(folder)) => (file, folder),
            (Err(_), Err(errno)) => return Err(errno),
            _ => return Err(Errno::CrossDevice),
        };
        if self.names.kind(Place::Own(file))? == FileKind::Folder {
            return Err(Errno::NotPermitted);
        }
        self.names.ensure_linked(folder)?;
        self.quota.charge_entry(name)?;
        self.names.nodes.folder_mut(folder)?.insert(name, Place::Own(file));
        self.names.nodes.add_link(file, now)?;
        self.names.nodes.touch(folder, now)
    }

    /// The target of a symbolic link, as it was made.
    ///
    /// # Errors
    ///
    /// `EINVAL` for anything else.
    pub fn read_link(&self, at: At<'_>) -> Result<&str, Errno> {
        let start = self.descriptors.folder(at.folder)?.place;
        match self.names.resolve(start, at.path, LastLink::Keep)? {
            Place::Own(index) => match &self.names.nodes.find(index)?.kind {
                NodeKind::Link(target) => Ok(target),
                _ => Err(Errno::Invalid),
            },
            Place::Mounted { .. } => Err(Errno::Invalid),
        }
    }

    /// Removes the name of a file or link. The file exists until its last name and its last
    /// descriptor are gone.
    ///
    /// # Errors
    ///
    /// As `unlinkat` on Linux.
    pub fn remove_file(&mut self, at: At<'_>, now: Timestamp) -> Result<(), Errno> {
        let walked = self.walk_name(at)?;
        let Last::Name(name) = &walked.last else { return Err(Errno::IsFolder) };
        let folder = self.names.writable(walked.folder)?;
        let place = walked.found.ok_or(Errno::NotFound)?;
        if self.names.kind(place)? == FileKind::Folder {
            return Err(Errno::IsFolder);
        }
        if walked.wants_folder {
            return Err(Errno::NotFolder);
        }
        self.remove_entry(folder, name, now)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// As `unlinkat` with `AT_REMOVEDIR` on Linux.
    pub fn remove_folder(&mut self, at: At<'_>, now: Timestamp) -> Result<(), Errno> {
        let walked = self.walk_name(at)?;
        let name = match &walked.last {
            Last::Name(name) => name,
            Last::Dot => return Err(Errno::Invalid),
            Last::DotDot => return Err(Errno::NotEmpty),
            Last::Root => return Err(Errno::Busy),
        };
        let folder = self.names.writable(walked.folder)?;
        let place = walked.found.ok_or(Errno::NotFound)?;
        self.names.ensure_empty_folder(place)?;
        self.remove_entry(folder, name, now)
    }

    /// Finds the folder of a name, and the entry if it exists, without following a link at its end.
    pub(crate) fn walk_name<'p>(&self, at: At<'p>) -> Result<Walked<'p>, Errno> {
        let start = self.descriptors.folder(at.folder)?.place;
        self.names.walk(start, at.path, Purpose::Name)
    }

    /// Adds a node under a new name, charging the quota for the entry.
    pub(crate) fn add_node(
        &mut self,
        folder: Place,
        name: &str,
        kind: NodeKind,
        now: Timestamp,
    ) -> Result<NodeIndex, Errno> {
        let folder = self.names.writable(folder)?;
        self.names.ensure_linked(folder)?;
        self.quota.charge_entry(name)?;
        let node = self.names.nodes.add(kind, Region::Workspace, now);
        let Ok(node) = node else {
            self.quota.release_entry(name);
            return node;
        };
        self.names.nodes.folder_mut(folder)?.insert(name, Place::Own(node));
        self.names.nodes.add_link(node, now)?;
        self.names.nodes.touch(folder, now)?;
        Ok(node)
    }

    /// Removes a name and releases its charge.
    pub(super) fn remove_entry(
        &mut self,
        folder: NodeIndex,
        name: &str,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let entry = self.names.nodes.folder_mut(folder)?.entries.remove(name);
        let Some(Place::Own(node)) = entry.map(|entry| entry.place) else {
            return Err(Errno::ReadOnly);
        };
        self.quota.release_entry(name);
        self.names.nodes.drop_link(node, &mut self.quota, now)?;
        self.names.nodes.touch(folder, now)
    }
}

impl Names {
    /// Refuses a folder that was removed while it was open: nothing new can be made in it.
    pub(crate) fn ensure_linked(&self, folder: NodeIndex) -> Result<(), Errno> {
        if self.nodes.find(folder)?.links == 0 { Err(Errno::NotFound) } else { Ok(()) }
    }

    /// Refuses anything but an empty folder.
    pub(crate) fn ensure_empty_folder(&self, place: Place) -> Result<(), Errno> {
        let Place::Own(index) = place else { return Err(Errno::ReadOnly) };
        if self.nodes.folder(index)?.entries.is_empty() { Ok(()) } else { Err(Errno::NotEmpty) }
    }

    /// Number of folders from the root to `folder`, without the root.
    pub(crate) fn depth(&self, folder: Place) -> Result<usize, Errno> {
        let mut current = folder;
        for depth in 0..=MAX_DEPTH {
            if current == ROOT {
                return Ok(depth);
            }
            current = self.parent(current)?;
        }
        Err(Errno::NameTooLong)
    }
}

/// The name to make, which must not exist.
fn new_name<'w>(walked: &'w Walked<'_>) -> Result<&'w str, Errno> {
    match &walked.last {
        Last::Name(name) if walked.found.is_none() => Ok(name),
        _ => Err(Errno::Exists),
    }
}
