//! Operations to compare with Linux, and answers that can be compared.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use proptest::prelude::*;
use proptest::sample::select;
use rustix::fs;
use rustix::io::Errno as HostErrno;

use crate::vfs::{Access, Errno, FileKind, FileStat, LastLink, OpenHow, Whence};

/// Targets of links.
const TARGETS: [&str; 9] = ["a", "b", "b/", "c/a", "../a", "..", ".", "./b/.", "gone"];

#[derive(Debug, Clone)]
pub(crate) enum Operation {
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

pub(crate) fn path() -> impl Strategy<Value = String> {
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

pub(crate) fn segment() -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => select(&["a", "b", "c"][..]), 1 => Just("."), 1 => Just("..")]
}

/// Flags for opening, most of which give a usable descriptor.
pub(crate) fn how() -> impl Strategy<Value = OpenHow> {
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
            nonblocking: false,
        },
    )
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
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

/// The part of an answer that can be compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
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

pub(super) fn answer(result: Result<Answer, Errno>) -> Answer {
    result.unwrap_or_else(|errno| Answer::Failed(errno.name()))
}

pub(crate) fn host_answer(result: Result<Answer, HostErrno>) -> Answer {
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

pub(super) fn written(result: Result<usize, Errno>) -> Answer {
    answer(result.map(|count| Answer::Count(count as u64)))
}

pub(crate) fn host_written(result: Result<usize, HostErrno>) -> Answer {
    host_answer(result.map(|count| Answer::Count(count as u64)))
}

pub(super) fn stat(stat: FileStat) -> Answer {
    match stat.kind {
        FileKind::Folder => Answer::Folder,
        FileKind::Link => Answer::Link { size: stat.size },
        FileKind::File | FileKind::Device => Answer::File { links: stat.links, size: stat.size },
    }
}

pub(crate) fn host_stat(stat: fs::Stat) -> Answer {
    let size = stat.st_size.unsigned_abs();
    match fs::FileType::from_raw_mode(stat.st_mode) {
        fs::FileType::Directory => Answer::Folder,
        fs::FileType::Symlink => Answer::Link { size },
        _ => Answer::File { links: stat.st_nlink, size },
    }
}

pub(crate) fn host_names(folder: &OwnedFd) -> Answer {
    let entries = fs::Dir::read_from(folder);
    host_answer(entries.map(|entries| {
        let names = entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
        let mut names: BTreeSet<String> = names.collect();
        // The host lists nothing at all, not even `.`, in a folder that was removed.
        names.extend([".".to_owned(), "..".to_owned()]);
        Answer::Names(names)
    }))
}
