//! Files that are parked and resumed between operations, next to files that are not.

use std::ops::ControlFlow;

use proptest::prelude::*;

use crate::preview1::GuestProcess;
use crate::session::error::PackError;
use crate::session::tests::{LIMITS, Packs, begun, seen, with_blobs};
use crate::vfs::tests::operations::{Operation, operation};
use crate::vfs::tests::{BLOB, WORKSPACE, bytes, mounts};
use crate::vfs::{
    Access, At, Errno, Fd, FileSystem, LastLink, Mount, OpenHow, SetTimes, Timestamp, Whence,
};
use wardian_formats::job::SetupLimits;
use wardian_vocabulary::units::ByteCount;

/// The first number that a program can open.
const FIRST: Fd = 7;

#[derive(Debug, Clone)]
enum Step {
    /// As programs do it, with a descriptor in place of a slot.
    Operation(Operation),
    Duplicate {
        fd: Fd,
        lowest: Fd,
    },
    DuplicateTo {
        from: Fd,
        to: Fd,
    },
    Nonblocking {
        fd: Fd,
        is_set: bool,
    },
    Append {
        fd: Fd,
        is_set: bool,
    },
    ListOne {
        fd: Fd,
        cookie: u64,
    },
    SetTimes {
        path: String,
        time: Timestamp,
    },
    /// The host mounts a blob that the program has written.
    Show {
        name: &'static str,
        content: Vec<u8>,
    },
    Park,
}

fn step() -> impl Strategy<Value = Step> {
    let fd = || 2..FIRST + 5;
    let content = prop::collection::vec(any::<u8>(), 0..9_000);
    prop_oneof![
        20 => operation().prop_map(Step::Operation),
        2 => (fd(), fd()).prop_map(|(fd, lowest)| Step::Duplicate { fd, lowest }),
        1 => (fd(), fd()).prop_map(|(from, to)| Step::DuplicateTo { from, to }),
        1 => (fd(), any::<bool>()).prop_map(|(fd, is_set)| Step::Nonblocking { fd, is_set }),
        1 => (fd(), any::<bool>()).prop_map(|(fd, is_set)| Step::Append { fd, is_set }),
        2 => (fd(), 0..9_u64).prop_map(|(fd, cookie)| Step::ListOne { fd, cookie }),
        1 => ("[abcx]", any::<u64>()).prop_map(|(path, time)| Step::SetTimes { path, time }),
        1 => (prop::sample::select(vec!["p", "q", "r"]), content)
            .prop_map(|(name, content)| Step::Show { name, content }),
        4 => Just(Step::Park),
    ]
}

/// Carries out a step. Returns all that the program sees of it.
fn take(process: &mut GuestProcess, step: &Step) -> String {
    let now = process.now();
    let files = &mut process.files;
    match step {
        Step::Operation(operation) => perform(files, operation, now),
        Step::Duplicate { fd, lowest } => format!("{:?}", files.duplicate(*fd, *lowest)),
        Step::DuplicateTo { from, to } => format!("{:?}", files.duplicate_to(*from, *to)),
        Step::Nonblocking { fd, is_set } => format!("{:?}", files.set_nonblocking(*fd, *is_set)),
        Step::Append { fd, is_set: true } => format!("{:?}", files.append_always(*fd)),
        Step::Append { fd, is_set: false } => format!("{:?}", files.append_no_more(*fd)),
        Step::ListOne { fd, cookie } => listed(files, *fd, *cookie, 1),
        Step::SetTimes { path, time } => {
            let times = SetTimes { accessed: Some(*time), modified: None };
            let at = At { folder: WORKSPACE, path };
            format!("{:?}", files.set_times(at, LastLink::Keep, times, now))
        }
        Step::Show { name, content } => {
            let size = u64::try_from(content.len()).unwrap();
            let content = crate::vfs::tree::content::SharedBytes::new(content.clone());
            let mount = Mount::file(format!("/blobs/{name}"), std::sync::Arc::new(content));
            format!("{:?}", files.mount_charged(&mount, size))
        }
        Step::Park => String::new(),
    }
}

