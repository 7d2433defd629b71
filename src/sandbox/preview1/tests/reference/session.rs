//! One implementation of preview 1 and its open descriptors: makes calls and reads the answers.

use std::collections::BTreeMap;
use std::fmt;

use crate::sandbox::preview1::tests::reference::calls::{Awaited, Call, Handle, Opening, Path};

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

/// Part of an answer.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Value {
    Number(u64),
    Bytes(Vec<u8>),
    /// Names of a folder with their types.
    Names(BTreeMap<String, u8>),
    /// The present time, which differs between the two sides.
    Now,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Bytes(bytes) if bytes.len() < 40 => write!(f, "b\"{}\"", bytes.escape_ascii()),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Names(names) => names.fmt(f),
            Self::Now => f.write_str("now"),
        }
    }
}

/// The answer of a call: its error number, and if that is 0, its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) errno: u32,
    pub(super) fields: Vec<(&'static str, Value)>,
}

impl Answer {
    pub(super) fn number(&self, field: &str) -> Option<u64> {
        self.fields.iter().find_map(|(name, value)| match value {
            Value::Number(number) if *name == field => Some(*number),
            _ => None,
        })
    }
}

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
    /// One after the other, as a C library goes on when less was transferred than asked for.
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

    fn dispatch(&mut self, call: &Call) -> Answer {
        match call {
            Call::Open { path, how } => self.open(path, *how),
            Call::Read { fd, lengths, offset } => self.read(*fd, lengths, *offset),
            Call::Write { fd, parts, offset } => self.write(*fd, parts, *offset),
            Call::List { fd, length } => self.list(*fd, *length),
            Call::Poll(awaited) => self.poll(awaited),
            Call::Raw(name, arguments) => {
                self.allow(0, 0x1_0000);
                self.plain(name, arguments)
            }
            _ if call.paths().is_empty() => self.dispatch_descriptor(call),
            _ => self.dispatch_path(call),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each function")]
    fn dispatch_descriptor(&mut self, call: &Call) -> Answer {
        let out = u64::from(OUT);
        match call {
            Call::Close(fd) => self.plain("fd_close", &[self.fd(*fd)]),
            Call::Renumber { from, to } => {
                self.plain("fd_renumber", &[self.fd(*from), self.fd(*to)])
            }
            Call::Seek { fd, delta, whence } => {
                let arguments = [self.fd(*fd), delta.cast_unsigned(), (*whence).into(), out];
                self.with_result("fd_seek", &arguments, 8, |session| {
                    vec![("position", Value::Number(session.u64(OUT)))]
                })
            }
            Call::Tell(fd) => self.with_result("fd_tell", &[self.fd(*fd), out], 8, |session| {
                vec![("position", Value::Number(session.u64(OUT)))]
            }),
            Call::Sync(fd) => self.plain("fd_sync", &[self.fd(*fd)]),
            Call::DataSync(fd) => self.plain("fd_datasync", &[self.fd(*fd)]),
            Call::Advise { fd, offset, length, advice } => {
                self.plain("fd_advise", &[self.fd(*fd), *offset, *length, (*advice).into()])
            }
            Call::Allocate { fd, offset, length } => {
                self.plain("fd_allocate", &[self.fd(*fd), *offset, *length])
            }
            Call::ReadDir { fd, length, cookie } => {
                self.allow(BUFFER, *length as usize);
                let arguments = [self.fd(*fd), BUFFER.into(), (*length).into(), *cookie, out];
                self.with_result("fd_readdir", &arguments, 4, |session| {
                    vec![("used", Value::Number(session.u32(OUT).into()))]
                })
            }
            Call::DescriptorStat(fd) => {
                self.with_result("fd_fdstat_get", &[self.fd(*fd), out], 24, Self::descriptor_stat)
            }
            Call::SetFlags { fd, flags } => {
                self.plain("fd_fdstat_set_flags", &[self.fd(*fd), (*flags).into()])
            }
            Call::SetRights { fd, rights } => {
                self.plain("fd_fdstat_set_rights", &[self.fd(*fd), *rights, *rights])
            }
            Call::Stat(fd) => {
                self.with_result("fd_filestat_get", &[self.fd(*fd), out], 64, Self::stat)
            }
            Call::SetSize { fd, size } => {
                self.plain("fd_filestat_set_size", &[self.fd(*fd), *size])
            }
            Call::SetTimes { fd, times } => self.plain(
                "fd_filestat_set_times",
                &[self.fd(*fd), times.accessed, times.modified, times.flags.into()],
            ),
            Call::Prestat(fd) => {
                self.with_result("fd_prestat_get", &[self.fd(*fd), out], 8, |session| {
                    let kind = session.bytes(OUT, 1)[0].into();
                    let length = session.u32(OUT + 4).into();
                    vec![("kind", Value::Number(kind)), ("length", Value::Number(length))]
                })
            }
            Call::PrestatName { fd, length } => {
                self.allow(BUFFER, *length as usize);
                let arguments = [self.fd(*fd), BUFFER.into(), (*length).into()];
                let length = *length as usize;
                self.with_result("fd_prestat_dir_name", &arguments, 0, |session| {
                    vec![("name", Value::Bytes(session.bytes(BUFFER, length)))]
                })
            }
            _ => self.dispatch_process(call),
        }
    }

    fn dispatch_process(&mut self, call: &Call) -> Answer {
        let out = u64::from(OUT);
        match call {
            Call::ClockResolution(id) => {
                self.with_result("clock_res_get", &[(*id).into(), out], 8, |session| {
                    vec![("resolution", Value::Number(session.u64(OUT)))]
                })
            }
            Call::ClockTime(id) => {
                let is_calendar = *id == 0;
                self.with_result("clock_time_get", &[(*id).into(), 0, out], 8, |session| {
                    let is_now = !is_calendar || session.u64(OUT) > NOW;
                    vec![("now", Value::Number(is_now.into()))]
                })
            }
            Call::Random(length) => {
                self.allow(BUFFER, *length as usize);
                let length = *length as usize;
                let arguments = [BUFFER.into(), length as u64];
                self.with_result("random_get", &arguments, 0, |session| {
                    let differs = session.bytes(BUFFER, length).iter().any(|byte| *byte != 0);
                    vec![("filled", Value::Number((length < 16 || differs).into()))]
                })
            }
            Call::Arguments => self.texts("args_sizes_get", "args_get"),
            Call::Environment => self.texts("environ_sizes_get", "environ_get"),
            Call::Yield => self.plain("sched_yield", &[]),
            Call::Raise(signal) => self.plain("proc_raise", &[(*signal).into()]),
            Call::Accept(fd) => {
                self.allow(OUT, 4);
                self.plain("sock_accept", &[self.fd(*fd), 0, out])
            }
            Call::Receive(fd) => {
                self.allow(OUT, 8);
                let vectors = u64::from(VECTORS);
                self.plain("sock_recv", &[self.fd(*fd), vectors, 0, 0, out, out + 4])
            }
            Call::Send(fd) => {
                self.allow(OUT, 4);
                self.plain("sock_send", &[self.fd(*fd), VECTORS.into(), 0, 0, out])
            }
            Call::Shutdown(fd) => self.plain("sock_shutdown", &[self.fd(*fd), 1]),
            other => panic!("{other:?} is not about a descriptor"),
        }
    }

    fn dispatch_path(&mut self, call: &Call) -> Answer {
        let out = u64::from(OUT);
        match call {
            Call::MakeFolder(path) => {
                let path = self.path(FIRST_PATH, path);
                self.plain("path_create_directory", &path)
            }
            Call::RemoveFolder(path) => {
                let path = self.path(FIRST_PATH, path);
                self.plain("path_remove_directory", &path)
            }
            Call::Unlink(path) => {
                let path = self.path(FIRST_PATH, path);
                self.plain("path_unlink_file", &path)
            }
            Call::PathStat { path, lookup } => {
                let [fd, start, len] = self.path(FIRST_PATH, path);
                let arguments = [fd, (*lookup).into(), start, len, out];
                self.with_result("path_filestat_get", &arguments, 64, Self::stat)
            }
            Call::PathSetTimes { path, lookup, times } => {
                let [fd, start, len] = self.path(FIRST_PATH, path);
                let given = [times.accessed, times.modified, times.flags.into()];
                let arguments = [&[fd, (*lookup).into(), start, len], &given[..]].concat();
                self.plain("path_filestat_set_times", &arguments)
            }
            Call::Link { from, lookup, to } => {
                let [fd, start, len] = self.path(FIRST_PATH, from);
                let to = self.path(SECOND_PATH, to);
                let arguments = [&[fd, (*lookup).into(), start, len], &to[..]].concat();
                self.plain("path_link", &arguments)
            }
            Call::Rename { from, to } => {
                let from = self.path(FIRST_PATH, from);
                let to = self.path(SECOND_PATH, to);
                self.plain("path_rename", &[from, to].concat())
            }
            Call::Symlink { target, path } => {
                self.put(FIRST_PATH, target.as_bytes());
                let [fd, start, len] = self.path(SECOND_PATH, path);
                let target = [FIRST_PATH.into(), target.len() as u64];
                self.plain("path_symlink", &[&target[..], &[fd, start, len]].concat())
            }
            Call::ReadLink { path, length } => {
                let [fd, start, len] = self.path(FIRST_PATH, path);
                self.allow(BUFFER, *length as usize);
                let arguments = [fd, start, len, BUFFER.into(), (*length).into(), out];
                self.with_result("path_readlink", &arguments, 4, |session| {
                    let len = session.u32(OUT) as usize;
                    vec![("target", Value::Bytes(session.bytes(BUFFER, len)))]
                })
            }
            other => panic!("{other:?} is not about a path"),
        }
    }

    fn open(&mut self, path: &Path, how: Opening) -> Answer {
        let [folder, start, len] = self.path(FIRST_PATH, path);
        let Opening { lookup, oflags, rights, fdflags } = how;
        let arguments = [
            folder,
            lookup.into(),
            start,
            len,
            oflags.into(),
            rights,
            rights,
            fdflags.into(),
            OUT.into(),
        ];
        self.with_result("path_open", &arguments, 4, |session| {
            vec![("fd", Value::Number(session.u32(OUT).into()))]
        })
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

    /// Lists a folder as C libraries do: what is cut off at the end of the buffer comes again, in
    /// a larger one if nothing else fitted.
    fn list(&mut self, fd: Handle, length: u32) -> Answer {
        let (mut cookie, mut length) = (0, length);
        let mut names = BTreeMap::new();
        let mut numbers_agree = true;
        for _ in 0..1000 {
            let fd_number = self.fd(fd);
            self.allow(BUFFER, length as usize);
            self.allow(OUT, 4);
            let arguments = [fd_number, BUFFER.into(), length.into(), cookie, OUT.into()];
            let errno = self.side.ask("fd_readdir", &arguments);
            if errno != 0 {
                return Answer { errno, fields: Vec::new() };
            }
            let used = self.u32(OUT) as usize;
            let listed = self.bytes(BUFFER, used);
            let mut rest = &listed[..];
            let mut whole = 0;
            while let Some((entry, name, later)) = entry(rest) {
                cookie = entry.next;
                whole += 1;
                let known = names.insert(name.clone(), entry.kind);
                assert!(known.is_none(), "{name} is listed twice");
                numbers_agree &= self.number_is(fd_number, &name, entry.inode);
                rest = later;
            }
            if used < length as usize {
                let fields = [
                    ("names", Value::Names(names)),
                    ("numbers agree", Value::Number(numbers_agree.into())),
                ];
                return Answer { errno: 0, fields: fields.into() };
            }
            if whole == 0 {
                length *= 2;
            }
        }
        panic!("a listing without an end");
    }

    /// True if a listed name has that number of a file; those of `.` and `..` are not asked for.
    fn number_is(&mut self, folder: u64, name: &str, inode: u64) -> bool {
        if [".", ".."].contains(&name) {
            return true;
        }
        self.put(FIRST_PATH, name.as_bytes());
        self.allow(OUT, 64);
        let arguments = [folder, 0, FIRST_PATH.into(), name.len() as u64, OUT.into()];
        self.side.ask("path_filestat_get", &arguments) == 0 && self.u64(OUT + 8) == inode
    }

    fn descriptor_stat(&mut self) -> Vec<(&'static str, Value)> {
        let (head, rights) = (self.bytes(OUT, 4), self.u64(OUT + 8));
        let flags = u16::from_le_bytes([head[2], head[3]]);
        vec![
            ("type", Value::Number(head[0].into())),
            ("flags", Value::Number(flags.into())),
            ("reads", Value::Number(rights >> 1 & 1)),
            ("writes", Value::Number(rights >> 6 & 1)),
        ]
    }

    fn stat(&mut self) -> Vec<(&'static str, Value)> {
        let kind = self.bytes(OUT + 16, 1)[0];
        let mut time = |at| match self.u64(at) {
            NOW.. => Value::Now,
            given => Value::Number(given),
        };
        let (accessed, modified) = (time(OUT + 40), time(OUT + 48));
        vec![
            ("type", Value::Number(kind.into())),
            ("inode", Value::Number(self.u64(OUT + 8))),
            ("links", Value::Number(self.u64(OUT + 24))),
            ("size", Value::Number(self.u64(OUT + 32))),
            ("accessed", accessed),
            ("modified", modified),
        ]
    }

    /// Sizes, texts and pointers of arguments or environment.
    fn texts(&mut self, sizes: &str, texts: &str) -> Answer {
        self.allow(OUT, 8);
        let out = u64::from(OUT);
        let errno = self.side.ask(sizes, &[out, out + 4]);
        let (count, size) = (self.u32(OUT), self.u32(OUT + 4));
        self.allow(VECTORS, count as usize * 4);
        self.allow(BUFFER, size as usize);
        let errno = errno | self.side.ask(texts, &[VECTORS.into(), BUFFER.into()]);
        let fields = vec![
            ("pointers", Value::Bytes(self.bytes(VECTORS, count as usize * 4))),
            ("texts", Value::Bytes(self.bytes(BUFFER, size as usize))),
        ];
        Answer { errno, fields }
    }

    /// Polls. Files are ready at once, and it is a race if a clock beside them has ended too, so
    /// the clock's event is left out if files are awaited.
    fn poll(&mut self, awaited: &[Awaited]) -> Answer {
        let mut subscriptions = Vec::new();
        for (index, awaited) in (1_u64..).zip(awaited) {
            let mut bytes = [0; 48];
            bytes[..8].copy_from_slice(&index.to_le_bytes());
            let mut put =
                |at: usize, value: &[u8]| bytes[at..][..value.len()].copy_from_slice(value);
            match *awaited {
                Awaited::Clock { id, timeout, flags } => {
                    put(16, &id.to_le_bytes());
                    put(24, &timeout.to_le_bytes());
                    put(40, &flags.to_le_bytes());
                }
                Awaited::Readable(fd) | Awaited::Writable(fd) => {
                    let kind = if matches!(awaited, Awaited::Readable(_)) { 1 } else { 2 };
                    put(8, &[kind]);
                    put(16, &u32::try_from(self.fd(fd)).unwrap().to_le_bytes());
                }
            }
            subscriptions.extend(bytes);
        }
        self.put(VECTORS, &subscriptions);
        self.allow(BUFFER, awaited.len() * 32);
        let has_files = awaited.iter().any(|awaited| !matches!(awaited, Awaited::Clock { .. }));
        let arguments = [VECTORS.into(), BUFFER.into(), awaited.len() as u64, OUT.into()];
        self.with_result("poll_oneoff", &arguments, 4, |session| {
            let count = session.u32(OUT) as usize;
            let events = session.bytes(BUFFER, count * 32);
            let (mut came, mut sizes, mut flags) = (Vec::new(), Vec::new(), Vec::new());
            for event in events.chunks(32).filter(|event| !has_files || event[10] != 0) {
                came.extend(&event[..11]);
                sizes.extend(&event[16..24]);
                flags.push(event[24]);
            }
            vec![
                ("events", Value::Bytes(came)),
                ("event sizes", Value::Bytes(sizes)),
                ("event flags", Value::Bytes(flags)),
            ]
        })
    }
}

struct ListedHead {
    next: u64,
    inode: u64,
    kind: u8,
}

/// The first entry of a listing, if all of it is there.
fn entry(listed: &[u8]) -> Option<(ListedHead, String, &[u8])> {
    let (head, rest) = listed.split_at_checked(24)?;
    let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
    let length = u32::from_le_bytes(head[16..20].try_into().unwrap());
    let (name, later) = rest.split_at_checked(length as usize)?;
    let name = String::from_utf8(name.to_vec()).unwrap();
    Some((ListedHead { next: number(0), inode: number(8), kind: head[20] }, name, later))
}
