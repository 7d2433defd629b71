//! A guest in WAT that can call every function, and what the functions answer.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use wasmtime::{Engine, Instance, Linker, Module, Store, Val};

use super::*;
use crate::clock::Clock;
use crate::job::limits::RunLimits;
use crate::job::outcome::Logs;
use crate::sandbox::ambient::AmbientMode;
use crate::sandbox::vfs::content::SharedBytes;
use crate::sandbox::vfs::immutable::ImmutableTree;
use crate::sandbox::vfs::{Errno, MOUNT_TIME, Mount};

/// All functions of preview 1, with the types of their parameters: `i` for 32 bits, `l` for 64.
pub(super) const FUNCTIONS: [(&str, &str); 46] = [
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "ili"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "iiili"),
    ("fd_prestat_get", "ii"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_pwrite", "iiili"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiili"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiilli"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiillii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("poll_oneoff", "iiii"),
    ("proc_exit", "i"),
    ("proc_raise", "i"),
    ("sched_yield", ""),
    ("random_get", "ii"),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
    ("sock_shutdown", "ii"),
];

/// Size of the guest's memory.
pub(super) const MEMORY_SIZE: u32 = 64 << 10;

/// Where tests put paths; see [`Guest::path`].
const PATHS: u32 = 0x1000;

/// Where tests let results be written.
const OUT: u32 = 0x3000;

/// Where tests put vectors, subscriptions and buffers.
const BUFFER: u32 = 0x4000;

pub(super) struct State {
    pub(super) wasi: Wasi,
    memory: Option<Memory>,
}

impl Preview1 for State {
    fn wasi(&mut self) -> &mut Wasi {
        &mut self.wasi
    }

    fn memory(&self) -> Option<Memory> {
        self.memory
    }
}

