//! The attributes of files in the guest. They contain nothing of the host.

use crate::vfs::descriptor::{Access, Descriptor, Fd, Source};
use crate::vfs::errno::Errno;
use crate::vfs::path::LastLink;
use crate::vfs::tree::node::{
    FileKind, MOUNT_TIME, NodeKind, Place, Region, Times, Timestamp, TreeIndex,
};
use crate::vfs::{At, FileSystem};

/// Device number of everything read-only.
const MOUNT_DEVICE: u64 = 1;

/// Device number of the workspace.
const WORKSPACE_DEVICE: u64 = 2;

/// Device number of the three streams and of the files in `/dev`.
const STREAM_DEVICE: u64 = 3;

/// A file's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Number of the virtual device.
    pub device: u64,
    /// Number of the file; unique on its device, and never zero.
    pub inode: u64,
    /// Its kind.
    pub kind: FileKind,
    /// Names of a file; 1 for folders, whose subfolders are not counted.
    pub links: u64,
    /// Length in bytes; of a link, that of its target.
    pub size: u64,
    /// The time of its last change.
    pub times: Times,
}

/// Times to set; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SetTimes {
    /// Last access.
    pub(crate) accessed: Option<Timestamp>,
    /// Last change of the content.
    pub modified: Option<Timestamp>,
}

/// A descriptor's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescriptorStat {
    /// The kind of its file.
    pub kind: FileKind,
    /// Its access; folders can be read only.
    pub access: Access,
    /// Every write goes to the end.
    pub(crate) appends: bool,
    /// The flag `NONBLOCK`, which has no effect here.
    pub(crate) nonblocking: bool,
    /// True if its file lies in the workspace.
    pub(crate) in_workspace: bool,
}

impl FileSystem {
    /// Metadata of the file at a path.
    ///
    /// # Errors
    ///
    /// As `fstatat` on Linux.
    pub fn stat(&self, at: At<'_>, last_link: LastLink) -> Result<FileStat, Errno> {
        let start = self.descriptors.folder(at.folder)?.place;
        self.stat_place(self.names.resolve(start, at.path, last_link)?)
    }

