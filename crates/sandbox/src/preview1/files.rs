//! The functions that work on descriptors.

use std::ops::ControlFlow;

use crate::preview1::WasiCall;
use crate::preview1::layout::{self, FDSTAT_SIZE, FILESTAT_SIZE, fdflags};
use crate::preview1::memory::Span;
use crate::preview1::process::{MAX_RANDOM, RANDOM_FUEL};
use crate::vfs::{Errno, FileKind, Whence};

/// Maximum number of bytes that one call reads or writes, 32 MiB. A caller sees a short transfer
/// and continues. Copying 32 MiB takes some ten milliseconds, during which no deadline can stop the
/// guest.
const MAX_TRANSFER: u32 = 32 << 20;

/// Fuel for each byte that is read or written: what a byte costs the host is what some
/// instructions cost, so a program cannot have it work for nothing.
const BYTE_FUEL: u64 = 1;

/// Fuel for each byte of a listed entry.
const ENTRY_FUEL: u64 = 8;

/// The position of a transfer.
#[derive(Clone, Copy)]
pub(crate) enum Position {
    /// At the descriptor's own position, which moves.
    Own,
    /// At this offset.
    At(u64),
}

impl Position {
    fn plus(self, done: u32) -> Result<Self, Errno> {
        match self {
            Self::Own => Ok(Self::Own),
            Self::At(offset) => offset.checked_add(done.into()).map(Self::At).ok_or(Errno::Invalid),
        }
    }
}

