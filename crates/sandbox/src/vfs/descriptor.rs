//! The descriptors of a guest: the numbers of its open files.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::vfs::errno::Errno;
use crate::vfs::tree::content::Content;
use crate::vfs::tree::device::Device;
use crate::vfs::tree::node::{NodeIndex, Place};
use wardian_formats::job::outcome::Stream;

/// The number of an open file, as the guest knows it.
pub type Fd = u32;

/// Numbers are below this, independently of the limit on open files. The table reaches up to the
/// highest number in use, so this also bounds its memory: some 4 MiB.
const MAX_FD: usize = 1 << 16;

/// The access that a descriptor was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Its content can be read.
    pub read: bool,
    /// Its content can be written.
    pub write: bool,
}

/// An open folder.
#[derive(Clone)]
pub(crate) struct OpenFolder {
    pub place: Place,
    /// The path of a preopened folder; `None` for a folder that the guest opened itself.
    pub(crate) preopened: Option<Arc<str>>,
    /// The cookie and name of the last listed entry, so that a listing continues directly even if
    /// that entry is gone.
    pub listed: Option<(u64, Arc<str>)>,
}

/// The bytes of an open file.
#[derive(Clone)]
pub(crate) enum Source {
    /// In the workspace.
    Workspace(NodeIndex),
    /// In a mount, together with the place it was opened at.
    Mounted(Arc<dyn Content>, Place),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Workspace(_) => "Workspace",
            Self::Mounted(..) => "Mounted",
        })
    }
}

/// A position in a file, which duplicates of a descriptor share, as on Linux.
#[derive(Clone, Default)]
pub(crate) struct Offset(Arc<AtomicU64>);

impl Offset {
    pub(super) fn at(offset: u64) -> Self {
        Self(Arc::new(AtomicU64::new(offset)))
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Tells apart all positions that exist: only duplicates of a descriptor have the same.
    pub(super) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(super) fn set(&self, offset: u64) {
        self.0.store(offset, Ordering::Relaxed);
    }
}

/// An open file.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub source: Source,
    pub offset: Offset,
    pub access: Access,
    /// Every write goes to the end.
    pub(crate) appends: bool,
}

/// The file behind a descriptor.
#[derive(Clone)]
pub(crate) enum Descriptor {
    /// Standard input, which is empty.
    Input,
    /// Standard output or error.
    Output(Stream),
    /// A device without a stream behind it.
    Device(Device),
    Folder(OpenFolder),
    File(OpenFile),
}

impl From<Device> for Descriptor {
    /// The descriptor of an open file of this device.
    fn from(device: Device) -> Self {
        match device {
            Device::Input => Self::Input,
            Device::Output(stream) => Self::Output(stream),
            Device::Null | Device::Zero | Device::Random | Device::Full => Self::Device(device),
        }
    }
}

/// All descriptors of a run.
#[derive(Default)]
pub(super) struct Descriptors {
    slots: Vec<Option<Descriptor>>,
    /// Numbers with the flag `NONBLOCK`.
    nonblocking: BTreeSet<Fd>,
    open: usize,
    max_open: usize,
}

impl Descriptors {
    /// Limits the number of open descriptors to the present ones and `more`.
    pub(crate) fn allow_more(&mut self, more: u32) {
        self.max_open = self.open.saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
    }

    /// Raises the limit by one, for a descriptor that the host opens.
    pub(crate) const fn allow_one_more(&mut self) {
        self.max_open = self.max_open.saturating_add(1);
    }

    /// Opens the lowest free number.
    pub(super) fn add(&mut self, descriptor: Descriptor) -> Result<Fd, Errno> {
        let free = match self.slots.iter().position(Option::is_none) {
            Some(free) if self.open < self.slots.len() => free,
            _ => self.slots.len(),
        };
        let fd = Fd::try_from(free).ok().ok_or(Errno::TooManyOpenFiles)?;
        self.set(fd, descriptor)?;
        Ok(fd)
    }

