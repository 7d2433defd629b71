//! Reading, writing and positions of open files.

use crate::vfs::FileSystem;
use crate::vfs::descriptor::{Descriptor, Fd, Source};
use crate::vfs::errno::Errno;
use crate::vfs::tree::node::{NodeIndex, NodeKind, Timestamp};

/// The origin of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whence {
    /// The start of the file.
    Start,
    /// The current position.
    Current,
    /// The end of the file.
    End,
}

/// Largest position: positions are signed in C.
pub(crate) const MAX_OFFSET: u64 = i64::MAX.cast_unsigned();

impl FileSystem {
    /// Reads at the descriptor's position and advances it. Returns the number of bytes, zero at the
    /// end. Standard input is always at its end.
    ///
    /// # Errors
    ///
    /// `EBADF` if not open for reading, `EISDIR`, `EIO` if a mount cannot be read.
    pub fn read(&mut self, fd: Fd, into: &mut [u8]) -> Result<usize, Errno> {
        let offset = match self.descriptors.find(fd)? {
            Descriptor::Input => return Ok(0),
            Descriptor::Device(device) => return Ok(device.read(into)),
            Descriptor::Output(_) => return Err(Errno::BadDescriptor),
            Descriptor::Folder(_) => return Err(Errno::IsFolder),
            Descriptor::File(file) => file.offset.get(),
        };
        let read = self.read_at(fd, into, offset)?;
        self.descriptors.file_mut(fd)?.offset.set(offset.saturating_add(count(read)));
        Ok(read)
    }

    /// Reads at `offset`; the descriptor's position stays.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and `ESPIPE` for streams.
    pub fn read_at(&self, fd: Fd, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
        ensure_in_range(offset, into.len())?;
        let file = match self.descriptors.find(fd)? {
            Descriptor::File(file) => file,
            Descriptor::Device(device) => return Ok(device.read(into)),
            _ => return Err(self.no_file(fd)),
        };
        if !file.access.read {
            return Err(Errno::BadDescriptor);
        }
        match &file.source {
            Source::Mounted(content, _) => {
                content.read_at(offset, into).ok().ok_or(Errno::InputOutput)
            }
            Source::Workspace(index) => match &self.names.nodes.find(*index)?.kind {
                NodeKind::File(storage) => Ok(storage.read_at(offset, into)),
                _ => Err(Errno::BadDescriptor),
            },
        }
    }

    /// Writes at the descriptor's position and advances it. Returns the number of written bytes,
    /// fewer than requested if the quota does not suffice. Streams are not written here: see
    /// [`output_stream`](Self::output_stream).
    ///
    /// # Errors
    ///
    /// `EBADF` if not open for writing, `ENOSPC`, `EFBIG` beyond the quota as a whole.
    pub fn write(&mut self, fd: Fd, from: &[u8], now: Timestamp) -> Result<usize, Errno> {
        if let Descriptor::Device(device) = self.descriptors.find(fd)? {
            return device.write(from);
        }
        let (index, appends, offset) = self.writable_file(fd)?;
        if from.is_empty() {
            return Ok(0);
        }
        let offset = if appends { self.size_of(index)? } else { offset };
        let written = self.write_to(index, from, offset, now)?;
        self.descriptors.file_mut(fd)?.offset.set(offset.saturating_add(count(written)));
        Ok(written)
    }

    /// Writes at `offset`; the descriptor's position stays. As on Linux, an appending descriptor
    /// ignores `offset` and writes to the end.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and `ESPIPE` for streams.
    pub fn write_at(
        &mut self,
        fd: Fd,
        from: &[u8],
        offset: u64,
        now: Timestamp,
    ) -> Result<usize, Errno> {
        if offset > MAX_OFFSET {
            return Err(Errno::Invalid);
        }
        if let Descriptor::Device(device) = self.descriptors.find(fd)? {
            return device.write(from);
        }
        let (index, appends, _) = self.writable_file(fd)?;
        let offset = if appends { self.size_of(index)? } else { offset };
        self.write_to(index, from, offset, now)
    }

    /// Moves the position and returns it; it may lie past the end.
    ///
    /// # Errors
    ///
    /// `EINVAL` before the start and beyond 2^63 - 1, `ESPIPE` for streams, `EISDIR`.
    pub fn seek(&mut self, fd: Fd, delta: i64, whence: Whence) -> Result<u64, Errno> {
        if let Descriptor::Device(_) = self.descriptors.find(fd)? {
            return Ok(0);
        }
        let current = self.tell(fd)?;
        let base = match whence {
            Whence::Start => 0,
            Whence::Current => current,
            Whence::End => self.file_size(fd)?,
        };
        let target = base.checked_add_signed(delta).filter(|target| *target <= MAX_OFFSET);
        let target = target.ok_or(Errno::Invalid)?;
        self.descriptors.file_mut(fd)?.offset.set(target);
        Ok(target)
    }

