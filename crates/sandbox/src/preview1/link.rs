//! Binds the functions to the names that guests import.

use wasmtime::{Caller, Linker};

use crate::preview1::files::Position;
use crate::preview1::memory::{GuestMemory, Span};
use crate::preview1::paths::{GuestPath, OpenRequest};
use crate::preview1::poll::NoEvents;
use crate::preview1::process::Texts;
use crate::preview1::{Exited, Preview1, WasiCall};
use crate::vfs::Errno;

/// Fuel for each name that is looked up on a path, links included.
const STEP_FUEL: u64 = 250;

/// The module that guests import from.
const MODULE: &str = "wasi_snapshot_preview1";

/// Defines functions that return an error number.
macro_rules! define {
    ($linker:ident, $($name:ident($($argument:ident: $type:ty),*) = |$call:ident| $body:expr;)*) => {
        $($linker.func_wrap(
            MODULE,
            stringify!($name),
            |mut caller: Caller<'_, T>, $($argument: $type),*| -> wasmtime::Result<u32> {
                caller.data().check_fuel()?;
                let done = enter(&mut caller, |$call| $body);
                charge(&mut caller)?;
                Ok(answer(done))
            },
        )?;)*
    };
}

/// Defines all functions of preview 1 in `linker`.
///
/// # Errors
///
/// One is defined already.
pub(crate) fn link<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    link_files(linker)?;
    link_file_metadata(linker)?;
    link_paths(linker)?;
    link_process(linker)?;
    link_refused(linker)?;
    link_ends(linker)
}

fn link_files<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    define! { linker,
        fd_read(fd: u32, vectors: u32, count: u32, out: u32) =
            |call| call.fd_read(fd, Span::new(vectors, count), Position::Own, out);
        fd_pread(fd: u32, vectors: u32, count: u32, offset: u64, out: u32) =
            |call| call.fd_read(fd, Span::new(vectors, count), Position::At(offset), out);
        fd_write(fd: u32, vectors: u32, count: u32, out: u32) =
            |call| call.fd_write(fd, Span::new(vectors, count), Position::Own, out);
        fd_pwrite(fd: u32, vectors: u32, count: u32, offset: u64, out: u32) =
            |call| call.fd_write(fd, Span::new(vectors, count), Position::At(offset), out);
        fd_seek(fd: u32, delta: i64, whence: u32, out: u32) =
            |call| call.fd_seek(fd, delta, whence, out);
        fd_tell(fd: u32, out: u32) = |call| call.fd_tell(fd, out);
        fd_close(fd: u32) = |call| call.process.files.close(fd);
        fd_renumber(from: u32, to: u32) = |call| call.process.files.renumber(from, to);
        fd_sync(fd: u32) = |call| call.fd_sync(fd);
        fd_datasync(fd: u32) = |call| call.fd_sync(fd);
        fd_advise(fd: u32, _offset: u64, size: u64, advice: u32) =
            |call| call.fd_advise(fd, size, advice);
        fd_readdir(fd: u32, start: u32, len: u32, cookie: u64, out: u32) =
            |call| call.fd_readdir(fd, Span::new(start, len), cookie, out);
    }
    Ok(())
}

fn link_file_metadata<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    define! { linker,
        fd_fdstat_get(fd: u32, out: u32) = |call| call.fd_fdstat_get(fd, out);
        fd_fdstat_set_flags(fd: u32, flags: u32) = |call| call.fd_fdstat_set_flags(fd, flags);
        fd_filestat_get(fd: u32, out: u32) = |call| call.fd_filestat_get(fd, out);
        fd_filestat_set_size(fd: u32, size: u64) = |call| call.fd_filestat_set_size(fd, size);
        fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32) =
            |call| call.fd_filestat_set_times(fd, accessed, modified, flags);
        fd_prestat_get(fd: u32, out: u32) = |call| call.fd_prestat_get(fd, out);
        fd_prestat_dir_name(fd: u32, start: u32, len: u32) =
            |call| call.fd_prestat_dir_name(fd, Span::new(start, len));
    }
    Ok(())
}

fn link_paths<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    define! { linker,
        path_open(
            folder: u32, lookup_flags: u32, start: u32, len: u32, open_flags: u32,
            rights: u64, _inheriting: u64, descriptor_flags: u32, out: u32
        ) = |call| call.path_open(
            GuestPath::new(folder, start, len),
            OpenRequest { lookup_flags, open_flags, rights, descriptor_flags },
            out,
        );
        path_create_directory(folder: u32, start: u32, len: u32) =
            |call| call.path_create_directory(GuestPath::new(folder, start, len));
        path_remove_directory(folder: u32, start: u32, len: u32) =
            |call| call.path_remove_directory(GuestPath::new(folder, start, len));
        path_unlink_file(folder: u32, start: u32, len: u32) =
            |call| call.path_unlink_file(GuestPath::new(folder, start, len));
        path_filestat_get(folder: u32, lookup_flags: u32, start: u32, len: u32, out: u32) =
            |call| call.path_filestat_get(lookup_flags, GuestPath::new(folder, start, len), out);
        path_filestat_set_times(
            folder: u32, lookup_flags: u32, start: u32, len: u32,
            accessed: u64, modified: u64, flags: u32
        ) = |call| {
            let path = GuestPath::new(folder, start, len);
            call.path_filestat_set_times(lookup_flags, path, accessed, modified, flags)
        };
        path_link(
            from: u32, lookup_flags: u32, start: u32, len: u32, to: u32, to_start: u32, to_len: u32
        ) = |call| call.path_link(
            lookup_flags,
            GuestPath::new(from, start, len),
            GuestPath::new(to, to_start, to_len),
        );
        path_rename(from: u32, start: u32, len: u32, to: u32, to_start: u32, to_len: u32) =
            |call| call.path_rename(
                GuestPath::new(from, start, len),
                GuestPath::new(to, to_start, to_len),
            );
        path_symlink(target: u32, target_len: u32, folder: u32, start: u32, len: u32) =
            |call| call.path_symlink(
                Span::new(target, target_len),
                GuestPath::new(folder, start, len),
            );
        path_readlink(folder: u32, start: u32, len: u32, into: u32, into_len: u32, out: u32) =
            |call| call.path_readlink(
                GuestPath::new(folder, start, len),
                Span::new(into, into_len),
                out,
            );
    }
    Ok(())
}

