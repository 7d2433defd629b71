//! Runs the same operations on the virtual file system and on a folder of the host, and compares
//! every answer.
//!
//! Deliberate differences, which the operations below keep clear of:
//!
//! - A removed folder that is still open has no `..`: its parent may be gone by then.
//! - A position in a folder means nothing: seeking there is `EISDIR`.
//! - Folders count one name, and have no length.
//! - Listings are sorted.
//! - Names are UTF-8, and folders nest 256 deep at most.
//! - An absolute link leads to the virtual root.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};

use proptest::prelude::*;
use proptest::sample::select;
use rustix::fs::{self, AtFlags, Mode, OFlags, ResolveFlags, SeekFrom};
use rustix::io::Errno as HostErrno;

use super::*;

/// Targets of links.
const TARGETS: [&str; 9] = ["a", "b", "b/", "c/a", "../a", "..", ".", "./b/.", "gone"];

/// Descriptor of `/workspace`.
const WORKSPACE: Fd = 4;

#[derive(Debug, Clone)]
enum Operation {
    Open { path: String, how: OpenHow, slot: usize },
    OpenWithin { base: usize, path: String, how: OpenHow, slot: usize },
    Close { slot: usize },
    Read { slot: usize, count: usize },
    ReadAt { slot: usize, count: usize, offset: u64 },
    Write { slot: usize, bytes: Vec<u8> },
    WriteAt { slot: usize, bytes: Vec<u8>, offset: u64 },
    Seek { slot: usize, delta: i64, whence: Whence },
    SetSize { slot: usize, size: u64 },
    StatOpen { slot: usize },
    MakeFolder { path: String },
    RemoveFolder { path: String },
    RemoveFile { path: String },
    Rename { from: String, to: String },
    AddName { from: String, follow: bool, to: String },
    MakeLink { target: String, path: String },
    ReadLink { path: String },
    Stat { path: String, follow: bool },
    List { slot: usize },
}

fn path() -> impl Strategy<Value = String> {
    let length = prop_oneof![4 => Just(1_usize), 3 => Just(2), 1 => Just(3)];
    let segments = length.prop_flat_map(|length| prop::collection::vec(segment(), length));
    (segments, 0_u32..12).prop_map(|(segments, slashes)| {
        let mut path = segments.join(if slashes == 0 { "//" } else { "/" });
        if slashes == 1 {
            path.push('/');
        }
        path
    })
}

fn segment() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => select(&["a", "b", "c"][..]), 1 => Just("."), 1 => Just("..")]
}

