//! Runs the same operations on the virtual file system and on a folder of the host, and compares
//! every answer.
//!
//! Deliberate differences, which the operations below avoid:
//!
//! - A removed folder that is still open has no `..`: its parent may be gone by then.
//! - A position in a folder means nothing: seeking there is `EISDIR`.
//! - Folders count one name, and have no length.
//! - Listings are sorted.
//! - Names are UTF-8, and folders nest 256 deep at most.
//! - An absolute link leads to the virtual root.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use proptest::prelude::*;
use rustix::fs::{self, AtFlags, Mode, OFlags, ResolveFlags, SeekFrom};
use rustix::io::Errno as HostErrno;

use crate::vfs::tests::operations::{
    Answer, Operation, answer, host_answer, host_names, host_stat, host_written, operation, stat,
    written,
};
use crate::vfs::tests::{WORKSPACE, within};
use crate::vfs::{At, Fd, FileKind, FileSystem, LastLink, ListedEntry, OpenHow, Whence};
use wardian_formats::job::SetupLimits;

/// The virtual file system and the folder of the host, with the open descriptors of both.
struct Pair {
    files: FileSystem,
    /// The folder that paths start from: `/workspace/w`.
    base: Fd,
    host_root: OwnedFd,
    host_base: OwnedFd,
    open: [Option<(Fd, OwnedFd)>; 3],
    folder: tempfile::TempDir,
}