impl WasiCall<'_> {
    pub(crate) fn fd_read(
        &mut self,
        fd: u32,
        vectors: Span,
        position: Position,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure_vectors(vectors)?;
        self.memory.ensure(out, 4)?;
        let is_random = self.process.files.is_random(fd)?;
        let most = if is_random { MAX_RANDOM } else { MAX_TRANSFER };
        let mut total = 0_u32;
        for index in 0..vectors.len.max(1) {
            let vector = match vectors.len {
                0 => Span::new(0, 0),
                _ => self.memory.vector(vectors, index)?,
            };
            let vector = vector.at_most(most.saturating_sub(total));
            let into = self.memory.bytes_mut(vector)?;
            let read = match position.plus(total)? {
                _ if is_random => {
                    let filled = self.process.clock_and_random.fill(into);
                    filled.map(|()| into.len()).ok().ok_or(Errno::InputOutput)
                }
                Position::Own => self.process.files.read(fd, into),
                Position::At(offset) => self.process.files.read_at(fd, into, offset),
            };
            let Some(read) = keep_going(read, total)? else { break };
            total = total.saturating_add(read);
            if read < vector.len {
                break;
            }
        }
        let for_each = if is_random { RANDOM_FUEL } else { BYTE_FUEL };
        self.charge(total.into(), for_each);
        self.memory.put_u32(out, total)
    }

    /// Adds to the fuel that the function costs.
    pub(crate) fn charge(&mut self, bytes: u64, for_each: u64) {
        self.turn.cost = self.turn.cost.saturating_add(bytes.saturating_mul(for_each));
    }

    pub(crate) fn fd_write(
        &mut self,
        fd: u32,
        vectors: Span,
        position: Position,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure_vectors(vectors)?;
        self.memory.ensure(out, 4)?;
        let stream = self.process.files.output_stream(fd)?;
        let now = if stream.is_some() { 0 } else { self.process.now() };
        let mut total = 0_u32;
        for index in 0..vectors.len.max(1) {
            let vector = match vectors.len {
                0 => Span::new(0, 0),
                _ => self.memory.vector(vectors, index)?,
            };
            let vector = vector.at_most(MAX_TRANSFER.saturating_sub(total));
            let from = self.memory.bytes(vector)?;
            let written = match (stream, position.plus(total)?) {
                (Some(stream), Position::Own) => {
                    self.turn.capture.write(stream, from);
                    Ok(from.len())
                }
                (Some(_), Position::At(_)) => Err(Errno::NotSeekable),
                (None, Position::Own) => self.process.files.write(fd, from, now),
                (None, Position::At(offset)) => self.process.files.write_at(fd, from, offset, now),
            };
            let Some(written) = keep_going(written, total)? else { break };
            total = total.saturating_add(written);
            if written < vector.len {
                break;
            }
        }
        self.charge(total.into(), BYTE_FUEL);
        self.memory.put_u32(out, total)
    }

    pub(crate) fn fd_seek(
        &mut self,
        fd: u32,
        delta: i64,
        whence: u32,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure(out, 8)?;
        self.process.files.descriptor_stat(fd)?;
        let whence = match whence {
            0 => Whence::Start,
            1 => Whence::Current,
            2 => Whence::End,
            _ => return Err(Errno::Invalid),
        };
        let position = self.process.files.seek(fd, delta, whence)?;
        self.memory.put_u64(out, position)
    }

    pub(crate) fn fd_tell(&mut self, fd: u32, out: u32) -> Result<(), Errno> {
        let position = self.process.files.tell(fd)?;
        self.memory.put_u64(out, position)
    }

    /// Succeeds for every open file: files are in memory, so there is nothing to sync.
    pub(crate) fn fd_sync(&self, fd: u32) -> Result<(), Errno> {
        self.process.files.descriptor_stat(fd).map(|_| ())
    }

    /// Succeeds for every open file and folder: everything is in memory already.
    pub(crate) fn fd_advise(&self, fd: u32, size: u64, advice: u32) -> Result<(), Errno> {
        if self.process.files.descriptor_stat(fd)?.kind != FileKind::Folder {
            self.process.files.tell(fd)?;
        }
        let is_negative = i64::try_from(size).is_err();
        if is_negative || advice > 5 { Err(Errno::Invalid) } else { Ok(()) }
    }

    /// Refuses to reserve room in a file. Other descriptors are an error of their own.
    pub(crate) fn refuse_allocation(&self, fd: u32) -> Result<(), Errno> {
        match self.process.files.descriptor_stat(fd)?.kind {
            FileKind::File => Err(Errno::NotSupported),
            _ => Err(Errno::BadDescriptor),
        }
    }

    /// Refuses to give up rights, which are not enforced here.
    pub(crate) fn refuse_rights(&self, fd: u32) -> Result<(), Errno> {
        self.process.files.descriptor_stat(fd)?;
        Err(Errno::NotSupported)
    }

    pub(crate) fn fd_fdstat_get(&mut self, fd: u32, out: u32) -> Result<(), Errno> {
        self.memory.ensure(out, FDSTAT_SIZE)?;
        let stat = self.process.files.descriptor_stat(fd)?;
        self.memory.put(out, layout::fdstat(&stat))
    }

    /// Applies `APPEND` and stores `NONBLOCK`; the other flags have no effect here.
    pub(crate) fn fd_fdstat_set_flags(&mut self, fd: u32, flags: u32) -> Result<(), Errno> {
        let flags = u16::try_from(flags).ok().ok_or(Errno::Invalid)?;
        if flags & !fdflags::ALL != 0 {
            return Err(Errno::Invalid);
        }
        self.process.files.set_nonblocking(fd, flags & fdflags::NONBLOCK != 0)?;
        if flags & fdflags::APPEND != 0 {
            self.process.files.append_always(fd)
        } else {
            self.process.files.append_no_more(fd)
        }
    }

    pub(crate) fn fd_filestat_get(&mut self, fd: u32, out: u32) -> Result<(), Errno> {
        self.memory.ensure(out, FILESTAT_SIZE)?;
        let stat = self.process.files.stat_open(fd)?;
        self.memory.put(out, layout::filestat(&stat))
    }

    pub(crate) fn fd_filestat_set_size(&mut self, fd: u32, size: u64) -> Result<(), Errno> {
        let now = self.process.now();
        self.process.files.set_size(fd, size, now)
    }

    pub(crate) fn fd_filestat_set_times(
        &mut self,
        fd: u32,
        accessed: u64,
        modified: u64,
        flags: u32,
    ) -> Result<(), Errno> {
        let now = self.process.now();
        let flags = u16::try_from(flags).ok().ok_or(Errno::Invalid)?;
        let times = layout::set_times(accessed, modified, flags, now)?;
        self.process.files.set_times_open(fd, times, now)
    }

    pub(crate) fn fd_prestat_get(&mut self, fd: u32, out: u32) -> Result<(), Errno> {
        let length = self.process.files.preopened_path(fd)?.len();
        let length = u32::try_from(length).ok().ok_or(Errno::Overflow)?;
        self.memory.put(out, layout::prestat(length))
    }

    pub(crate) fn fd_prestat_dir_name(&mut self, fd: u32, into: Span) -> Result<(), Errno> {
        let path = self.process.files.preopened_path(fd)?.as_bytes();
        let to = self.memory.bytes_mut(into)?.get_mut(..path.len());
        to.ok_or(Errno::NameTooLong)?.copy_from_slice(path);
        Ok(())
    }

    /// Writes entries until the buffer is full. A cut entry at its end shows the caller that there
    /// are more.
    pub(crate) fn fd_readdir(
        &mut self,
        fd: u32,
        into: Span,
        cookie: u64,
        out: u32,
    ) -> Result<(), Errno> {
        self.memory.ensure(out, 4)?;
        let buffer = self.memory.bytes_mut(into)?;
        let mut used = 0;
        self.process.files.list(fd, cookie, |entry| {
            let head = layout::dirent(&entry);
            for part in [head.as_slice(), entry.name.as_bytes()] {
                let room = buffer.get_mut(used..).unwrap_or_default();
                let fits = part.len().min(room.len());
                if let (Some(to), Some(from)) = (room.get_mut(..fits), part.get(..fits)) {
                    to.copy_from_slice(from);
                }
                used = used.saturating_add(fits);
                if fits < part.len() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        self.charge(u64::try_from(used).unwrap_or(u64::MAX), ENTRY_FUEL);
        self.memory.put_count(out, used)
    }

    /// Refuses socket operations: no descriptor is a socket.
    pub(crate) fn refuse_socket(&self, fd: u32) -> Result<(), Errno> {
        self.process.files.descriptor_stat(fd)?;
        Err(Errno::NotSocket)
    }
}

/// The result of one vector's transfer. An error after some bytes were transferred only ends the
/// call.
fn keep_going(done: Result<usize, Errno>, total: u32) -> Result<Option<u32>, Errno> {
    match done {
        Ok(count) => Ok(Some(u32::try_from(count).unwrap_or(u32::MAX))),
        Err(errno) if total == 0 => Err(errno),
        Err(_) => Ok(None),
    }
}
