//! The file system of one run: names, descriptors and quota.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::vfs::descriptor::{Descriptor, Descriptors, Fd, OpenFolder};
use crate::vfs::errno::Errno;
use crate::vfs::path::{LastLink, Names, ROOT};
use crate::vfs::tree::device::Device;
use crate::vfs::tree::mount::{Mount, MountError};
use crate::vfs::tree::node::{Folder, MountedAs, NodeKind, Nodes, Place, Timestamp};
use crate::vfs::tree::quota::{ENTRY_COST, Quota};
use wardian_formats::job::SetupLimits;
use wardian_formats::job::outcome::Stream;
use wardian_vocabulary::ids::WorkspacePath;

/// The path of the workspace.
pub(super) const WORKSPACE: &str = "/workspace";

/// A path and the open folder that it starts from.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// An open folder.
    pub folder: Fd,
    /// The path; if absolute, the folder does not matter.
    pub path: &'a str,
}

/// How the name of a blob is seen in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameInWorkspace {
    /// It is not a file there.
    Absent,
    /// It can be opened.
    Unlisted,
    /// It can be opened, and listings show it.
    Listed,
}

/// The files of one run.
///
/// Every method that changes something takes the present time of the run's clock, because the file
/// system has no clock.
pub struct FileSystem {
    pub(super) names: Names,
    pub(super) descriptors: Descriptors,
    pub(super) quota: Quota,
    pub(super) workspace: Place,
    /// The files that were mounted since the start, in order.
    pub(super) shown: Vec<Mount>,
}

impl FileSystem {
    /// Makes the files of a run: the mounts, an empty workspace and the descriptors that a guest
    /// starts with (stdin, stdout, stderr and the folders to look paths up in).
    ///
    /// Costs some microseconds, independently of the size of the mounts.
    ///
    /// # Errors
    ///
    /// Two mounts conflict, or a path is invalid.
    pub fn for_run(
        limits: &SetupLimits,
        mounts: &[Mount],
        now: Timestamp,
    ) -> Result<Self, MountError> {
        let quota = Quota::new(limits.workspace.as_u64(), limits.workspace_entries);
        let (mut names, workspace) =
            Names::with_workspace(now).ok().ok_or(MountError::Taken("/workspace".to_owned()))?;
        let mut descriptors = Descriptors::default();
        descriptors.allow_more(u32::MAX);
        let preopened = |place, path: &str| {
            let preopened = Some(Arc::from(path));
            Descriptor::Folder(OpenFolder { place, preopened, listed: None })
        };
        let mut starting = vec![
            Descriptor::Input,
            Descriptor::Output(Stream::Stdout),
            Descriptor::Output(Stream::Stderr),
            preopened(ROOT, "/"),
            preopened(workspace, "/workspace"),
            preopened(workspace, "/tmp"),
        ];
        for mount in mounts {
            if let Some(tree) = names.mount(mount)? {
                starting.push(preopened(Place::Mounted { tree, node: 0 }, mount.path()));
            }
        }
        for descriptor in starting {
            let place = match &descriptor {
                Descriptor::Folder(folder) => Some(folder.place),
                _ => None,
            };
            descriptors.add(descriptor).ok().ok_or(MountError::TooMany)?;
            if let Some(Place::Own(index)) = place {
                names.nodes.add_open(index).ok().ok_or(MountError::TooMany)?;
            }
        }
        descriptors.allow_more(limits.open_files);
        Ok(Self { names, descriptors, quota, workspace, shown: Vec::new() })
    }

    /// The number of names that were looked up on paths since the last call.
    pub(crate) fn take_steps(&mut self) -> u64 {
        self.names.steps.take()
    }

    /// Mounts a file during the run, such as a blob that the run has just written.
    ///
    /// # Errors
    ///
    /// The path is taken or invalid.
    pub fn mount(&mut self, mount: &Mount) -> Result<(), MountError> {
        match self.names.mount(mount)? {
            None => Ok(()),
            // Guests look for preopened folders only at their start, so they would not find it.
            Some(_) => Err(MountError::Taken(mount.path().to_owned())),
        }
    }

    /// Lets the blob that is mounted at `path` be opened by `name` in the folder of blobs, and by
    /// its `shown` as a file of the workspace. There a program may change it: the file then
    /// has a copy. A name for which the workspace has no room is only in the folder of blobs.
    ///
    /// A name that is not listed can be opened like the others, and listings pass it over until the
    /// program changes the file. Such names leave half of the workspace to the program.
    ///
    /// # Errors
    ///
    /// Nothing is mounted at `path`.
    pub(crate) fn name_blob(
        &mut self,
        path: &str,
        name: &str,
        shown: NameInWorkspace,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let place = self.names.resolve(self.workspace, path, LastLink::Follow)?;
        let content = Arc::clone(self.mounted_content(place)?.ok_or(Errno::NotFound)?);
        self.names.blob_names.insert(name.into(), place);
        let mounted_as = match shown {
            NameInWorkspace::Absent => return Ok(()),
            NameInWorkspace::Unlisted if !self.quota.is_half_free() => return Ok(()),
            NameInWorkspace::Unlisted => MountedAs::Unlisted,
            NameInWorkspace::Listed => MountedAs::Listed,
        };
        if self.names.child(self.workspace, name)?.is_none() {
            let path = format!("{WORKSPACE}/{name}").into();
            let file = NodeKind::Mounted { content, path, name: mounted_as };
            self.add_node(self.workspace, name, file, now).ok();
        }
        Ok(())
    }