/// A module that exports every function of preview 1 under its own name.
fn source() -> String {
    let mut imports = String::new();
    let mut functions = String::new();
    for (name, parameters) in FUNCTIONS {
        let types: Vec<&str> =
            parameters.chars().map(|kind| if kind == 'l' { "i64" } else { "i32" }).collect();
        let types = format!("(param {})", types.join(" "));
        let result = if name == "proc_exit" { "" } else { "(result i32)" };
        writeln!(
            imports,
            r#"(import "wasi_snapshot_preview1" "{name}" (func ${name} {types} {result}))"#
        )
        .unwrap();
        let arguments: String =
            (0..parameters.len()).map(|index| format!("(local.get {index})")).collect();
        writeln!(
            functions,
            r#"(func (export "{name}") {types} {result} (call ${name} {arguments}))"#
        )
        .unwrap();
    }
    format!(r#"(module {imports} (memory (export "memory") 1) {functions})"#)
}

pub(super) struct Guest {
    pub(super) store: Store<State>,
    instance: Instance,
    memory: Memory,
}

pub(super) fn mounts() -> Vec<Mount> {
    let skill = (0..40).map(|number| {
        let content = SharedBytes::new(format!("file {number}").into_bytes());
        (format!("file{number:02}"), Arc::new(content) as _)
    });
    vec![Mount::tree("/skills/s", Arc::new(ImmutableTree::from_files(skill).unwrap()))]
}

pub(super) fn wasi(mode: AmbientMode, deadline: Deadline) -> Wasi {
    let limits = RunLimits::DEFAULT;
    let files = FileSystem::for_run(&limits, &mounts(), 0).unwrap();
    Wasi::new(files, Capture::new(limits.logs), Ambient::new(mode, Clock::System), deadline)
}

const SEEDED: AmbientMode =
    AmbientMode::Seeded { seed: [1; 32], realtime: Duration::from_secs(1_000_000) };

impl Guest {
    pub(super) fn new(wasi: Wasi) -> Self {
        static COMPILED: OnceLock<(Engine, Module)> = OnceLock::new();
        let (engine, module) = COMPILED.get_or_init(|| {
            let engine = Engine::default();
            let module = Module::new(&engine, wat::parse_str(source()).unwrap()).unwrap();
            (engine, module)
        });
        let mut linker = Linker::new(engine);
        link(&mut linker).unwrap();
        let mut store = Store::new(engine, State { wasi, memory: None });
        let instance = linker.instantiate(&mut store, module).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        store.data_mut().memory = Some(memory);
        Self { store, instance, memory }
    }

    fn live() -> Self {
        Self::new(wasi(AmbientMode::Live, Deadline::after(Duration::from_secs(60))))
    }

    /// Calls a function; arguments are cut to the width of the parameters.
    pub(super) fn try_call(&mut self, name: &str, arguments: &[u64]) -> wasmtime::Result<u32> {
        let (_, kinds) = FUNCTIONS.iter().find(|(function, _)| *function == name).unwrap();
        let values: Vec<Val> = kinds
            .chars()
            .zip(arguments)
            .map(|(kind, &argument)| match kind {
                'l' => Val::I64(argument.cast_signed()),
                _ => Val::I32(u32::try_from(argument & 0xffff_ffff).unwrap().cast_signed()),
            })
            .collect();
        let function = self.instance.get_func(&mut self.store, name).unwrap();
        let mut results = vec![Val::I32(0); function.ty(&self.store).results().len()];
        function.call(&mut self.store, &values, &mut results)?;
        Ok(results.first().map_or(0, |result| result.unwrap_i32().cast_unsigned()))
    }

    fn call(&mut self, name: &str, arguments: &[u64]) -> Result<(), u32> {
        match self.try_call(name, arguments).unwrap() {
            0 => Ok(()),
            errno => Err(errno),
        }
    }

    pub(super) fn memory(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }

    fn put(&mut self, at: u32, bytes: &[u8]) {
        self.memory()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn bytes(&mut self, at: u32, len: usize) -> Vec<u8> {
        self.memory()[at as usize..][..len].to_vec()
    }

    fn u32(&mut self, at: u32) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().unwrap())
    }

    fn u64(&mut self, at: u32) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().unwrap())
    }

    /// Puts a path into memory; returns its address and length.
    fn path(&mut self, slot: u32, path: &str) -> [u64; 2] {
        let at = PATHS + slot * 0x800;
        self.put(at, path.as_bytes());
        [at.into(), path.len() as u64]
    }

    /// Opens a path relative to a folder with these flags and rights.
    fn open(&mut self, folder: u64, path: &str, oflags: u64, rights: u64) -> Result<u64, u32> {
        let [start, len] = self.path(0, path);
        let out = u64::from(OUT);
        self.call("path_open", &[folder, 1, start, len, oflags, rights, rights, 0, out])?;
        Ok(self.u32(OUT).into())
    }

    /// Puts vectors at [`BUFFER`]; returns their address and number.
    fn vectors(&mut self, vectors: &[(u32, u32)]) -> [u64; 2] {
        for (index, (start, len)) in (0_u32..).zip(vectors) {
            self.put(BUFFER + index * 8, &start.to_le_bytes());
            self.put(BUFFER + index * 8 + 4, &len.to_le_bytes());
        }
        [BUFFER.into(), vectors.len() as u64]
    }

    fn write(&mut self, fd: u64, bytes: &[u8]) -> Result<u32, u32> {
        self.put(0x5000, bytes);
        let len = u32::try_from(bytes.len()).unwrap();
        let (half, rest) = (len / 2, len - len / 2);
        let [start, count] = self.vectors(&[(0x5000, half), (0, 0), (0x5000 + half, rest)]);
        self.call("fd_write", &[fd, start, count, OUT.into()])?;
        Ok(self.u32(OUT))
    }

    fn logs(self) -> Logs {
        self.store.into_data().wasi.capture.into_logs()
    }
}

const READ: u64 = layout::rights::FD_READ;
const WRITE: u64 = layout::rights::FD_WRITE;
const CREATE: u64 = 1;

fn number(errno: Errno) -> u32 {
    errno.number().into()
}

#[test]
fn output_is_captured_and_never_refused() {
    let mut guest = Guest::live();
    assert_eq!(guest.write(1, b"hello "), Ok(6));
    assert_eq!(guest.write(1, b"world\n"), Ok(6));
    assert_eq!(guest.write(2, b"oh"), Ok(2));
    assert_eq!(guest.write(0, b"in"), Err(number(Errno::BadDescriptor)));
    for _ in 0..300 {
        assert_eq!(guest.write(1, &[b'x'; 8000]), Ok(8000));
    }
    let logs = guest.logs();
    assert_eq!(logs.chunks[0].text, "hello world\n");
    assert_eq!(logs.chunks[1].text, "oh");
    assert!(logs.dropped > 300 * 8000 - (1 << 20));
}