fn perform(files: &mut FileSystem, operation: &Operation, now: Timestamp) -> String {
    use Operation as O;
    let fd = |slot: &usize| FIRST + Fd::try_from(*slot).unwrap();
    let at = |path| At { folder: WORKSPACE, path };
    let follow = |is| if is { LastLink::Follow } else { LastLink::Keep };
    match operation {
        O::Open { path, how, .. } => format!("{:?}", files.open(at(path), *how, now)),
        O::OpenWithin { base, path, how, .. } => {
            let at = At { folder: fd(base), path };
            format!("{:?}", files.open(at, *how, now))
        }
        O::Close { slot } => format!("{:?}", files.close(fd(slot))),
        O::Read { slot, count } => {
            let mut bytes = vec![0; *count];
            format!("{:?} {bytes:?}", files.read(fd(slot), &mut bytes))
        }
        O::ReadAt { slot, count, offset } => {
            let mut bytes = vec![0; *count];
            format!("{:?} {bytes:?}", files.read_at(fd(slot), &mut bytes, *offset))
        }
        O::Write { slot, bytes } => format!("{:?}", files.write(fd(slot), bytes, now)),
        O::WriteAt { slot, bytes, offset } => {
            format!("{:?}", files.write_at(fd(slot), bytes, *offset, now))
        }
        O::Seek { slot, delta, whence } => format!("{:?}", files.seek(fd(slot), *delta, *whence)),
        O::SetSize { slot, size } => format!("{:?}", files.set_size(fd(slot), *size, now)),
        O::StatOpen { slot } => {
            format!("{:?} {:?}", files.stat_open(fd(slot)), files.descriptor_stat(fd(slot)))
        }
        O::MakeFolder { path } => format!("{:?}", files.make_folder(at(path), now)),
        O::RemoveFolder { path } => format!("{:?}", files.remove_folder(at(path), now)),
        O::RemoveFile { path } => format!("{:?}", files.remove_file(at(path), now)),
        O::Rename { from, to } => format!("{:?}", files.rename(at(from), at(to), now)),
        O::AddName { from, follow: is, to } => {
            format!("{:?}", files.add_name(at(from), follow(*is), at(to), now))
        }
        O::MakeLink { target, path } => format!("{:?}", files.make_link(target, at(path), now)),
        O::ReadLink { path } => format!("{:?}", files.read_link(at(path))),
        O::Stat { path, follow: is } => format!("{:?}", files.stat(at(path), follow(*is))),
        O::List { slot } => listed(files, fd(slot), 0, usize::MAX),
    }
}

fn listed(files: &mut FileSystem, fd: Fd, cookie: u64, most: usize) -> String {
    let mut seen = Vec::new();
    let end = files.list(fd, cookie, |entry| {
        if seen.len() >= most {
            return ControlFlow::Break(());
        }
        seen.push(format!("{entry:?}"));
        ControlFlow::Continue(())
    });
    format!("{end:?} {seen:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn same_files_after_every_park(steps in prop::collection::vec(step(), 1..80)) {
        let (mut original, mut other) = (with_blobs(&LIMITS), with_blobs(&LIMITS));
        let mut packs = Packs::default();
        for step in &steps {
            prop_assert_eq!(take(&mut original, step), take(&mut other, step), "{:?}", step);
            if matches!(step, Step::Park) {
                packs.park(&other);
                other = with_blobs(&LIMITS);
                packs.resume_into(&mut other, &LIMITS).unwrap();
            }
            prop_assert_eq!(seen(&original), seen(&other), "{:?}", step);
        }
    }
}

fn open(files: &mut FileSystem, path: &str, how: OpenHow) -> Fd {
    files.open(At { folder: WORKSPACE, path }, how, 9).unwrap()
}

const BOTH: OpenHow = OpenHow { access: Access { read: true, write: true }, ..OpenHow::REPLACE };

/// The process after it was parked and resumed.
fn parked(process: &GuestProcess) -> GuestProcess {
    let mut packs = Packs::default();
    packs.park(process);
    let mut other = with_blobs(&LIMITS);
    packs.resume_into(&mut other, &LIMITS).unwrap();
    other
}

