//! Reads the results of calls that fill structures: listings, attributes, texts and events.

use std::collections::BTreeMap;

use super::*;

impl<S: Side> Session<S> {
    /// Lists a folder as C libraries do: what is cut off at the end of the buffer comes again, in
    /// a larger one if nothing else fitted.
    pub(super) fn list(&mut self, fd: Handle, length: u32) -> Answer {
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

    pub(super) fn descriptor_stat(&mut self) -> Vec<(&'static str, Value)> {
        let (head, rights) = (self.bytes(OUT, 4), self.u64(OUT + 8));
        let flags = u16::from_le_bytes([head[2], head[3]]);
        vec![
            ("type", Value::Number(head[0].into())),
            ("flags", Value::Number(flags.into())),
            ("reads", Value::Number(rights >> 1 & 1)),
            ("writes", Value::Number(rights >> 6 & 1)),
        ]
    }

    pub(super) fn stat(&mut self) -> Vec<(&'static str, Value)> {
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
    pub(super) fn texts(&mut self, sizes: &str, texts: &str) -> Answer {
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

    /// Polls. Files are ready at once, and it is a race if a clock next to them has ended too, so
    /// the clock's event is left out if files are awaited.
    pub(super) fn poll(&mut self, awaited: &[Awaited]) -> Answer {
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
