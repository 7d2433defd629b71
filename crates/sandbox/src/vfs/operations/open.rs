//! Opening and closing.

use std::sync::Arc;

use crate::vfs::descriptor::{Access, Descriptor, Fd, Offset, OpenFile, OpenFolder, Source};
use crate::vfs::errno::Errno;
use crate::vfs::path::{Last, LastLink, Purpose};
use crate::vfs::tree::content::Content;
use crate::vfs::tree::device::Device;
use crate::vfs::tree::node::{FileKind, NodeIndex, NodeKind, Place, Timestamp};
use crate::vfs::tree::storage::Storage;
use crate::vfs::{At, FileSystem};

/// The options for opening a file or folder.
#[derive(Debug, Clone, Copy)]
pub struct OpenHow {
    /// The treatment of a symbolic link at the end of the path.
    pub last_link: LastLink,
    /// The requested access.
    pub access: Access,
    /// Make an empty file if there is none.
    pub create: bool,
    /// With `create`: fail if there is one.
    pub exclusive: bool,
    /// Drop the content of an existing file.
    pub truncate: bool,
    /// Fail unless it is a folder.
    pub folder: bool,
    /// Every write goes to the end.
    pub appends: bool,
    /// The flag `NONBLOCK`, which is only stored.
    pub nonblocking: bool,
}

impl OpenHow {
    /// Opens what exists, to read it.
    pub const READ: Self = Self {
        last_link: LastLink::Follow,
        access: Access { read: true, write: false },
        create: false,
        exclusive: false,
        truncate: false,
        folder: false,
        appends: false,
        nonblocking: false,
    };

    /// Opens to write from the start, making the file if there is none.
    pub const REPLACE: Self = Self {
        access: Access { read: false, write: true },
        create: true,
        truncate: true,
        ..Self::READ
    };
}

impl FileSystem {
    /// Opens a file or folder under the lowest free number.
    ///
    /// # Errors
    ///
    /// As `openat` on Linux: among others `EMFILE` at the limit of open files, `EROFS` for any
    /// change outside of the workspace, `ENOSPC` when a new entry does not fit.
    pub fn open(&mut self, at: At<'_>, how: OpenHow, now: Timestamp) -> Result<Fd, Errno> {
        self.descriptors.ensure_room()?;
        let place = if how.create {
            self.create_or_find(at, how, now)?
        } else {
            let start = self.descriptors.folder(at.folder)?.place;
            self.names.resolve(start, at.path, how.last_link)?
        };
        self.ensure_fits(place, how)?;
        if let Some(device) = self.device(place)? {
            return self.add_opened(Descriptor::from(device), how);
        }
        if how.access.write || how.truncate {
            self.make_own(self.names.writable(place)?, how)?;
        }
        if how.truncate {
            let index = self.names.writable(place)?;
            let (nodes, quota) = self.nodes_and_quota();
            nodes.storage_mut(index)?.set_size(0, quota)?;
            nodes.touch(index, now)?;
        }
        let descriptor = match place {
            _ if self.names.kind(place)? == FileKind::Folder => {
                Descriptor::Folder(OpenFolder { place, preopened: None, listed: None })
            }
            _ => Descriptor::File(OpenFile {
                source: self.source(place)?,
                offset: Offset::default(),
                access: how.access,
                appends: how.appends,
            }),
        };
        if let Place::Own(index) = place {
            self.names.nodes.add_open(index)?;
        }
        self.add_opened(descriptor, how)
    }

    /// Gives a mounted file of the workspace bytes of its own before something is written to it.
    /// Descriptors that are open on it continue to read the mount.
    pub(super) fn make_own(&mut self, index: NodeIndex, how: OpenHow) -> Result<(), Errno> {
        let (nodes, quota) = (&mut self.names.nodes, &mut self.quota);
        let node = nodes.find(index)?;
        let NodeKind::Mounted { content, path, .. } = &node.kind else { return Ok(()) };
        // What was charged for the file before is there for its copy.
        let charged = node.charged();
        quota.release(charged);
        let made = match how.truncate {
            true => Ok(Storage::default()),
            false => Storage::copy_of(&**content, path, quota),
        };
        match made {
            Ok(storage) => nodes.find_mut(index)?.kind = NodeKind::File(storage),
            Err(errno) => {
                quota.charge(charged)?;
                return Err(errno);
            }
        }
        Ok(())
    }