#[test]
fn a_file_reads_back_what_was_written() {
    let mut guest = Guest::live();
    let fd = guest.open(4, "a.txt", CREATE, READ | WRITE).unwrap();
    assert_eq!(guest.write(fd, b"0123456789"), Ok(10));
    guest.call("fd_seek", &[fd, (-4_i64).cast_unsigned(), 2, OUT.into()]).unwrap();
    assert_eq!(guest.u64(OUT), 6);
    let [start, count] = guest.vectors(&[(0x6000, 3), (0x6100, 9)]);
    guest.call("fd_read", &[fd, start, count, OUT.into()]).unwrap();
    assert_eq!(
        (guest.u32(OUT), guest.bytes(0x6000, 3), guest.bytes(0x6100, 2)),
        (4, b"678".into(), b"9\0".into())
    );
    guest.call("fd_tell", &[fd, OUT.into()]).unwrap();
    assert_eq!(guest.u64(OUT), 10);
    let [start, count] = guest.vectors(&[(0x6000, 2), (0x6002, 2)]);
    guest.call("fd_pread", &[fd, start, count, 1, OUT.into()]).unwrap();
    assert_eq!(guest.bytes(0x6000, 4), b"1234");
    guest.call("fd_pwrite", &[fd, start, count, 8, OUT.into()]).unwrap();
    guest.call("fd_filestat_get", &[fd, OUT.into()]).unwrap();
    let stat = guest.bytes(OUT, 64);
    assert_eq!((stat[16], u64::from_le_bytes(stat[32..40].try_into().unwrap())), (4, 12));
    guest.call("fd_close", &[fd]).unwrap();
    assert_eq!(guest.call("fd_close", &[fd]), Err(number(Errno::BadDescriptor)));
}

#[test]
fn metadata_is_laid_out_as_c_expects() {
    let mut guest = Guest::live();
    let [start, len] = guest.path(0, "skills/s/file07");
    guest.put(OUT, &[0xff; 64]);
    guest.call("path_filestat_get", &[3, 1, start, len, OUT.into()]).unwrap();
    let fields: Vec<u64> = (0..8).map(|index| guest.u64(OUT + index * 8)).collect();
    let [device, inode, kind, links, size, times @ ..] = &fields[..] else { panic!() };
    assert_eq!((*device, *kind, *links, *size), (1, 4, 1, 6));
    assert!(*inode > 0);
    assert_eq!(times, [MOUNT_TIME; 3]);
}

#[test]
fn rights_tell_a_c_library_what_can_be_written() {
    let mut guest = Guest::live();
    let fdstat = |guest: &mut Guest, fd| {
        guest.call("fd_fdstat_get", &[fd, OUT.into()]).unwrap();
        let head = guest.bytes(OUT, 4);
        (head[0], u16::from_le_bytes([head[2], head[3]]), guest.u64(OUT + 8), guest.u64(OUT + 16))
    };
    let (kind, _, _, read_only) = fdstat(&mut guest, 3);
    let (_, _, _, workspace) = fdstat(&mut guest, 4);
    assert_eq!(kind, 3);
    assert_eq!((read_only & WRITE, workspace & WRITE), (0, WRITE));
    // What a C library asks for when a file there is opened to write: all that is handed down.
    let opened = guest.open(3, "skills/s/file00", 0, read_only);
    assert_eq!(opened, Err(number(Errno::ReadOnly)));
    // And when it is opened to read only.
    let reading = read_only & !layout::rights::INTENDS_CHANGES;
    let fd = guest.open(3, "skills/s/file00", 0, reading).unwrap();
    let (kind, _, base, _) = fdstat(&mut guest, fd);
    assert_eq!((kind, base & (READ | WRITE)), (4, READ));
    let fd = guest.open(4, "new", CREATE, workspace).unwrap();
    assert_eq!(fdstat(&mut guest, fd).2 & (READ | WRITE), READ | WRITE);
    guest.call("fd_fdstat_set_flags", &[fd, 1 | 4]).unwrap();
    assert_eq!(fdstat(&mut guest, fd).1, 1);
    guest.call("fd_fdstat_set_flags", &[fd, 0]).unwrap();
    assert_eq!(fdstat(&mut guest, fd).1, 0);
    // No terminal: a character device that seems to have positions.
    let (kind, _, base, _) = fdstat(&mut guest, 1);
    assert_eq!((kind, base & (1 << 2 | 1 << 5) != 0), (2, true));
}

