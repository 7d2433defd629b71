//! A guest in WAT that can call every function, and tests of the answers.

mod files;
mod hostile;
mod process;
mod reference;

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::{Engine, Instance, Linker, Memory, Module, Store, Val};

use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::preview1::{GuestProcess, Preview1, TurnIo, layout, link};
use crate::run::capture::Capture;
use crate::run::deadline::Deadline;
use crate::vfs::tree::content::SharedBytes;
use crate::vfs::tree::immutable::ImmutableTree;
use crate::vfs::{Errno, FileSystem, Mount};
use wardian_formats::job::outcome::Logs;
use wardian_formats::job::{SetupLimits, TurnLimits};
use wardian_vocabulary::clock::Clock;

/// All functions of preview 1, with the types of their parameters: `i` for 32 bits, `l` for 64.
pub(crate) const FUNCTIONS: [(&str, &str); 46] = [
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
pub(crate) const MEMORY_SIZE: u32 = 64 << 10;

/// The address at which tests put paths; see [`Guest::path`].
pub(super) const PATHS: u32 = 0x1000;

/// The address of results.
pub(crate) const OUT: u32 = 0x3000;

/// The address of vectors, subscriptions and buffers.
pub(crate) const BUFFER: u32 = 0x4000;

pub(super) struct State {
    pub process: GuestProcess,
    pub turn: TurnIo,
    pub memory: Option<Memory>,
}

impl Preview1 for State {
    fn parts(&mut self) -> (&mut GuestProcess, Option<&mut TurnIo>) {
        (&mut self.process, Some(&mut self.turn))
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

/// The module, compiled once for all tests.
pub(super) fn compiled() -> &'static (Engine, Module) {
    static COMPILED: OnceLock<(Engine, Module)> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let engine = Engine::default();
        let module = Module::new(&engine, wat::parse_str(source()).unwrap()).unwrap();
        (engine, module)
    })
}

/// Calls a function of the module; arguments are cut to the width of the parameters.
pub(crate) fn call_export<T>(
    store: &mut Store<T>,
    instance: &Instance,
    name: &str,
    arguments: &[u64],
) -> wasmtime::Result<u32> {
    let (_, kinds) = FUNCTIONS.iter().find(|(function, _)| *function == name).unwrap();
    let values: Vec<Val> = kinds
        .chars()
        .zip(arguments)
        .map(|(kind, &argument)| match kind {
            'l' => Val::I64(argument.cast_signed()),
            _ => Val::I32(u32::try_from(argument & 0xffff_ffff).unwrap().cast_signed()),
        })
        .collect();
    let function = instance.get_func(&mut *store, name).unwrap();
    let mut results = vec![Val::I32(0); function.ty(&*store).results().len()];
    function.call(store, &values, &mut results)?;
    Ok(results.first().map_or(0, |result| result.unwrap_i32().cast_unsigned()))
}

pub(super) struct Guest {
    pub store: Store<State>,
    pub(crate) instance: Instance,
    pub memory: Memory,
}

pub(super) fn mounts() -> Vec<Mount> {
    let skill = (0..40).map(|number| {
        let content = SharedBytes::new(format!("file {number}").into_bytes());
        (format!("file{number:02}"), Arc::new(content) as _)
    });
    vec![Mount::tree("/skills/s", Arc::new(ImmutableTree::from_files(skill).unwrap()))]
}

/// Both halves of the state of a guest.
pub(super) fn wasi(mode: ClockAndRandomMode, deadline: Deadline) -> (GuestProcess, TurnIo) {
    let files = FileSystem::for_run(&SetupLimits::DEFAULT, &mounts(), 0).unwrap();
    let process = GuestProcess::new(files, ClockAndRandom::new(mode, Clock::System));
    (process, TurnIo::new(Capture::new(TurnLimits::DEFAULT.logs), deadline))
}

pub(crate) const SEEDED: ClockAndRandomMode =
    ClockAndRandomMode::Seeded { seed: [1; 32], realtime: Duration::from_secs(1_000_000) };

impl Guest {
    pub(super) fn new((process, turn): (GuestProcess, TurnIo)) -> Self {
        let (engine, module) = compiled();
        let mut linker = Linker::new(engine);
        link(&mut linker).unwrap();
        let mut store = Store::new(engine, State { process, turn, memory: None });
        let instance = linker.instantiate(&mut store, module).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        store.data_mut().memory = Some(memory);
        Self { store, instance, memory }
    }

    pub(crate) fn live() -> Self {
        Self::new(wasi(ClockAndRandomMode::Live, Deadline::after(Duration::from_secs(60))))
    }

    /// Calls a function; arguments are cut to the width of the parameters.
    pub(crate) fn try_call(&mut self, name: &str, arguments: &[u64]) -> wasmtime::Result<u32> {
        call_export(&mut self.store, &self.instance, name, arguments)
    }

    pub(super) fn call(&mut self, name: &str, arguments: &[u64]) -> Result<(), u32> {
        match self.try_call(name, arguments).unwrap() {
            0 => Ok(()),
            errno => Err(errno),
        }
    }

    pub(super) fn memory(&mut self) -> &mut [u8] {
        self.memory.data_mut(&mut self.store)
    }

    pub(super) fn put(&mut self, at: u32, bytes: &[u8]) {
        self.memory()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn bytes(&mut self, at: u32, len: usize) -> Vec<u8> {
        self.memory()[at as usize..][..len].to_vec()
    }

    pub(super) fn u32(&mut self, at: u32) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().unwrap())
    }

    pub(super) fn u64(&mut self, at: u32) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().unwrap())
    }

    /// Puts a path into memory; returns its address and length.
    pub(super) fn path(&mut self, slot: u32, path: &str) -> [u64; 2] {
        let at = PATHS + slot * 0x800;
        self.put(at, path.as_bytes());
        [at.into(), path.len() as u64]
    }

    /// Opens a path relative to a folder with these flags and rights.
    pub(super) fn open(
        &mut self,
        folder: u64,
        path: &str,
        oflags: u64,
        rights: u64,
    ) -> Result<u64, u32> {
        let [start, len] = self.path(0, path);
        let out = u64::from(OUT);
        self.call("path_open", &[folder, 1, start, len, oflags, rights, rights, 0, out])?;
        Ok(self.u32(OUT).into())
    }

    /// Puts vectors at [`BUFFER`]; returns their address and number.
    pub(crate) fn vectors(&mut self, vectors: &[(u32, u32)]) -> [u64; 2] {
        for (index, (start, len)) in (0_u32..).zip(vectors) {
            self.put(BUFFER + index * 8, &start.to_le_bytes());
            self.put(BUFFER + index * 8 + 4, &len.to_le_bytes());
        }
        [BUFFER.into(), vectors.len() as u64]
    }

    pub(super) fn write(&mut self, fd: u64, bytes: &[u8]) -> Result<u32, u32> {
        self.put(0x5000, bytes);
        let len = u32::try_from(bytes.len()).unwrap();
        let (half, rest) = (len / 2, len - len / 2);
        let [start, count] = self.vectors(&[(0x5000, half), (0, 0), (0x5000 + half, rest)]);
        self.call("fd_write", &[fd, start, count, OUT.into()])?;
        Ok(self.u32(OUT))
    }

    pub(super) fn logs(self) -> Logs {
        self.store.into_data().turn.capture.into_logs()
    }
}

pub(super) const READ: u64 = layout::rights::FD_READ;
pub(super) const WRITE: u64 = layout::rights::FD_WRITE;
pub(crate) const CREATE: u64 = 1;

pub(super) fn number(errno: Errno) -> u32 {
    errno.number().into()
}