impl Pair {
    fn new() -> Self {
        let mut files = FileSystem::for_run(&SetupLimits::DEFAULT, &[], 0).unwrap();
        files.make_folder(At { folder: WORKSPACE, path: "w" }, 0).unwrap();
        let base = files.open(At { folder: WORKSPACE, path: "w" }, OpenHow::READ, 0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let host_root = fs::open(folder.path(), flags, Mode::empty()).unwrap();
        fs::mkdirat(&host_root, "w", Mode::RWXU).unwrap();
        let host_base = fs::openat(&host_root, "w", flags, Mode::empty()).unwrap();
        Self { files, base, host_root, host_base, open: [const { None }; 3], folder }
    }

    fn at<'p>(&self, path: &'p str) -> At<'p> {
        At { folder: self.base, path }
    }

    /// True if a path stays within the host's folder, so that it may be tried there.
    fn is_inside(&self, path: &str) -> bool {
        let path = format!("w/{path}");
        [OFlags::PATH, OFlags::PATH | OFlags::NOFOLLOW].into_iter().all(|flags| {
            let opened =
                fs::openat2(&self.host_root, &path, flags, Mode::empty(), ResolveFlags::BENEATH);
            opened.err() != Some(HostErrno::XDEV)
        })
    }

    /// Does the same on both sides and returns both answers.
    fn apply(&mut self, operation: &Operation) -> (Answer, Answer) {
        use Operation as O;
        let paths: Vec<&String> = match operation {
            O::Open { path, .. }
            | O::MakeFolder { path }
            | O::RemoveFolder { path }
            | O::RemoveFile { path }
            | O::MakeLink { path, .. }
            | O::ReadLink { path }
            | O::Stat { path, .. } => vec![path],
            O::Rename { from, to } | O::AddName { from, to, .. } => vec![from, to],
            _ => vec![],
        };
        if !paths.iter().all(|path| self.is_inside(path)) {
            return (Answer::Skipped, Answer::Skipped);
        }
        match operation {
            O::Open { path, how, slot } => self.open(None, path, *how, *slot),
            O::OpenWithin { base, path, how, slot } => self.open(Some(*base), path, *how, *slot),
            O::Close { .. }
            | O::Read { .. }
            | O::ReadAt { .. }
            | O::Write { .. }
            | O::WriteAt { .. }
            | O::Seek { .. }
            | O::SetSize { .. }
            | O::StatOpen { .. }
            | O::List { .. } => self.apply_to_open(operation),
            _ => self.apply_to_path(operation),
        }
    }

    fn open(
        &mut self,
        base: Option<usize>,
        path: &str,
        how: OpenHow,
        slot: usize,
    ) -> (Answer, Answer) {
        let mut host_flags = match (how.access.read, how.access.write) {
            (true, true) => OFlags::RDWR,
            (false, _) => OFlags::WRONLY,
            (true, false) => OFlags::RDONLY,
        };
        host_flags.set(OFlags::NOFOLLOW, how.last_link == LastLink::Keep);
        host_flags.set(OFlags::CREATE, how.create);
        host_flags.set(OFlags::EXCL, how.exclusive);
        host_flags.set(OFlags::TRUNC, how.truncate);
        host_flags.set(OFlags::DIRECTORY, how.folder);
        host_flags.set(OFlags::APPEND, how.appends);
        let (folder, host_folder) = match base {
            None => (self.base, self.host_base.as_fd()),
            Some(base) => {
                let Some((fd, host)) = &self.open[base] else {
                    return (Answer::Skipped, Answer::Skipped);
                };
                let removed = fs::fstat(host).unwrap().st_nlink == 0;
                if removed || path.contains("..") {
                    return (Answer::Skipped, Answer::Skipped);
                }
                (*fd, host.as_fd())
            }
        };
        let inside = ResolveFlags::BENEATH;
        let probe = fs::openat2(host_folder, path, OFlags::PATH, Mode::empty(), inside);
        if base.is_some() && probe.err() == Some(HostErrno::XDEV) {
            return (Answer::Skipped, Answer::Skipped);
        }
        let host = fs::openat(host_folder, path, host_flags, Mode::RUSR | Mode::WUSR);
        let opened = self.files.open(At { folder, path }, how, 0);
        match (opened, host) {
            (Ok(fd), Ok(host)) => {
                if let Some((old, _)) = self.open[slot].replace((fd, host)) {
                    self.files.close(old).unwrap();
                }
                (Answer::Done, Answer::Done)
            }
            (opened, host) => {
                (answer(opened.map(|_| Answer::Done)), host_answer(host.map(|_| Answer::Done)))
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn apply_to_open(&mut self, operation: &Operation) -> (Answer, Answer) {
        use Operation as O;
        let (O::Close { slot }
        | O::Read { slot, .. }
        | O::ReadAt { slot, .. }
        | O::Write { slot, .. }
        | O::WriteAt { slot, .. }
        | O::Seek { slot, .. }
        | O::SetSize { slot, .. }
        | O::StatOpen { slot }
        | O::List { slot }) = operation
        else {
            return (Answer::Skipped, Answer::Skipped);
        };
        let Some((fd, host)) = self.open[*slot].take() else {
            return (Answer::Skipped, Answer::Skipped);
        };
        let files = &mut self.files;
        let is_folder = files.descriptor_stat(fd).unwrap().kind == FileKind::Folder;
        let answers = match operation {
            O::Close { .. } => {
                return (answer(files.close(fd).map(|()| Answer::Done)), Answer::Done);
            }
            O::Read { count, .. } => {
                let (mut ours, mut theirs) = (vec![0; *count], vec![0; *count]);
                let read = files.read(fd, &mut ours).map(|read| Answer::Bytes(ours[..read].into()));
                let host_read = rustix::io::read(&host, &mut theirs[..]);
                (
                    answer(read),
                    host_answer(host_read.map(|read| Answer::Bytes(theirs[..read].into()))),
                )
            }
            O::ReadAt { count, offset, .. } => {
                let (mut ours, mut theirs) = (vec![0; *count], vec![0; *count]);
                let read = files.read_at(fd, &mut ours, *offset);
                let host_read = rustix::io::pread(&host, &mut theirs[..], *offset);
                (
                    answer(read.map(|read| Answer::Bytes(ours[..read].into()))),
                    host_answer(host_read.map(|read| Answer::Bytes(theirs[..read].into()))),
                )
            }
            O::Write { bytes, .. } => {
                (written(files.write(fd, bytes, 0)), host_written(rustix::io::write(&host, bytes)))
            }
            O::WriteAt { bytes, offset, .. } => (
                written(files.write_at(fd, bytes, *offset, 0)),
                host_written(rustix::io::pwrite(&host, bytes, *offset)),
            ),
            O::Seek { .. } if is_folder => (Answer::Skipped, Answer::Skipped),
            O::Seek { delta, whence, .. } => {
                let to = match whence {
                    // A negative start does not fit rustix's type; it is EINVAL on both sides.
                    Whence::Start => SeekFrom::Start(delta.unsigned_abs()),
                    Whence::Current => SeekFrom::Current(*delta),
                    Whence::End => SeekFrom::End(*delta),
                };
                let delta = if *whence == Whence::Start { delta.abs() } else { *delta };
                (
                    answer(files.seek(fd, delta, *whence).map(Answer::Count)),
                    host_answer(fs::seek(&host, to).map(Answer::Count)),
                )
            }
            O::SetSize { size, .. } => (
                answer(files.set_size(fd, *size, 0).map(|()| Answer::Done)),
                host_answer(fs::ftruncate(&host, *size).map(|()| Answer::Done)),
            ),
            O::StatOpen { .. } => (
                answer(files.stat_open(fd).map(stat)),
                host_answer(fs::fstat(&host).map(host_stat)),
            ),
            _ if !is_folder => (
                answer(files.list(fd, 0, |_| ControlFlow::Continue(())).map(|()| Answer::Done)),
                Answer::Failed("ENOTDIR"),
            ),
            _ => {
                let mut names = BTreeSet::new();
                let listed = files.list(fd, 0, |entry| {
                    assert!(names.insert(entry.name.to_owned()), "listed twice");
                    ControlFlow::Continue(())
                });
                (answer(listed.map(|()| Answer::Names(names))), host_names(&host))
            }
        };
        self.open[*slot] = Some((fd, host));
        answers
    }

    fn apply_to_path(&mut self, operation: &Operation) -> (Answer, Answer) {
        use Operation as O;
        let host = &self.host_base;
        let done = |result: Result<(), HostErrno>| host_answer(result.map(|()| Answer::Done));
        let follow_flag = |follow: bool| {
            if follow { LastLink::Follow } else { LastLink::Keep }
        };
        let (ours, theirs) = match operation {
            O::MakeFolder { path } => (
                self.files.make_folder(self.at(path), 0),
                done(fs::mkdirat(host, path, Mode::RWXU)),
            ),
            O::RemoveFolder { path } => (
                self.files.remove_folder(self.at(path), 0),
                done(fs::unlinkat(host, path, AtFlags::REMOVEDIR)),
            ),
            O::RemoveFile { path } => (
                self.files.remove_file(self.at(path), 0),
                done(fs::unlinkat(host, path, AtFlags::empty())),
            ),
            O::Rename { from, to } => (
                self.files.rename(self.at(from), self.at(to), 0),
                done(fs::renameat(host, from, host, to)),
            ),
            O::AddName { from, follow, to } => {
                let flags = if *follow { AtFlags::SYMLINK_FOLLOW } else { AtFlags::empty() };
                (
                    self.files.add_name(self.at(from), follow_flag(*follow), self.at(to), 0),
                    done(fs::linkat(host, from, host, to, flags)),
                )
            }
            O::MakeLink { target, path } => (
                self.files.make_link(target, self.at(path), 0),
                done(fs::symlinkat(target, host, path)),
            ),
            O::ReadLink { path } => {
                let ours = self.files.read_link(self.at(path));
                let theirs = fs::readlinkat(host, path, Vec::new());
                let theirs = theirs.map(|text| Answer::Text(text.into_string().unwrap()));
                return (answer(ours.map(|text| Answer::Text(text.into()))), host_answer(theirs));
            }
            O::Stat { path, follow } => {
                let flags = if *follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
                let ours = self.files.stat(self.at(path), follow_flag(*follow)).map(stat);
                return (answer(ours), host_answer(fs::statat(host, path, flags).map(host_stat)));
            }
            _ => return (Answer::Skipped, Answer::Skipped),
        };
        (answer(ours.map(|()| Answer::Done)), theirs)
    }
}

impl Pair {
    /// Compares all remaining files of both sides, removes them, and checks that nothing is charged
    /// any more.
    fn finish(mut self) {
        for (fd, _) in self.open.iter_mut().filter_map(Option::take) {
            self.files.close(fd).unwrap();
        }
        let mut folders = vec![".".to_owned()];
        let (mut seen, mut others) = (0, Vec::new());
        while let Some(folder) = folders.get(seen).cloned() {
            seen += 1;
            for path in self.compare_folder(&folder) {
                if self.files.stat(within(&path), LastLink::Keep).unwrap().kind == FileKind::Folder
                {
                    folders.push(path);
                } else {
                    others.push(path);
                }
            }
        }
        for path in &others {
            self.files.remove_file(within(path), 0).unwrap();
        }
        for folder in folders.iter().skip(1).rev() {
            self.files.remove_folder(within(folder), 0).unwrap();
        }
        assert_eq!(self.files.workspace_usage(), (0, 0));
    }

    /// Compares names, metadata and contents of one folder; returns the paths in it.
    fn compare_folder(&mut self, folder: &str) -> Vec<String> {
        let how = OpenHow { folder: true, last_link: LastLink::Keep, ..OpenHow::READ };
        let fd = self.files.open(within(folder), how, 0).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let host = fs::openat(&self.host_root, folder, flags, Mode::empty()).unwrap();
        let mut names = BTreeSet::new();
        let collect = |entry: ListedEntry<'_>| {
            names.insert(entry.name.to_owned());
            ControlFlow::Continue(())
        };
        self.files.list(fd, 0, collect).unwrap();
        self.files.close(fd).unwrap();
        names.extend([".".to_owned(), "..".to_owned()]);
        assert_eq!(Answer::Names(names.clone()), host_names(&host));
        let names = names.into_iter().filter(|name| !name.starts_with('.'));
        let paths: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
        for path in &paths {
            let ours = stat(self.files.stat(within(path), LastLink::Keep).unwrap());
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let theirs = host_stat(fs::statat(&self.host_root, path, flags).unwrap());
            assert_eq!(ours, theirs, "{path}");
            if matches!(ours, Answer::File { .. }) {
                let ours = self.files.read_file(path, u64::MAX).unwrap();
                let theirs = std::fs::read(self.folder.path().join(path)).unwrap();
                assert!(ours.as_slice() == theirs, "{path} differs");
            }
        }
        paths
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_linux_and_charged_memory_is_released(
        operations in prop::collection::vec(operation(), 1..150),
    ) {
        let mut pair = Pair::new();
        for operation in &operations {
            let (ours, theirs) = pair.apply(operation);
            prop_assert_eq!(ours, theirs, "{:?}", operation);
        }
        pair.finish();
    }
}
