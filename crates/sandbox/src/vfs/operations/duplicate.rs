//! POSIX operations that preview 1 lacks: duplicates of descriptors, the path of an open folder,
//! and the usage of the workspace.

use crate::vfs::FileSystem;
use crate::vfs::descriptor::{Descriptor, Fd, OpenFile, OpenFolder, Source};
use crate::vfs::errno::Errno;
use crate::vfs::limits::MAX_DEPTH;
use crate::vfs::path::ROOT;
use crate::vfs::tree::node::{NodeIndex, Place};

/// The used and free space of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes that it can hold.
    pub bytes: u64,
    /// Bytes of them that are in use, bookkeeping included.
    pub(crate) used_bytes: u64,
    /// Entries that it can hold.
    pub entries: u64,
    /// Entries of them that are in use.
    pub(crate) used_entries: u64,
    /// Number that the next file will have.
    pub(crate) next_inode: u64,
}

impl FileSystem {
    /// Opens a second number, `lowest` or above, for the file of `fd`. Both share one position.
    ///
    /// # Errors
    ///
    /// `EBADF`, `EMFILE`.
    pub fn duplicate(&mut self, fd: Fd, lowest: Fd) -> Result<Fd, Errno> {
        let to = self.descriptors.free_from(lowest)?;
        self.duplicate_into(fd, to)
    }

    /// Closes `to` and makes it a duplicate of `from`.
    ///
    /// # Errors
    ///
    /// `EBADF`, `EMFILE`, and `ENOTSUP` for preopened folders, whose numbers the guest's C library
    /// remembers.
    pub(crate) fn duplicate_to(&mut self, from: Fd, to: Fd) -> Result<Fd, Errno> {
        self.descriptors.find(from)?;
        if from == to {
            return Ok(to);
        }
        match self.descriptors.find(to) {
            Ok(Descriptor::Folder(OpenFolder { preopened: Some(_), .. })) => {
                return Err(Errno::NotSupported);
            }
            Ok(_) => self.close(to)?,
            Err(_) => {}
        }
        self.duplicate_into(from, to)
    }

    fn duplicate_into(&mut self, from: Fd, to: Fd) -> Result<Fd, Errno> {
        let nonblocking = self.descriptors.is_nonblocking(from);
        let mut copy = self.descriptors.find(from)?.clone();
        if let Descriptor::Folder(folder) = &mut copy {
            folder.preopened = None;
        }
        let used = used_node(&copy);
        self.descriptors.set(to, copy)?;
        if let Some(index) = used {
            self.names.nodes.add_open(index)?;
        }
        self.descriptors.set_nonblocking(to, nonblocking)?;
        Ok(to)
    }

    /// Absolute path of an open folder.
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTDIR`, `ENOENT` for a folder that was removed.
    pub(crate) fn folder_path(&self, fd: Fd) -> Result<String, Errno> {
        let mut place = self.descriptors.folder(fd)?.place;
        let mut names = Vec::new();
        for _ in 0..=MAX_DEPTH {
            if place == ROOT {
                names.push("");
                names.reverse();
                let path = names.join("/");
                return Ok(if path.is_empty() { "/".to_owned() } else { path });
            }
            let parent = match place {
                Place::Own(index) => {
                    let parent = self.names.parent(place)?;
                    self.names.ensure_linked(index)?;
                    parent
                }
                Place::Mounted { tree, node } => {
                    let mounted = self.names.tree(tree)?;
                    let below = mounted.tree.path_of(node);
                    let slash = if below.is_empty() { "" } else { "/" };
                    return Ok(format!("{}{slash}{below}", mounted.path));
                }
            };
            names.push(self.name_in(parent, place)?);
            place = parent;
        }
        Err(Errno::NameTooLong)
    }

    /// The name of an entry in a folder of the run. The workspace has two names; this returns
    /// `workspace`.
    fn name_in(&self, parent: Place, child: Place) -> Result<&str, Errno> {
        let Place::Own(parent) = parent else { return Err(Errno::NotFound) };
        let entries = self.names.nodes.folder(parent)?.entries.iter().rev();
        let mut found = entries.filter(|(_, entry)| entry.place == child);
        found.next().map(|(name, _)| &**name).ok_or(Errno::NotFound)
    }

    /// The used and free space of the workspace.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        Usage {
            bytes: self.quota.max_bytes(),
            used_bytes: self.quota.used_bytes(),
            entries: self.quota.max_entries() as u64,
            used_entries: self.quota.used_entries() as u64,
            next_inode: self.names.nodes.next_inode(),
        }
    }
}

/// The node of the workspace that a descriptor keeps alive.
const fn used_node(descriptor: &Descriptor) -> Option<NodeIndex> {
    match descriptor {
        Descriptor::Folder(OpenFolder { place: Place::Own(used), .. })
        | Descriptor::File(OpenFile {
            source: Source::Workspace(used) | Source::Mounted(_, Place::Own(used)),
            ..
        }) => Some(*used),
        _ => None,
    }
}
