//! One implementation of preview 1 and its open descriptors: makes calls and reads the answers.

mod answer;
mod dispatch;
mod results;

use crate::preview1::tests::reference::calls::{Awaited, Call, Handle, Opening, Path};
pub(super) use crate::preview1::tests::reference::session::answer::{Answer, Value};

/// Descriptors that can be open at once.
pub(super) const SLOTS: usize = 6;

/// Addresses of arguments and results in the guest's memory.
const FIRST_PATH: u32 = 0x1000;
const SECOND_PATH: u32 = 0x2800;
const OUT: u32 = 0x4000;
const VECTORS: u32 = 0x5000;
const BUFFER: u32 = 0x6000;
const BUFFER_SIZE: u32 = 0x9000;

/// A number that is never open.
const CLOSED: u64 = 4000;

/// Stands for the error number of a call that ended the guest.
pub(super) const TRAP: u32 = 0xffff;

/// Times from here on are those of the clock; tests set earlier ones.
const NOW: u64 = 1_700_000_000 * 1_000_000_000;

/// An instance of the test's module, linked with one implementation.
pub(super) trait Side {
    /// Calls an export; [`TRAP`] if that ended the guest.
    fn ask(&mut self, name: &str, arguments: &[u64]) -> u32;

    fn memory(&mut self) -> &mut [u8];
}

/// How vectors are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vectors {
    /// As they are.
    Whole,
    /// One after the other, as a C library continues when less was transferred than asked for.
    OneByOne,
}

pub(super) struct Session<S> {
    pub(super) side: S,
    pub(super) base: u64,
    pub(super) open: [Option<u64>; SLOTS],
    pub(super) vectors: Vectors,
    /// The parts of memory that the current call may use.
    used: Vec<(usize, usize)>,
}

impl<S: Side> Session<S> {
    pub(super) fn new(side: S, base: u64, vectors: Vectors) -> Self {
        Self { side, base, open: [None; SLOTS], vectors, used: Vec::new() }
    }

    /// Makes the call, and checks that nothing but its results was written.
    pub(super) fn run(&mut self, call: &Call) -> Answer {
        let answer = self.dispatch(call);
        let used = std::mem::take(&mut self.used);
        let memory = self.side.memory();
        for (start, len) in used {
            memory[start..start + len].fill(0);
        }
        let untouched = memory.chunks(4096).all(|page| page == &[0; 4096][..page.len()]);
        assert!(untouched, "{call:?} wrote outside of its results");
        answer
    }

    pub(super) fn fd(&self, handle: Handle) -> u64 {
        match handle {
            Handle::Base => self.base,
            Handle::Open(_) => self.slot(handle).and_then(|slot| self.open[slot]).unwrap_or(CLOSED),
            Handle::Closed => CLOSED,
            Handle::Input => 0,
            Handle::Output => 1,
        }
    }

    /// The slot that a handle means: the open ones in turn.
    pub(super) fn slot(&self, handle: Handle) -> Option<usize> {
        let Handle::Open(number) = handle else { return None };
        let open: Vec<usize> = (0..SLOTS).filter(|slot| self.open[*slot].is_some()).collect();
        (!open.is_empty()).then(|| open[number % open.len()])
    }