fn link_process<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    define! { linker,
        args_sizes_get(count: u32, size: u32) =
            |call| call.text_sizes(Texts::Arguments, count, size);
        args_get(pointers: u32, buffer: u32) =
            |call| call.texts(Texts::Arguments, pointers, buffer);
        environ_sizes_get(count: u32, size: u32) =
            |call| call.text_sizes(Texts::Environment, count, size);
        environ_get(pointers: u32, buffer: u32) =
            |call| call.texts(Texts::Environment, pointers, buffer);
        clock_res_get(clock: u32, out: u32) = |call| call.clock_res_get(clock, out);
        clock_time_get(clock: u32, _precision: u64, out: u32) =
            |call| call.clock_time_get(clock, out);
        random_get(start: u32, len: u32) = |call| call.random_get(Span::new(start, len));
        sched_yield() = |_call| Ok(());
    }
    Ok(())
}

/// Functions that are always refused.
fn link_refused<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    define! { linker,
        fd_allocate(fd: u32, _offset: u64, _size: u64) = |call| call.refuse_allocation(fd);
        fd_fdstat_set_rights(fd: u32, _base: u64, _inheriting: u64) =
            |call| call.refuse_rights(fd);
        proc_raise(_signal: u32) = |_call| Err(Errno::NotSupported);
        sock_accept(fd: u32, _flags: u32, _out: u32) = |call| call.refuse_socket(fd);
        sock_recv(fd: u32, _vectors: u32, _count: u32, _flags: u32, _size: u32, _out: u32) =
            |call| call.refuse_socket(fd);
        sock_send(fd: u32, _vectors: u32, _count: u32, _flags: u32, _out: u32) =
            |call| call.refuse_socket(fd);
        sock_shutdown(fd: u32, _how: u32) = |call| call.refuse_socket(fd);
    }
    Ok(())
}

/// The functions that can end the guest.
fn link_ends<T: Preview1>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.func_wrap(
        MODULE,
        "poll_oneoff",
        |mut caller: Caller<'_, T>, subscriptions: u32, events: u32, count: u32, out: u32| {
            caller.data().check_fuel()?;
            let polled =
                enter(&mut caller, |call| call.poll_oneoff(subscriptions, events, count, out));
            match polled {
                Ok(()) => Ok(0),
                Err(NoEvents::Failed(errno)) => Ok(answer(Err(errno))),
                Err(NoEvents::Stopped(stopped)) => Err(wasmtime::Error::from(stopped)),
            }
        },
    )?;
    linker.func_wrap(MODULE, "proc_exit", |code: u32| -> wasmtime::Result<()> {
        Err(wasmtime::Error::from(Exited { code }))
    })?;
    Ok(())
}

/// Runs one function on the guest's memory and state. Outside of a turn it is `EFAULT`.
fn enter<T: Preview1, E: From<Errno>>(
    caller: &mut Caller<'_, T>,
    function: impl FnOnce(&mut WasiCall<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let memory = caller.data().memory().ok_or(Errno::Fault)?;
    let (process, _) = caller.data_mut().parts();
    if process.clock_and_random.counts_fuel()
        && let Some(left) = T::fuel_left(caller)
    {
        caller.data_mut().parts().0.clock_and_random.note_fuel(left);
    }
    let (bytes, state) = memory.data_and_store_mut(caller);
    let (process, turn) = state.parts();
    let turn = turn.ok_or(Errno::Fault)?;
    turn.calls = turn.calls.saturating_add(1);
    turn.cost = 0;
    process.files.take_steps();
    function(&mut WasiCall { memory: GuestMemory::new(bytes), process, turn })
}

/// Takes the fuel that the last function cost.
fn charge<T: Preview1>(caller: &mut Caller<'_, T>) -> wasmtime::Result<()> {
    let (process, turn) = caller.data_mut().parts();
    let steps = process.files.take_steps().saturating_mul(STEP_FUEL);
    let cost = turn.map_or(0, |turn| std::mem::take(&mut turn.cost)).saturating_add(steps);
    if cost == 0 { Ok(()) } else { caller.data_mut().charge_fuel(cost) }
}

fn answer(result: Result<(), Errno>) -> u32 {
    result.map_or_else(|errno| errno.number().into(), |()| 0)
}