    fn add_opened(&mut self, descriptor: Descriptor, how: OpenHow) -> Result<Fd, Errno> {
        let fd = self.descriptors.add(descriptor)?;
        if how.nonblocking {
            self.descriptors.set_nonblocking(fd, true)?;
        }
        Ok(fd)
    }

    /// The device at a place, if there is one.
    fn device(&self, place: Place) -> Result<Option<Device>, Errno> {
        match place {
            Place::Own(_) => Ok(None),
            Place::Mounted { tree, node } => Ok(self.names.tree(tree)?.tree.device(node)),
        }
    }

    /// Closes a descriptor. A node without a name and without further descriptors is freed.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn close(&mut self, fd: Fd) -> Result<(), Errno> {
        let (Descriptor::Folder(OpenFolder { place: Place::Own(used), .. })
        | Descriptor::File(OpenFile {
            source: Source::Workspace(used) | Source::Mounted(_, Place::Own(used)),
            ..
        })) = self.descriptors.remove(fd)?
        else {
            return Ok(());
        };
        let (nodes, quota) = self.nodes_and_quota();
        nodes.drop_open(used, quota);
        Ok(())
    }

    /// Closes `to` and gives its number to the descriptor `from`.
    ///
    /// # Errors
    ///
    /// `EBADF` unless both are open, `ENOTSUP` for preopened folders, whose numbers the guest's C
    /// library remembers.
    pub fn renumber(&mut self, from: Fd, to: Fd) -> Result<(), Errno> {
        for fd in [from, to] {
            if let Descriptor::Folder(folder) = self.descriptors.find(fd)?
                && folder.preopened.is_some()
            {
                return Err(Errno::NotSupported);
            }
        }
        if from != to {
            self.close(to)?;
            let descriptor = self.descriptors.remove(from)?;
            self.descriptors.set(to, descriptor)?;
        }
        Ok(())
    }

    /// Finds the file to open, or makes an empty one.
    fn create_or_find(&mut self, at: At<'_>, how: OpenHow, now: Timestamp) -> Result<Place, Errno> {
        if how.folder {
            return Err(Errno::Invalid);
        }
        let start = self.descriptors.folder(at.folder)?.place;
        let purpose = match how.last_link {
            LastLink::Follow if !how.exclusive => Purpose::Create,
            _ => Purpose::Name,
        };
        let walked = self.names.walk(start, at.path, purpose)?;
        if walked.wants_folder && matches!(walked.last, Last::Name(_)) {
            return Err(Errno::IsFolder);
        }
        if walked.found.is_some() && how.exclusive {
            return Err(Errno::Exists);
        }
        if let Some(place) = walked.found {
            return match self.names.kind(place)? {
                FileKind::Folder => Err(Errno::IsFolder),
                _ => Ok(place),
            };
        }
        let Last::Name(name) = &walked.last else { return Err(Errno::NotFound) };
        let file = NodeKind::File(Storage::default());
        self.add_node(walked.folder, name, file, now).map(Place::Own)
    }

    /// Refuses a place that cannot be opened with these options.
    fn ensure_fits(&self, place: Place, how: OpenHow) -> Result<(), Errno> {
        let changes = how.access.write || how.truncate;
        match self.names.kind(place)? {
            FileKind::Folder if changes => Err(Errno::IsFolder),
            FileKind::Folder => Ok(()),
            _ if how.folder => Err(Errno::NotFolder),
            FileKind::Link => Err(Errno::LinkLoop),
            FileKind::File if changes => self.names.writable(place).map(|_| ()),
            FileKind::File | FileKind::Device => Ok(()),
        }
    }

    /// The bytes of the file at a place.
    pub(crate) fn source(&self, place: Place) -> Result<Source, Errno> {
        match (self.mounted_content(place)?, place) {
            (Some(content), _) => Ok(Source::Mounted(Arc::clone(content), place)),
            (None, Place::Own(index)) => Ok(Source::Workspace(index)),
            (None, Place::Mounted { .. }) => Err(Errno::InputOutput),
        }
    }

    /// The content at a place, if it is a mounted file.
    pub(crate) fn mounted_content(&self, place: Place) -> Result<Option<&Arc<dyn Content>>, Errno> {
        match place {
            Place::Mounted { tree, node } => Ok(self.names.tree(tree)?.tree.file(node)),
            Place::Own(index) => match &self.names.nodes.find(index)?.kind {
                NodeKind::Mounted { content, .. } => Ok(Some(content)),
                _ => Ok(None),
            },
        }
    }
}