#[test]
fn a_file_without_a_name_lives_on_with_its_duplicates() {
    let mut process = with_blobs(&LIMITS);
    let files = &mut process.files;
    let fd = open(files, "gone", BOTH);
    files.write(fd, b"0123456789", 9).unwrap();
    files.seek(fd, 4, Whence::Start).unwrap();
    let copy = files.duplicate(fd, 0).unwrap();
    files.remove_file(At { folder: WORKSPACE, path: "gone" }, 9).unwrap();
    let before = files.workspace_usage();

    let mut other = parked(&process);
    let files = &mut other.files;
    let mut bytes = [0; 3];
    assert_eq!((files.read(copy, &mut bytes), &bytes), (Ok(3), b"456"));
    assert_eq!((files.read(fd, &mut bytes), &bytes), (Ok(3), b"789"), "positions are shared");
    assert_eq!(files.workspace_usage(), before);
    files.close(fd).unwrap();
    files.close(copy).unwrap();
    assert!(files.workspace_usage().0 < before.0, "its memory is given back");
}

#[test]
fn a_reader_of_a_blob_reads_on_after_the_program_has_changed_its_copy() {
    let mut process = with_blobs(&LIMITS);
    let files = &mut process.files;
    let reader = open(files, "a", OpenHow::READ);
    let writer = open(files, "a", OpenHow { access: BOTH.access, ..OpenHow::READ });
    files.write(writer, b"changed", 9).unwrap();

    let mut other = parked(&process);
    assert_eq!(seen(&other), seen(&process));
    let mut bytes = [0; 3];
    assert_eq!((other.files.read(reader, &mut bytes), &bytes), (Ok(3), b"a,b"));
    assert_eq!((other.files.read_at(writer, &mut bytes, 0), &bytes), (Ok(3), b"cha"));
}

#[test]
fn devices_folders_and_mounts_stay_open() {
    let mut process = with_blobs(&LIMITS);
    let files = &mut process.files;
    let paths = [
        "/dev/null",
        "/dev/urandom",
        "/skills/acme.report/code",
        "/",
        BLOB,
        "/dev/stdout",
        "/dev/full",
    ];
    for path in paths {
        open(files, path, OpenHow::READ);
    }
    assert_eq!(seen(&parked(&process)), seen(&process));
    // Of the first descriptors, a program may close all.
    for fd in 0..FIRST {
        process.files.close(fd).unwrap();
    }
    assert_eq!(seen(&parked(&process)), seen(&process));
}

#[test]
fn other_mounts_and_narrower_limits_are_refused() {
    let mut process = with_blobs(&LIMITS);
    let fd = open(&mut process.files, "file", BOTH);
    process.files.write(fd, &[7; 100_000], 9).unwrap();
    let mut packs = Packs::default();
    packs.park(&process);
    let mut refused = |limits: &SetupLimits, mounts: &[Mount]| {
        packs.resume_into(&mut begun(limits, mounts), limits).unwrap_err()
    };
    assert_eq!(refused(&LIMITS, &[]), PackError::OtherGuest);
    let extra = Mount::tree(
        "/skills/b.c",
        std::sync::Arc::new(
            crate::vfs::tree::immutable::ImmutableTree::from_files([("x", bytes("y"))]).unwrap(),
        ),
    );
    assert_eq!(refused(&LIMITS, &[mounts(), vec![extra]].concat()), PackError::OtherGuest);
    let narrow = SetupLimits { workspace: ByteCount::kibibytes(90), ..LIMITS };
    assert_eq!(refused(&narrow, &mounts()), PackError::Files(Errno::NoSpace));
    let few = SetupLimits { workspace_entries: 1, ..LIMITS };
    assert_eq!(refused(&few, &mounts()), PackError::Files(Errno::NoSpace));
    let closed = SetupLimits { open_files: 0, ..LIMITS };
    assert_eq!(refused(&closed, &mounts()), PackError::Files(Errno::TooManyOpenFiles));
}

#[test]
fn packs_of_files_have_only_what_changed() {
    let mut process = with_blobs(&SetupLimits::DEFAULT);
    let fd = open(&mut process.files, "large", BOTH);
    let noise: Vec<u8> =
        (0..1_000_000_u32).map(|at| (at.wrapping_mul(at) >> 7).to_le_bytes()[0]).collect();
    process.files.write(fd, &noise, 9).unwrap();
    let mut packs = Packs::default();
    packs.park(&process);
    packs.park(&process);
    process.files.write_at(fd, b"changed", 500_000, 9).unwrap();
    packs.park(&process);
    let lengths: Vec<usize> = packs.packs.iter().map(Vec::len).collect();
    assert!(lengths[0] > 10 * lengths[2] && lengths[1] < 600, "{lengths:?}");
    assert!((4096..8192).contains(&(lengths[2] - lengths[1])) || lengths[2] < 4096, "{lengths:?}");
}