/// Flags for opening, most of them such that something can be done with the result.
fn how() -> impl Strategy<Value = OpenHow> {
    let access = prop_oneof![
        4 => Just(Access { read: true, write: true }),
        2 => Just(Access { read: true, write: false }),
        1 => Just(Access { read: false, write: true }),
    ];
    let seldom = || prop::bool::weighted(0.15);
    (access, any::<bool>(), (seldom(), seldom(), seldom(), seldom(), seldom())).prop_map(
        |(access, create, (keep, exclusive, truncate, folder, appends))| OpenHow {
            last_link: if keep { LastLink::Keep } else { LastLink::Follow },
            access,
            create,
            exclusive: create && exclusive,
            truncate,
            folder,
            appends,
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation as O;
    let slot = || 0_usize..3;
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let offset = || prop_oneof![0_u64..60, 65_500_u64..65_600, 200_000_u64..200_010];
    let whence = select(vec![Whence::Start, Whence::Current, Whence::End]);
    prop_oneof![
        8 => (path(), how(), slot())
            .prop_map(|(path, how, slot)| O::Open { path, how, slot }),
        1 => (slot(), path(), how(), slot())
            .prop_map(|(base, path, how, slot)| O::OpenWithin { base, path, how, slot }),
        1 => slot().prop_map(|slot| O::Close { slot }),
        2 => (slot(), 0_usize..100).prop_map(|(slot, count)| O::Read { slot, count }),
        2 => (slot(), 0_usize..100, offset())
            .prop_map(|(slot, count, offset)| O::ReadAt { slot, count, offset }),
        2 => (slot(), bytes()).prop_map(|(slot, bytes)| O::Write { slot, bytes }),
        2 => (slot(), bytes(), offset())
            .prop_map(|(slot, bytes, offset)| O::WriteAt { slot, bytes, offset }),
        2 => (slot(), -100_i64..100, whence)
            .prop_map(|(slot, delta, whence)| O::Seek { slot, delta, whence }),
        2 => (slot(), offset()).prop_map(|(slot, size)| O::SetSize { slot, size }),
        1 => slot().prop_map(|slot| O::StatOpen { slot }),
        5 => path().prop_map(|path| O::MakeFolder { path }),
        2 => path().prop_map(|path| O::RemoveFolder { path }),
        2 => path().prop_map(|path| O::RemoveFile { path }),
        4 => (path(), path()).prop_map(|(from, to)| O::Rename { from, to }),
        2 => (path(), any::<bool>(), path())
            .prop_map(|(from, follow, to)| O::AddName { from, follow, to }),
        2 => (select(&TARGETS[..]), path())
            .prop_map(|(target, path)| O::MakeLink { target: target.to_owned(), path }),
        1 => path().prop_map(|path| O::ReadLink { path }),
        2 => (path(), any::<bool>()).prop_map(|(path, follow)| O::Stat { path, follow }),
        1 => slot().prop_map(|slot| O::List { slot }),
    ]
}

/// What can be compared of an answer.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Count(u64),
    Bytes(Vec<u8>),
    Text(String),
    Names(BTreeSet<String>),
    File { links: u64, size: u64 },
    Folder,
    Link { size: u64 },
    Failed(&'static str),
    Skipped,
}

/// The virtual file system and the folder of the host, with what is open in both.
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
        let mut files = FileSystem::for_run(&RunLimits::DEFAULT, &[], 0).unwrap();
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
                answer(
                    files
                        .list(fd, 0, |_| std::ops::ControlFlow::Continue(()))
                        .map(|()| Answer::Done),
                ),
                Answer::Failed("ENOTDIR"),
            ),
            _ => {
                let mut names = BTreeSet::new();
                let listed = files.list(fd, 0, |entry| {
                    assert!(names.insert(entry.name.to_owned()), "listed twice");
                    std::ops::ControlFlow::Continue(())
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
    /// Compares all that is left on both sides, removes it, and makes sure that nothing of it is
    /// charged any more.
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
            std::ops::ControlFlow::Continue(())
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

/// A path in the workspace.
fn within(path: &str) -> At<'_> {
    At { folder: WORKSPACE, path }
}

fn answer(result: Result<Answer, Errno>) -> Answer {
    result.unwrap_or_else(|errno| Answer::Failed(errno.name()))
}

fn host_answer(result: Result<Answer, HostErrno>) -> Answer {
    result.unwrap_or_else(|errno| {
        Answer::Failed(match errno {
            HostErrno::BADF => "EBADF",
            HostErrno::BUSY => "EBUSY",
            HostErrno::EXIST => "EEXIST",
            HostErrno::INVAL => "EINVAL",
            HostErrno::ISDIR => "EISDIR",
            HostErrno::LOOP => "ELOOP",
            HostErrno::NAMETOOLONG => "ENAMETOOLONG",
            HostErrno::NOENT => "ENOENT",
            HostErrno::NOTDIR => "ENOTDIR",
            HostErrno::NOTEMPTY => "ENOTEMPTY",
            HostErrno::PERM => "EPERM",
            other => panic!("the host answers with {other}"),
        })
    })
}

fn written(result: Result<usize, Errno>) -> Answer {
    answer(result.map(|count| Answer::Count(count as u64)))
}

fn host_written(result: Result<usize, HostErrno>) -> Answer {
    host_answer(result.map(|count| Answer::Count(count as u64)))
}

fn stat(stat: FileStat) -> Answer {
    match stat.kind {
        FileKind::Folder => Answer::Folder,
        FileKind::Link => Answer::Link { size: stat.size },
        FileKind::File | FileKind::Device => Answer::File { links: stat.links, size: stat.size },
    }
}

fn host_stat(stat: fs::Stat) -> Answer {
    let size = stat.st_size.unsigned_abs();
    match fs::FileType::from_raw_mode(stat.st_mode) {
        fs::FileType::Directory => Answer::Folder,
        fs::FileType::Symlink => Answer::Link { size },
        _ => Answer::File { links: stat.st_nlink, size },
    }
}

fn host_names(folder: &OwnedFd) -> Answer {
    let entries = fs::Dir::read_from(folder);
    host_answer(entries.map(|entries| {
        let names = entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
        let mut names: BTreeSet<String> = names.collect();
        // The host lists nothing at all, not even `.`, in a folder that was removed.
        names.extend([".".to_owned(), "..".to_owned()]);
        Answer::Names(names)
    }))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_what_linux_answers_and_charged_memory_is_given_back(
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