    /// Makes the blob that is mounted at `blob` a file of the workspace, at a path relative to it, and
    /// the folders that lead there. The file has a copy once the program changes it; its bytes are
    /// charged from now on.
    ///
    /// # Errors
    ///
    /// `ENOENT` if nothing is mounted at `blob`, `ENOSPC` if the workspace has no room, `EEXIST` or
    /// `ENOTDIR` if the path is taken or leads through a file.
    pub(crate) fn place_blob(
        &mut self,
        blob: &str,
        path: &WorkspacePath,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let place = self.names.resolve(self.workspace, blob, LastLink::Follow)?;
        let content = Arc::clone(self.mounted_content(place)?.ok_or(Errno::NotFound)?);
        let mut parent = self.workspace;
        for folder in path.folders() {
            let name = folder.rsplit('/').next().unwrap_or_default();
            parent = match self.names.child(parent, name)? {
                Some(known) => known,
                None => {
                    let above = Place::Own(self.names.writable(parent)?);
                    let made = NodeKind::Folder(Folder::new(above));
                    Place::Own(self.add_node(parent, name, made, now)?)
                }
            };
        }
        if self.names.child(parent, path.name())?.is_some() {
            return Err(Errno::Exists);
        }
        let size = content.size();
        self.quota.charge(size)?;
        let name = MountedAs::Placed;
        let file = NodeKind::Mounted { content, path: format!("{WORKSPACE}/{path}").into(), name };
        let added = self.add_node(parent, path.name(), file, now);
        if added.is_err() {
            self.quota.release(size);
        }
        added.map(|_| ())
    }

    /// True if the workspace has room for a file that the host keeps for the run.
    #[must_use]
    pub(crate) const fn has_room_for(&self, size: u64) -> bool {
        size.saturating_add(ENTRY_COST) <= self.quota.free_bytes()
    }

    /// Bytes that the workspace may still take.
    #[must_use]
    pub(crate) const fn free_bytes(&self) -> u64 {
        self.quota.free_bytes()
    }

    /// Mounts a file of `size` bytes that the run itself has made, and charges its workspace.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if the workspace has no room for it, `EEXIST` if the path is taken.
    pub(crate) fn mount_charged(&mut self, mount: &Mount, size: u64) -> Result<(), Errno> {
        let cost = size.saturating_add(ENTRY_COST);
        self.quota.charge(cost)?;
        self.mount(mount).map_err(|_taken| {
            self.quota.release(cost);
            Errno::Exists
        })?;
        self.shown.push(mount.clone());
        Ok(())
    }

    /// Bytes that the workspace takes up, bookkeeping included, and its entries.
    #[must_use]
    pub const fn workspace_usage(&self) -> (u64, u32) {
        (self.quota.used_bytes(), self.quota.used_entries())
    }

    /// The peak number of bytes that the workspace took up. The allocator keeps freed memory,
    /// so its heap is trimmed after a run with a large workspace.
    #[must_use]
    pub(crate) const fn workspace_peak(&self) -> u64 {
        self.quota.peak_bytes()
    }

    /// The path of a preopened folder.
    ///
    /// # Errors
    ///
    /// `EBADF` for all other descriptors.
    pub(crate) fn preopened_path(&self, fd: Fd) -> Result<&str, Errno> {
        match self.descriptors.find(fd)? {
            Descriptor::Folder(folder) => folder.preopened.as_deref().ok_or(Errno::BadDescriptor),
            _ => Err(Errno::BadDescriptor),
        }
    }

    /// The stream that a descriptor writes to, if it is an output stream.
    ///
    /// # Errors
    ///
    /// `EBADF` if nothing is open under that number.
    pub(crate) fn output_stream(&self, fd: Fd) -> Result<Option<Stream>, Errno> {
        match self.descriptors.find(fd)? {
            Descriptor::Output(stream) => Ok(Some(*stream)),
            _ => Ok(None),
        }
    }

    /// True for a descriptor of random bytes. The caller supplies the bytes.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub(crate) fn is_random(&self, fd: Fd) -> Result<bool, Errno> {
        Ok(matches!(self.descriptors.find(fd)?, Descriptor::Device(Device::Random)))
    }

    pub(super) fn nodes_and_quota(&mut self) -> (&mut Nodes, &mut Quota) {
        (&mut self.names.nodes, &mut self.quota)
    }
}

/// Prints sizes only: names and contents belong to a tenant.
impl fmt::Debug for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSystem").field("quota", &self.quota).finish_non_exhaustive()
    }
}

/// Converts a time of a run's clock.
#[must_use]
pub fn timestamp(since_epoch: Duration) -> Timestamp {
    Timestamp::try_from(since_epoch.as_nanos()).unwrap_or(Timestamp::MAX)
}