    /// Metadata of an open file.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub(crate) fn stat_open(&self, fd: Fd) -> Result<FileStat, Errno> {
        match self.descriptors.find(fd)? {
            Descriptor::Folder(folder) => self.stat_place(folder.place),
            Descriptor::File(file) => match &file.source {
                Source::Workspace(index) => self.stat_place(Place::Own(*index)),
                Source::Mounted(_, place) => self.stat_place(*place),
            },
            Descriptor::Input | Descriptor::Output(_) | Descriptor::Device(_) => Ok(FileStat {
                device: STREAM_DEVICE,
                inode: u64::from(fd).saturating_add(1),
                kind: FileKind::Device,
                links: 1,
                size: 0,
                times: Times::all(MOUNT_TIME),
            }),
        }
    }

    /// Sets times of the file at a path. Without a time to set, the path is not resolved.
    ///
    /// # Errors
    ///
    /// `EROFS` outside of the workspace, and as `utimensat` on Linux.
    pub(crate) fn set_times(
        &mut self,
        at: At<'_>,
        last_link: LastLink,
        times: SetTimes,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let start = self.descriptors.folder(at.folder)?.place;
        if times == SetTimes::default() {
            return Ok(());
        }
        let place = self.names.resolve(start, at.path, last_link)?;
        self.set_times_at(place, times, now)
    }

    /// Sets times of an open file.
    ///
    /// # Errors
    ///
    /// `EROFS` outside of the workspace, `EBADF`.
    pub(crate) fn set_times_open(
        &mut self,
        fd: Fd,
        times: SetTimes,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let place = match self.descriptors.find(fd)? {
            Descriptor::Folder(folder) => folder.place,
            Descriptor::File(file) => match &file.source {
                Source::Workspace(index) => Place::Own(*index),
                Source::Mounted(_, place) => *place,
            },
            Descriptor::Input | Descriptor::Output(_) | Descriptor::Device(_) => {
                return Err(Errno::ReadOnly);
            }
        };
        self.set_times_at(place, times, now)
    }

    /// Metadata of the descriptor itself.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub(crate) fn descriptor_stat(&self, fd: Fd) -> Result<DescriptorStat, Errno> {
        let nonblocking = self.descriptors.is_nonblocking(fd);
        let stream = |read, write| DescriptorStat {
            kind: FileKind::Device,
            access: Access { read, write },
            appends: false,
            nonblocking,
            in_workspace: false,
        };
        match self.descriptors.find(fd)? {
            Descriptor::Input => Ok(stream(true, false)),
            Descriptor::Output(_) => Ok(stream(false, true)),
            Descriptor::Device(_) => Ok(stream(true, true)),
            Descriptor::Folder(folder) => Ok(DescriptorStat {
                kind: FileKind::Folder,
                access: Access { read: true, write: false },
                appends: false,
                nonblocking,
                in_workspace: self.names.writable(folder.place).is_ok(),
            }),
            Descriptor::File(file) => Ok(DescriptorStat {
                kind: FileKind::File,
                access: file.access,
                appends: file.appends,
                nonblocking,
                in_workspace: matches!(file.source, Source::Workspace(_)),
            }),
        }
    }

    /// Makes every write of a descriptor go to the end of its file.
    ///
    /// # Errors
    ///
    /// `EBADF`. Streams and folders ignore it.
    pub(crate) fn append_always(&mut self, fd: Fd) -> Result<(), Errno> {
        if let Descriptor::File(file) = self.descriptors.find_mut(fd)? {
            file.appends = true;
        }
        Ok(())
    }

    /// Makes every write of a descriptor go to its position.
    ///
    /// # Errors
    ///
    /// `EBADF`. Streams and folders ignore it.
    pub(crate) fn append_no_more(&mut self, fd: Fd) -> Result<(), Errno> {
        if let Descriptor::File(file) = self.descriptors.find_mut(fd)? {
            file.appends = false;
        }
        Ok(())
    }

    /// Stores the flag `NONBLOCK` of a descriptor.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub fn set_nonblocking(&mut self, fd: Fd, nonblocking: bool) -> Result<(), Errno> {
        self.descriptors.set_nonblocking(fd, nonblocking)
    }

    fn set_times_at(&mut self, place: Place, times: SetTimes, now: Timestamp) -> Result<(), Errno> {
        let index = self.names.writable(place)?;
        let node = self.names.nodes.find_mut(index)?;
        node.times.accessed = times.accessed.unwrap_or(node.times.accessed);
        node.times.modified = times.modified.unwrap_or(node.times.modified);
        node.times.changed = now;
        Ok(())
    }

    fn stat_place(&self, place: Place) -> Result<FileStat, Errno> {
        match place {
            Place::Own(index) => {
                let node = self.names.nodes.find(index)?;
                let device = match node.region {
                    Region::ReadOnly => MOUNT_DEVICE,
                    Region::Workspace => WORKSPACE_DEVICE,
                };
                let size = match &node.kind {
                    NodeKind::File(storage) => storage.size(),
                    NodeKind::Mounted { content, .. } => content.size(),
                    NodeKind::Link(target) => u64::try_from(target.len()).unwrap_or(u64::MAX),
                    NodeKind::Folder(_) => 0,
                };
                let kind = node.file_kind();
                let links = if kind == FileKind::Folder { node.links.min(1) } else { node.links };
                let (inode, times) = (node.inode, node.times);
                Ok(FileStat { device, inode, kind, links: links.into(), size, times })
            }
            Place::Mounted { tree, node } => {
                let content = self.names.tree(tree)?.tree.file(node);
                let kind = self.names.kind(place)?;
                Ok(FileStat {
                    device: if kind == FileKind::Device { STREAM_DEVICE } else { MOUNT_DEVICE },
                    inode: mounted_inode(tree, node),
                    kind,
                    links: 1,
                    size: content.map_or(0, |content| content.size()),
                    times: Times::all(MOUNT_TIME),
                })
            }
        }
    }

    /// Number and kind of the file at a place, for listings.
    pub(crate) fn inode_and_kind(&self, place: Place) -> Result<(u64, FileKind), Errno> {
        match place {
            Place::Own(index) => {
                let node = self.names.nodes.find(index)?;
                Ok((node.inode, node.file_kind()))
            }
            Place::Mounted { tree, node } => {
                Ok((mounted_inode(tree, node), self.names.kind(place)?))
            }
        }
    }
}

/// The run's own nodes are numbered from one; those of trees from 2^32.
fn mounted_inode(tree: TreeIndex, node: u32) -> u64 {
    (u64::from(tree).saturating_add(1) << 32) | u64::from(node)
}