#[test]
fn preopened_folders_are_found_as_a_c_library_looks_for_them() {
    let mut guest = Guest::live();
    let mut found = Vec::new();
    for fd in 3.. {
        match guest.call("fd_prestat_get", &[fd, OUT.into()]) {
            Err(errno) => {
                assert_eq!(errno, number(Errno::BadDescriptor));
                break;
            }
            Ok(()) => {
                assert_eq!(guest.u32(OUT), 0, "a folder");
                let len = guest.u32(OUT + 4);
                let short = guest.call("fd_prestat_dir_name", &[fd, 0x6000, u64::from(len) - 1]);
                assert_eq!(short, Err(number(Errno::NameTooLong)));
                guest.call("fd_prestat_dir_name", &[fd, 0x6000, len.into()]).unwrap();
                found.push(String::from_utf8(guest.bytes(0x6000, len as usize)).unwrap());
            }
        }
    }
    assert_eq!(found, ["/", "/workspace", "/tmp"]);
}

/// Lists a folder as the C library does it: start over from the last whole entry when one is cut.
fn list(guest: &mut Guest, fd: u64, size: u32) -> Vec<String> {
    let (mut names, mut cookie) = (Vec::new(), 0);
    loop {
        guest.call("fd_readdir", &[fd, 0x6000, size.into(), cookie, OUT.into()]).unwrap();
        let used = guest.u32(OUT);
        assert!(used <= size);
        let mut at = 0;
        while used - at >= 24 {
            let name_length = guest.u32(0x6000 + at + 16);
            if used - at - 24 < name_length {
                break;
            }
            let name = guest.bytes(0x6000 + at + 24, name_length as usize);
            names.push(String::from_utf8(name).unwrap());
            assert!(guest.u64(0x6000 + at + 8) > 0, "no inode");
            cookie = guest.u64(0x6000 + at);
            at += 24 + name_length;
        }
        if used < size {
            return names;
        }
        assert!(at > 0, "a buffer of {size} never gets further");
    }
}

#[test]
fn folders_list_completely_whatever_the_size_of_the_buffer() {
    let mut guest = Guest::live();
    let expected: Vec<String> = (0..40).map(|number| format!("file{number:02}")).collect();
    for name in &expected {
        guest.open(4, name, CREATE, WRITE).unwrap();
    }
    for path in ["workspace", "skills/s"] {
        let fd = guest.open(3, path, 2, layout::rights::FD_READDIR).unwrap();
        for size in [31, 40, 62, 63, 64, 100, 1000, 4096] {
            let names = list(&mut guest, fd, size);
            assert_eq!(
                (&names[..2], &names[2..]),
                (&[".".to_owned(), "..".to_owned()][..], &expected[..]),
                "{path} {size}"
            );
        }
    }
}

