//! Makes each call with its arguments in the guest's memory.

use super::*;

impl<S: Side> Session<S> {
    pub(super) fn dispatch(&mut self, call: &Call) -> Answer {
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
}