    /// The position.
    ///
    /// # Errors
    ///
    /// `ESPIPE` for streams, `EISDIR`.
    pub fn tell(&self, fd: Fd) -> Result<u64, Errno> {
        match self.descriptors.find(fd)? {
            Descriptor::File(file) => Ok(file.offset.get()),
            Descriptor::Device(_) => Ok(0),
            _ => Err(self.no_file(fd)),
        }
    }

    /// Cuts a file, or lengthens it by a hole, which takes no memory.
    ///
    /// # Errors
    ///
    /// `EINVAL` if not open for writing, `EFBIG` beyond the quota of the whole workspace.
    pub fn set_size(&mut self, fd: Fd, size: u64, now: Timestamp) -> Result<(), Errno> {
        if size > MAX_OFFSET {
            return Err(Errno::Invalid);
        }
        let index = match self.descriptors.find(fd)? {
            Descriptor::File(file) if file.access.write => match file.source {
                Source::Workspace(index) => index,
                Source::Mounted(..) => return Err(Errno::Invalid),
            },
            _ => return Err(Errno::Invalid),
        };
        let (nodes, quota) = self.nodes_and_quota();
        nodes.storage_mut(index)?.set_size(size, quota)?;
        nodes.touch(index, now)
    }

    /// Bytes from the position to the end; none for folders and streams.
    ///
    /// # Errors
    ///
    /// `EBADF`.
    pub(crate) fn readable_bytes(&self, fd: Fd) -> Result<u64, Errno> {
        match self.descriptors.find(fd)? {
            Descriptor::File(file) => Ok(self.file_size(fd)?.saturating_sub(file.offset.get())),
            _ => Ok(0),
        }
    }

    /// Length of an open file.
    fn file_size(&self, fd: Fd) -> Result<u64, Errno> {
        let Descriptor::File(file) = self.descriptors.find(fd)? else {
            return Err(self.no_file(fd));
        };
        match &file.source {
            Source::Mounted(content, _) => Ok(content.size()),
            Source::Workspace(index) => self.size_of(*index),
        }
    }

    fn size_of(&self, index: NodeIndex) -> Result<u64, Errno> {
        match &self.names.nodes.find(index)?.kind {
            NodeKind::File(storage) => Ok(storage.size()),
            NodeKind::Mounted { content, .. } => Ok(content.size()),
            NodeKind::Folder(_) | NodeKind::Link(_) => Err(Errno::BadDescriptor),
        }
    }

    /// The file to write to, true if the descriptor appends, and its position.
    fn writable_file(&self, fd: Fd) -> Result<(NodeIndex, bool, u64), Errno> {
        match self.descriptors.find(fd)? {
            Descriptor::File(file) if file.access.write => match file.source {
                Source::Workspace(index) => Ok((index, file.appends, file.offset.get())),
                Source::Mounted(..) => Err(Errno::BadDescriptor),
            },
            Descriptor::Output(_) => Err(Errno::NotSeekable),
            _ => Err(Errno::BadDescriptor),
        }
    }

    fn write_to(
        &mut self,
        index: NodeIndex,
        from: &[u8],
        offset: u64,
        now: Timestamp,
    ) -> Result<usize, Errno> {
        ensure_in_range(offset, from.len())?;
        let (nodes, quota) = self.nodes_and_quota();
        let written = nodes.storage_mut(index)?.write_at(offset, from, quota)?;
        if written > 0 {
            nodes.touch(index, now)?;
        }
        Ok(written)
    }

    /// The reason why a descriptor that is not a file cannot be read at a position.
    fn no_file(&self, fd: Fd) -> Errno {
        match self.descriptors.find(fd) {
            Ok(Descriptor::Folder(_)) => Errno::IsFolder,
            Ok(_) => Errno::NotSeekable,
            Err(errno) => errno,
        }
    }
}

/// Refuses a transfer that begins or would end beyond the largest position, as Linux does.
fn ensure_in_range(offset: u64, len: usize) -> Result<(), Errno> {
    match offset.checked_add(count(len)) {
        Some(end) if end <= MAX_OFFSET => Ok(()),
        _ => Err(Errno::Invalid),
    }
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