#[test]
fn paths_are_made_moved_and_removed() {
    let mut guest = Guest::live();
    let [start, len] = guest.path(0, "folder");
    guest.call("path_create_directory", &[4, start, len]).unwrap();
    assert_eq!(guest.call("path_create_directory", &[4, start, len]), Err(number(Errno::Exists)));
    guest.open(4, "folder/a", CREATE, WRITE).unwrap();
    let [old, old_len] = guest.path(0, "folder/a");
    let [new, new_len] = guest.path(1, "b");
    guest.call("path_rename", &[4, old, old_len, 4, new, new_len]).unwrap();
    guest.call("path_link", &[4, 0, new, new_len, 4, old, old_len]).unwrap();
    guest.call("path_unlink_file", &[4, old, old_len]).unwrap();
    guest.call("path_symlink", &[new, new_len, 4, old, old_len]).unwrap();
    guest.call("path_readlink", &[4, old, old_len, 0x6000, 9, OUT.into()]).unwrap();
    assert_eq!((guest.u32(OUT), guest.bytes(0x6000, 1)), (1, b"b".into()));
    guest.call("path_filestat_set_times", &[4, 0, new, new_len, 5, 6, 1 | 4]).unwrap();
    guest.call("path_filestat_get", &[4, 0, new, new_len, OUT.into()]).unwrap();
    assert_eq!((guest.u64(OUT + 40), guest.u64(OUT + 48)), (5, 6));
    let both = guest.call("path_filestat_set_times", &[4, 0, new, new_len, 5, 6, 3]);
    assert_eq!(both, Err(number(Errno::Invalid)));
    let unknown = guest.call("path_filestat_set_times", &[4, 0, new, new_len, 5, 6, 16]);
    assert_eq!(unknown, Err(number(Errno::Invalid)));
    guest.call("path_unlink_file", &[4, old, old_len]).unwrap();
    let [start, len] = guest.path(0, "folder");
    guest.call("path_remove_directory", &[4, start, len]).unwrap();
    let [start, len] = guest.path(0, "skills/s/file00");
    assert_eq!(guest.call("path_unlink_file", &[3, start, len]), Err(number(Errno::ReadOnly)));
    guest.put(PATHS, &[0xc3, 0x28]);
    let unlinked = guest.call("path_unlink_file", &[4, PATHS.into(), 2]);
    assert_eq!(unlinked, Err(number(Errno::IllegalSequence)));
}

#[test]
fn arguments_and_environment_are_laid_out_as_c_expects() {
    let mut wasi = wasi(SEEDED, Deadline::after(Duration::ZERO));
    wasi.arguments = StringTable::new(["python", "-c"]).unwrap();
    wasi.environment = StringTable::new(["HOME=/workspace", "É=ü", ""]).unwrap();
    assert_eq!(StringTable::new(["a\0b"]).unwrap_err(), NulInText);
    let mut guest = Guest::new(wasi);
    let expected =
        [("args", vec!["python", "-c"]), ("environ", vec!["HOME=/workspace", "É=ü", ""])];
    for (name, texts) in expected {
        guest.call(&format!("{name}_sizes_get"), &[OUT.into(), u64::from(OUT) + 4]).unwrap();
        let size: usize = texts.iter().map(|text| text.len() + 1).sum();
        let told = (guest.u32(OUT) as usize, guest.u32(OUT + 4) as usize);
        assert_eq!(told, (texts.len(), size));
        guest.call(&format!("{name}_get"), &[0x6000, 0x7000]).unwrap();
        for (index, text) in (0..).zip(texts) {
            let at = guest.u32(0x6000 + index * 4);
            assert_eq!(guest.bytes(at, text.len() + 1), format!("{text}\0").into_bytes());
        }
    }
}

#[test]
fn clocks_and_randomness_come_from_the_ambient() {
    let mut guest = Guest::new(wasi(SEEDED, Deadline::after(Duration::ZERO)));
    for (clock, expected) in [(0, 1_000_000_001_000_000), (1, 3_600_002_000_000), (2, 3_000_000)] {
        guest.call("clock_time_get", &[clock, 0, OUT.into()]).unwrap();
        assert_eq!(guest.u64(OUT), expected, "{clock}");
        guest.call("clock_res_get", &[clock, OUT.into()]).unwrap();
        assert_eq!(guest.u64(OUT), 1_000_000);
    }
    assert_eq!(guest.call("clock_time_get", &[4, 0, OUT.into()]), Err(number(Errno::Invalid)));
    assert_eq!(guest.call("clock_res_get", &[4, OUT.into()]), Err(number(Errno::Invalid)));
    guest.call("random_get", &[0x6000, 32]).unwrap();
    let first = guest.bytes(0x6000, 32);
    guest.call("random_get", &[0x6000, 32]).unwrap();
    assert_ne!(guest.bytes(0x6000, 32), first);
    assert_eq!(guest.call("sched_yield", &[]), Ok(()));
}

#[test]
fn exiting_is_a_typed_error() {
    let mut guest = Guest::live();
    let error = guest.try_call("proc_exit", &[77]).unwrap_err();
    assert_eq!(error.downcast_ref::<Exited>(), Some(&Exited { code: 77 }));
}