    /// Opens a number that is closed.
    pub(super) fn set(&mut self, fd: Fd, descriptor: Descriptor) -> Result<(), Errno> {
        self.ensure_room()?;
        let index = usize::try_from(fd).ok().ok_or(Errno::BadDescriptor)?;
        if index >= MAX_FD {
            return Err(Errno::TooManyOpenFiles);
        }
        if index >= self.slots.len() {
            self.slots.resize_with(index.saturating_add(1), || None);
        }
        let slot = self.slots.get_mut(index).ok_or(Errno::BadDescriptor)?;
        if slot.is_some() {
            return Err(Errno::Exists);
        }
        *slot = Some(descriptor);
        self.open = self.open.saturating_add(1);
        Ok(())
    }

    /// Refuses when the limit is reached.
    pub(super) const fn ensure_room(&self) -> Result<(), Errno> {
        if self.open < self.max_open { Ok(()) } else { Err(Errno::TooManyOpenFiles) }
    }

    /// Closes a number. Returns its descriptor.
    pub(super) fn remove(&mut self, fd: Fd) -> Result<Descriptor, Errno> {
        let index = usize::try_from(fd).ok().ok_or(Errno::BadDescriptor)?;
        let slot = self.slots.get_mut(index).and_then(Option::take).ok_or(Errno::BadDescriptor)?;
        self.open = self.open.saturating_sub(1);
        self.nonblocking.remove(&fd);
        Ok(slot)
    }

    pub(crate) fn is_nonblocking(&self, fd: Fd) -> bool {
        self.nonblocking.contains(&fd)
    }

    pub(super) fn set_nonblocking(&mut self, fd: Fd, nonblocking: bool) -> Result<(), Errno> {
        self.find(fd)?;
        if nonblocking {
            self.nonblocking.insert(fd);
        } else {
            self.nonblocking.remove(&fd);
        }
        Ok(())
    }

    /// The lowest free number from `lowest` on.
    pub(crate) fn free_from(&self, lowest: Fd) -> Result<Fd, Errno> {
        let taken = |fd: &Fd| self.find(*fd).is_ok();
        let end = Fd::try_from(MAX_FD).unwrap_or(Fd::MAX);
        (lowest..end).find(|fd| !taken(fd)).ok_or(Errno::TooManyOpenFiles)
    }

    pub(super) fn find(&self, fd: Fd) -> Result<&Descriptor, Errno> {
        let index = usize::try_from(fd).ok().ok_or(Errno::BadDescriptor)?;
        self.slots.get(index).and_then(Option::as_ref).ok_or(Errno::BadDescriptor)
    }

    pub(crate) fn find_mut(&mut self, fd: Fd) -> Result<&mut Descriptor, Errno> {
        let index = usize::try_from(fd).ok().ok_or(Errno::BadDescriptor)?;
        self.slots.get_mut(index).and_then(Option::as_mut).ok_or(Errno::BadDescriptor)
    }

    /// The open folder of that number.
    pub(super) fn folder(&self, fd: Fd) -> Result<&OpenFolder, Errno> {
        match self.find(fd)? {
            Descriptor::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotFolder),
        }
    }

    /// The open file of that number; a folder is `EISDIR`, a stream `ESPIPE`.
    pub(crate) fn file_mut(&mut self, fd: Fd) -> Result<&mut OpenFile, Errno> {
        match self.find_mut(fd)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Folder(_) => Err(Errno::IsFolder),
            Descriptor::Input | Descriptor::Output(_) | Descriptor::Device(_) => {
                Err(Errno::NotSeekable)
            }
        }
    }

    /// All open numbers with their descriptors.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Fd, &Descriptor)> {
        (0..).zip(&self.slots).filter_map(|(fd, slot)| Some((fd, slot.as_ref()?)))
    }
}
