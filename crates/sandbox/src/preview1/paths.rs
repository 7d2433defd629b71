//! The functions that work on paths.

use crate::preview1::WasiCall;
use crate::preview1::layout::{self, FILESTAT_SIZE, SYMLINK_FOLLOW, fdflags, oflags, rights};
use crate::preview1::memory::{GuestMemory, Span};
use crate::vfs::{Access, At, Errno, LastLink, MAX_PATH, OpenHow};

/// A path in the guest's memory and the folder that it starts from.
#[derive(Clone, Copy)]
pub(crate) struct GuestPath {
    folder: u32,
    text: Span,
}

impl GuestPath {
    pub(crate) const fn new(folder: u32, start: u32, len: u32) -> Self {
        Self { folder, text: Span::new(start, len) }
    }

    fn at<'m>(self, memory: &'m GuestMemory<'_>) -> Result<At<'m>, Errno> {
        Ok(At { folder: self.folder, path: path_text(memory, self.text)? })
    }
}

/// The arguments of `path_open` besides the path.
#[derive(Clone, Copy)]
pub(crate) struct OpenRequest {
    pub(crate) lookup_flags: u32,
    pub(crate) open_flags: u32,
    pub rights: u64,
    pub(crate) descriptor_flags: u32,
}

impl OpenRequest {
    fn parse(self) -> Result<OpenHow, Errno> {
        let open_flags = u16::try_from(self.open_flags).ok().ok_or(Errno::Invalid)?;
        let descriptor_flags = u16::try_from(self.descriptor_flags).ok().ok_or(Errno::Invalid)?;
        if descriptor_flags & !fdflags::ALL != 0 || open_flags & !oflags::ALL != 0 {
            return Err(Errno::Invalid);
        }
        // A C library requests only the inheriting rights of the folder, and read-only folders have
        // no inheriting `FD_WRITE`. The other rights for writing show the intent.
        let write = self.rights & rights::FD_WRITE != 0
            || self.rights & rights::INTENDS_CHANGES == rights::INTENDS_CHANGES;
        let read = self.rights & rights::FD_READ != 0;
        Ok(OpenHow {
            last_link: last_link(self.lookup_flags)?,
            access: Access { read, write },
            create: open_flags & oflags::CREAT != 0,
            exclusive: open_flags & oflags::EXCL != 0,
            truncate: open_flags & oflags::TRUNC != 0,
            folder: open_flags & oflags::DIRECTORY != 0,
            appends: descriptor_flags & fdflags::APPEND != 0,
            nonblocking: descriptor_flags & fdflags::NONBLOCK != 0,
        })
    }
}

impl WasiCall<'_> {
    pub(crate) fn path_open(
        &mut self,
        path: GuestPath,
        request: OpenRequest,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure(out, 4)?;
        let how = request.parse()?;
        let now = self.process.now();
        let fd = self.process.files.open(path.at(&self.memory)?, how, now)?;
        self.memory.put_u32(out, fd)
    }

    pub(crate) fn path_create_directory(&mut self, path: GuestPath) -> Result<(), Errno> {
        let now = self.process.now();
        self.process.files.make_folder(path.at(&self.memory)?, now)
    }

    pub(crate) fn path_remove_directory(&mut self, path: GuestPath) -> Result<(), Errno> {
        let now = self.process.now();
        self.process.files.remove_folder(path.at(&self.memory)?, now)
    }

    pub(crate) fn path_unlink_file(&mut self, path: GuestPath) -> Result<(), Errno> {
        let now = self.process.now();
        self.process.files.remove_file(path.at(&self.memory)?, now)
    }

    pub(crate) fn path_filestat_get(
        &mut self,
        lookup_flags: u32,
        path: GuestPath,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure(out, FILESTAT_SIZE)?;
        let stat = self.process.files.stat(path.at(&self.memory)?, last_link(lookup_flags)?)?;
        self.memory.put(out, layout::filestat(&stat))
    }

    pub(crate) fn path_filestat_set_times(
        &mut self,
        lookup_flags: u32,
        path: GuestPath,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Result<(), Errno> {
        let now = self.process.now();
        let flags = u16::try_from(flags).ok().ok_or(Errno::Invalid)?;
        let times = layout::set_times(accessed, modified, flags, now)?;
        let at = path.at(&self.memory)?;
        self.process.files.set_times(at, last_link(lookup_flags)?, times, now)
    }

    pub(crate) fn path_link(
        &mut self,
        lookup_flags: u32,
        from: GuestPath,
        to: GuestPath,
    ) -> Result<(), Errno> {
        let now = self.process.now();
        let (from, to) = (from.at(&self.memory)?, to.at(&self.memory)?);
        self.process.files.add_name(from, last_link(lookup_flags)?, to, now)
    }

    pub(crate) fn path_rename(&mut self, from: GuestPath, to: GuestPath) -> Result<(), Errno> {
        let now = self.process.now();
        self.process.files.rename(from.at(&self.memory)?, to.at(&self.memory)?, now)
    }

    pub(crate) fn path_symlink(&mut self, target: Span, link: GuestPath) -> Result<(), Errno> {
        let now = self.process.now();
        let target = path_text(&self.memory, target)?;
        self.process.files.make_link(target, link.at(&self.memory)?, now)
    }

    /// Writes as much of the target as fits, as `readlink` does.
    pub(crate) fn path_readlink(
        &mut self,
        path: GuestPath,
        into: Span,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure(out, 4)?;
        self.memory.ensure(into.start, into.len)?;
        let target = self.process.files.read_link(path.at(&self.memory)?)?.as_bytes();
        let buffer = self.memory.bytes_mut(into)?;
        let fits = target.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..fits), target.get(..fits)) {
            to.copy_from_slice(from);
        }
        self.memory.put_count(out, fits)
    }
}

/// The text of a path. Its length is checked before its encoding.
fn path_text<'m>(memory: &'m GuestMemory<'_>, text: Span) -> Result<&'m str, Errno> {
    memory.ensure(text.start, text.len)?;
    if usize::try_from(text.len).is_ok_and(|len| len >= MAX_PATH) {
        return Err(Errno::NameTooLong);
    }
    memory.text(text)
}

/// Unknown flags are `EINVAL`, as for the functions of Linux with `AT_` flags.
const fn last_link(lookup_flags: u32) -> Result<LastLink, Errno> {
    match lookup_flags {
        0 => Ok(LastLink::Keep),
        SYMLINK_FOLLOW => Ok(LastLink::Follow),
        _ => Err(Errno::Invalid),
    }
}