#[test]
fn there_are_no_sockets_and_no_signals() {
    let mut guest = Guest::live();
    for (name, arguments) in
        [("sock_accept", 3), ("sock_recv", 6), ("sock_send", 5), ("sock_shutdown", 2)]
    {
        let mut arguments = vec![0; arguments];
        assert_eq!(guest.call(name, &arguments), Err(number(Errno::NotSocket)), "{name}");
        arguments[0] = 99;
        assert_eq!(guest.call(name, &arguments), Err(number(Errno::BadDescriptor)), "{name}");
    }
    assert_eq!(guest.call("proc_raise", &[9]), Err(number(Errno::NotSupported)));
    assert_eq!(guest.call("fd_allocate", &[4, 0, 9]), Err(number(Errno::NotSupported)));
    assert_eq!(guest.call("fd_advise", &[1, 0, 0, 0]), Err(number(Errno::NotSeekable)));
    assert_eq!(guest.call("fd_sync", &[1]), Ok(()));
    assert_eq!(guest.store.data().wasi.calls(), 12);
}

/// A subscription to a clock.
fn clock(userdata: u64, id: u32, timeout: u64, flags: u16) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[16..20].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
    bytes[40..42].copy_from_slice(&flags.to_le_bytes());
    bytes
}

/// A subscription to a descriptor.
fn descriptor(userdata: u64, kind: u8, fd: u32) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[8] = kind;
    bytes[16..20].copy_from_slice(&fd.to_le_bytes());
    bytes
}

/// What `poll_oneoff` reports: user data, error, kind and readable bytes of each event.
fn poll(
    guest: &mut Guest,
    subscriptions: &[[u8; 48]],
) -> wasmtime::Result<Vec<(u64, u16, u8, u64)>> {
    guest.put(BUFFER, &subscriptions.concat());
    let arguments = [BUFFER.into(), 0x6000, subscriptions.len() as u64, OUT.into()];
    let errno = guest.try_call("poll_oneoff", &arguments)?;
    let count = if errno == 0 { guest.u32(OUT) } else { 0 };
    Ok((0..count)
        .map(|index| {
            let event = guest.bytes(0x6000 + index * 32, 32);
            let word = |at: usize| u64::from_le_bytes(event[at..at + 8].try_into().unwrap());
            (word(0), u16::from_le_bytes([event[8], event[9]]), event[10], word(16))
        })
        .collect())
}

const MILLISECOND: u64 = 1_000_000;

#[test]
fn polling_reports_what_is_ready_and_waits_for_the_shortest_clock() {
    let mut guest = Guest::live();
    let start = Instant::now();
    let far = clock(1, 1, 3600 * 1000 * MILLISECOND, 0);
    assert_eq!(poll(&mut guest, &[far, clock(2, 0, 3 * MILLISECOND, 0)]).unwrap(), [(2, 0, 0, 0)]);
    assert!(start.elapsed() >= Duration::from_millis(3));
    let fd = guest.open(3, "skills/s/file07", 0, READ).unwrap();
    let ready = [
        far,
        descriptor(3, 1, 0),
        descriptor(4, 1, u32::try_from(fd).unwrap()),
        descriptor(5, 2, 1),
        descriptor(6, 1, 99),
    ];
    let bad = Errno::BadDescriptor.number();
    let expected = [(3, 0, 1, 0), (4, 0, 1, 6), (5, 0, 2, 0), (6, bad, 1, 0)];
    assert_eq!(poll(&mut guest, &ready).unwrap(), expected);
    let unknown = clock(7, 9, 1, 0);
    assert_eq!(poll(&mut guest, &[far, unknown]).unwrap(), [(7, Errno::Invalid.number(), 0, 0)]);
    assert_eq!(poll(&mut guest, &[clock(8, 1, 0, 0), far]).unwrap(), [(8, 0, 0, 0)]);
}