    fn put(&mut self, at: u32, bytes: &[u8]) {
        self.allow(at, bytes.len());
        self.side.memory()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn allow(&mut self, at: u32, len: usize) {
        self.used.push((at as usize, len));
    }

    fn bytes(&mut self, at: u32, len: usize) -> Vec<u8> {
        self.side.memory()[at as usize..][..len].to_vec()
    }

    fn u32(&mut self, at: u32) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().unwrap())
    }

    fn u64(&mut self, at: u32) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().unwrap())
    }

    fn path(&mut self, at: u32, path: &Path) -> [u64; 3] {
        self.put(at, path.text.as_bytes());
        [self.fd(path.at), at.into(), path.text.len() as u64]
    }

    /// Makes a call whose answer is its error number alone.
    fn plain(&mut self, name: &str, arguments: &[u64]) -> Answer {
        Answer { errno: self.side.ask(name, arguments), fields: Vec::new() }
    }

    /// Makes a call with a result of `len` bytes at [`OUT`], which `read` takes apart.
    fn with_result(
        &mut self,
        name: &str,
        arguments: &[u64],
        len: usize,
        read: impl FnOnce(&mut Self) -> Vec<(&'static str, Value)>,
    ) -> Answer {
        self.allow(OUT, len);
        let errno = self.side.ask(name, arguments);
        Answer { errno, fields: if errno == 0 { read(self) } else { Vec::new() } }
    }

    /// Puts vectors of these lengths into memory; there is a gap between their buffers.
    fn place(&mut self, lengths: &[u32]) -> Vec<(u32, u32)> {
        let mut start = BUFFER;
        let mut places = Vec::new();
        for length in lengths {
            assert!(start + length < BUFFER + BUFFER_SIZE);
            self.allow(start, *length as usize);
            places.push((start, *length));
            start += length + 8;
        }
        places
    }

    /// Calls `name` with these vectors; returns how many bytes it has transferred.
    fn transfer(
        &mut self,
        names: [&str; 2],
        fd: u64,
        places: &[(u32, u32)],
        offset: Option<u64>,
    ) -> Result<u32, u32> {
        let vectors = places
            .iter()
            .flat_map(|(start, len)| [start.to_le_bytes(), len.to_le_bytes()].concat())
            .collect::<Vec<_>>();
        self.put(VECTORS, &vectors);
        self.allow(OUT, 4);
        let mut arguments = vec![fd, VECTORS.into(), places.len() as u64];
        arguments.extend(offset);
        arguments.push(OUT.into());
        match self.side.ask(names[usize::from(offset.is_some())], &arguments) {
            0 => Ok(self.u32(OUT)),
            errno => Err(errno),
        }
    }

    /// Transfers all vectors, one after the other if they are not to be handed over as a whole.
    fn transfer_all(
        &mut self,
        names: [&str; 2],
        fd: u64,
        places: &[(u32, u32)],
        offset: Option<u64>,
    ) -> Result<u32, u32> {
        let filled = places.iter().filter(|(_, len)| *len > 0).copied().collect::<Vec<_>>();
        if self.vectors == Vectors::Whole || filled.len() < 2 {
            return self.transfer(names, fd, places, offset);
        }
        let mut total = 0;
        for place in filled {
            let at = offset.map(|offset| offset.saturating_add(total.into()));
            match self.transfer(names, fd, &[place], at) {
                Ok(done) => {
                    total += done;
                    if done < place.1 {
                        break;
                    }
                }
                Err(errno) if total == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(total)
    }

    fn read(&mut self, fd: Handle, lengths: &[u32], offset: Option<u64>) -> Answer {
        let places = self.place(lengths);
        match self.transfer_all(["fd_read", "fd_pread"], self.fd(fd), &places, offset) {
            Err(errno) => Answer { errno, fields: Vec::new() },
            Ok(read) => {
                let mut bytes = Vec::new();
                for (start, len) in places {
                    bytes.extend(self.bytes(start, len as usize));
                }
                bytes.truncate(read as usize);
                let read = ("count", Value::Number(read.into()));
                Answer { errno: 0, fields: vec![read, ("bytes", Value::Bytes(bytes))] }
            }
        }
    }

    fn write(&mut self, fd: Handle, parts: &[Vec<u8>], offset: Option<u64>) -> Answer {
        let lengths: Vec<u32> = parts.iter().map(|part| part.len().try_into().unwrap()).collect();
        let places = self.place(&lengths);
        for ((start, _), part) in places.iter().zip(parts) {
            self.put(*start, part);
        }
        match self.transfer_all(["fd_write", "fd_pwrite"], self.fd(fd), &places, offset) {
            Err(errno) => Answer { errno, fields: Vec::new() },
            Ok(count) => Answer { errno: 0, fields: vec![("count", Value::Number(count.into()))] },
        }
    }
}