#[test]
fn absolute_clocks_strike_when_the_clock_shows_them() {
    for wasi in [
        wasi(AmbientMode::Live, Deadline::after(Duration::from_secs(60))),
        wasi(SEEDED, Deadline::after(Duration::ZERO)),
    ] {
        let mut guest = Guest::new(wasi);
        for id in [0, 1] {
            guest.call("clock_time_get", &[u64::from(id), 0, OUT.into()]).unwrap();
            let target = guest.u64(OUT) + 3 * MILLISECOND + 1;
            assert_eq!(poll(&mut guest, &[clock(1, id, target, 1)]).unwrap(), [(1, 0, 0, 0)]);
            guest.call("clock_time_get", &[u64::from(id), 0, OUT.into()]).unwrap();
            assert!(guest.u64(OUT) >= target);
            assert_eq!(poll(&mut guest, &[clock(2, id, 5, 1)]).unwrap(), [(2, 0, 0, 0)]);
        }
    }
}

#[test]
fn a_sleeping_guest_ends_at_its_deadline() {
    let mut guest = Guest::new(wasi(AmbientMode::Live, Deadline::after(Duration::from_millis(20))));
    let start = Instant::now();
    let error = poll(&mut guest, &[clock(1, 1, u64::MAX, 0)]).unwrap_err();
    assert_eq!(error.downcast_ref::<Stopped>(), Some(&Stopped::Deadline));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_sleeping_guest_can_be_cancelled() {
    let deadline = Deadline::after(Duration::from_secs(3600));
    let canceller = deadline.canceller();
    let mut guest = Guest::new(wasi(AmbientMode::Live, deadline));
    let other = std::thread::spawn(move || canceller.cancel());
    let error = poll(&mut guest, &[clock(1, 0, u64::MAX, 0)]).unwrap_err();
    other.join().unwrap();
    assert_eq!(error.downcast_ref::<Stopped>(), Some(&Stopped::Cancelled));
}

#[test]
fn a_sleep_takes_no_time_in_a_seeded_run() {
    let mut guest = Guest::new(wasi(SEEDED, Deadline::after(Duration::ZERO)));
    guest.call("clock_time_get", &[0, 0, OUT.into()]).unwrap();
    let before = guest.u64(OUT);
    poll(&mut guest, &[clock(1, 1, 1000 * MILLISECOND, 0)]).unwrap();
    guest.call("clock_time_get", &[0, 0, OUT.into()]).unwrap();
    assert_eq!(guest.u64(OUT), before + 1001 * MILLISECOND);
}

#[test]
fn bounded_call_in_every_respect() {
    let mut guest = Guest::live();
    let invalid = Err(number(Errno::Invalid));
    let fd = guest.open(4, "a", CREATE, READ | WRITE).unwrap();
    assert_eq!(guest.call("fd_write", &[fd, 0, 1024, OUT.into()]), Ok(()));
    assert_eq!(guest.call("fd_write", &[fd, 0, 1025, OUT.into()]), invalid);
    assert_eq!(guest.call("fd_read", &[fd, 0, 1025, OUT.into()]), invalid);
    assert_eq!(guest.call("poll_oneoff", &[0, 0, 0, OUT.into()]), invalid);
    assert_eq!(guest.call("poll_oneoff", &[0, 0, 4097, OUT.into()]), invalid);
    let too_long = guest.call("path_unlink_file", &[4, 0, 4096]);
    assert_eq!(too_long, Err(number(Errno::NameTooLong)));
    let big = wasmtime::MemoryType::new(1024, None);
    let big = Memory::new(&mut guest.store, big).unwrap();
    guest.store.data_mut().memory = Some(big);
    guest.memory = big;
    assert_eq!(guest.call("random_get", &[0, 1 << 20]), Ok(()));
    assert_eq!(guest.call("random_get", &[0, (1 << 20) + 1]), invalid);
    let [start, count] = guest.vectors(&[(0, 40 << 20), (0, 40 << 20)]);
    for fd in [1, fd] {
        guest.call("fd_write", &[fd, start, count, OUT.into()]).unwrap();
        assert_eq!(guest.u32(OUT), 32 << 20, "{fd}");
    }
}

#[test]
fn without_a_memory_every_call_is_a_fault() {
    let mut guest = Guest::live();
    guest.store.data_mut().memory = None;
    for (name, parameters) in FUNCTIONS {
        let answer = guest.try_call(name, &vec![0; parameters.len()]);
        if name != "proc_exit" {
            assert_eq!(answer.unwrap(), number(Errno::Fault), "{name}");
        }
    }
}
